"""Repetitions on days of the week."""

from collections.abc import Collection
from datetime import datetime, time, timedelta
from typing import Final

from homeassistant.util import dt as dt_util

EVERY_DAY: Final = tuple(range(7))
WORKDAYS: Final = tuple(range(5))
WEEKEND: Final = (5, 6)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NAMED: Final = {EVERY_DAY: "daily", WORKDAYS: "on weekdays", WEEKEND: "on weekends"}


def told_days(days: tuple[int, ...]) -> str:
    """Return sorted days of the week as the model reads them."""
    return _NAMED.get(days) or "every " + ", ".join(WEEKDAYS[day] for day in days)


def next_at(clock: time, days: Collection[int], after: datetime) -> datetime:
    """Return when clocks next show a time on one of some days of the week, in UTC.

    `days` counts from 0 for Monday, and is not empty.
    """
    day = dt_util.as_local(after).date()
    while True:
        due = dt_util.as_utc(datetime.combine(day, clock, dt_util.get_default_time_zone()))
        if due > after and day.weekday() in days:
            return due
        day += timedelta(days=1)


def read_clock(stored: object) -> time | None:
    """Return a stored time of day; earlier versions stored none. Raises ValueError for anything else."""
    return time.fromisoformat(str(stored)) if stored else None
