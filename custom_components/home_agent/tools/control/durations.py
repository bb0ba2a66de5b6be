"""Periods as models write them, and spans of time as people read them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...regex import lazy
from ..calls.bounds import TIME_CHARS

MAX_PERIOD = timedelta(days=366)
MIN_PERIOD = timedelta(seconds=1)

_UNIT_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "wk", "week", "weeks"), 7 * 86_400),
    **dict.fromkeys(("mo", "month", "months"), 30 * 86_400),
    **dict.fromkeys(("y", "yr", "year", "years"), 365 * 86_400),
}
_PART = lazy(r"(?<!\d)(\d{1,9}(?:[.,]\d{1,9})?|an?(?= )|one(?= )|)\s*([a-z]+)[\s,]*(?:and\s+)?")
_FILLER = lazy(r"^(?:in\s+|over\s+|for\s+)?(?:the\s+)?(?:last|past|previous)\s+|^-")
_ISO = lazy(
    r"p(?=.)(?:(?P<y>[\d.,]+)y)?(?:(?P<mo>[\d.,]+)m)?(?:(?P<w>[\d.,]+)w)?(?:(?P<d>[\d.,]+)d)?"
    r"(?:t(?=.)(?:(?P<h>[\d.,]+)h)?(?:(?P<m>[\d.,]+)m)?(?:(?P<s>[\d.,]+)s)?)?"
)
_FORMS = "90m, 24h, 7d, 1w, today, yesterday, this week, last week, this month or a date"
_MINUTE = 60
_HOUR = 60 * _MINUTE
_JUST_NOW = 5


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
    seconds = _iso_seconds(words) or spelled_seconds(_FILLER.sub("", words))
    if seconds < MIN_PERIOD.total_seconds():
        return None
    seconds = min(seconds, 2 * MAX_PERIOD.total_seconds())
    return Period(dt_util.as_utc(now) - timedelta(seconds=seconds), now)


def _iso_seconds(words: str) -> float:
    """Return the seconds of an ISO 8601 duration, 0 if it is none."""
    if not (match := _ISO.fullmatch(words)):
        return 0
    try:
        return sum(
            _UNIT_SECONDS[unit] * float(number.replace(",", "."))
            for unit, number in match.groupdict().items()
            if number
        )
    except ValueError:
        return 0


def spelled_seconds(words: str) -> float:
    """Return the seconds of "1 hour 30 minutes" or "90m", 0 if any part is not understood."""
    total = 0.0
    position = 0
    if len(words) > TIME_CHARS:
        return total
    while position < len(words):
        match = _PART.match(words, position)
        if match is None or match[2] not in _UNIT_SECONDS:
            return 0
        number = match[1].replace(",", ".")
        total += _UNIT_SECONDS[match[2]] * (float(number) if number[:1].isdigit() else 1)
        position = match.end()
    return total


def format_span(seconds: float) -> str:
    """Return a span of time in its two largest units: "3 h 12 min"."""
    if round(seconds) < _MINUTE:
        return f"{round(seconds)} s"
    minutes = round(seconds / _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min"
    if seconds < 48 * _HOUR:
        return _two(*divmod(minutes, 60), "h", "min")
    return _two(*divmod(round(seconds / _HOUR), 24), "d", "h")


def _two(large: int, small: int, large_unit: str, small_unit: str) -> str:
    """Return two units, without the smaller where it is nothing."""
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"


def format_age(then: datetime, now: datetime) -> str:
    """Return how long ago something was."""
    seconds = now.timestamp() - then.timestamp()
    return "just now" if seconds < _JUST_NOW else f"{format_span(seconds)} ago"


def format_local(moment: datetime | float) -> str:
    """Return a moment, or a timestamp, as the household's clocks show it, to the minute."""
    if not isinstance(moment, datetime):
        moment = dt_util.utc_from_timestamp(moment)
    return dt_util.as_local(moment).strftime("%Y-%m-%d %H:%M")
