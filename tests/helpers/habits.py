"""Made observations of habits."""

from datetime import date, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from custom_components.home_agent.memory.learner.habits import Observation

ZONE = ZoneInfo("Europe/Berlin")
FIRST = date(2026, 3, 2)
LAST = FIRST + timedelta(days=27)
SPAN = [FIRST + timedelta(days=number) for number in range(28)]


def at(day: date, minute: float) -> datetime:
    """Return a local time; minutes beyond the day belong to the next one."""
    return datetime(day.year, day.month, day.day, tzinfo=ZONE) + timedelta(minutes=minute)


def habit(
    random: Random,
    subject: str,
    value: str,
    days: frozenset[int],
    minute: int,
    *,
    kept: float = 0.95,
    spread: float = 8,
    person: str | None = None,
    span: list[date] = SPAN,
) -> list[Observation]:
    """Return what somebody does on these days at about this time, as reliably as people are."""
    return [
        Observation(at(day, random.gauss(minute, spread)), subject, value, person)
        for day in span
        if day.weekday() in days and random.random() < kept
    ]
