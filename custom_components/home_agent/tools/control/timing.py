"""`when`, `for` and `repeat` of a command, as models write them in any language."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...languages.sentence import Wait
from ...languages.times import in_english
from ...planned.schedule import MAX_OFFSET, SUN_EVENTS, Schedule, next_sun
from ...regex import lazy_regex
from ...timers.repeating import EVERY_DAY, next_at
from ...timespans import format_local
from ..everyday.days import NEVER, read_days
from ..everyday.moments import read_length, read_moment
from .asked import FOR_FORMS, WHEN_FORMS

SLOTS: Final = ("when", "for", "repeat")
MAX_AHEAD: Final = timedelta(days=366)
MIN_HOLD: Final = timedelta(seconds=1)
IGNORED: Final = frozenset({"at", "the", "today", "tomorrow"})
"""Words beside an event of the sun that say nothing about its offset."""
AT_ONCE: Final = frozenset({"", "now", "right now", "immediately", "at once", "none", "null"})
_HOUR: Final = lazy_regex(r"\b(\d{1,2}) ?(?:oclock|h)\b")
_BARE_HOUR: Final = lazy_regex(r"(?:at )(\d{1,2})")
_MINUS: Final = str.maketrans({"\u2212": "-", "\u2013": "-"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a command runs, and for how long it holds."""

    schedule: Schedule | None
    """None for now."""
    hold: timedelta = timedelta()
    """After this time the states from before are restored; zero if they are not."""

    @property
    def answers(self) -> frozenset[Wait]:
        """Return what a sentence may wait for that a call with this timing does."""
        if self.schedule is None:
            return frozenset({Wait.TIME, Wait.LENGTH})
        repeated = {Wait.REPEATED} if self.schedule.days else set[Wait]()
        return frozenset({Wait.TIME, Wait.LENGTH, Wait.CONDITION} | repeated)


def read_timing(hass: HomeAssistant, args: Mapping[str, Any], language: str) -> Timing | None:
    """Return the timing of arguments; None for a command for now.

    Raises ValidationError that names the slot and what is accepted.
    """
    when, hold, repeat = (str(args.get(slot) or "").strip() for slot in SLOTS)
    days = read_days(repeat, language)
    schedule = None
    if when.casefold() not in AT_ONCE:
        schedule = _read_schedule(hass, when, days, language)
    elif days is not None:
        raise ValidationError(f"when: say at which time it is repeated, such as {WHEN_FORMS}")
    if hold.casefold() in NEVER:
        return Timing(schedule=schedule) if schedule else None
    begins = schedule.due if schedule else dt_util.utcnow()
    return Timing(schedule=schedule, hold=_read_hold(hass, hold, begins, language))


def _spellings(text: str, language: str) -> Iterator[str]:
    """Yield a text and what it is in English."""
    plain = " ".join(text.casefold().translate(_MINUS).split())
    yield plain
    for english in in_english(plain, language):
        yield _HOUR.sub(r"\1:00", english)


def _first[T](text: str, language: str, read: Callable[[str], T | None]) -> T | None:
    """Return what a text means, in the first language in which it means anything."""
    return next((found for each in _spellings(text, language) if (found := read(each)) is not None), None)


def _read_schedule(hass: HomeAssistant, text: str, days: tuple[int, ...] | None, language: str) -> Schedule:
    """Return when a command runs. Raises ValidationError for an unclear or past time."""
    now = dt_util.utcnow()
    schedule = _first(text, language, lambda said: _schedule(hass, said, now))
    if schedule is None:
        raise ValidationError(f"when: {text[:40]!r} is not understood or has no time; give {WHEN_FORMS}")
    if days is not None:
        schedule = _repeated(hass, schedule, days, now)
    if schedule.due <= now:
        raise ValidationError(f"when: {text[:40]!r} is over already; it is {format_local(now)}")
    if schedule.due - now > MAX_AHEAD:
        raise ValidationError("when: at most a year ahead")
    return schedule


def _schedule(hass: HomeAssistant, said: str, now: datetime) -> Schedule | None:
    """Return when an English text means; None if it is none."""
    if (sun := _read_sun(hass, said, now)) is not None:
        return sun
    due = _read_due(said, now)
    return None if due is None else Schedule(due=due)


def _read_due(said: str, now: datetime) -> datetime | None:
    """Return a time to come, in UTC; None for anything else. A day needs a time."""
    if (length := read_length(said)) is not None:
        return now + length if length > timedelta() else None
    if bare := _BARE_HOUR.fullmatch(said):
        return _next_hour(int(bare[1]), now)
    try:
        moment = read_moment(said, "when")
    except ValidationError:
        return None
    return dt_util.as_utc(moment) if isinstance(moment, datetime) else None


def _next_hour(hour: int, now: datetime) -> datetime | None:
    """Return when a clock with twelve hours next shows an hour; one above twelve is of the day."""
    if hour > 24:  # noqa: PLR2004 - hours of a day
        return None
    hours = {hour % 12, hour % 12 + 12} if hour <= 12 else {hour % 24}  # noqa: PLR2004 - as above
    midnight = dt_util.start_of_local_day().time()
    return min(next_at(midnight.replace(hour=each), EVERY_DAY, now) for each in hours)


def _read_sun(hass: HomeAssistant, said: str, now: datetime) -> Schedule | None:
    """Return a time by the sun; None for anything else."""
    words = said.replace("-", " - ").replace("+", " + ").split()
    event = next((word for word in SUN_EVENTS if words.count(word) == 1), None)
    if event is None:
        return None
    after = now
    if "tomorrow" in words:
        after = dt_util.as_utc(dt_util.start_of_local_day() + timedelta(days=1))
    rest = [word for word in words if word not in IGNORED]
    at = rest.index(event)
    offset = _offset(rest[:at], rest[at + 1 :])
    if offset is None or abs(offset) > MAX_OFFSET:
        return None
    try:
        due = next_sun(hass, event, offset, after)
    except ValueError:
        return None
    return Schedule(due=due, sun=event, offset=offset)


def _offset(before: list[str], behind: list[str]) -> int | None:
    """Return the seconds after an event of the sun from the words on both sides of it; None if unclear."""
    if before[-1:] in (["before"], ["after"]) and not behind:
        sign, length = (-1 if before[-1] == "before" else 1), before[:-1]
    elif behind[:1] in (["-"], ["+"]) and not before:
        sign, length = (-1 if behind[0] == "-" else 1), behind[1:]
        if not length:
            return None
    else:
        return None if before or behind else 0
    seconds = read_length(" ".join(length)) if length else timedelta()
    return None if seconds is None else sign * int(seconds.total_seconds())


def _repeated(hass: HomeAssistant, schedule: Schedule, days: tuple[int, ...], now: datetime) -> Schedule:
    """Return a schedule that is repeated; it begins on the first of its days."""
    local = dt_util.as_local(schedule.due)
    days = days or (local.weekday(),)
    due = schedule.due
    if due <= now or local.weekday() not in days:
        if schedule.sun:
            due = next_sun(hass, schedule.sun, schedule.offset, now, days)
        else:
            due = next_at(local.time(), days, now)
    return Schedule(due=due, days=days, sun=schedule.sun, offset=schedule.offset)


def _read_hold(hass: HomeAssistant, text: str, begins: datetime, language: str) -> timedelta:
    """Return how long a command holds. Raises ValidationError."""

    def held(said: str) -> timedelta | None:
        if (length := read_length(said)) is not None:
            return length
        said = said.removeprefix("until ")
        ends = _schedule(hass, said, begins)
        return None if ends is None else ends.due - begins

    found = _first(text, language, held)
    if found is None or found < MIN_HOLD:
        raise ValidationError(f"for: {text[:40]!r} is not understood; give {FOR_FORMS}")
    if found > MAX_AHEAD:
        raise ValidationError("for: at most a year")
    return found
