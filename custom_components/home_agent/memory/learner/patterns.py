"""Finds habits: actions on the same days at about the same time. Counting only, no model."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import comb, exp, sqrt
from statistics import median
from typing import Final

IN_USE: Final = "in_use"
"""What using something is called among observations."""
TARGET: Final = "temperature:{degrees:g}"
"""What setting a target temperature is called."""
DAY_BEGINS: Final = 4 * 60
"""Minute at which a day begins for habits: actions after midnight belong to the evening."""
MINUTES: Final = 24 * 60
WINDOW: Final = 60
"""Minutes within which times count as the same."""
MIN_DAYS: Final = 4
"""Days on which something has to have happened."""
MIN_RATE: Final = 0.7
"""Share of the days on which it happens."""
MIN_PART: Final = 0.5
"""The same for each part of the days: seven days are not the habit of five."""
CHANCE: Final = 1e-4
"""How likely it may be that the times lie together by chance."""
HALF_LIFE: Final = 21.0
"""Days after which a day counts half, so that a habit fades when it is given up."""
MAX_OF_ONE: Final = 3
"""Most habits found for one action."""

WORKDAYS: Final = frozenset(range(5))
WEEKEND: Final = frozenset((5, 6))
EVERY_DAY: Final = WORKDAYS | WEEKEND
PARTS: Final[Mapping[frozenset[int], Sequence[frozenset[int]]]] = {
    EVERY_DAY: (WORKDAYS, WEEKEND),
    WORKDAYS: tuple(frozenset((day,)) for day in WORKDAYS),
    WEEKEND: tuple(frozenset((day,)) for day in WEEKEND),
    **{frozenset((day,)): () for day in EVERY_DAY},
}
"""The groups of days that habits have, the largest first, and the parts that have to show the habit too."""


@dataclass(frozen=True, slots=True)
class Observation:
    """An action of a person."""

    at: datetime
    """Local time."""
    subject: str
    """The entity."""
    value: str
    """What it was set to."""
    person: str | None = None
    """Id of `persons.Person`, if it is known who acted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """Something that is done again and again."""

    subject: str
    value: str
    person: str | None
    days: frozenset[int]
    """Weekdays, Monday is 0."""
    minute: int
    """Of the day, as a rule."""
    support: int
    """Days on which it happened."""
    of: int
    """Days on which it could have."""
    confidence: float
    """From 0 to 1; grows with repetition, fades when the pattern breaks."""
    last_seen: date
    others: tuple[str, ...] = ()
    """What is done with it at the same moment, like lamps that one button switches."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return all entities that it is about."""
        return (self.subject, *self.others)


@dataclass(frozen=True, slots=True)
class _Act:
    """When something happened, in days of habits."""

    day: date
    minute: int
    """Since the day began."""


def find_habits(observations: Iterable[Observation], first: date, last: date) -> list[Habit]:
    """Return the habits that show in observations from the first to the last whole day.

    What one person does is that person's habit, also if it is not always known who it was; what several or
    mostly unknown people do is the household's.
    """
    by_action: dict[tuple[str, str], list[Observation]] = {}
    for seen in observations:
        by_action.setdefault((seen.subject, seen.value), []).append(seen)
    span = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return [
        habit
        for (subject, value), found in sorted(by_action.items())
        for habit in _habits(subject, value, found, span)
    ]


def _habits(
    subject: str, value: str, observations: Sequence[Observation], span: Sequence[date]
) -> Iterator[Habit]:
    """Yield the habits of one action, the surest first."""
    moments = {_moment(seen.at): seen.person for seen in observations}
    left = {moment: person for moment, person in moments.items() if span[0] <= moment.day <= span[-1]}
    for _ in range(MAX_OF_ONE):
        found = _surest(list(left), span)
        if found is None:
            return
        days, hits = found
        confidence = _confidence(hits, days, span)
        # Whoever it was wherever that is known, if it is known in most cases.
        known = [person for hit in hits if (person := left[hit]) is not None]
        yield Habit(
            subject=subject,
            value=value,
            person=known[0] if len(set(known)) == 1 and 2 * len(known) > len(hits) else None,
            days=days,
            minute=(int(median(hit.minute for hit in hits)) + DAY_BEGINS) % MINUTES,
            support=len({hit.day for hit in hits}),
            of=sum(day.weekday() in days for day in span),
            confidence=confidence,
            last_seen=max(hit.day for hit in hits),
        )
        for hit in hits:
            del left[hit]


def _surest(moments: Sequence[_Act], span: Sequence[date]) -> tuple[frozenset[int], list[_Act]] | None:
    """Return the largest group of days that shows a habit, with what happened; None if there is none."""
    for days, parts in PARTS.items():
        within = [moment for moment in moments if moment.day.weekday() in days]
        hits = _densest(within)
        happened = {hit.day for hit in hits}
        if _is_habit(hits, within, moments, days, span) and all(
            sum(day.weekday() in part for day in happened)
            >= MIN_PART * sum(day.weekday() in part for day in span)
            for part in parts
        ):
            return days, hits
    return None


def _is_habit(
    hits: Sequence[_Act],
    within: Sequence[_Act],
    moments: Iterable[_Act],
    days: Collection[int],
    span: Sequence[date],
) -> bool:
    """Return whether something happens often enough at this time, and neither by chance nor on all days."""
    possible = sum(day.weekday() in days for day in span)
    happened = len({hit.day for hit in hits})
    if happened < MIN_DAYS or happened < MIN_RATE * possible:
        return False
    begins = min(hit.minute for hit in hits)
    other_days = sum(day.weekday() not in days for day in span)
    on_others = {
        moment.day
        for moment in moments
        if moment.day.weekday() not in days and begins <= moment.minute < begins + WINDOW
    }
    by_chance = max(
        1 - exp(-len(within) / possible * WINDOW / MINUTES),
        (len(on_others) + 0.5) / (other_days + 1) if other_days else 0.0,
    )
    tail = sum(
        comb(possible, count) * by_chance**count * (1 - by_chance) ** (possible - count)
        for count in range(happened, possible + 1)
    )
    return tail * MINUTES / WINDOW <= CHANCE


def _densest(moments: Sequence[_Act]) -> list[_Act]:
    ordered = sorted(moments, key=lambda moment: moment.minute)
    best: list[_Act] = []
    days_of_best = 0
    end = 0
    for start, first in enumerate(ordered):
        while end < len(ordered) and ordered[end].minute < first.minute + WINDOW:
            end += 1
        days = len({moment.day for moment in ordered[start:end]})
        if days > days_of_best:
            best, days_of_best = ordered[start:end], days
    return best


def _confidence(hits: Iterable[_Act], days: Collection[int], span: Sequence[date]) -> float:
    """Return the confidence of a habit: the lower end of Wilson's interval; recent days count more."""
    happened_on = {hit.day for hit in hits}
    weights = {day: 0.5 ** ((span[-1] - day).days / HALF_LIFE) for day in span if day.weekday() in days}
    total = sum(weights.values())
    share = sum(weight for day, weight in weights.items() if day in happened_on) / total
    z = 1.0
    centre = share + z * z / (2 * total)
    margin = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return float(round((centre - margin) / (1 + z * z / total), 3))


def habit_day(at: datetime) -> date:
    """Return the day of habits that a local time belongs to."""
    return _moment(at).day


def _moment(at: datetime) -> _Act:
    minute = at.hour * 60 + at.minute - DAY_BEGINS
    day = at.date() if minute >= 0 else at.date() - timedelta(days=1)
    return _Act(day, minute % MINUTES)
