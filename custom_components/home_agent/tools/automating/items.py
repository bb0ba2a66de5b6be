"""Triggers and conditions as models write them, under the slots they belong to."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.core import valid_entity_id

from ...errors import ValidationError
from ...literals import opened
from ..resolving.resolver import NO_VALUE

MAX_ITEMS: Final = 10
"""Triggers, conditions or actions of one automation."""
TEMPLATE_MARKS: Final = ("{{", "{%", "{#")
KIND: Final = "kind"
SENTENCE: Final = "sentence"
"""The slot of a clause that was written as text."""
SLOTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("entity", "entity_id", "entity_ids", "entities", "device", "sensor", "name"), "entity"),
    **dict.fromkeys(("area", "area_id", "room"), "area"),
    **dict.fromkeys(("floor", "floor_id"), "floor"),
    "domain": "domain",
    "device_class": "device_class",
    **dict.fromkeys(("to", "state", "is", "becomes", "value", "equals", "to_state", "changes_to"), "to"),
    **dict.fromkeys(("from", "from_state", "was"), "from"),
    **dict.fromkeys(("above", "over", "more_than", "greater_than", "gt", "higher_than", "min"), "above"),
    **dict.fromkeys(("below", "under", "less_than", "lower_than", "lt", "max"), "below"),
    **dict.fromkeys(("for", "duration", "hold", "for_duration"), "for"),
    **dict.fromkeys(("time", "at", "when", "clock"), "time"),
    **dict.fromkeys(("after", "start", "since"), "after"),
    **dict.fromkeys(("before", "end", "until"), "before"),
    **dict.fromkeys(("days", "day", "weekday", "weekdays", "repeat", "on_days"), "days"),
    **dict.fromkeys(("person", "who", "user", "people", "persons"), "person"),
    **dict.fromkeys(("event", "moves", "change"), "event"),
    **dict.fromkeys(("zone", "place", "location"), "zone"),
    "sun": "sun",
    "offset": "offset",
    **dict.fromkeys(("trigger", "platform", "condition", "type", "kind"), KIND),
    SENTENCE: SENTENCE,
}
"""Slots of a clause by what models call them."""
IGNORED: Final = frozenset({"id", "alias", "enabled", "description", "options", "behavior", "not_from"})
PLAIN_KINDS: Final = frozenset({"state", "numeric_state", "time", "sun", "zone", "person", "presence"})
"""Kinds that the slots tell by themselves."""
OTHER_KINDS: Final = frozenset(
    {
        *(
            "template",
            "event",
            "webhook",
            "mqtt",
            "tag",
            "device",
            "conversation",
            "calendar",
            "time_pattern",
        ),
        *("geo_location", "homeassistant", "persistent_notification", "trigger", "or", "and", "not"),
    }
)
FORMS: Final = (
    "{entity, to, for}, {entity, above or below, for}, {time: 22:30 or sunset - 30 minutes, days}, "
    "{person: me, to: home or away}, {person: nobody, to: home}"
)
CONDITION_FORMS: Final = f"{FORMS}, {{after: 22:00, before: 6:00, days}}"

type Item = dict[str, Any]


def read_items(value: Any, slot: str, forms: str = FORMS) -> list[Item]:
    """Return triggers or conditions by their slots. Raises ValidationError for anything else."""
    found = [_in_slots(item, slot, forms) for item in _each(value)]
    if len(found) > MAX_ITEMS:
        raise ValidationError(f"{slot}: at most {MAX_ITEMS}")
    return found


def _each(value: Any) -> Iterator[Any]:
    """Yield the items of a value: one, a list, or JSON text."""
    value = opened(value)
    if value is None or (isinstance(value, str) and value.strip().casefold() in NO_VALUE):
        return
    if isinstance(value, list | tuple):
        for item in value:
            yield from _each(item)
    else:
        yield value


def _in_slots(item: Any, slot: str, forms: str) -> Item:
    if isinstance(item, str):
        return {SENTENCE: check_plain(item, slot)}
    if not isinstance(item, Mapping):
        raise ValidationError(f"{slot}: {str(item)[:40]!r} is not understood. Give {forms}")
    found: Item = {}
    for key, value in _flat(item):
        name = SLOTS.get(str(key).strip().casefold().replace(" ", "_"))
        if name is None and key not in IGNORED:
            raise ValidationError(f"{slot}: {str(key)[:40]!r} is no part of it. Give {forms}")
        if name is None or _is_nothing(value):
            continue
        if isinstance(value, str):
            check_plain(value, slot)
        found.setdefault(name, value)
    if kind := str(found.pop(KIND, "")).strip():
        _read_kind(found, kind, slot, forms)
    if not found:
        raise ValidationError(f"{slot}: something is missing. Give {forms}")
    return found


def _flat(item: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of an item, and those of an object that holds the target or the options."""
    for key, value in item.items():
        is_holder = str(key) in ("options", "target", "trigger", "condition", "data")
        if is_holder and isinstance(value, Mapping):
            yield from _flat(value)
        elif key == "target":
            yield "entity", value
        else:
            yield key, value


def _read_kind(found: Item, kind: str, slot: str, forms: str) -> None:
    """Put what a kind says where it belongs: it may be the entity, an event of the sun, or a sentence."""
    word = kind.casefold()
    if word in PLAIN_KINDS:
        return
    if word in OTHER_KINDS:
        raise ValidationError(f"{slot}: {kind[:40]!r} is not available here. Give {forms}")
    if valid_entity_id(word):
        found.setdefault("entity", word)
    elif word in ("sunset", "sunrise"):
        found.setdefault("sun", word)
    elif "entity" in found or "person" in found:
        found.setdefault("event", kind)
    else:
        found.setdefault(SENTENCE, check_plain(kind, slot))


def check_plain(text: str, slot: str) -> str:
    """Return a text. Raises ValidationError for a template."""
    if any(mark in text for mark in TEMPLATE_MARKS):
        raise ValidationError(f"{slot}: templates are not available; write plain values")
    return text.strip()


def _is_nothing(value: Any) -> bool:
    """Return whether a value says nothing; "any" and "unknown" may be people and states."""
    if isinstance(value, str):
        return value.strip().casefold() in ("", "null", "none")
    return value is None or (isinstance(value, list | dict) and not value)
