"""Periods with which another one is compared: an earlier one, the one before, or what is usual."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Final

from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...languages.times import in_english
from ..query.periods import Period, parse_period
from .counted import Step, step_of

NOW: Final = timedelta(seconds=5)
"""A period that ends so shortly before now is not over."""
PREVIOUS: Final = frozenset({"previous", "before", "prior", "preceding", "earlier"})
USUAL: Final = frozenset({"usual", "usually", "average", "normal", "normally", "typical", "mean", "avg"})
"""Words with which models ask for the one before, or for the average of several before."""
_LAST: Final = frozenset({"last", "true", "yes", "last period"})
"""Whole texts that mean the one before; as words they are part of a name such as last week."""
_FORMS: Final = "previous, usual, yesterday, last week, last month, 2026-10 or a date"
_USUAL_DAYS: Final = 7
_USUAL_WEEKS: Final = 4
_USUAL_MONTHS: Final = 3


def read_period(
    text: str, now: datetime, language: str, name: str = "period", forms: str = ""
) -> tuple[Period, datetime]:
    """Return a period of whole hours or days, and its end, or that of the day, week or month that it is.

    The dashboard shows all of a month that has begun. Raises ValidationError.
    """
    period = parse_period(text, now, language, name, *([forms] if forms else ()))
    start = dt_util.as_local(period.start)
    if period.length >= timedelta(days=2):
        start = dt_util.start_of_local_day(start)
    else:
        start = start.replace(minute=0, second=0, microsecond=0)
    return Period(start, period.end), period.closes or period.end


def is_usual(text: str, language: str) -> bool:
    """Return whether a text asks for what is usual."""
    return any(USUAL.intersection(form.split()) for form in _forms(text, language))


def earlier_periods(
    text: str, period: Period, whole: datetime, now: datetime, language: str
) -> list[tuple[Period, Step]]:
    """Return the periods to compare with, as much of each as has passed of the first one.

    It is one, but several for what is usual. Raises ValidationError.
    """
    starts, ends = dt_util.as_local(period.start), dt_util.as_local(whole)
    if is_usual(text, language):
        found: list[Period] = []
        for _each in range(_how_many(starts.date(), ends.date())):
            found.append(_before(starts, ends))
            starts, ends = found[-1].start, found[-1].end
    elif _is_previous(text, language):
        found = [_before(starts, ends)]
    else:
        named, ending = read_period(text, now, language, "compare", _FORMS)
        if named.start != period.start or named.end != period.end:
            return [_as_far(text, named, ending, period, now)]
        found = [_before(starts, ends)]
    return [_as_far(text, each, each.end, period, now) for each in found]


def _forms(text: str, language: str) -> list[str]:
    """Return a text in lower case, and what it is in English."""
    plain = " ".join(text.casefold().replace("_", " ").split())
    return [plain, *in_english(plain, language, past=True)]


def _is_previous(text: str, language: str) -> bool:
    """Return whether a text asks for the period before."""
    return any(form in _LAST or PREVIOUS.intersection(form.split()) for form in _forms(text, language))


def _how_many(start: date, end: date) -> int:
    """Return of how many periods the average is taken."""
    days = (end - start).days
    return _USUAL_DAYS if days <= 2 else _USUAL_WEEKS if days <= 7 else _USUAL_MONTHS  # noqa: PLR2004


def _before(start: datetime, end: datetime) -> Period:
    """Return the period before one: the month before a month, the same hours of an earlier day."""
    days = max(end.date() - start.date(), timedelta(days=1))
    if start != dt_util.start_of_local_day(start):
        return Period(start - days, end - days)
    day = start.date()
    if day.day == end.day == 1 and end.date() > day:
        months = (end.year - day.year) * 12 + end.month - day.month
        first = day.year * 12 + day.month - 1 - months
        before = date(first // 12, first % 12 + 1, 1)
    else:
        before = day - days
    return Period(dt_util.start_of_local_day(before), start)


def _as_far(
    text: str, earlier: Period, ending: datetime, period: Period, now: datetime
) -> tuple[Period, Step]:
    """Return as much of an earlier period as has passed of one that is not over, and its steps."""
    start = dt_util.as_local(period.start)
    if now - period.end < NOW:
        # On the clock, not in hours that have passed: noon is noon, also when clocks are changed.
        passed = dt_util.as_local(period.end).replace(tzinfo=None) - start.replace(tzinfo=None)
        until = (dt_util.as_local(earlier.start) + passed).replace(minute=0, second=0, microsecond=0)
        earlier = Period(earlier.start, min(earlier.end, until))
    if earlier.end <= earlier.start:
        raise ValidationError(f"compare: {text[:40]!r} has no time to compare with; give an earlier period")
    ends_within_day = dt_util.as_local(earlier.end) != dt_util.start_of_local_day(earlier.end)
    return earlier, "hour" if ends_within_day else step_of(earlier, ending)


def swapped(period: str, compare: str, now: datetime, language: str) -> Sequence[str]:
    """Return a period and what it is compared with, the later one first."""
    if not compare or is_usual(compare, language) or _is_previous(compare, language):
        return period, compare
    first, _ = read_period(period, now, language)
    second, _ = read_period(compare, now, language, "compare", _FORMS)
    return (compare, period) if second.start > first.start else (period, compare)
