"""Habits of the home: with ids that stay while they grow and fade."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, TypedDict

from .patterns import MINUTES, Habit

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


class StoredHabitKind(TypedDict):
    """The identity of a habit as it is stored; `minute` is of the day."""

    subject: str
    value: str
    days: list[int]
    minute: int
    person: str | None
    others: list[str]


class StoredHabit(StoredHabitKind):
    """A habit as it is stored."""

    id: str
    support: int
    of: int
    confidence: float
    last_seen: str
    name: str
    who: str
    text: str


def kind_as_dict(kind: HabitKind) -> StoredHabitKind:
    """Return it as it is stored."""
    return {
        "subject": kind.subject,
        "value": kind.value,
        "days": sorted(kind.days),
        "minute": kind.minute,
        "person": kind.person,
        "others": sorted(kind.others),
    }


def kind_from_dict(stored: Mapping[str, Any]) -> HabitKind:
    """Return a stored habit. Raises KeyError, TypeError or ValueError for invalid data."""
    days = frozenset(int(day) for day in stored["days"])
    if not days <= frozenset(range(7)):
        raise ValueError("no weekdays")
    person = stored.get("person")
    return HabitKind(
        str(stored["subject"]),
        str(stored["value"]),
        days,
        int(stored["minute"]) % MINUTES,
        None if person is None else str(person),
        frozenset(str(other) for other in stored.get("others", ())),
    )


def as_dict(known: KnownHabit) -> StoredHabit:
    """Return a habit as it is stored."""
    habit = known.habit
    return {
        "id": known.id,
        **kind_as_dict(known.kind),
        "support": habit.support,
        "of": habit.of,
        "confidence": habit.confidence,
        "last_seen": habit.last_seen.isoformat(),
        "name": known.name,
        "who": known.who,
        "text": known.text,
    }


def from_dict(stored: Mapping[str, Any]) -> KnownHabit:
    """Return a stored habit. Raises KeyError, TypeError or ValueError for invalid data."""
    kind = kind_from_dict(stored)
    return KnownHabit(
        id=str(stored["id"]),
        habit=Habit(
            subject=kind.subject,
            value=kind.value,
            person=kind.person,
            days=kind.days,
            minute=kind.minute,
            support=int(stored["support"]),
            of=int(stored["of"]),
            confidence=float(stored["confidence"]),
            last_seen=date.fromisoformat(stored["last_seen"]),
            others=tuple(sorted(kind.others)),
        ),
        name=str(stored["name"]),
        who=str(stored["who"]),
        text=str(stored["text"]),
    )
