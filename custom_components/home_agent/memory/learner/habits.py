"""Habits of the home: with ids that stay while they grow and fade."""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from homeassistant.const import STATE_HOME, STATE_NOT_HOME

from ...store import dump, load
from .patterns import EVERY_DAY, IN_USE, MINUTES, TARGET, WEEKEND, WINDOW, WORKDAYS, Habit, Observation

NEAR: Final = 90
"""Minutes by which the time of a habit may move and it is still the same one."""


@dataclass(frozen=True, slots=True)
class HabitKind:
    """The identity of a habit: the act, the days, and the approximate time."""

    subject: str
    value: str
    days: frozenset[int]
    minute: int
    person: str | None = field(default=None, compare=False)
    """Whose habit it was last."""
    others: frozenset[str] = field(default=frozenset(), compare=False)
    """What was done with it at the same moment."""

    def is_same(self, other: HabitKind) -> bool:
        """Return whether this is another state of the same habit."""
        apart = abs(self.minute - other.minute)
        return (
            self.value == other.value
            and not {self.subject, *self.others}.isdisjoint((other.subject, *other.others))
            and not self.days.isdisjoint(other.days)
            and min(apart, MINUTES - apart) <= NEAR
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHabit:
    """A habit that was found, as it is remembered and spoken of."""

    id: str
    """Also that of its memory."""
    habit: Habit
    name: str
    """Of the entity, or of the entities."""
    who: str
    """The person's name; empty where it is the household's."""
    text: str
    """One sentence in the language of the home."""

    @property
    def kind(self) -> HabitKind:
        """Return the identity of the habit."""
        return kind_of(self.habit)


def kind_of(habit: Habit) -> HabitKind:
    """Return the identity of a habit."""
    return HabitKind(
        habit.subject, habit.value, habit.days, habit.minute, habit.person, frozenset(habit.others)
    )


def find_same(kind: HabitKind, habits: Iterable[KnownHabit]) -> KnownHabit | None:
    """Return the habit that is the same."""
    return next((known for known in habits if known.kind.is_same(kind)), None)


def dump_habit(known: KnownHabit) -> dict[str, Any]:
    """Return a habit as it is stored: its fields and those of its identity at one level."""
    flat = dump(known)
    return {**flat.pop("habit"), **flat}


def load_habit(stored: Mapping[str, Any]) -> KnownHabit:
    """Return a stored habit. Raises one of `UNREADABLE` for invalid data."""
    known = load(KnownHabit, {**stored, "habit": stored})
    _check(known.kind)
    return known


def load_kind(stored: Mapping[str, Any]) -> HabitKind:
    """Return a stored identity of a habit. Raises one of `UNREADABLE` for invalid data."""
    kind = load(HabitKind, stored)
    _check(kind)
    return kind


def _check(kind: HabitKind) -> None:
    if not kind.days <= EVERY_DAY or kind.minute not in range(MINUTES):
        raise ValueError("no time of the week")


ROUNDED: Final = 10
"""Minutes to which a time is rounded."""
NAMED_DAYS: Final = {EVERY_DAY: "every_day", WORKDAYS: "workdays", WEEKEND: "weekend"}
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
OF_THE_HOUSE: Final = "house"
OF_A_PERSON: Final = "person"
IMPERSONAL: Final = frozenset({STATE_HOME, STATE_NOT_HOME, IN_USE})
"""Actions that are reported for the entity itself, regardless of who acted."""
TEMPERATURE: Final = TARGET.partition(":")[0]
TOGETHER: Final = 30
"""Seconds within which two things are done by one act."""
MOSTLY: Final = 0.8
"""Share of the times at which two things are done together, if they are one act."""
GENERAL: Final = frozenset({"switch", "input_boolean"})
"""Domains that can mean anything: dropped beside a more specific entity of the same device."""
OFF: Final = "off"

type Phrase = Callable[..., Awaitable[str]]
"""Returns the sentence of a key in the language of the home, filled with placeholders."""


async def async_sentence(phrase: Phrase, habit: Habit, name: str, who: str, unit: str) -> str:
    """Return a habit as one sentence; `unit` is that of temperatures."""
    action, _, detail = habit.value.partition(":")
    whose = OF_A_PERSON if who and action not in IMPERSONAL else OF_THE_HOUSE
    return await phrase(
        f"habit_{action}_{whose}",
        who=who,
        name=name,
        time=clock(habit.minute),
        days=await phrase(f"days_{days_key(habit.days)}"),
        value=f"{detail} {unit}" if action == TEMPERATURE else detail,
    )


def days_key(days: frozenset[int]) -> str:
    """Return the translation key of a group of days."""
    return NAMED_DAYS.get(days) or WEEKDAYS[min(days)]


def clock(minute: int) -> str:
    """Return a time of day as it is spoken."""
    rounded = round(minute / ROUNDED) * ROUNDED % (24 * 60)
    return f"{rounded // 60}:{rounded % 60:02d}"


@dataclass(frozen=True, slots=True)
class Thing:
    """The device of an entity, and its names."""

    device: str | None = None
    name: str = ""


type Things = Mapping[str, Thing]
"""By entity id."""
type Seen = Mapping[str, Sequence[Observation]]
"""By entity id."""


def without_doubles(habits: Iterable[Habit], seen: Seen, things: Things) -> list[Habit]:
    """Return habits of which no two describe the same act."""
    ordered = sorted(habits, key=lambda habit: (habit.subject, -habit.confidence))
    kept: list[Habit] = []
    for habit in ordered:
        if habit.value != IN_USE:
            _add(kept, habit, seen, things)
    for habit in ordered:
        if habit.value == IN_USE and not any(_draws(habit, other, things) for other in kept):
            kept.append(habit)
    return kept


def _add(kept: list[Habit], habit: Habit, seen: Seen, things: Things) -> None:
    domain = habit.subject.partition(".")[0]
    for place, known in enumerate(kept):
        if not _is_one_act(known, habit, seen):
            continue
        first, second = things.get(known.subject, Thing()), things.get(habit.subject, Thing())
        known_domain = known.subject.partition(".")[0]
        if domain == known_domain:
            is_one_thing = bool(first.name) and first.name.casefold() == second.name.casefold()
        else:
            is_general = not GENERAL.isdisjoint({domain, known_domain})
            is_one_thing = is_general and first.device is not None and first.device == second.device
        if is_one_thing:
            if known_domain in GENERAL:
                kept[place] = habit
            return
        if domain == known_domain:
            person = known.person if known.person == habit.person else None
            kept[place] = replace(known, others=(*known.others, habit.subject), person=person)
            return
    kept.append(habit)


def _is_one_act(one: Habit, other: Habit, seen: Seen) -> bool:
    if one.value != other.value or one.days != other.days:
        return False
    times, others = _times(one, seen), _times(other, seen)
    together = 0
    for moment in times:
        place = bisect_left(others, moment - TOGETHER)
        together += place < len(others) and others[place] <= moment + TOGETHER
    return together >= MOSTLY * max(len(times), len(others))


def _draws(used: Habit, other: Habit, things: Things) -> bool:
    device = things.get(used.subject, Thing()).device
    if device is None or other.value == OFF:
        return False
    same = kind_of(replace(other, subject=used.subject, value=used.value, others=())).is_same(kind_of(used))
    return same and any(things.get(subject, Thing()).device == device for subject in other.subjects)


def _times(habit: Habit, seen: Seen) -> list[float]:
    def is_near(at: datetime) -> bool:
        apart = abs(at.hour * 60 + at.minute - habit.minute)
        return min(apart, MINUTES - apart) <= WINDOW

    observed = seen.get(habit.subject, ())
    return sorted(item.at.timestamp() for item in observed if item.value == habit.value and is_near(item.at))
