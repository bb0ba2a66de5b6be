"""One line about all entities of a kind: `lights: 5 of 17 on: Sofa Strip, Floor Lamp (complete)`.

The block of states beside a sentence and the results of queries are made of these lines.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import islice
from math import isfinite
from typing import Any, Final, NamedTuple

from homeassistant.core import State
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..domains import DOMAINS
from ..domains.base import ANY_CLASS
from ..domains.binary_sensor import BATTERY, BINARY_WORDS, LOW_BATTERY
from ..domains.showing import AT_REST, GONE, moment, number_of, pick, with_unit, word_or_quote
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
    match value:
        case bool() | None:
            return value
        case Enum():  # a private name marks a sentinel
            return None if value.name.startswith("_") else plain(value.value, depth)
        case int():  # as text where JSON readers would round it
            return int(value) if abs(value) <= MAX_INTEGER else one_line(hex(value))
        case float() | Decimal():
            return round(float(value), 5) if isfinite(value) else None
        case str():
            return one_line(value)
        case datetime():
            return dt_util.as_local(value).isoformat(timespec="seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return format_span(value.total_seconds())
        case bytes() | bytearray() | memoryview():
            return f"{len(value)} bytes"
        case Mapping() | set() | frozenset() | list() | tuple() if not depth:
            return f"… ({len(value)} items)"
        case Mapping():
            items: dict[str, JsonValueType] = {
                str(plain(key)): plain(item, depth - 1) for key, item in islice(value.items(), MAX_ITEMS)
            }
            if len(value) > MAX_ITEMS:
                items["…"] = f"and {len(value) - MAX_ITEMS} more"
            return items
        case set() | frozenset() | list() | tuple():
            ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            listed = [plain(item, depth - 1) for item in islice(ordered, MAX_ITEMS)]
            if len(value) > MAX_ITEMS:
                listed.append(f"… and {len(value) - MAX_ITEMS} more")
            return listed
    if type(value).__str__ is not object.__str__ or type(value).__repr__ is not object.__repr__:
        with suppress(Exception):  # the object's own code runs here
            return one_line(str(value))
    return None


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
    device_class = str(state.attributes.get("device_class") or (record.device_class if record else ""))
    if facts.is_moment or device_class == "timestamp":
        value = moment(state.state)
    elif state.domain == "binary_sensor":
        value = pick(BINARY_WORDS.get(device_class, ("on", "off")), state.state)
    elif facts.say is not None:
        value = facts.say(state)
    elif number := number_of(state.state):
        value = with_unit(number, str(state.attributes.get("unit_of_measurement") or ""))
    else:
        value = word_or_quote(PLACES.get(state.state, state.state))
    parts = [value, *(facts.details(state) if facts.details else ())]
    if aged and facts.says_age:
        lasted = (dt_util.utcnow() - state.last_changed).total_seconds()
        parts.append(f"for {format_largest(lasted)}" if lasted >= LASTING_SECONDS else "")
    elif aged and state.domain == "sensor" and state.attributes.get("state_class"):
        old = (dt_util.utcnow() - state.last_reported).total_seconds()
        parts.append(f"{format_largest(old)} old" if old >= STALE_SECONDS else "")
    return ", ".join(part for part in parts if part)


VALUE_CHARS: Final = 100
MAX_ABILITIES: Final = 6
MAX_ATTRIBUTES: Final = 12
HIDDEN: Final = frozenset({"access_token", "code", "entity_picture", "entity_picture_local", "token"})
"""Attributes that are keys, or addresses with a key in them."""


FORMATS: Final[Mapping[str, str]] = {
    "compact": "States, others by ha_query:",
    "json": "States as JSON, others by ha_query:",
    "natural_language": "What is so now, other states by ha_query:",
    "hybrid": "States with exact values as JSON, others by ha_query:",
}
"""Per format: the heading."""
REASONS: Final = "reasons only by ha_query with why"


def _framed(text: str) -> str:
    """Return the words of a text with a space before and behind each."""
    return f" {' '.join(words(text))} "


@cache
def _reasons(language: str) -> tuple[str, ...]:
    return tuple(map(_framed, phrases(language, "questions.reasons")))


class StateWriter:
    """Writes entities in the format and with the attributes that the options choose."""

    def __init__(self, name: str, attributes: Sequence[str]) -> None:
        self._format = name if name in FORMATS else "compact"
        self._attributes: list[tuple[str, str]] = []
        """The pattern of the entities and that of the attribute: `climate.*: temperature`, or for all."""
        for attribute in attributes:
            entity, colon, name = attribute.rpartition(":")
            self._attributes.append((entity.strip() if colon else "*", name.strip()))
        self.brief = self._format == "compact" and not attributes
        """Whether a line is as short as it can be."""

    def heading_for(self, sentence: str, language: str) -> str:
        """Return the heading; for a question about reasons it says where they are, as no state tells them."""
        said = _framed(sentence)
        asks_why = any(reason in said for reason in _reasons(find(language) or DEFAULT))
        heading = FORMATS[self._format]
        return heading.replace(":", f"; {REASONS}:") if asks_why else heading

    def line(self, record: EntityRecord, state: State, house: HouseSnapshot, *, introduced: bool) -> str:
        """Return the line of one entity.

        It may be introduced with name, place and abilities, which the catalogue of a large home omits.
        """
        attributes = self._chosen(state)
        area = house.areas.get(record.area_id or "")
        place = area.name if area else ""
        means, abilities = describe_state(state, record), record.abilities[:MAX_ABILITIES]
        if self._format == "json":
            content: dict[str, Any] = {
                "entity_id": record.entity_id,
                "name": clean(record.name, NAME_CHARS),
                "area": clean(place, NAME_CHARS),
                "state": clean(state.state, NAME_CHARS),
                "means": means,
                "abilities": list(abilities) if introduced else [],
                "attributes": attributes,
            }
            if content["means"] == content["state"]:
                del content["means"]
            return json_dumps({key: value for key, value in content.items() if value not in ("", [], {})})
        if self._format == "natural_language":
            where = f" in {quoted(place, NAME_CHARS)}" if place else ""
            words = f"{quoted(record.name, NAME_CHARS)} ({record.entity_id}){where} is {means}"
            if attributes:
                values = (
                    f"its {name.replace('_', ' ')} is {_value(one)}" for name, one in attributes.items()
                )
                words = f"{words}; {', '.join(values)}"
            return f"{words}; it can do {', '.join(abilities)}." if introduced and abilities else f"{words}."
        subject = introduction(record, house) if introduced else record.entity_id
        if self._format == "hybrid":  # the state in words, behind it the exact values
            exact = {"state": clean(state.state, NAME_CHARS), **attributes}
            return f"{subject}: {means} {json_dumps(exact)}"
        return (
            f"{subject}: {', '.join((means, *(f'{name} {_value(one)}' for name, one in attributes.items())))}"
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


def introduction(record: EntityRecord, house: HouseSnapshot) -> str:
    """Return an entity with the name, place and abilities that the catalogue of a large home omits."""
    area = house.areas.get(record.area_id) if record.area_id else None
    place = f" in {quoted(area.name, NAME_CHARS)}" if area else ""
    abilities = f" [{','.join(record.abilities[:MAX_ABILITIES])}]" if record.abilities else ""
    return f"{record.entity_id} {quoted(record.name, NAME_CHARS)}{place}{abilities}"


def _value(value: Any) -> str:
    """Return a value as text; texts are in quotes."""
    return quoted(value, VALUE_CHARS) if isinstance(value, str) else json_dumps(value)


MAX_NAMES: Final = 20
"""Entities that one line names."""
MAX_DETAILS: Final = 4
"""Entities up to which a line tells how bright, how far open or what is playing."""
NAME_CHARS: Final = 60
COMPLETE: Final = "(complete)"
MORE: Final = "+{} more (ha_query)"

type Member = tuple[EntityRecord, State]


class KindLine(NamedTuple):
    """One line about a kind of entities."""

    text: str
    entity_ids: tuple[str, ...]
    """All entities that the line counts, those that it names first."""
    named: int = 0
    """How many of them it names."""


class LineOptions(NamedTuple):
    """What lines about kinds tell beside the count and the names."""

    place: str = ""
    """Name of the room or floor that the line is about, if it is not about the whole home."""
    resting: bool = False
    """Whether to name those that are off, closed or locked as well."""
    rooms: bool = False
    """Whether names are followed by the room, for a reader who has no list of the home."""
    details: bool = True
    """Whether to tell how bright, how far open or what is playing, where only few are on."""
    told: Callable[[State], State] | None = None
    """Returns a state with only the texts that a line may show; called for those that it names."""

    @property
    def where(self) -> str:
        """Return the words for the place."""
        return f" in {clean(self.place, NAME_CHARS)}" if self.place else ""

    def describe(self, member: Member, *, aged: bool = True) -> str:
        """Return the state of an entity in a few words."""
        record, state = member
        return describe_state(state if self.told is None else self.told(state), record, aged=aged)


DEFAULTS: Final = LineOptions()


@dataclass(frozen=True)
class LineDraft:
    """A line about a kind before it is decided how many names it has."""

    head: str
    house: HouseSnapshot
    options: LineOptions
    parts: Sequence[tuple[str, Sequence[Member]]]
    """The entities to be named, with the words before them; those that matter most come first."""
    others: Sequence[Member] = ()
    """All entities that the line counts, if they are not all in `parts`."""
    shown: Callable[[Member], str] | None = None
    """Returns what is told of an entity behind its name."""
    detail: Callable[[Member], str] | None = None
    """The same where it may be left out."""

    @cached_property
    def _members(self) -> Sequence[Member]:
        return self.others or [member for _words, members in self.parts for member in members]

    def line(self, max_names: int = MAX_NAMES, *, details: bool = True) -> KindLine:
        """Return the line with at most `max_names` names, and without details unless they are wanted.

        One that leaves nothing out says that it is complete.
        """
        text, room = self.head, max_names
        shown = self.shown or (self.detail if details and self.options.details else None)
        left_out = 0
        ids: list[str] = []
        same = Counter(record.name for record, _state in self._members)

        def named(member: Member) -> str:
            record = member[0]
            parts = [clean(record.name, NAME_CHARS)]
            area = self.house.areas.get(record.area_id or "")
            needed = self.options.rooms or same[record.name] > 1
            if area is not None and needed and area.name.casefold() not in record.name.casefold():
                parts.append(f"in {clean(area.name, NAME_CHARS)}")
            if shown is not None and (told := shown(member)):
                parts.append(told)
            return " ".join(parts)

        for lead, members in self.parts:
            listed = [named(member) for member in members[:room]]
            room -= len(listed)
            left_out += len(members) - len(listed)
            ids += [record.entity_id for record, _state in members[: len(listed)]]
            text += lead + ", ".join(listed) if listed else ""
        text += f", {MORE.format(left_out)}" if left_out else f" {COMPLETE}"
        everything = dict.fromkeys((*ids, *(record.entity_id for record, _state in self._members)))
        return KindLine(text, tuple(everything), len(ids))


def kind_of(record: EntityRecord) -> str:
    """Return what several entities of this kind are called: "lights", "windows", "temperatures"."""
    several = DOMAINS[record.domain].several
    found = several.get(record.device_class or ANY_CLASS) or several.get(ANY_CLASS)
    if found is None and record.domain in {"sensor", "binary_sensor"} and record.device_class:
        name = record.device_class.replace("_", " ")
        return f"{name} sensors" if record.domain == "binary_sensor" else name
    return found or f"{record.domain.replace('_', ' ')}s"


def kind_drafts(
    members: Iterable[Member], house: HouseSnapshot, options: LineOptions = DEFAULTS
) -> list[LineDraft]:
    """Return one line for each kind among some entities, before it is decided how many names they have.

    A group counts only if none of its members is among the entities. Entities that are unavailable are
    counted and named as such. Titles are shown as the states have them, unless `options.told` takes them out.
    """
    return [_draft(kind, found, house, options) for kind, found in members_by_kind(members).items()]


def members_by_kind(members: Iterable[Member]) -> Mapping[str, list[Member]]:
    """Return entities by what several of their kind are called; a group counts only without its members."""
    kinds: dict[str, list[Member]] = {}
    for member in without_groups(members):
        kinds.setdefault(kind_of(member[0]), []).append(member)
    return kinds


def kind_counts(members: Iterable[Member]) -> list[str]:
    """Return how many entities of each kind are on: "lights: 5 of 17 on".

    Nothing is counted of what only measures, or of which there is only one.
    """
    lines = []
    for kind, found in members_by_kind(members).items():
        record = found[0][0]
        if len(found) == 1 or (record.domain == "sensor" and record.device_class != BATTERY):
            continue
        if record.device_class == BATTERY:
            levels = (battery_level(state) for _record, state in found)
            count, word = sum(level is not None and level <= LOW_BATTERY for level in levels), "low"
        else:
            count, word = sum(is_active(state) for _record, state in found), state_words(record)[0]
        lines.append(f"{kind}: {count or 'none'} of {len(found)} {word}")
    return lines


def without_groups(members: Iterable[Member]) -> list[Member]:
    """Return entities without the groups of which a member is among them."""
    listed = list(members)
    known = {record.entity_id for record, _state in listed}
    return [(record, state) for record, state in listed if known.isdisjoint(members_of(state))]


def members_of(state: State) -> Sequence[str]:
    """Return the entities of which a group consists; none for an entity that is no group."""
    found = state.attributes.get("entity_id")
    return [str(one) for one in found] if isinstance(found, list | tuple) else ()


def is_active(state: State) -> bool:
    """Return whether an entity is on, open, unlocked, playing or at work."""
    return state.state not in AT_REST and state.state not in GONE


def offline_draft(
    members: Iterable[Member], house: HouseSnapshot, options: LineOptions = DEFAULTS
) -> LineDraft:
    """Return the line about the entities that are unavailable."""
    listed = list(members)
    gone = [member for member in listed if member[1].state == "unavailable"]
    count = f"{len(gone) or 'none'} of {len(listed)} unavailable"
    return LineDraft(f"devices{options.where}: {count}", house, options, [(": ", gone)])


def measure_draft(
    kind: str,
    members: Iterable[tuple[Member, float]],
    house: HouseSnapshot,
    options: LineOptions = DEFAULTS,
    shown: Callable[[Member], str] | None = None,
) -> LineDraft:
    """Return the line about measurements by their numbers, the highest first.

    `shown` returns how a measurement is told, if that is not its state.
    """
    measured = sorted(members, key=lambda one: (-one[1], one[0][0].entity_id))
    order = ", highest first" if len(measured) > 1 else ""
    listed = [member for member, _number in measured]
    return LineDraft(
        f"{kind}{options.where}{order}", house, options, [(": ", listed)], shown=shown or options.describe
    )


def _draft(kind: str, members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> LineDraft:
    members = sorted(members, key=lambda member: (member[0].area_id or "", member[0].name))
    record = members[0][0]
    if record.device_class == BATTERY:
        return _batteries(kind, members, house, options)
    if record.domain == "sensor":
        numbers = [(member, float(member[1].state)) for member in members if number_of(member[1].state)]
        if len(numbers) == len(members):
            return measure_draft(kind, numbers, house, options)
        return LineDraft(f"{kind}{options.where}", house, options, [(": ", members)], shown=options.describe)
    active: list[Member] = []
    resting: list[Member] = []
    gone: list[Member] = []
    for member in members:
        kept = gone if member[1].state in GONE else active if is_active(member[1]) else resting
        kept.append(member)
    word, rest = state_words(record)
    head = f"{kind}{options.where}: {len(active) or 'none'} of {len(members)} {word}"
    parts = [(f"; {rest}: ", resting)] if options.resting else []
    detailed = {record.entity_id for record, _state in active} if len(active) <= MAX_DETAILS else set()

    def detail(member: Member) -> str:
        """Return what is told of one that is active, beside that it is."""
        parts = options.describe(member, aged=False).split(", ") if member[0].entity_id in detailed else ()
        told = ", ".join(part for part in parts if part != word)
        return f"({told})" if told else ""

    return LineDraft(
        head,
        house,
        options,
        [(": ", active), *parts, ("; unavailable: ", gone)],
        others=members,
        detail=detail,
    )


def _batteries(kind: str, members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> LineDraft:
    """Return the line about batteries, the lowest first."""
    levels = {record.entity_id: battery_level(state) for record, state in members}
    known = [member for member in members if levels[member[0].entity_id] is not None]
    known.sort(key=lambda member: (levels[member[0].entity_id] or 0.0, member[0].entity_id))
    low = [member for member in known if (levels[member[0].entity_id] or 0.0) <= LOW_BATTERY]
    gone = [member for member in members if levels[member[0].entity_id] is None]
    return LineDraft(
        f"{kind}{options.where}: {len(low) or 'none'} of {len(members)} low",
        house,
        options,
        [(": ", low), ("; others: ", known[len(low) :]), ("; unavailable: ", gone)],
        shown=lambda member: (
            "" if levels[member[0].entity_id] is None else options.describe(member).partition(",")[0]
        ),
    )


def battery_level(state: State) -> float | None:
    """Return the charge of a battery; one that only tells whether it is low counts as empty or full."""
    if state.domain == "binary_sensor":
        return {"on": 0.0, "off": 100.0}.get(state.state)
    return float(state.state) if number_of(state.state) else None


def state_words(record: EntityRecord) -> tuple[str, str]:
    """Return the words for the entities of a kind that are active, and for the others."""
    if record.domain == "binary_sensor":
        return BINARY_WORDS.get(record.device_class or "", ("on", "off"))
    facts = DOMAINS[record.domain]
    word = facts.counted or facts.active or "on"
    return word, {"open": "closed", "unlocked": "locked", "home": "away"}.get(word, "off")
