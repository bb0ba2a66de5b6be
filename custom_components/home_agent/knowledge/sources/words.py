"""Names in place of ids: the words in which automations, scenes and scripts are described.

What is not exposed has no name here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
import re
from typing import Any, Final

from homeassistant.core import HomeAssistant, split_entity_id, valid_entity_id
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.helpers.template import Template

from ...regex import lazy_regex
from ...texts import clean
from ..house import EntityRecord, HouseSnapshot

NAME_CHARS: Final = 60
TEXT_CHARS: Final = 80
MAX_NAMED: Final = 8
"""Things named one by one; of the others the number is said."""
PRIVATE: Final = lazy_regex(r"code|pin\b|pass|token|secret|key|auth|credential|webhook|url", re.IGNORECASE)
"""Names of values that are never shown."""
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
    "homeassistant": "everything",
    "media_player": "media players",
    "switch": "switches",
    "climate": "thermostats",
}


def is_template(value: Any) -> bool:
    """Return whether a value is worked out when it is needed."""
    return isinstance(value, Template) or (isinstance(value, str) and ("{{" in value or "{%" in value))


def kind(domain: str) -> str:
    """Return the name of several entities of a domain."""
    return _KINDS.get(domain, f"{domain.replace('_', ' ')}s")


def together(parts: Iterable[str], word: str = "and", limit: int = MAX_NAMED) -> str:
    """Return distinct parts as a list in words; how many are left out is said."""
    distinct = [part for part in dict.fromkeys(parts) if part]
    if len(distinct) > limit:
        distinct = [*distinct[: limit - 1], f"{len(distinct) - limit + 1} more"]
    if len(distinct) < 2:  # noqa: PLR2004
        return "".join(distinct)
    return f"{', '.join(distinct[:-1])} {word} {distinct[-1]}"


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

    def area(self, value: Any) -> str:
        """Return the name of an area."""
        area = ar.async_get(self.hass).async_get_area(str(value))
        return clean(area.name, NAME_CHARS) if area else "another room"

    def floor(self, value: Any) -> str:
        """Return the name of a floor."""
        floor = fr.async_get(self.hass).async_get_floor(str(value))
        return clean(floor.name, NAME_CHARS) if floor else "another floor"

    def label(self, value: Any) -> str:
        """Return the name of a label."""
        label = lr.async_get(self.hass).async_get_label(str(value))
        return clean(label.name, NAME_CHARS) if label else "another label"

    def text(self, value: Any, limit: int = TEXT_CHARS) -> str:
        """Return a value as short text: templates without ids, long numbers left out."""
        match value:
            case bool():
                return "on" if value else "off"
            case Template() | str():
                return self._written(value, limit)
            case list() | tuple() | set() | frozenset():
                return together((self.text(item, limit) for item in value), limit=4)
            case Mapping():
                shown = {str(key): item for key, item in value.items() if not PRIVATE.search(str(key))}
                parts = [f"{key.replace('_', ' ')} {self.text(item, limit)}" for key, item in shown.items()]
                return clean(", ".join(parts), limit)
        if isinstance(value, float):
            return f"{value:g}"
        return "" if value is None else clean(str(value), limit)

    def _written(self, value: Template | str, limit: int) -> str:
        """Return a text, or a template, without what is not to be shown."""
        if is_template(value):
            return self.template(value)
        text = str(value)
        return self.entity(text) if self._is_entity(text) else _DIGITS.sub("…", clean(text, limit))

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
