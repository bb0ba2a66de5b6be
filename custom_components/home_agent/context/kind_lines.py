"""One line about all entities of a kind: `lights: 5 of 17 on: Sofa Strip, Floor Lamp (complete)`.

The block of states beside a sentence and the results of queries are made of these lines.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from homeassistant.core import State

from ..domains import DOMAINS
from ..domains.base import ANY_CLASS
from ..domains.binary_sensor import BATTERY, BINARY_WORDS, LOW_BATTERY
from ..domains.showing import AT_REST, GONE, number_of
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..texts import clean
from .formats import describe_state

MAX_NAMES: Final = 20
"""Entities that one line names."""
MAX_DETAILS: Final = 4
"""Entities up to which a line tells how bright, how far open or what is playing."""
NAME_CHARS: Final = 60
COMPLETE: Final = "(complete)"
MORE: Final = "+{} more (ha_query)"

type Member = tuple[EntityRecord, State]


@dataclass(frozen=True, slots=True)
class KindLine:
    """One line about a kind of entities."""

    text: str
    entity_ids: tuple[str, ...]
    """All entities that the line counts, those that it names first."""
    named: int = 0
    """How many of them it names."""
    left_out: int = 0
    """How many it would name if it were longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """What lines about kinds tell beside the count and the names."""

    place: str = ""
    """Name of the room or floor that the line is about, if it is not about the whole home."""
    resting: bool = False
    """Whether to name those that are off, closed or locked as well."""
    rooms: bool = False
    """Whether names are followed by the room, for a reader who has no list of the home."""
    details: bool = True
    """Whether to tell how bright, how far open or what is playing, where only few are on."""
    max_names: int = MAX_NAMES
    marked: bool = True
    """Whether a line that leaves nothing out says that it is complete."""
    told: Callable[[State], State] | None = None
    """Returns a state with only the texts that a line may show; called for those that it names."""

    def describe(self, member: Member, *, aged: bool = True) -> str:
        """Return the state of an entity in a few words."""
        record, state = member
        return describe_state(state if self.told is None else self.told(state), record, aged=aged)


DEFAULTS: Final = LineOptions()


@dataclass(frozen=True)
class Draft:
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

    @cached_property
    def _same(self) -> Counter[str]:
        return Counter(record.name for record, _state in self._members)

    def line(self, max_names: int | None = None, *, details: bool = True) -> KindLine:
        """Return the line with at most `max_names` names, and without details unless they are wanted."""
        text, room = self.head, self.options.max_names if max_names is None else max_names
        shown = self.shown or (self.detail if details and self.options.details else None)
        left_out = 0
        ids: list[str] = []
        for words, members in self.parts:
            listed = [self._name(member, shown) for member in members[:room]]
            room -= len(listed)
            left_out += len(members) - len(listed)
            ids += [record.entity_id for record, _state in members[: len(listed)]]
            text += words + ", ".join(listed) if listed else ""
        if left_out:
            text = f"{text}, {MORE.format(left_out)}"
        elif self.options.marked:
            text = f"{text} {COMPLETE}"
        everything = dict.fromkeys((*ids, *(record.entity_id for record, _state in self._members)))
        return KindLine(text, tuple(everything), len(ids), left_out)

    def _name(self, member: Member, shown: Callable[[Member], str] | None) -> str:
        record = member[0]
        parts = [clean(record.name, NAME_CHARS)]
        area = self.house.areas.get(record.area_id or "")
        needed = self.options.rooms or self._same[record.name] > 1
        if area is not None and needed and area.name.casefold() not in record.name.casefold():
            parts.append(f"in {clean(area.name, NAME_CHARS)}")
        if shown is not None and (told := shown(member)):
            parts.append(told)
        return " ".join(parts)


def kind_of(record: EntityRecord) -> str:
    """Return what several entities of this kind are called: "lights", "windows", "temperatures"."""
    several = DOMAINS[record.domain].several
    found = several.get(record.device_class or ANY_CLASS) or several.get(ANY_CLASS)
    if found is None and record.domain in {"sensor", "binary_sensor"} and record.device_class:
        name = record.device_class.replace("_", " ")
        return f"{name} sensors" if record.domain == "binary_sensor" else name
    return found or f"{record.domain.replace('_', ' ')}s"


def kind_lines(
    members: Iterable[Member], house: HouseSnapshot, options: LineOptions = DEFAULTS
) -> list[KindLine]:
    """Return one line for each kind among some entities, in the order in which the kinds come first.

    A group counts only if none of its members is among the entities. Entities that are unavailable are
    counted and named as such. Titles are shown as the states have them, unless `options.told` takes them out.
    """
    return [draft.line() for draft in kind_drafts(members, house, options)]


def kind_drafts(
    members: Iterable[Member], house: HouseSnapshot, options: LineOptions = DEFAULTS
) -> list[Draft]:
    """Return the same lines before it is decided how many names they have."""
    kinds: dict[str, list[Member]] = {}
    for member in without_groups(members):
        kinds.setdefault(kind_of(member[0]), []).append(member)
    return [_draft(kind, found, house, options) for kind, found in kinds.items()]


def kind_counts(members: Iterable[Member]) -> list[str]:
    """Return how many entities of each kind are on: "lights: 5 of 17 on".

    Nothing is counted of what only measures, or of which there is only one.
    """
    kinds: dict[str, list[Member]] = {}
    for member in without_groups(members):
        record = member[0]
        if record.domain != "sensor" or record.device_class == BATTERY:
            kinds.setdefault(kind_of(record), []).append(member)
    return [f"{kind}: {_count(found)}" for kind, found in kinds.items() if len(found) > 1]


def _count(members: Sequence[Member]) -> str:
    """Return how many entities of one kind are on, or low: "5 of 17 on"."""
    record = members[0][0]
    if record.device_class == BATTERY:
        levels = [battery_level(state) for _record, state in members]
        low = sum(level is not None and level <= LOW_BATTERY for level in levels)
        return f"{low or 'none'} of {len(members)} low"
    active = sum(is_active(state) for _record, state in members)
    return f"{active or 'none'} of {len(members)} {state_words(record)[0]}"


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


def offline_draft(members: Iterable[Member], house: HouseSnapshot, options: LineOptions = DEFAULTS) -> Draft:
    """Return the line about the entities that are unavailable."""
    listed = list(members)
    gone = [member for member in listed if member[1].state == "unavailable"]
    count = f"{len(gone) or 'none'} of {len(listed)} unavailable"
    return Draft(f"devices{_in(options)}: {count}", house, options, [(": ", gone)])


def measure_draft(
    kind: str,
    members: Iterable[tuple[Member, float]],
    house: HouseSnapshot,
    options: LineOptions = DEFAULTS,
    shown: Callable[[Member], str] | None = None,
) -> Draft:
    """Return the line about measurements by their numbers, the highest first.

    `shown` returns how a measurement is told, if that is not its state.
    """
    measured = sorted(members, key=lambda one: (-one[1], one[0][0].entity_id))
    order = ", highest first" if len(measured) > 1 else ""
    listed = [member for member, _number in measured]
    return Draft(
        f"{kind}{_in(options)}{order}", house, options, [(": ", listed)], shown=shown or options.describe
    )


def _draft(kind: str, members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> Draft:
    members = sorted(members, key=lambda member: (member[0].area_id or "", member[0].name))
    record = members[0][0]
    if record.device_class == BATTERY:
        return _batteries(kind, members, house, options)
    if record.domain == "sensor":
        return _readings(kind, members, house, options)
    active: list[Member] = []
    resting: list[Member] = []
    gone: list[Member] = []
    for member in members:
        kept = gone if member[1].state in GONE else active if is_active(member[1]) else resting
        kept.append(member)
    word, rest = state_words(record)
    head = f"{kind}{_in(options)}: {len(active) or 'none'} of {len(members)} {word}"
    parts = [(f"; {rest}: ", resting)] if options.resting else []
    detailed = {member[0].entity_id for member in active} if len(active) <= MAX_DETAILS else set()
    return Draft(
        head,
        house,
        options,
        [(": ", active), *parts, ("; unavailable: ", gone)],
        others=members,
        detail=lambda member: _detail(member, word, options) if member[0].entity_id in detailed else "",
    )


def _batteries(kind: str, members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> Draft:
    """Return the line about batteries, the lowest first."""
    levels = {record.entity_id: battery_level(state) for record, state in members}
    known = [member for member in members if levels[member[0].entity_id] is not None]
    known.sort(key=lambda member: (levels[member[0].entity_id] or 0.0, member[0].entity_id))
    low = [member for member in known if (levels[member[0].entity_id] or 0.0) <= LOW_BATTERY]
    gone = [member for member in members if levels[member[0].entity_id] is None]
    return Draft(
        f"{kind}{_in(options)}: {len(low) or 'none'} of {len(members)} low",
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


def _readings(kind: str, members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> Draft:
    """Return the line about what sensors show: numbers with the highest first, else as they are."""
    numbers = [(member, float(member[1].state)) for member in members if number_of(member[1].state)]
    if len(numbers) == len(members):
        return measure_draft(kind, numbers, house, options)
    return Draft(f"{kind}{_in(options)}", house, options, [(": ", members)], shown=options.describe)


def state_words(record: EntityRecord) -> tuple[str, str]:
    """Return the words for the entities of a kind that are active, and for the others."""
    if record.domain == "binary_sensor":
        return BINARY_WORDS.get(record.device_class or "", ("on", "off"))
    facts = DOMAINS[record.domain]
    word = facts.counted or facts.active or "on"
    return word, {"open": "closed", "unlocked": "locked", "home": "away"}.get(word, "off")


def _detail(member: Member, word: str, options: LineOptions) -> str:
    parts = [part for part in options.describe(member, aged=False).split(", ") if part != word]
    return f"({', '.join(parts)})" if parts else ""


def _in(options: LineOptions) -> str:
    return f" in {clean(options.place, NAME_CHARS)}" if options.place else ""
