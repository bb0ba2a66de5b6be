"""What shows in several entities is one habit: a plug and what it draws, lamps that one button switches."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from .habits import kind_of
from .patterns import MINUTES, WINDOW, Habit, Observation
from .usage import IN_USE

TOGETHER: Final = 30
"""Seconds within which two things are done by one act."""
MOSTLY: Final = 0.8
"""Share of the times at which two things are done together, if they are one act."""
GENERAL: Final = frozenset({"switch", "input_boolean"})
"""Domains of what stands for anything: beside another entity of its device that says what it is, it goes."""
OFF: Final = "off"


@dataclass(frozen=True, slots=True)
class Thing:
    """What an entity belongs to, and what people call it."""

    device: str | None = None
    name: str = ""


type Things = Mapping[str, Thing]
"""By entity id."""
type Seen = Mapping[str, Sequence[Observation]]
"""By entity id."""


def without_doubles(habits: Iterable[Habit], seen: Seen, things: Things) -> list[Habit]:
    """Return habits of which no two tell of the same act."""
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
    """Add what is done to what was found, or to the habit that is done by the same act."""
    for place, known in enumerate(kept):
        if not _is_one_act(known, habit, seen):
            continue
        if _is_one_thing(known.subject, habit.subject, things):
            if known.subject.partition(".")[0] in GENERAL:
                kept[place] = habit
            return
        if known.subject.partition(".")[0] == habit.subject.partition(".")[0]:
            person = known.person if known.person == habit.person else None
            kept[place] = replace(known, others=(*known.others, habit.subject), person=person)
            return
    kept.append(habit)


def _is_one_act(one: Habit, other: Habit, seen: Seen) -> bool:
    """Return whether two things are done at the same moments."""
    if one.value != other.value or one.days != other.days:
        return False
    times, others = _times(one, seen), _times(other, seen)
    together = sum(_has_near(others, moment) for moment in times)
    return together >= MOSTLY * max(len(times), len(others))


def _is_one_thing(one: str, other: str, things: Things) -> bool:
    """Return whether two entities are one thing: the same by its name, or by its device in other words."""
    first, second = things.get(one, Thing()), things.get(other, Thing())
    domains = {one.partition(".")[0], other.partition(".")[0]}
    if len(domains) == 1:
        return bool(first.name) and first.name.casefold() == second.name.casefold()
    return first.device is not None and first.device == second.device and not GENERAL.isdisjoint(domains)


def _draws(used: Habit, other: Habit, things: Things) -> bool:
    """Return whether a machine is in use because of what is done, or is measured twice."""
    device = things.get(used.subject, Thing()).device
    if device is None or other.value == OFF:
        return False
    same = kind_of(replace(other, subject=used.subject, value=used.value, others=())).is_same(kind_of(used))
    return same and any(things.get(subject, Thing()).device == device for subject in other.subjects)


def _times(habit: Habit, seen: Seen) -> list[float]:
    """Return when a habit was followed, in order."""
    return sorted(
        item.at.timestamp()
        for item in seen.get(habit.subject, ())
        if item.value == habit.value and _apart(item.at, habit.minute) <= WINDOW
    )


def _apart(at: datetime, minute: int) -> int:
    """Return how many minutes lie between two times of the day."""
    apart = abs(at.hour * 60 + at.minute - minute)
    return min(apart, MINUTES - apart)


def _has_near(times: Sequence[float], moment: float) -> bool:
    """Return whether one of the times lies close to a moment."""
    place = bisect_left(times, moment - TOGETHER)
    return place < len(times) and times[place] <= moment + TOGETHER
