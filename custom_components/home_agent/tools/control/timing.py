"""`when`, `for` and `repeat` of a command, as models write them in any language."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.spoken_words import words_of
from ...languages.sentence import Wait
from ...planned.schedule import MAX_OFFSET, Schedule, next_sun
from ...texts import words
from ...timespans import format_local
from ...when import NEVER, Coming, Sun, read, read_days, read_length
from .asked import FOR_FORMS, WHEN_FORMS
from .scripts import SCRIPT

SLOTS: Final = ("when", "for", "repeat")
MAX_AHEAD: Final = timedelta(days=366)
MIN_HOLD: Final = timedelta(seconds=1)
AT_ONCE: Final = frozenset({"", "now", "right now", "immediately", "at once", "none", "null"})


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
    days = read_days(repeat, language) if repeat else None
    schedule = None
    if when.casefold() not in AT_ONCE:
        schedule = _read_schedule(hass, when, days, language)
    elif days is not None:
        raise ValidationError(f"when: say at which time it is repeated, such as {WHEN_FORMS}")
    if hold.casefold() in NEVER:
        return Timing(schedule=schedule) if schedule else None
    begins = schedule.due if schedule else dt_util.utcnow()
    value = read(hold, language, until=True)
    if isinstance(value, datetime) and value <= begins:
        value = read(hold, language, begins, until=True)
    ends = None if value is None else _schedule(hass, value, begins)
    if ends is None or ends.due - begins < MIN_HOLD:
        raise ValidationError(f"for: {hold[:40]!r} is not understood; give {FOR_FORMS}")
    if ends.due - begins > MAX_AHEAD:
        raise ValidationError("for: at most a year")
    return Timing(schedule=schedule, hold=ends.due - begins)


def _read_schedule(hass: HomeAssistant, text: str, days: tuple[int, ...] | None, language: str) -> Schedule:
    """Return when a command runs. Raises ValidationError for an unclear or past time."""
    now = dt_util.utcnow()
    value = read(text, language, now)
    schedule = None if value is None else _schedule(hass, value, now)
    if schedule is None:
        raise ValidationError(f"when: {text[:40]!r} is not understood or has no time; give {WHEN_FORMS}")
    if days is not None:
        weekday = dt_util.as_local(schedule.due).weekday()
        schedule = replace(schedule, days=days or (weekday,))
        if schedule.due <= now or weekday not in schedule.days:  # it begins on the first of its days
            schedule = replace(schedule, due=schedule.next_after(hass, now) or schedule.due)
    if schedule.due <= now:
        raise ValidationError(f"when: {text[:40]!r} is over already; it is {format_local(now)}")
    if schedule.due - now > MAX_AHEAD:
        raise ValidationError("when: at most a year ahead")
    return schedule


def _schedule(hass: HomeAssistant, value: Coming, now: datetime) -> Schedule | None:
    """Return when a time is due; None for a day without a time."""
    match value:
        case Sun():
            tomorrow = dt_util.as_utc(dt_util.start_of_local_day() + timedelta(days=1))
            if abs(value.offset) > MAX_OFFSET:
                return None
            try:
                due = next_sun(hass, value.event, value.offset, tomorrow if value.tomorrow else now)
            except ValueError:
                return None
            return Schedule(due=due, sun=value.event, offset=value.offset)
        case timedelta():
            return Schedule(due=now + value) if value > timedelta() else None
        case datetime():
            return Schedule(due=dt_util.as_utc(value), clock=value.time())
    return None


WHEN, FOR, UNTIL, DATE = "when", "for", "until", "date"
WHEN_KEYS: Final = words_of(
    "when delay after at at_time schedule scheduled schedule_at schedule_time scheduled_at scheduled_for "
    "scheduled_time run_at run_after execute_at execute_after start start_at start_time begin time date "
    "datetime date_time"
)
FOR_KEYS: Final = words_of("for duration for_duration hold length_of_time timeout")
UNTIL_KEYS: Final = words_of("until end end_at end_time")
KNOWN: Final = WHEN_KEYS | FOR_KEYS | UNTIL_KEYS
TIME_WORDS: Final = words_of(
    "when delay delayed after at before schedule scheduled until for start starts begin begins end ends time "
    "times timeout timer duration hold wait date datetime due deadline second seconds minute minutes hour "
    "hours"
)
"""Words in a key that make its value a time."""
RELATIVE: Final = words_of("delay after run_after execute_after")
"""Keys whose bare number is never a time of day."""
UNITS: Final = words_of("seconds minutes hours")
NOTHING: Final = (0, "0")
SECONDS: Final[Mapping[str, int]] = {"seconds": 1, "minutes": 60, "hours": 3600}
LONGEST: Final = 4
"""Words of a length of time in a sentence."""


def is_about_time(key: str) -> bool:
    """Return whether the name of an argument says that its value is a time."""
    return not TIME_WORDS.isdisjoint(key.casefold().replace("-", "_").replace(" ", "_").split("_"))


def with_times(
    args: Mapping[str, Any],
    given: Mapping[str, Any],
    records: Sequence[EntityRecord],
    sentence: str,
    language: str,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments with their times in `when` and `for`, and the values without them.

    A value that all targets take, such as the duration of a timer, stays one.

    Raises ValidationError for a time that cannot be read.
    """
    slots, values = dict(args), {}
    found: dict[str, str] = {}
    domains = {record.domain for record in records}
    times = {slot: slots[slot] for slot in (WHEN, FOR) if slots.get(slot)}
    for key, value in given.items():
        if (
            not is_about_time(key)
            or SCRIPT in domains
            or (domains and all(_takes(one, key) for one in domains))
        ):
            values[key] = value
        else:
            times[key] = value
    for key, value in times.items():
        if value in NOTHING:
            slots.pop(key, None)
            continue
        slot, text = _read(key, value, sentence, language)
        if found.setdefault(slot, text) != text:
            raise ValidationError(f"{slot}: give one time only, not {found[slot][:40]!r} and {text[:40]!r}")
    if date := found.pop(DATE, None):
        found[WHEN] = " ".join(filter(None, (date, found.get(WHEN))))
    return {**slots, **found}, values


def _takes(domain: str, key: str) -> bool:
    return any(key in (name, *one.aliases.split()) for name, one in DOMAINS[domain].parameters.items())


def _read(key: str, value: Any, sentence: str, language: str) -> tuple[str, str]:
    """Return the slot that a time belongs to, and its text. Raises ValidationError."""
    name, _, unit = key.rpartition("_")
    name, unit = (name, unit) if unit in UNITS else (key, "")
    text = " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
    if isinstance(value, bool) or not text or name not in KNOWN:
        raise ValidationError(
            f"{key[:40]}: is not known, so nothing was done. For later give when, such as {WHEN_FORMS}; "
            f"for a while give for, such as {FOR_FORMS}"
        )
    if text.replace(".", "", 1).isdecimal():
        text = f"{text} {unit}" if unit else _counted(name, text, sentence, language)
    if name in UNTIL_KEYS:
        is_told = text.casefold().startswith(f"{UNTIL} ")
        return FOR, text if is_told else f"{UNTIL} {text}"
    if name in FOR_KEYS:
        return FOR, text
    return (DATE if name == DATE else WHEN), text


def _counted(name: str, number: str, sentence: str, language: str) -> str:
    """Return a bare number with its unit, as the sentence says it. Raises ValidationError if it does not."""
    said = set(_lengths(sentence, language))
    for unit, seconds in SECONDS.items():
        if float(number) * seconds in said:
            return f"{number} {unit}"
    if name in RELATIVE or name in FOR_KEYS:
        slot, forms = (FOR, FOR_FORMS) if name in FOR_KEYS else (WHEN, WHEN_FORMS)
        other = f" (for later: when, such as {WHEN_FORMS})" if slot == FOR else ""
        raise ValidationError(
            f"{name}: {number} has no unit, so nothing was done. Give {slot}, such as {forms}{other}, "
            "if the person said a time; else leave it out"
        )
    return number


def _lengths(sentence: str, language: str) -> Iterator[float]:
    """Yield the lengths of time in a sentence, in seconds."""
    said = words(sentence)
    start = 0
    while start < len(said):
        for size in range(min(LONGEST, len(said) - start), 0, -1):
            if length := read_length(" ".join(said[start : start + size]), language):
                yield length.total_seconds()
                break
        start += size
