"""Periods as the Energy dashboard counts them, and those with which one is compared."""

from datetime import datetime, timedelta
from typing import Final

from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...languages.times import in_english
from ..query.periods import Period, parse_period
from .counted import Step, step_of

NOW: Final = timedelta(seconds=5)
"""A period that ends so shortly before now is not over."""
_PREVIOUS: Final = frozenset({"previous", "before", "prior", "preceding", "earlier"})
_USUAL: Final = frozenset({"usual", "usually", "average", "normal", "normally", "typical", "mean", "avg"})
"""Words with which models ask for the one before, or for the average of several before."""
_LAST: Final = frozenset({"last", "true", "yes", "last period"})
"""Whole texts that mean the one before; as words they are part of a name such as last week."""
_FORMS: Final = "previous, usual, yesterday, last week, last month, 2026-10 or a date"
_USUAL_DAYS: Final = 7
_USUAL_WEEKS: Final = 4
_USUAL_MONTHS: Final = 3


def read_periods(text: str, compare: str, now: datetime, language: str) -> list[tuple[Period, Step]]:
    """Return a period and those to compare it with, as much of each as has passed of the first one.

    The later one of two comes first; for what is usual, several come after it. Raises ValidationError.
    """
    period, whole = _read(text, now, language)
    earlier: list[tuple[Period, datetime]] = []
    if compare:
        plain = " ".join(compare.casefold().replace("_", " ").split())
        forms = [plain, *in_english(plain, language, past=True)]
        words = {word for form in forms for word in form.split()}
        is_usual = not words.isdisjoint(_USUAL)
        if not is_usual and words.isdisjoint(_PREVIOUS) and _LAST.isdisjoint(forms):
            other, other_whole = _read(compare, now, language, "compare", _FORMS)
            if other.start > period.start:
                period, whole, other, other_whole = other, other_whole, period, whole
            if (other.start, other.end) != (period.start, period.end):
                earlier = [(other, other_whole)]
        start, end = dt_util.as_local(period.start), dt_util.as_local(whole)
        for _each in range(0 if earlier else _how_many(start, end) if is_usual else 1):
            start, end = _before(start, end)
            earlier.append((Period(start, end), end))
    return [(period, step_of(period, whole)), *(_as_far(*each, period, now) for each in earlier)]


def _read(
    text: str, now: datetime, language: str, name: str = "period", forms: str = ""
) -> tuple[Period, datetime]:
    """Return a period of whole hours or days, and its end, or that of the day, week or month that it is.

    The dashboard shows all of a month that has begun.
    """
    period = parse_period(text, now, language, name, *([forms] if forms else ()))
    start = dt_util.as_local(period.start)
    if period.length >= timedelta(days=2):
        start = dt_util.start_of_local_day(start)
    else:
        start = start.replace(minute=0, second=0, microsecond=0)
    return Period(start, period.end), period.closes or period.end


def _how_many(start: datetime, end: datetime) -> int:
    days = (end.date() - start.date()).days
    return _USUAL_DAYS if days <= 2 else _USUAL_WEEKS if days <= 7 else _USUAL_MONTHS  # noqa: PLR2004


def _before(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """Return the ends of the month before a month, of the same hours of an earlier day, and so on."""
    days = max(end.date() - start.date(), timedelta(days=1))
    if start != dt_util.start_of_local_day(start):
        return start - days, end - days
    day = start.date()
    if day.day == end.day == 1 and end.date() > day:
        months = (end.year - day.year) * 12 + end.month - day.month
        year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
        before = day.replace(year=year, month=month + 1)
    else:
        before = day - days
    return dt_util.start_of_local_day(before), start


def _as_far(earlier: Period, ending: datetime, period: Period, now: datetime) -> tuple[Period, Step]:
    """Return as much of an earlier period as has passed of one that is not over, and its steps."""
    if now - period.end < NOW:
        # On the clock, not in hours that have passed: noon is noon, also when clocks are changed.
        start, end = (dt_util.as_local(each).replace(tzinfo=None) for each in (period.start, period.end))
        until = dt_util.as_local(earlier.start) + (end - start)
        earlier = Period(earlier.start, min(earlier.end, until.replace(minute=0, second=0, microsecond=0)))
    if earlier.end <= earlier.start:
        raise ValidationError("compare: no full hour has passed to compare; give an earlier period")
    ends_within_day = dt_util.as_local(earlier.end) != dt_util.start_of_local_day(earlier.end)
    return earlier, "hour" if ends_within_day else step_of(earlier, ending)
