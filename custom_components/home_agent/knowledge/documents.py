"""Automations, scripts, scenes, rooms and entities as texts that can be found.

What is not exposed has no name in them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
import re
from typing import Any, Final

from homeassistant.core import (
    HomeAssistant,
    State,
    split_entity_id,
    valid_entity_id,
)
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.helpers.template import Template

from ..idle import in_slices
from ..regex import lazy_regex
from ..safety.contents import effects
from ..texts import clean
from .house import Area, EntityRecord, Floor, HouseSnapshot
from .semantic import KnowledgeDocument, TextSource
from .spoken_words import ClassWords

NAME_CHARS: Final = 60
TEXT_CHARS: Final = 80
MAX_NAMED: Final = 8
"""Things named one by one; of the others the number is said."""
UNNAMED: Final[Mapping[str, str]] = {
    "automation": "another automation",
    "person": "somebody",
    "scene": "another scene",
    "script": "another script",
    "zone": "a place",
}
KNOWN: Final[Mapping[str, str]] = {"sun.sun": "the sun", "zone.home": "home"}
"""Entities of every home."""

_IDS = lazy_regex(r"\b(?:states\.)?([a-z_]+\.[a-z0-9_]+)(?:\.state\b)?")
_DIGITS = lazy_regex(r"\d{4,}")
_KINDS: Final[Mapping[str, str]] = {
    "switch": "switches",
    "climate": "thermostats",
}


def is_template(value: Any) -> bool:
    """Return whether a value is worked out when it is needed."""
    return isinstance(value, Template) or (isinstance(value, str) and ("{{" in value or "{%" in value))


def kind(domain: str) -> str:
    """Return the name of several entities of a domain."""
    return _KINDS.get(domain, f"{domain.replace('_', ' ')}s")


def together(parts: Iterable[str], limit: int = MAX_NAMED) -> str:
    """Return distinct parts as a list in words; how many are left out is said."""
    distinct = [part for part in dict.fromkeys(parts) if part]
    if len(distinct) > limit:
        distinct = [*distinct[: limit - 1], f"{len(distinct) - limit + 1} more"]
    if len(distinct) < 2:
        return "".join(distinct)
    return f"{', '.join(distinct[:-1])} and {distinct[-1]}"


def cut(text: str, limit: int) -> str:
    """Return a text within a limit, cut at the end of a word."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


@dataclass(frozen=True, slots=True)
class Words:
    """Names of what one home consists of, at one moment."""

    hass: HomeAssistant
    house: HouseSnapshot
    named: dict[str, None] = field(default_factory=dict)
    """The entities that were named so far, in order."""

    def record(self, value: Any) -> EntityRecord | None:
        """Return an exposed entity by its id or its registry id."""
        return self.house.entities.get(self._entity_id(value))

    def entity(self, value: Any) -> str:
        """Return the name of an entity; of one that is not exposed only what it is."""
        if is_template(value):
            return "what a template says"
        entity_id = self._entity_id(value)
        if known := KNOWN.get(entity_id):
            return known
        record = self.house.entities.get(entity_id)
        if record is None:
            return UNNAMED.get(entity_id.partition(".")[0], "another device")
        self.named[entity_id] = None
        return clean(record.name, NAME_CHARS) or entity_id

    def placed(self, entity_id: str) -> str:
        """Return the name of an entity with its room."""
        record = self.record(entity_id)
        area = self.house.areas.get(record.area_id or "") if record else None
        name = self.entity(entity_id)
        if area is None or area.name.casefold() in name.casefold():
            return name
        return f"{name} ({clean(area.name, NAME_CHARS)})"

    def device(self, value: Any) -> str:
        """Return the name of a device of which an entity is exposed."""
        if is_template(value):
            return "what a template says"
        entries = er.async_entries_for_device(er.async_get(self.hass), str(value))
        shown = [entry.entity_id for entry in entries if entry.entity_id in self.house.entities]
        device = dr.async_get(self.hass).async_get(str(value))
        if device is None or not shown:
            return "another device"
        self.named.update(dict.fromkeys(shown))
        return clean(device.name_by_user or device.name or "", NAME_CHARS) or "a device"

    def text(self, value: Any, limit: int = TEXT_CHARS) -> str:
        """Return a value as short text: templates without ids, long numbers left out."""
        match value:
            case bool():
                return "on" if value else "off"
            case _ if is_template(value):
                return self.template(value)
            case str():
                is_entity = self._is_entity(value)
                return self.entity(value) if is_entity else _DIGITS.sub("…", clean(value, limit))
            case list() | tuple():
                return together((self.text(item, limit) for item in value), limit=4)
            case int():
                return str(value)
            case float():
                return f"{value:g}"
        return ""

    def template(self, value: Any) -> str:
        """Return a template, shortened, with names in place of ids."""
        source = value.template if isinstance(value, Template) else str(value)

        def named(found: re.Match[str]) -> str:
            return self.entity(found[1]) if self._is_entity(found[1]) else found[0]

        return clean(_DIGITS.sub("…", _IDS.sub(named, source)), TEXT_CHARS)

    def _entity_id(self, value: Any) -> str:
        text = str(value).strip()
        return er.async_resolve_entity_id(er.async_get(self.hass), text) or text

    def _is_entity(self, text: str) -> bool:
        if not valid_entity_id(text):
            return False
        if self.hass.states.get(text) is not None or text in er.async_get(self.hass).entities:
            return True
        return bool(self.hass.states.async_entity_ids_count(split_entity_id(text)[0]))


MAX_DEPTH: Final = 10
MAX_ITEMS: Final = 30
LEFT_OUT: Final = "…"

SHOWN: Final = frozenset(
    (
        *("trigger", "triggers", "condition", "conditions", "action", "actions", "sequence", "parallel"),
        *("if", "then", "else", "choose", "default", "repeat", "count", "for_each", "while", "until"),
        *("and", "or", "not", "wait_for_trigger", "wait_template", "delay", "timeout"),
        *("service", "service_template", "event", "stop"),
        *("platform", "id", "attribute", "to", "from", "not_to", "not_from", "state", "match", "for"),
        *("above", "below", "value_template", "at", "after", "before", "offset", "after_offset"),
        *("before_offset", "weekday", "days", "hours", "minutes", "seconds", "event_type"),
        *("source", "topic", "command", "domain", "type", "subtype", "behavior"),
    )
)
TYPES: Final = frozenset(("trigger", "platform", "condition"))
"""Their values are names of Home Assistant's own, also if they look like ids of entities."""
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
NAMED: Final = frozenset(("entity_id", "device_id", "area_id", "floor_id", "label_id", "scene", "zone"))
"""Keys whose values are ids."""


def redacted_yaml(words: Words, config: Any) -> str:
    """Return a part of a configuration; what is disabled in it is left out."""
    shown = _shown(words, config, 0)
    if isinstance(shown, list) and len(shown) == 1:
        shown = shown[0]
    return flow_yaml(shown)


def redacted_data(words: Words, domain: str, data: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the data of an action of a domain as far as it may be shown."""
    shown: dict[str, Any] = {}
    for key, value in data.items():
        if key == "brightness" and isinstance(value, int | float):
            shown[key] = f"{round(value / 2.55)} %"
        elif key in DATA or (key == "value" and domain in NUMBERS):
            shown[key] = words.text(value)
        elif key in NAMED:
            shown[key] = _names(words, key, value)
        elif key == "entities" and isinstance(value, Mapping):
            shown[key] = _names(words, "entity_id", list(value))
    return shown


def _shown(words: Words, value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return LEFT_OUT
    if isinstance(value, list | tuple):
        items = [item for part in value[:MAX_ITEMS] if (item := _shown(words, part, depth + 1))]
        return [*items, f"{len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else items
    if not isinstance(value, Mapping):
        return words.text(value)
    if value.get("enabled") is False:
        return {}
    shown: dict[str, Any] = {}
    domain = str(value.get("action") or value.get("service") or "").partition(".")[0]
    for key, part in value.items():
        if key in NAMED:
            shown[key] = _names(words, key, part)
        elif key in ("action", "service") and isinstance(part, str):
            shown[key] = _action(words, part)
        elif key in TYPES and isinstance(part, str) and not is_template(part):
            shown[key] = clean(part, TEXT_CHARS)
        elif key in ("target", "data", "data_template") and isinstance(part, Mapping):
            shown |= redacted_data(words, domain, part)
        elif key == "options" and isinstance(part, Mapping):
            shown |= _shown(words, part, depth + 1)
        elif key in SHOWN:
            shown[key] = _shown(words, part, depth + 1)
    return {key: part for key, part in shown.items() if part not in ("", [], {})}


def _action(words: Words, action: str) -> str:
    domain, _, service = action.lower().partition(".")
    if domain in RECIPIENTS:
        return domain
    if domain == "script" and service not in SCRIPT_ACTIONS:
        return words.entity(action.lower())
    return words.text(action) if is_template(action) else clean(action, TEXT_CHARS)


def _names(words: Words, key: str, value: Any) -> Any:
    """Return the name of what a value means, or several; a text with commas is several, a template is one."""
    if isinstance(value, str) and not is_template(value):
        value = [part.strip() for part in value.split(",") if part.strip()]
    names: dict[str, None] = {}
    for one in value if isinstance(value, list | tuple) else [value]:
        place: ar.AreaEntry | fr.FloorEntry | lr.LabelEntry | None = None
        match key:
            case "device_id":
                names[words.device(one)] = None
                continue
            case "area_id":
                place = ar.async_get(words.hass).async_get_area(str(one))
            case "floor_id":
                place = fr.async_get(words.hass).async_get_floor(str(one))
            case "label_id":
                place = lr.async_get(words.hass).async_get_label(str(one))
            case _:
                names[one if one in ("all", "none") else words.entity(one)] = None
                continue
        unknown = "another room" if key == "area_id" else f"another {key.removesuffix('_id')}"
        names[clean(place.name, NAME_CHARS) if place else unknown] = None
    return next(iter(names)) if len(names) == 1 else list(names)


def flow_yaml(value: Any) -> str:
    """Return a value as YAML in flow style, without quotes; an empty one as an empty text."""
    if not value:
        return ""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_yaml, value))}]"
    return str(value)


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


type TextPart = tuple[str, str, int]
"""A part of a text: its label, what it says, and its most characters."""


async def async_configured(
    hass: HomeAssistant, source: TextSource, house: HouseSnapshot
) -> list[KnowledgeDocument]:
    """Return automations, scripts or scenes, one document each, a slice of the loop at a time.

    Shown is what is exposed itself or names an exposed entity. Entities that are not exposed have no names.
    """
    states = sorted(hass.states.async_all(source.value), key=lambda item: item.entity_id)
    return [
        document
        async for state in in_slices(states)
        if (document := _configured(Words(hass, house), source, state))
    ]


def _configured(words: Words, source: TextSource, state: State) -> KnowledgeDocument | None:
    entity_id, exposed = state.entity_id, words.house.entities
    acted_on: Mapping[str, Any]
    if source is TextSource.SCENE:
        platform = words.hass.data.get("homeassistant_scene")
        scene = platform.entities.get(entity_id) if platform is not None else None
        config = getattr(scene, "scene_config", None)
        acted_on = config.states if config is not None else {}
        # Those that live in a bridge have a name and a room only.
        members = [
            {
                "entity_id": words.entity(member),
                "state": words.text(shown.state),
                **(redacted_data(words, shown.domain, shown.attributes) if shown.state != "off" else {}),
            }
            for member, shown in acted_on.items()
            if words.record(member) is not None
        ]
        parts = [("Sets: ", flow_yaml(members[:TOUCHED]), ACTIONS_CHARS)]
    else:
        component = words.hass.data.get(source.value)
        entity = component.get_entity(entity_id) if component is not None else None
        config = getattr(entity, "raw_config", None)
        parts = list(_parts(words, source, config)) if isinstance(config, Mapping) else []
        service = "trigger" if source is TextSource.AUTOMATION else "turn_on"
        acts = effects(words.hass, source.value, service, [entity_id])
        acted_on = dict.fromkeys(effect.entity_id for effect in acts if effect.entity_id)
    touched = [key for key in acted_on if key in exposed and key != entity_id]
    listed = [words.placed(key) for key in touched[:TOUCHED]]
    if len(touched) > TOUCHED:
        listed.append(f"{len(touched) - TOUCHED} more")
    own = (entity_id,) if entity_id in exposed else ()
    entity_ids = tuple(dict.fromkeys((*own, *touched, *words.named)))
    if not entity_ids:
        return None
    title = clean(str(state.name), NAME_CHARS) or entity_id
    sentences = [f"{label}{cut(text, limit)}." for label, text, limit in parts if text]
    if listed:
        sentences.append(f"Touches: {together(listed, limit=TOUCHED + 1)}.")
    return KnowledgeDocument(
        id=f"{source}:{entity_id.partition('.')[2]}",
        source=source,
        title=title,
        text=" ".join((f"{title}.", *sentences)),
        entity_ids=entity_ids,
    )


def _parts(words: Words, source: TextSource, config: Mapping[str, Any]) -> Iterator[TextPart]:
    description = words.text(str(config.get("description") or ""), DESCRIPTION_CHARS)
    yield "", description.rstrip("."), DESCRIPTION_CHARS
    if source is TextSource.AUTOMATION:
        for key, label, limit in AUTOMATION_PARTS:
            yield label, redacted_yaml(words, config.get(f"{key}s", config.get(key))), limit
        return
    fields = config.get("fields")
    if isinstance(fields, Mapping):
        names = (
            clean(str(name or key).replace("_", " "), NAME_CHARS)
            for key, field in fields.items()
            for name in [field.get("name") if isinstance(field, Mapping) else None]
        )
        yield "Asks for: ", together(names, limit=FIELDS), CONDITIONS_CHARS
    yield "Does: ", redacted_yaml(words, config.get("sequence")), ACTIONS_CHARS


MAX_LISTED: Final = 30
"""Entities named of one room; of the others the number is said."""


async def async_places(house: HouseSnapshot) -> list[KnowledgeDocument]:
    """Return a document for each room and each floor with something exposed in it."""
    documents = [_place(house, place, [place]) async for place in in_slices(house.areas.values())]
    async for floor in in_slices(house.floors.values()):
        rooms = [area for area in house.areas.values() if area.floor_id == floor.floor_id]
        documents.append(_place(house, floor, rooms))
    return [document for document in documents if document is not None]


def _place(house: HouseSnapshot, place: Area | Floor, rooms: Sequence[Area]) -> KnowledgeDocument | None:
    """Return the document of a room, or of a floor with its rooms; None if nothing is in it."""
    records = [one for room in rooms for one in house.in_area(room.area_id) if one.category is None]
    if not records:
        return None
    name = clean(place.name, NAME_CHARS)
    counted = Counter(record.domain for record in records)
    counts = together(
        (
            f"{count} {kind(domain) if count > 1 else domain.replace('_', ' ')}"
            for domain, count in counted.items()
        ),
        limit=MAX_LISTED,
    )
    if isinstance(place, Area):
        floor = house.floors.get(place.floor_id or "")
        about = f"A room on {clean(floor.name, NAME_CHARS)}." if floor else "A room."
        measures = {"binary_sensor", "sensor"}
        records_shown = sorted(records, key=lambda one: (one.domain in measures, one.entity_id))
        inside = f"In it: {counts}. {_listed(one.name for one in records_shown)}."
    else:
        level = f" (level {place.level})" if place.level is not None else ""
        about = f"A floor{level} with {_listed(room.name for room in rooms)}."
        inside = f"On it: {counts}."
    also = [f"Also called {_listed(place.aliases)}."] if place.aliases else []
    return KnowledgeDocument(
        id=f"area:{place.area_id}" if isinstance(place, Area) else f"floor:{place.floor_id}",
        source=TextSource.AREA,
        title=name,
        text=" ".join((f"{name}.", about, *also, inside)),
        entity_ids=tuple(record.entity_id for record in records),
    )


def _listed(names: Iterable[str]) -> str:
    return together((clean(name, NAME_CHARS) for name in names), limit=MAX_LISTED)


def entity_text(record: EntityRecord, house: HouseSnapshot, class_words: ClassWords) -> str:
    """Return the text of an entity: names, kind, place and device, in the language of the class words.

    No state is in it, so that a change of state changes no text.
    """
    area = house.areas.get(record.area_id or "")
    floor = house.floors.get(record.floor_id or "")
    parts = (
        record.name,
        *record.aliases,
        class_words.names(record) or record.domain.replace("_", " "),
        *(area.names if area else ()),
        *(floor.names if floor else ()),
        record.device or "",
    )
    return ", ".join(dict.fromkeys(part for part in parts if part))
