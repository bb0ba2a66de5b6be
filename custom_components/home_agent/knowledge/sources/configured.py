"""Automations, scripts and scenes: what starts them, what they do, what they touch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, override

from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HomeAssistant, State, callback

from ...idle import in_slices
from ...safety.contents import effects
from ...texts import clean
from ..documents import KnowledgeDocument, KnowledgeSource, Source
from ..house import House
from .redacted_yaml import flow_yaml, redacted_data, redacted_yaml
from .words import NAME_CHARS, Words, cut, together

MAX_DOCUMENTS: Final = 1000
"""Documents of one source; the first by entity id."""
DESCRIPTION_CHARS: Final = 160
CONDITIONS_CHARS: Final = 250
ACTIONS_CHARS: Final = 800
AUTOMATION_PARTS: Final = (
    ("trigger", "When: ", 300),
    ("condition", "Only if: ", CONDITIONS_CHARS),
    ("action", "Then: ", ACTIONS_CHARS),
)
"""Keys, labels and most characters of the parts of an automation."""
TOUCHED: Final = 16
"""Entities named as touched; the others are counted."""
FIELDS: Final = 8


@dataclass(frozen=True, slots=True)
class TextPart:
    """One labelled part of a text."""

    label: str
    text: str
    limit: int = ACTIONS_CHARS


class ConfiguredSource(KnowledgeSource, ABC):
    """Automations, scripts and scenes, one document each.

    Shown is what is exposed itself or names an exposed entity. Entities that are not exposed have no names.
    """

    reloaded = ""
    """Event after which everything may differ."""

    def __init__(self, hass: HomeAssistant, house: House) -> None:
        self._hass = hass
        self._house = house

    @override
    async def async_documents(self) -> list[KnowledgeDocument]:
        """Return the documents of now, a slice of the loop at a time."""
        house = await self._house.async_snapshot()
        found: list[KnowledgeDocument] = []
        states = sorted(self._hass.states.async_all(self.source.value), key=lambda item: item.entity_id)
        async for state in in_slices(states):
            if document := self._document(state, Words(self._hass, house)):
                found.append(document)
            if len(found) >= MAX_DOCUMENTS:
                break
        return found

    @override
    def async_listen(self, changed: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `changed` when one is written, loaded or removed, or when names or exposure change."""
        domain = self.source.value

        @callback
        def tell(_event: Event[Any]) -> None:
            changed()

        @callback
        def comes_or_goes(data: EventStateChangedData) -> bool:
            return data["entity_id"].startswith(f"{domain}.") and None in (
                data["old_state"],
                data["new_state"],
            )

        unsubscribe = [
            self._house.async_listen(changed),
            self._hass.bus.async_listen(EVENT_STATE_CHANGED, tell, event_filter=comes_or_goes),
        ]
        if self.reloaded:
            unsubscribe.append(self._hass.bus.async_listen(self.reloaded, tell))

        @callback
        def stop() -> None:
            for each in unsubscribe:
                each()

        return stop

    def _document(self, state: State, words: Words) -> KnowledgeDocument | None:
        """Return the document of an entity; None if nothing in it is exposed."""
        entity_id = state.entity_id
        parts = list(self._parts(entity_id, words))
        touched = [
            key for key in self._touched(entity_id) if key in words.house.entities and key != entity_id
        ]
        listed = [words.placed(key) for key in touched[:TOUCHED]]
        if len(touched) > TOUCHED:
            listed.append(f"{len(touched) - TOUCHED} more")
        own = (entity_id,) if entity_id in words.house.entities else ()
        entity_ids = tuple(dict.fromkeys((*own, *touched, *words.named)))
        if not entity_ids:
            return None
        title = clean(str(state.name), NAME_CHARS) or entity_id
        said = [f"{part.label}{cut(part.text, part.limit)}." for part in parts if part.text]
        if listed:
            said.append(f"Touches: {together(listed, limit=TOUCHED + 1)}.")
        return KnowledgeDocument(
            id=f"{self.source}:{entity_id.partition('.')[2]}",
            source=self.source,
            title=title,
            text=" ".join((f"{title}.", *said)),
            entity_ids=entity_ids,
        )

    @abstractmethod
    def _parts(self, entity_id: str, words: Words) -> Iterator[TextPart]:
        """Yield the parts of a text."""

    @abstractmethod
    def _touched(self, entity_id: str) -> Iterable[str]:
        """Return the entities that it acts on, also through scripts, scenes and groups."""

    def _entity(self, entity_id: str) -> Any:
        component = self._hass.data.get(self.source.value)
        return component.get_entity(entity_id) if component is not None else None

    def _acts_on(self, service: str, entity_id: str) -> Iterable[str]:
        found = effects(self._hass, self.source.value, service, [entity_id])
        return dict.fromkeys(effect.entity_id for effect in found if effect.entity_id)


class AutomationSource(ConfiguredSource):
    """Automations."""

    source = Source.AUTOMATION
    reloaded = "automation_reloaded"

    @override
    def _parts(self, entity_id: str, words: Words) -> Iterator[TextPart]:
        config = getattr(self._entity(entity_id), "raw_config", None)
        if not isinstance(config, Mapping):
            return
        yield TextPart("", _description(words, config), DESCRIPTION_CHARS)
        for key, label, limit in AUTOMATION_PARTS:
            part = redacted_yaml(words, config.get(f"{key}s", config.get(key)))
            yield TextPart(label, part, limit)

    @override
    def _touched(self, entity_id: str) -> Iterable[str]:
        return self._acts_on("trigger", entity_id)


class ScriptSource(ConfiguredSource):
    """Scripts."""

    source = Source.SCRIPT

    @override
    def _parts(self, entity_id: str, words: Words) -> Iterator[TextPart]:
        config = getattr(self._entity(entity_id), "raw_config", None)
        if not isinstance(config, Mapping):
            return
        yield TextPart("", _description(words, config), DESCRIPTION_CHARS)
        fields = config.get("fields")
        if isinstance(fields, Mapping):
            names = (_field_name(key, field) for key, field in fields.items())
            yield TextPart("Asks for: ", together(names, limit=FIELDS), CONDITIONS_CHARS)
        yield TextPart("Does: ", redacted_yaml(words, config.get("sequence")))

    @override
    def _touched(self, entity_id: str) -> Iterable[str]:
        return self._acts_on("turn_on", entity_id)


class SceneSource(ConfiguredSource):
    """Scenes; those that live in a bridge have a name and a room only."""

    source = Source.SCENE
    reloaded = "scene_reloaded"

    @override
    def _parts(self, entity_id: str, words: Words) -> Iterator[TextPart]:
        members = [
            {
                "entity_id": words.entity(member),
                "state": words.text(state.state),
                **(redacted_data(words, state.domain, state.attributes) if state.state != "off" else {}),
            }
            for member, state in self._states(entity_id).items()
            if words.record(member) is not None
        ]
        yield TextPart("Sets: ", flow_yaml(members[:TOUCHED]))

    @override
    def _touched(self, entity_id: str) -> Iterable[str]:
        return self._states(entity_id)

    def _states(self, entity_id: str) -> Mapping[str, State]:
        """Return the states that a scene sets, as far as Home Assistant stores them."""
        platform = self._hass.data.get("homeassistant_scene")
        scene = platform.entities.get(entity_id) if platform is not None else None
        config = getattr(scene, "scene_config", None)
        return config.states if config is not None else {}


def _description(words: Words, config: Mapping[str, Any]) -> str:
    return words.text(str(config.get("description") or ""), DESCRIPTION_CHARS).rstrip(".")


def _field_name(key: Any, field: Any) -> str:
    name = field.get("name") if isinstance(field, Mapping) else None
    return clean(str(name or key).replace("_", " "), NAME_CHARS)
