"""Automations, scripts and scenes: what starts them, what they do, what they touch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, override

from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HomeAssistant, State, callback

from ...idle import in_slices
from ...safety.contents import effects
from ...texts import clean
from ..house import House
from ..semantic import KnowledgeDocument, KnowledgeSource, Source
from .words import NAME_CHARS, PRIVATE, TEXT_CHARS, Words, cut, is_template, together

MAX_DEPTH: Final = 10
MAX_ITEMS: Final = 30
LEFT_OUT: Final = "…"

BLOCKS: Final = frozenset(
    (
        *("trigger", "triggers", "condition", "conditions", "action", "actions", "sequence", "parallel"),
        *("if", "then", "else", "choose", "default", "repeat", "count", "for_each", "while", "until"),
        *("and", "or", "not", "wait_for_trigger", "wait_template", "delay", "timeout"),
        *("service", "service_template", "event", "scene", "stop"),
    )
)
TYPES: Final = frozenset(("trigger", "platform", "condition"))
"""Their values are names of Home Assistant's own, also if they look like ids of entities."""
DETAILS: Final = frozenset(
    (
        *("platform", "id", "attribute", "to", "from", "not_to", "not_from", "state", "match", "for"),
        *("above", "below", "value_template", "at", "after", "before", "offset", "after_offset"),
        *("before_offset", "weekday", "days", "hours", "minutes", "seconds", "event_type", "zone"),
        *("source", "topic", "command", "domain", "type", "subtype"),
    )
)
TARGETS: Final = frozenset(("entity_id", "device_id", "area_id", "floor_id", "label_id"))
MERGED: Final = frozenset(("target", "data", "data_template", "options"))
"""Their contents are shown in the step itself."""
DATA: Final = frozenset(
    (
        *("brightness_pct", "brightness", "brightness_step_pct", "color_name", "color_temp_kelvin", "kelvin"),
        *("rgb_color", "effect", "transition", "temperature", "target_temp_high", "target_temp_low"),
        *("hvac_mode", "preset_mode", "fan_mode", "humidity", "position", "tilt_position", "percentage"),
        *("volume_level", "is_volume_muted", "source", "sound_mode", "option", "duration", "mode"),
        *("fan_speed", "title", "message", "date", "time", "datetime", "item", "summary", "tone"),
    )
)
"""Data of an action that describes it and is never secret."""
NUMBERS: Final = frozenset({"counter", "input_number", "number"})
"""Domains whose `value` is shown too."""
RECIPIENTS: Final = frozenset({"notify", "tts"})
"""Domains whose actions are named after a recipient or an engine."""
SCRIPT_ACTIONS: Final = frozenset({"turn_on", "turn_off", "toggle", "reload"})


def redacted_yaml(words: Words, config: Any) -> str:
    """Return a part of a configuration; what is disabled in it is left out."""
    shown = _shown(words, config, 0)
    if isinstance(shown, list) and len(shown) == 1:
        shown = shown[0]
    return flow_yaml(shown)


def redacted_data(words: Words, domain: str, data: Any) -> dict[str, Any]:
    """Return the data of an action of a domain as far as it may be shown."""
    if not isinstance(data, Mapping):
        return {}
    shown = {
        str(key): words.text(value)
        for key, value in data.items()
        if value is not None and (key in DATA or (key == "value" and domain in NUMBERS))
    }
    if isinstance(brightness := data.get("brightness"), int | float):
        shown["brightness"] = f"{round(brightness / 2.55)} %"
    return shown


def _shown(words: Words, value: Any, depth: int) -> Any:
    """Return the part of a configuration that may be shown: texts, lists and dictionaries."""
    if depth > MAX_DEPTH:
        return LEFT_OUT
    if isinstance(value, Mapping):
        return {} if value.get("enabled") is False else _step(words, value, depth)
    if isinstance(value, list | tuple):
        items = [item for part in value[:MAX_ITEMS] if (item := _shown(words, part, depth + 1))]
        return [*items, f"{len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else items
    return words.text(value)


def _step(words: Words, step: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    action = step.get("action") or step.get("service") or ""
    domain = str(action).partition(".")[0]
    for key, value in step.items():
        if key in TARGETS:
            shown.update(_targets(words, {key: value}))
        elif key in ("action", "service") and isinstance(value, str):
            shown[key] = _action(words, value)
        elif key in TYPES and isinstance(value, str) and not is_template(value):
            shown[key] = clean(value, TEXT_CHARS)
        elif key in MERGED:
            shown.update(_merged(words, key, value, domain))
        elif key in ("scene", "zone"):
            shown[key] = _names(words.entity(item) for item in _as_list(value))
        elif key in BLOCKS or key in DETAILS:
            shown[key] = _shown(words, value, depth + 1)
    return {key: value for key, value in shown.items() if value not in ("", [], {})}


def _merged(words: Words, key: str, value: Any, domain: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {key: words.text(value)} if is_template(value) else {}
    if key == "options":
        return {
            str(name): words.text(option) for name, option in value.items() if not PRIVATE.search(str(name))
        }
    if key == "target":
        return _targets(words, value)
    shown = {**_targets(words, value), **redacted_data(words, domain, value)}
    if isinstance(entities := value.get("entities"), Mapping):
        shown["entities"] = _names(words.entity(entity_id) for entity_id in entities)
    return shown


def _action(words: Words, action: str) -> str:
    domain, _, service = action.lower().partition(".")
    if domain in RECIPIENTS:
        return domain
    if domain == "script" and service not in SCRIPT_ACTIONS:
        return words.entity(action.lower())
    return words.text(action) if is_template(action) else clean(action, TEXT_CHARS)


def _targets(words: Words, given: Mapping[str, Any]) -> dict[str, Any]:
    named = {
        "entity_id": lambda value: value if value in ("all", "none") else words.entity(value),
        "device_id": words.device,
        "area_id": words.area,
        "floor_id": words.floor,
        "label_id": words.label,
    }
    return {key: _names(map(name, _as_list(given[key]))) for key, name in named.items() if key in given}


def _names(names: Iterable[str]) -> Any:
    distinct = list(dict.fromkeys(names))
    return distinct[0] if len(distinct) == 1 else distinct


def _as_list(value: Any) -> Sequence[Any]:
    """Return ids as a list; a text with commas is several, a template is one."""
    if isinstance(value, str) and not is_template(value):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value if isinstance(value, list | tuple) else [value]


def flow_yaml(value: Any) -> str:
    """Return a value as YAML in flow style, without quotes; an empty one as an empty text."""
    if not value:
        return ""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_yaml, value))}]"
    return str(value)


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
