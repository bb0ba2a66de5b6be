"""Periods of the past as models write them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...regex import lazy_regex
from ...timespans import TIME_CHARS, read_seconds

MAX_PERIOD = timedelta(days=366)
MIN_PERIOD = timedelta(seconds=1)

_FILLER = lazy_regex(r"^(?:in\s+|over\s+|for\s+)?(?:the\s+)?(?:last|past|previous)\s+|^-")
_FORMS = "90m, 24h, 7d, 1w, today, yesterday, this week, last week, this month or a date"


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that has begun; both ends are aware."""

    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        """Return the time that really passed, whatever clocks were put forward or back."""
        return timedelta(seconds=self.end.timestamp() - self.start.timestamp())


def parse_period(text: str, now: datetime) -> Period:
    """Return the period that a model means, ending now or at the end of the day it names.

    Raises ValidationError that names what is accepted.
    """
    short = text if len(text) <= TIME_CHARS else ""
    words = " ".join(short.strip().strip("\"'").casefold().replace("_", " ").split())
    period = _named(words, now) or _one_day(words, now) or _length(words, now)
    if period is None:
        raise ValidationError(f"history.duration: {text[:40]!r} is not understood; give {_FORMS}")
    if period.start >= now:
        raise ValidationError(f"history.duration: {text[:40]!r} has not begun yet")
    if period.length > MAX_PERIOD:
        raise ValidationError(f"history.duration: {text[:40]!r} is too long; at most 1y")
    return period


def _named(words: str, now: datetime) -> Period | None:
    """Return a period of the calendar in local time."""
    today = dt_util.start_of_local_day(dt_util.as_local(now))
    week = _days_before(today, today.weekday())
    month = _days_before(today, today.day - 1)
    last_month_days = _days_before(month, 1).day
    named = {
        "today": (today, now),
        "yesterday": (_days_before(today, 1), today),
        "this week": (week, now),
        "last week": (_days_before(week, 7), week),
        "this month": (month, now),
        "last month": (_days_before(month, last_month_days), month),
        "this year": (dt_util.start_of_local_day(today.date().replace(month=1, day=1)), now),
    }
    ends = named.get(words)
    return Period(*ends) if ends else None


def _days_before(day: datetime, days: int) -> datetime:
    """Return the beginning of an earlier local day, right across a change of the clocks."""
    return dt_util.start_of_local_day(day.date() - timedelta(days=days))


def _one_day(words: str, now: datetime) -> Period | None:
    """Return the local day of an ISO date."""
    try:
        day = dt_util.parse_date(words)
    except ValueError:
        return None
    if day is None:
        return None
    start = dt_util.start_of_local_day(day)
    return Period(start, min(now, dt_util.start_of_local_day(day + timedelta(days=1))))


def _length(words: str, now: datetime) -> Period | None:
    """Return the period of a length that ends now."""
    seconds = read_seconds(_FILLER.sub("", words))
    if seconds is None or seconds < MIN_PERIOD.total_seconds():
        return None
    seconds = min(seconds, 2 * MAX_PERIOD.total_seconds())
    return Period(dt_util.as_utc(now) - timedelta(seconds=seconds), now)
