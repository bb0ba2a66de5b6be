"""Lengths of time: read as people and models write them, and written. Days of the week, and times on them."""

from collections.abc import Collection, Mapping
from datetime import datetime, time, timedelta
import re
from typing import Any, Final, NamedTuple, Self

from homeassistant.util import dt as dt_util

from .const import CONF_PROACTIVE_QUIET_END, CONF_PROACTIVE_QUIET_START
from .regex import lazy_regex

TIME_CHARS: Final = 64
"""Longer texts name no time."""

_UNIT_SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "sek", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "wk", "week", "weeks"), 7 * 86_400),
    **dict.fromkeys(("mo", "month", "months"), 30 * 86_400),
    **dict.fromkeys(("y", "yr", "year", "years"), 365 * 86_400),
}
_PART: Final = lazy_regex(r"(?<!\d)(\d{1,9}(?:[.,]\d{1,9})?|an?(?= )|one(?= )|)\s*([a-z]+)[\s,]*(?:and\s+)?")
_ISO: Final = lazy_regex(r"p(?=t?\d)([^t]*)t?(.*)")
_CLOCK: Final = lazy_regex(r"\d{1,3}:\d{1,2}:\d{2}")
_COMPACT: Final = lazy_regex(r"(?:\d+[smhdw])+")
_NEVER: Final = frozenset({"", "0", "-1", "never"})
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_UNITS: Final = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s"))
_JUST_NOW: Final = 5


EVERY_DAY: Final = tuple(range(7))
WORKDAYS: Final = tuple(range(5))
WEEKEND: Final = (5, 6)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS_IN_WORDS: Final = {EVERY_DAY: "daily", WORKDAYS: "on weekdays", WEEKEND: "on weekends"}


def told_days(days: tuple[int, ...]) -> str:
    """Return sorted days of the week as the model reads them."""
    return _DAYS_IN_WORDS.get(days) or "every " + ", ".join(WEEKDAYS[day] for day in days)


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


def read_seconds(text: str) -> float | None:
    """Return the seconds of "90m", "1 hour 30 minutes", "1:30:00" or "PT90M"; None for anything else."""
    if len(text) > TIME_CHARS:
        return None
    text = " ".join(text.casefold().split())
    if _CLOCK.fullmatch(text) and (length := dt_util.parse_duration(text)) is not None:
        return length.total_seconds()
    if iso := _ISO.fullmatch(text):
        text = iso[1].replace("m", "mo") + iso[2]
    total, position = 0.0, 0
    while position < len(text):
        part = _PART.match(text, position)
        # In many languages the words for minutes and seconds begin alike.
        if part is None or not (size := _UNIT_SECONDS.get(part[2]) or _UNIT_SECONDS.get(part[2][:3])):
            return None
        number = part[1].replace(",", ".")
        total += size * (float(number) if number[:1].isdigit() else 1)
        position = part.end()
    return total if text else None


def read_compact(text: str) -> timedelta:
    """Return a span of time such as 90d, 12h, 1d12h, or seconds as a number.

    Raises ValueError for anything else.
    """
    said = re.sub(r"(?<=\d)$", "s", "".join(text.split()).lower())
    seconds = read_seconds(said) if _COMPACT.fullmatch(said) else None
    if seconds is None:
        raise ValueError(text)
    return timedelta(seconds=seconds)


def read_span(text: object) -> timedelta | None:
    """Return the span of time of an option, as `read_compact` reads it; None for never.

    Raises ValueError for anything else.
    """
    said = str(text).strip().lower()
    return None if said in _NEVER else read_compact(said)


def format_largest(seconds: float, units: int = 1) -> str:
    """Return a length of time in its largest units, cut off after them: "3 h"."""
    left, parts = max(0, int(seconds)), []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:units]) or "0 s"


def format_span(seconds: float) -> str:
    """Return a length of time rounded to its two largest units: "3 h 12 min"; days only from two on."""
    if round(seconds) < _MINUTE:
        return f"{round(seconds)} s"
    if seconds < 2 * _DAY:
        hours, minutes = divmod(round(seconds / _MINUTE), 60)
        return " ".join(f"{count} {unit}" for count, unit in ((hours, "h"), (minutes, "min")) if count)
    return format_largest(round(seconds / _HOUR) * _HOUR, 2)


def format_age(then: datetime, now: datetime) -> str:
    """Return how long ago something was."""
    seconds = now.timestamp() - then.timestamp()
    return "just now" if seconds < _JUST_NOW else f"{format_span(seconds)} ago"


def format_local(moment: datetime | float) -> str:
    """Return a moment, or a timestamp, as the household's clocks show it, to the minute."""
    if not isinstance(moment, datetime):
        moment = dt_util.utc_from_timestamp(moment)
    return dt_util.as_local(moment).strftime("%Y-%m-%d %H:%M")


DEFAULT_NIGHT: Final = (time(22), time(7))


class QuietHours(NamedTuple):
    """A span of the day; one that begins when it ends is empty."""

    start: time
    end: time

    @classmethod
    def from_options(cls, settings: Mapping[str, Any]) -> Self:
        """Return the quiet hours."""
        return cls(_time(settings[CONF_PROACTIVE_QUIET_START]), _time(settings[CONF_PROACTIVE_QUIET_END]))

    @property
    def night(self) -> QuietHours:
        """Return the hours of the night: the quiet hours, or 22 to 7 if there are none."""
        return self if self.start != self.end else QuietHours(*DEFAULT_NIGHT)

    def holds(self, at: datetime) -> bool:
        """Return whether a moment lies in the span."""
        now = dt_util.as_local(at).time()
        if self.start <= self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end


def _time(text: str) -> time:
    return dt_util.parse_time(text) or time(0)
