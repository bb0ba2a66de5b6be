"""Periods of the past as models write them."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...languages.times import in_english
from ...regex import lazy_regex
from ...timespans import TIME_CHARS, read_seconds

MAX_PERIOD = timedelta(days=366)
MIN_PERIOD = timedelta(seconds=1)

_FILLER = lazy_regex(r"^(?:in\s+|over\s+|for\s+)?(?:the\s+)?(?:last|past|previous)\s+|^-")
_AGO = lazy_regex(r"(?:(.{1,40}?) ago|-(.{1,40}))")
_CLOCK = lazy_regex(
    r"(?<![\d-])(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?\s*(?P<half>[ap]\.?m\.?)?(?![\d-])"
)
_FILLERS = lazy_regex(r"\b(?:at|on|o'clock|last night|this morning|the)\b|,")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = lazy_regex(
    r"(?:in )?(?:(?P<iso>20\d\d)-(?P<number>\d\d)|"
    r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}(?: (?P<year>20\d\d))?)"
)
_DATES = lazy_regex(r"(?:from )?(\d{4}-\d\d-\d\d) ?(?:to|until|/|-|\.\.) ?(\d{4}-\d\d-\d\d)")
MINUTE = timedelta(minutes=1)
PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (20, 32)}
"""Hours of the parts of a day."""
NIGHT = (20, 32)
MEALS = {"breakfast": 7, "lunch": 12, "dinner": 18}
"""Hours at which meals begin."""
DAYS = frozenset({"today", "yesterday", "day before yesterday"})
YEARS = 2 * MAX_PERIOD.total_seconds()
_MOMENTS = "03:00, yesterday 3:00, a date with time or 2h ago"
_FORMS = (
    "90m, 24h, 7d, today, this morning, last night, yesterday, this week, last month, 2026-10, since 8:00"
    " or a date"
)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that has begun; both ends are aware."""

    start: datetime
    end: datetime
    closes: datetime | None = None
    """When the day, week, month or year ends that it is; None if it is no such part of the calendar."""

    @property
    def length(self) -> timedelta:
        """Return the time that really passed, whatever clocks were put forward or back."""
        return timedelta(seconds=self.end.timestamp() - self.start.timestamp())


def parse_period(
    text: str, now: datetime, language: str = "", name: str = "history.duration", accepted: str = _FORMS
) -> Period:
    """Return the period that a model means, ending now or at the end of the day it names.

    `name` is the parameter, and `accepted` what it takes. Raises ValidationError that names both.
    """
    short = text if len(text) <= TIME_CHARS else ""
    words = " ".join(short.strip().strip("\"'").casefold().replace("_", " ").split())
    forms = (words, *in_english(words, language, past=True))
    period = next((found for form in forms if (found := _read(form, now)) is not None), None)
    if period is None:
        raise ValidationError(f"{name}: {text[:40]!r} is not understood; give {accepted}")
    if period.start >= now:
        raise ValidationError(f"{name}: {text[:40]!r} has not begun yet")
    if period.length > MAX_PERIOD:
        raise ValidationError(f"{name}: {text[:40]!r} is too long; at most 1y")
    return period


def is_period(text: str, now: datetime, language: str) -> bool:
    """Return whether a text names a part of a day, or a time since which something is asked."""
    words = " ".join(text[:TIME_CHARS].strip().casefold().split())
    forms = (words, *in_english(words, language, past=True))
    return any(_part_of_day(form, now) or _since(form, now) for form in forms)


def _read(words: str, now: datetime) -> Period | None:
    plain = _named(words, now) or _one_day(words, now) or _days(words, now) or _month(words, now)
    plain = plain or _length(words, now)
    return plain or _part_of_day(words, now) or _since(words, now)


def _part_of_day(words: str, now: datetime) -> Period | None:
    """Return the part of today or yesterday that words mean, as far as it has passed."""
    local = dt_util.as_local(now)
    if words == "last night" or (words == "tonight" and local.hour < PARTS["morning"][0]):
        day, begin, end = local.date() - timedelta(days=1), *NIGHT
    else:
        which, _, part = words.rpartition(" ")
        if words == "tonight":
            which, part = "this", "evening"
        if part not in PARTS or which not in ("this", "today", "yesterday"):
            return None
        day = local.date() - timedelta(days=which == "yesterday")
        begin, end = PARTS[part]
    zone = dt_util.get_default_time_zone()
    start = datetime.combine(day, time(begin), zone)
    until = datetime.combine(day + timedelta(days=end // 24), time(end % 24), zone)
    return Period(start, max(start, min(until, local)))


def _since(words: str, now: datetime) -> Period | None:
    """Return the time since an hour, a day or a meal."""
    head, _, rest = words.removesuffix(" oclock").partition(" ")
    if head != "since" or not rest:
        return None
    if (hour := MEALS.get(rest)) is not None:
        rest = f"{hour}:00"
    named = _named(rest, now) or _one_day(rest, now) or _part_of_day(rest, now)
    start = named.start if named else _ago(rest, now) or _at_clock(rest, "", now)
    return None if start is None else Period(start, now)


def parse_moment(text: str, day: str, now: datetime) -> Period:
    """Return the minute that a model means by "03:00", "yesterday 3:00", "3 pm" or "2 hours ago".

    Without a day it is the newest such time, on `day` if that names one.
    Raises ValidationError that names what is accepted.
    """
    words = " ".join(text[:TIME_CHARS].strip().strip("\"'").casefold().split())
    start = _ago(words, now) or _at_clock(words, day, now)
    if start is None:
        raise ValidationError(f"history.at: {text[:40]!r} is not understood; give {_MOMENTS}")
    if start >= now:
        raise ValidationError(f"history.at: {text[:40]!r} has not come yet")
    if now - start > MAX_PERIOD:
        raise ValidationError(f"history.at: {text[:40]!r} is too long ago; at most 1y")
    return Period(start, min(now, start + MINUTE))


def _ago(words: str, now: datetime) -> datetime | None:
    found = _AGO.fullmatch(words)
    seconds = read_seconds(found[1] or found[2]) if found else None
    return None if seconds is None else dt_util.as_utc(now) - timedelta(seconds=min(seconds, YEARS))


def _at_clock(words: str, day: str, now: datetime) -> datetime | None:
    """Return the moment of a time of the day, with or without the day."""
    try:
        moment = dt_util.parse_datetime(words.upper())
    except ValueError:
        return None
    if moment is not None:
        return moment if moment.tzinfo else moment.replace(tzinfo=dt_util.get_default_time_zone())
    found = _CLOCK.search(words)
    if found is None:
        return None
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if half := found["half"]:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        clock = time(hour, minute)
    except ValueError:
        return None
    rest = _FILLERS.sub(" ", f"{words[: found.start()]} {words[found.end() :]}").strip()
    period = _day_of(rest, now) if rest else _day_of(" ".join(day.casefold().split()), now)
    if rest and period is None:
        return None
    date = dt_util.as_local(period.start if period else now).date()
    at = datetime.combine(date, clock, dt_util.get_default_time_zone())
    return at - timedelta(days=1) if period is None and at >= now else at


def _day_of(words: str, now: datetime) -> Period | None:
    return _named(words, now) if words in DAYS else _one_day(words, now)


def _named(words: str, now: datetime) -> Period | None:
    """Return a period of the calendar in local time."""
    today = dt_util.start_of_local_day(dt_util.as_local(now))
    week = _days_after(today, -today.weekday())
    month = _days_after(today, 1 - today.day)
    year = dt_util.start_of_local_day(today.date().replace(month=1, day=1))
    named = {
        "today": (today, _days_after(today, 1)),
        "yesterday": (_days_after(today, -1), today),
        "day before yesterday": (_days_after(today, -2), _days_after(today, -1)),
        "this week": (week, _days_after(week, 7)),
        "last week": (_days_after(week, -7), week),
        "this month": (month, _month_after(month)),
        "last month": (_days_after(month, -_days_after(month, -1).day), month),
        "this year": (year, _year_after(year, 1)),
        "last year": (_year_after(year, -1), year),
    }
    if words not in named:
        return None
    start, closes = named[words]
    return Period(start, min(now, closes), closes)


def _days_after(day: datetime, days: int) -> datetime:
    """Return the beginning of a later local day, right across a change of the clocks."""
    return dt_util.start_of_local_day(day.date() + timedelta(days=days))


def _month_after(first: datetime) -> datetime:
    """Return the beginning of the month after one, from its first day."""
    return dt_util.start_of_local_day((first.date() + timedelta(days=31)).replace(day=1))


def _year_after(first: datetime, years: int) -> datetime:
    """Return the beginning of a later year, from the first day of one."""
    return dt_util.start_of_local_day(first.date().replace(year=first.year + years))


def _one_day(words: str, now: datetime) -> Period | None:
    """Return the local day of an ISO date."""
    try:
        day = dt_util.parse_date(words)
    except ValueError:
        return None
    if day is None:
        return None
    start = dt_util.start_of_local_day(day)
    closes = _days_after(start, 1)
    return Period(start, min(now, closes), closes)


def _days(words: str, now: datetime) -> Period | None:
    found = _DATES.fullmatch(words)
    first, last = (_one_day(found[1], now), _one_day(found[2], now)) if found else (None, None)
    return None if first is None or last is None or last.end < first.end else Period(first.start, last.end)


def _month(words: str, now: datetime) -> Period | None:
    """Return a month: 2026-10, October, in October 2025. Without a year it is the last one that has begun."""
    found = _MONTH.fullmatch(words)
    if found is None:
        return None
    today = dt_util.as_local(now).date()
    month = int(found["number"] or 0) or MONTHS.index(found["name"][:3]) + 1
    if not 1 <= month <= len(MONTHS):
        return None
    year = int(found["iso"] or found["year"] or today.year - (month > today.month))
    first = today.replace(year=year, month=month, day=1)
    start = dt_util.start_of_local_day(first)
    closes = _month_after(start)
    return Period(start, min(dt_util.as_local(now), closes), closes)


def _length(words: str, now: datetime) -> Period | None:
    seconds = read_seconds(_FILLER.sub("", words))
    if seconds is None or seconds < MIN_PERIOD.total_seconds():
        return None
    seconds = min(seconds, 2 * MAX_PERIOD.total_seconds())
    return Period(dt_util.as_utc(now) - timedelta(seconds=seconds), now)
