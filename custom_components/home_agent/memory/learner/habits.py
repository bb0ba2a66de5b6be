"""Habits: actions on the same days at about the same time, found by counting, without a model.

They have ids that stay while they grow and fade, and are put into words.
"""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from math import comb, exp, sqrt
from statistics import median
from typing import Any, Final, NamedTuple, Self

from homeassistant.const import STATE_HOME, STATE_NOT_HOME

from ...store import load
from ...when import WEEKDAYS

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


class Observation(NamedTuple):
    """An action of a person."""

    at: datetime
    """Local time."""
    subject: str
    """The entity."""
    value: str
    """What it was set to."""
    person: str | None = None
    """Id of `persons.Person`, if it is known who acted."""


NEAR: Final = 90
"""Minutes by which the time of a habit may move and it is still the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """Something that is done again and again."""

    subject: str
    value: str
    person: str | None = None
    days: frozenset[int]
    """Weekdays, Monday is 0."""
    minute: int
    """Of the day, as a rule."""
    confidence: float = 0.0
    """From 0 to 1; grows with repetition, fades when the pattern breaks."""
    others: tuple[str, ...] = ()
    """What is done with it at the same moment, like lamps that one button switches."""
    id: str = ""
    """Also that of its memory."""
    name: str = ""
    """Of the entity, or of the entities."""
    who: str = ""
    """The person's name; empty where it is the household's."""
    text: str = ""
    """One sentence in the language of the home."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return all entities that it is about."""
        return (self.subject, *self.others)

    @property
    def kind(self) -> Self:
        """Return the habit without the words about it, to know it again."""
        return replace(self, id="", name="", who="", text="")

    def is_same(self, other: Habit) -> bool:
        """Return whether this is another state of the same habit."""
        apart = abs(self.minute - other.minute)
        return (
            self.value == other.value
            and not set(self.subjects).isdisjoint(other.subjects)
            and not self.days.isdisjoint(other.days)
            and min(apart, MINUTES - apart) <= NEAR
        )


def load_habit(stored: Mapping[str, Any]) -> Habit:
    """Return a stored habit, or what it is known by. Raises one of `UNREADABLE` for invalid data."""
    habit = load(Habit, stored)
    if not habit.days <= EVERY_DAY or habit.minute not in range(MINUTES):
        raise ValueError("no time of the week")
    return habit


class _Act(NamedTuple):
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
    moments = {_moment(seen.at): seen.person for seen in observations}
    left = {moment: person for moment, person in moments.items() if span[0] <= moment.day <= span[-1]}
    for _ in range(MAX_OF_ONE):
        found = _surest(list(left), span)
        if found is None:
            return
        days, hits = found
        # The lower end of Wilson's interval; recent days count more.
        happened_on = {hit.day for hit in hits}
        weights = {day: 0.5 ** ((span[-1] - day).days / HALF_LIFE) for day in span if day.weekday() in days}
        total = sum(weights.values())
        share = sum(weight for day, weight in weights.items() if day in happened_on) / total
        margin = sqrt(share * (1 - share) / total + 1 / (4 * total * total))
        # Whoever it was wherever that is known, if it is known in most cases.
        known = [person for hit in hits if (person := left[hit]) is not None]
        yield Habit(
            subject=subject,
            value=value,
            person=known[0] if len(set(known)) == 1 and 2 * len(known) > len(hits) else None,
            days=days,
            minute=(int(median(hit.minute for hit in hits)) + DAY_BEGINS) % MINUTES,
            confidence=float(round((share + 1 / (2 * total) - margin) / (1 + 1 / total), 3)),
        )
        for hit in hits:
            del left[hit]


def _surest(moments: Sequence[_Act], span: Sequence[date]) -> tuple[frozenset[int], list[_Act]] | None:
    """Return the largest group of days that shows a habit, with what happened; None if there is none."""
    for days, parts in PARTS.items():
        within = [moment for moment in moments if moment.day.weekday() in days]
        ordered = sorted(within, key=lambda moment: moment.minute)
        # What is within the time of day with the most days.
        hits: list[_Act] = []
        happened = set[date]()
        end = 0
        for start, first in enumerate(ordered):
            while end < len(ordered) and ordered[end].minute < first.minute + WINDOW:
                end += 1
            on_days = {moment.day for moment in ordered[start:end]}
            if len(on_days) > len(happened):
                hits, happened = ordered[start:end], on_days
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


def habit_day(at: datetime) -> date:
    """Return the day of habits that a local time belongs to."""
    return _moment(at).day


def _moment(at: datetime) -> _Act:
    minute = at.hour * 60 + at.minute - DAY_BEGINS
    day = at.date() if minute >= 0 else at.date() - timedelta(days=1)
    return _Act(day, minute % MINUTES)


ROUNDED: Final = 10
"""Minutes to which a time is rounded."""
NAMED_DAYS: Final = {EVERY_DAY: "every_day", WORKDAYS: "workdays", WEEKEND: "weekend"}
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


class Thing(NamedTuple):
    """The device of an entity, and its names."""

    device: str | None = None
    name: str = ""


type Things = Mapping[str, Thing]
"""By entity id."""
type Seen = Mapping[str, Sequence[Observation]]
"""By entity id."""


def without_doubles(habits: Iterable[Habit], seen: Seen, things: Things) -> list[Habit]:
    """Return habits of which no two describe the same act."""

    def domain(habit: Habit) -> str:
        return habit.subject.partition(".")[0]

    kept: list[Habit] = []
    # What is specific before what is general, and what is done before the power that it draws.
    for habit in sorted(
        habits, key=lambda one: (one.value == IN_USE, domain(one) in GENERAL, one.subject, -one.confidence)
    ):
        thing = things.get(habit.subject, Thing())
        for place, known in enumerate(kept):
            devices = {things.get(subject, Thing()).device for subject in known.subjects}
            is_same_device = thing.device is not None and thing.device in devices
            if habit.value == IN_USE:
                used = replace(known, subject=habit.subject, value=IN_USE, others=())
                if is_same_device and known.value not in (OFF, IN_USE) and used.is_same(habit):
                    break
                continue
            if (known.value, known.days) != (habit.value, habit.days):
                continue
            times, others = _times(known, seen), _times(habit, seen)
            places = ((bisect_left(others, moment - TOGETHER), moment) for moment in times)
            together = sum(at < len(others) and others[at] <= moment + TOGETHER for at, moment in places)
            if together < MOSTLY * max(len(times), len(others)):  # not mostly done by one act
                continue
            if domain(known) != domain(habit):
                if is_same_device and domain(habit) in GENERAL:
                    break
                continue
            name = things.get(known.subject, Thing()).name
            if not thing.name or thing.name.casefold() != name.casefold():
                person = known.person if known.person == habit.person else None
                kept[place] = replace(known, others=(*known.others, habit.subject), person=person)
            break
        else:
            kept.append(habit)
    return kept


def _times(habit: Habit, seen: Seen) -> list[float]:
    def is_near(at: datetime) -> bool:
        apart = abs(at.hour * 60 + at.minute - habit.minute)
        return min(apart, MINUTES - apart) <= WINDOW

    observed = seen.get(habit.subject, ())
    return sorted(item.at.timestamp() for item in observed if item.value == habit.value and is_near(item.at))
