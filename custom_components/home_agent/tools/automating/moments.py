"""Times of triggers and conditions: of each day, or by the sun."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import time
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ...automating.clauses import Clause
from ...errors import ValidationError
from ...languages.times import in_english
from ...regex import lazy_regex
from ...timers.repeating import EVERY_DAY
from ..control.timing import read_timing
from ..everyday.days import read_days
from ..everyday.moments import read_clock, read_length, readable
from .words import days_in_english, split_by

TIME_FORMS: Final = "22:30, sunset or sunset - 30 minutes"
MAX_FOR: Final = 7 * 86_400
MAX_WORDS: Final = 12
LONGEST: Final = 5
"""Words of a length of time."""
_BARE_HOUR: Final = lazy_regex(r"(?:at )?(\d{1,2})(?: ?(?:h|oclock))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DayTime:
    """A time of each day."""

    clock: str = ""
    """As Home Assistant writes it, with seconds; empty if it is by the sun."""
    sun: str = ""
    """The event of the sun."""
    offset: int = 0
    """Seconds after it, negative before it."""
    days: tuple[int, ...] = ()
    """Days of the week from 0 for Monday; none for every day."""

    @property
    def spoken(self) -> str:
        """Return the time as it is spoken."""
        return self.clock.removesuffix(":00") if self.clock.count(":") > 1 else self.clock


def read_time(hass: HomeAssistant, value: Any, language: str, slot: str = "time") -> DayTime:
    """Return a time of each day, perhaps with its days. Raises ValidationError."""
    text = " ".join(str(value).split())
    said = text.split()
    if len(said) <= MAX_WORDS and not _is_length(text, language):
        for head, rest in _splits(said):
            days = _days(head, language)
            if days is not None and (found := _time(hass, rest, language)) is not None:
                return DayTime(clock=found.clock, sun=found.sun, offset=found.offset, days=days)
    raise ValidationError(f"{slot}: {text[:40]!r} is no time of the day. Give {TIME_FORMS}")


def read_weekdays(value: Any, language: str) -> tuple[int, ...]:
    """Return days of the week; none for every day. Raises ValidationError."""
    said = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if (parts := split_by(said, "except", language)) is not None:
        all_days = _named(parts[0], language) or EVERY_DAY
        return _of_week(tuple(day for day in all_days if day not in _named(parts[1], language)))
    return _of_week(_named(said, language))


def _named(text: str, language: str) -> tuple[int, ...]:
    """Return the days of a text that contains nothing else; none for every day. Raises ValidationError."""
    for form in days_in_english(text, language):
        with suppress(ValidationError):
            return read_days(form, language, "days", alone=True) or ()
    return read_days(text, language, "days", alone=True) or ()


def read_for(value: Any, language: str) -> int:
    """Return a length of time in seconds. Raises ValidationError."""
    if isinstance(value, Mapping):
        value = " ".join(f"{number} {unit}" for unit, number in value.items() if number)
    text = str(value).strip()
    length = read_length(readable(text, language))
    seconds = int(length.total_seconds()) if length is not None else 0
    if not 0 < seconds <= MAX_FOR:
        raise ValidationError(f"for: {text[:40]!r} is no length of time up to a week. Give 10 minutes")
    return seconds


def take_length(words: list[str], language: str) -> tuple[list[str], int]:
    """Return words without the length of time among them, and its seconds; 0 if there is none."""
    for size in range(min(LONGEST, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            text = " ".join(words[start : start + size])
            if words[start][0].isalnum() and any(map(str.isalpha, text)) and _is_length(text, language):
                return [*words[:start], *words[start + size :]], read_for(text, language)
    return words, 0


def as_duration(seconds: int) -> str:
    """Return a length of time as Home Assistant writes it."""
    hours, rest = divmod(abs(seconds), 3600)
    return f"{'-' if seconds < 0 else ''}{hours:02}:{rest // 60:02}:{rest % 60:02}"


def held_for(clause: Clause, seconds: int) -> Clause:
    """Return a clause that has to be so for some time."""
    return replace(clause, config={**clause.config, "for": as_duration(seconds)}, seconds=seconds)


def _splits(said: list[str]) -> Iterator[tuple[str, str]]:
    """Yield days and time of a text: all of it a time, or days before or behind it."""
    yield "", " ".join(said)
    for index in range(1, len(said)):
        yield " ".join(said[:index]), " ".join(said[index:])
        yield " ".join(said[index:]), " ".join(said[:index])


def _days(text: str, language: str) -> tuple[int, ...] | None:
    """Return days, none for every day; None for anything that is no days."""
    if not text:
        return ()
    try:
        days = read_days(text, language)
    except ValidationError:
        return None
    return None if days is None else _of_week(days)


def _of_week(days: tuple[int, ...]) -> tuple[int, ...]:
    return () if set(days) == set(EVERY_DAY) else days


def _time(hass: HomeAssistant, text: str, language: str) -> DayTime | None:
    """Return a time of each day; None for anything else."""
    for form in (text.casefold(), *in_english(text, language)):
        if bare := _BARE_HOUR.fullmatch(form):
            text = f"{bare[1]}:00"
            break
    if (clock := read_clock(text.casefold())) is not None or (clock := _iso_clock(text)) is not None:
        return DayTime(clock=clock.strftime("%H:%M:%S"))
    try:
        timing = read_timing(hass, {"when": text}, language)
    except ValidationError:
        return None
    if timing is None or timing.schedule is None:
        return None
    if timing.schedule.sun:
        return DayTime(sun=timing.schedule.sun, offset=timing.schedule.offset)
    return DayTime(clock=dt_util.as_local(timing.schedule.due).strftime("%H:%M:%S"))


def _iso_clock(text: str) -> time | None:
    """Return a time with seconds."""
    return dt_util.parse_time(text)


def _is_length(text: str, language: str) -> bool:
    return read_length(readable(text, language)) is not None and not text.count(":")
