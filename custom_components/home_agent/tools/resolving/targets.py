"""Targets as models write them, made plain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from ...literals import parsed

NO_VALUE: Final = frozenset(("", "null", "none", "nil", "n/a", "undefined", "unknown", "any"))
"""What models write where they mean nothing."""
SLOTS: Final = ("entity_id", "name", "area", "floor", "label", "domain", "device_class")
LISTS: Final = ("entity_id", "domain", "device_class")
SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("target_device", "target_entity", "entity", "entity_ids", "entities"), "entity_id"),
    **dict.fromkeys(("names", "friendly_name"), "name"),
    **dict.fromkeys(("area_id", "areas", "room"), "area"),
    **dict.fromkeys(("floor_id", "floors"), "floor"),
    **dict.fromkeys(("label_id", "labels", "tag", "tags"), "label"),
    "domains": "domain",
    "device_classes": "device_class",
}
"""Slots of any tool by what models call them; tools add their own."""
MAX_TEXTS = 100
MAX_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a call is aimed at. All that is given must hold."""

    entity_id: tuple[str, ...] = ()
    name: str | None = None
    area: str | None = None
    floor: str | None = None
    label: str | None = None
    domain: tuple[str, ...] = ()
    device_class: tuple[str, ...] = ()
    everything: bool = False
    """Whether all that fits is meant; from a person, never from a model."""

    @classmethod
    def from_args(cls, args: Mapping[str, Any]) -> Self:
        """Read a tool's arguments: strings or lists, empty or null where nothing is meant."""
        return cls(
            entity_id=texts(args.get("entity_id")),
            name=", ".join(texts(args.get("name"))) or None,
            area=", ".join(texts(args.get("area"))) or None,
            floor=", ".join(texts(args.get("floor"))) or None,
            label=", ".join(texts(args.get("label"))) or None,
            domain=texts(args.get("domain")),
            device_class=texts(args.get("device_class")),
        )

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is aimed at."""
        given = (self.entity_id, self.name, self.area, self.floor, self.label, self.domain, self.device_class)
        return not any(given)


def tidy(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of a target that say something: ids and kinds as lists, names as one text."""
    given = {slot: found for slot in SLOTS if (found := texts(args.get(slot)))}
    return {slot: list(found) if slot in LISTS else ", ".join(found) for slot, found in given.items()}


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts in a value: one, a list, a list written as JSON text; without the empty ones."""
    if isinstance(value, str):
        value = value.strip()
        if value[:1] in "[\"'":
            value = _unquoted(value)
    if isinstance(value, str):
        return () if value.casefold() in NO_VALUE else (value[:MAX_TEXT],)
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(dict.fromkeys(text for item in list(value)[:MAX_TEXTS] for text in texts(item)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (str(value),)
    return ()


def _unquoted(value: str) -> Any:
    """Return what a quoted text or a list written as text holds, the text itself if it is neither."""
    found = parsed(value)
    return found if isinstance(found, (str, list)) and found is not value else value.strip("[]\"' ")
