"""How an entity with its state is written beside a sentence: as a table of formats."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fnmatch import fnmatchcase
from itertools import islice
from math import isfinite
from typing import Any, Final, NamedTuple

from homeassistant.core import State
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..domains import DOMAINS
from ..domains.base import DomainFacts
from ..domains.binary_sensor import BINARY_WORDS
from ..domains.showing import GONE, moment, number_of, pick, with_unit, word_or_quote
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..languages import DEFAULT, find, words as phrases
from ..texts import clean, one_line, quoted, words
from ..timespans import format_largest, format_span

MAX_ITEMS = 20
MAX_DEPTH = 3
MAX_INTEGER = 2**63 - 1


def plain(value: object, depth: int = MAX_DEPTH) -> JsonValueType:
    """Return a value as JSON-compatible data and a model can read it; None for what says nothing.

    Times are local, long texts and collections are cut and say so, NaN and sentinels become None.
    """
    for types, convert in _CONVERTERS:
        if isinstance(value, types):
            return convert(value, depth)
    return _unknown(value)


def _enum(value: Enum, depth: int) -> JsonValueType:
    """Return the meaning of a member; a private name marks a sentinel."""
    return None if value.name.startswith("_") else plain(value.value, depth)


def _integer(value: int, _depth: int) -> JsonValueType:
    """Return a whole number, as text where JSON readers would round it."""
    return int(value) if abs(value) <= MAX_INTEGER else one_line(hex(value))


def _number(value: float | Decimal, _depth: int) -> JsonValueType:
    return round(float(value), 5) if isfinite(value) else None


def _moment(value: datetime, _depth: int) -> JsonValueType:
    """Return a point in time as local ISO text."""
    return dt_util.as_local(value).isoformat(timespec="seconds")


def _mapping(value: Mapping[object, object], depth: int) -> JsonValueType:
    """Return the first items of a mapping under text keys."""
    if not depth:
        return f"… ({len(value)} items)"
    items: dict[str, JsonValueType] = {
        str(plain(key)): plain(item, depth - 1) for key, item in islice(value.items(), MAX_ITEMS)
    }
    if len(value) > MAX_ITEMS:
        items["…"] = f"and {len(value) - MAX_ITEMS} more"
    return items


def _collection(value: Collection[object], depth: int) -> JsonValueType:
    """Return the first items of a list or a set."""
    if not depth:
        return f"… ({len(value)} items)"
    ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    items = [plain(item, depth - 1) for item in islice(ordered, MAX_ITEMS)]
    if len(value) > MAX_ITEMS:
        items.append(f"… and {len(value) - MAX_ITEMS} more")
    return items


def _unknown(value: object) -> JsonValueType:
    if type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__:
        return None
    with suppress(Exception):  # the object's own code runs here
        return one_line(str(value))
    return None


_CONVERTERS: tuple[tuple[Any, Callable[[Any, int], JsonValueType]], ...] = (
    ((bool, type(None)), lambda value, _depth: value),
    (Enum, _enum),
    (int, _integer),
    ((float, Decimal), _number),
    (str, lambda value, _depth: one_line(value)),
    (datetime, _moment),
    ((date, time), lambda value, _depth: value.isoformat()),
    (timedelta, lambda value, _depth: format_span(value.total_seconds())),
    ((bytes, bytearray, memoryview), lambda value, _depth: f"{len(value)} bytes"),
    (Mapping, _mapping),
    ((set, frozenset, list, tuple), _collection),
)


LASTING_SECONDS: Final = 60
"""Age from which the age of a state is included."""
STALE_SECONDS: Final = 3600
"""Age from which a reading is said to be old."""
PLACES: Final = {"not_home": "away"}


def describe_state(state: State | None, record: EntityRecord | None = None, *, aged: bool = True) -> str:
    """Return a short description of a state, with unit, and if `aged` with its age where that matters.

    Text that comes from outside, such as titles, is in quotes and is cut.
    """
    if state is None:
        return "unknown"
    facts = DOMAINS[state.domain]
    if state.state in GONE:
        return "never used" if facts.is_moment and state.state == "unknown" else state.state
    parts = [_main(facts, state, record), *(facts.details(state) if facts.details else ())]
    if aged and (age := _age_of(facts, state)):
        parts.append(age)
    return ", ".join(part for part in parts if part)


def _main(facts: DomainFacts, state: State, record: EntityRecord | None) -> str:
    device_class = str(state.attributes.get("device_class") or (record.device_class if record else ""))
    if facts.is_moment or device_class == "timestamp":
        return moment(state.state)
    if state.domain == "binary_sensor":
        return pick(BINARY_WORDS.get(device_class, ("on", "off")), state.state)
    if facts.say is not None:
        return facts.say(state)
    unit = str(state.attributes.get("unit_of_measurement") or "")
    number = number_of(state.state)
    return with_unit(number, unit) if number else word_or_quote(PLACES.get(state.state, state.state))


def _age_of(facts: DomainFacts, state: State) -> str:
    """Return how long a state has lasted, or how old a reading is, where that matters."""
    now = dt_util.utcnow()
    if facts.says_age:
        lasted = (now - state.last_changed).total_seconds()
        return f"for {format_largest(lasted)}" if lasted >= LASTING_SECONDS else ""
    if state.domain == "sensor" and state.attributes.get("state_class"):
        old = (now - state.last_reported).total_seconds()
        return f"{format_largest(old)} old" if old >= STALE_SECONDS else ""
    return ""


NAME_CHARS: Final = 60
VALUE_CHARS: Final = 100
MAX_ABILITIES: Final = 6
MAX_ATTRIBUTES: Final = 12
HIDDEN: Final = frozenset({"access_token", "code", "entity_picture", "entity_picture_local", "token"})
"""Attributes that are keys, or addresses with a key in them."""


class ShownEntity(NamedTuple):
    """One entity as it is to be shown."""

    record: EntityRecord
    state: State
    house: HouseSnapshot
    introduced: bool
    """Whether to include name, place and abilities, which the catalogue of a large home omits."""
    attributes: Mapping[str, Any]
    """Those that a person chose."""

    @property
    def area(self) -> str:
        """Return the name of the area, or an empty text."""
        area = self.house.areas.get(self.record.area_id or "")
        return area.name if area else ""


type Writer = Callable[[ShownEntity], str]


def compact(shown: ShownEntity) -> str:
    """Return the id with its introduction, and the state in a few words."""
    record = shown.record
    subject = introduced(record, shown.house) if shown.introduced else record.entity_id
    extra = (f"{name} {_value(value)}" for name, value in shown.attributes.items())
    return f"{subject}: {', '.join((describe_state(shown.state, record), *extra))}"


def as_json(shown: ShownEntity) -> str:
    """Return one JSON object."""
    record = shown.record
    content: dict[str, Any] = {
        "entity_id": record.entity_id,
        "name": clean(record.name, NAME_CHARS),
        "area": clean(shown.area, NAME_CHARS),
        "state": clean(shown.state.state, NAME_CHARS),
        "means": describe_state(shown.state, record),
        "abilities": list(record.abilities[:MAX_ABILITIES]) if shown.introduced else [],
        "attributes": dict(shown.attributes),
    }
    if content["means"] == content["state"]:
        del content["means"]
    return json_dumps({key: value for key, value in content.items() if value not in ("", [], {})})


def sentence(shown: ShownEntity) -> str:
    """Return one sentence."""
    record = shown.record
    place = f" in {quoted(shown.area, NAME_CHARS)}" if shown.area else ""
    subject = f"{quoted(record.name, NAME_CHARS)} ({record.entity_id}){place}"
    words = f"{subject} is {describe_state(shown.state, record)}"
    if shown.attributes:
        told = (
            f"its {name.replace('_', ' ')} is {_value(value)}" for name, value in shown.attributes.items()
        )
        words = f"{words}; {', '.join(told)}"
    if shown.introduced and record.abilities:
        words = f"{words}; it can do {', '.join(record.abilities[:MAX_ABILITIES])}"
    return f"{words}."


def hybrid(shown: ShownEntity) -> str:
    """Return the state in words, behind it the exact values as JSON."""
    content = {"state": clean(shown.state.state, NAME_CHARS), **shown.attributes}
    record = shown.record
    subject = introduced(record, shown.house) if shown.introduced else record.entity_id
    return f"{subject}: {describe_state(shown.state, record)} {json_dumps(content)}"


FORMATS: Final[Mapping[str, tuple[str, Writer]]] = {
    "compact": ("States, others by ha_query:", compact),
    "json": ("States as JSON, others by ha_query:", as_json),
    "natural_language": ("What is so now, other states by ha_query:", sentence),
    "hybrid": ("States with exact values as JSON, others by ha_query:", hybrid),
}
"""Per format: the heading, and how one entity is written."""
REASONS: Final = "reasons only by ha_query with why"


class StateWriter:
    """Writes entities in the format and with the attributes that the options choose."""

    def __init__(self, name: str, attributes: Sequence[str]) -> None:
        self.heading, self._write = FORMATS.get(name, FORMATS["compact"])
        self._attributes = [read_chosen(attribute) for attribute in attributes]
        self.brief = self._write is compact and not attributes
        """Whether a line is as short as it can be."""

    def heading_for(self, sentence: str, language: str) -> str:
        """Return the heading; for a question about reasons it says where they are, as no state tells them."""
        said = f" {' '.join(words(sentence))} "
        reasons = phrases(find(language) or DEFAULT, "questions.reasons")
        asks_why = any(f" {' '.join(words(reason))} " in said for reason in reasons)
        return self.heading.replace(":", f"; {REASONS}:") if asks_why else self.heading

    def line(self, record: EntityRecord, state: State, house: HouseSnapshot, *, introduced: bool) -> str:
        """Return the line of one entity."""
        chosen = self._chosen(state)
        return self._write(
            ShownEntity(record=record, state=state, house=house, introduced=introduced, attributes=chosen)
        )

    def _chosen(self, state: State) -> dict[str, Any]:
        """Return the chosen attributes that an entity has, as plain JSON."""
        found: dict[str, Any] = {}
        patterns = [name for entity, name in self._attributes if fnmatchcase(state.entity_id, entity)]
        for name in state.attributes if patterns else ():
            if len(found) >= MAX_ATTRIBUTES:
                break
            if name in HIDDEN or not any(fnmatchcase(name, pattern) for pattern in patterns):
                continue
            value = plain(state.attributes[name])
            if isinstance(value, str):
                found[name] = clean(value, VALUE_CHARS)
            elif value is not None and len(json_dumps(value)) <= 2 * VALUE_CHARS:
                found[name] = value
        return found


def read_chosen(attribute: str) -> tuple[str, str]:
    """Return the pattern of the entities and that of the attribute: `climate.*: temperature`, or for all."""
    entity, colon, name = attribute.rpartition(":")
    return (entity.strip() if colon else "*", name.strip())


def introduced(record: EntityRecord, house: HouseSnapshot) -> str:
    """Return an entity with the name, place and abilities that the catalogue of a large home omits."""
    area = house.areas.get(record.area_id) if record.area_id else None
    place = f" in {quoted(area.name, NAME_CHARS)}" if area else ""
    abilities = f" [{','.join(record.abilities[:MAX_ABILITIES])}]" if record.abilities else ""
    return f"{record.entity_id} {quoted(record.name, NAME_CHARS)}{place}{abilities}"


def _value(value: Any) -> str:
    """Return a value as text; texts are in quotes."""
    return quoted(value, VALUE_CHARS) if isinstance(value, str) else json_dumps(value)
