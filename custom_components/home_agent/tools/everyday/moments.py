"""Days and times to come, as models write them."""

from datetime import date, datetime, time, timedelta
from typing import Final

from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...languages.times import in_english
from ...regex import lazy_regex
from ...timers.timers import EVERY_DAY, WEEKEND, WORKDAYS
from ...timespans import TIME_CHARS, read_seconds

FORMS: Final = "2026-03-29, 2026-03-29 18:30, 18:30, today, tomorrow 7:00 or a weekday"
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NAMED_TIMES: Final = {"noon": time(12), "midday": time(12), "midnight": time(0)}
_CLOCK: Final = lazy_regex(r"(\d{1,2})(?:[:.h](\d{2}))?(?::\d{2})?\s*([ap])?\.?(?:m\.?)?")
_FILLER: Final = lazy_regex(
    r"^(?:in|after|for|at|on|by|this|next)\s+|(?<!\s)\s+(?:from now|later)$|(?<=\s)at\s+"
)


def readable(text: str, language: str) -> str:
    """Return a time or a length in the words that the readers below know, from any language.

    "20 Minuten" becomes "20 minute". A text that is nothing of both is returned as it is.
    """
    for form in (text.strip(), *in_english(text.strip(), language)):
        if read_length(form) is not None or _is_moment(form):
            return form
    return text.strip()


def _is_moment(text: str) -> bool:
    try:
        read_moment(text, "")
    except ValidationError:
        return False
    return True


def read_moment(text: str, slot: str, forms: str = FORMS) -> date | datetime:
    """Return the day, or the aware local time, that a model means; a time that is over today is tomorrow's.

    Raises ValidationError that names what is accepted.
    """
    written = _short(text).strip().strip("\"'")
    if (moment := _iso(written)) is not None:
        return moment
    words = " ".join(written.casefold().replace(",", " ").split())
    while (shorter := _FILLER.sub("", words).strip()) != words:
        words = shorter
    head, _, rest = words.partition(" ")
    day = _day(head)
    if day is None:
        clock = read_clock(words)
        if clock is None:
            raise ValidationError(f"{slot}: {text[:40]!r} is not understood; give {forms}")
        today = dt_util.now()
        moment = datetime.combine(today.date(), clock, today.tzinfo)
        return moment if moment > today else at_clock(today.date() + timedelta(days=1), clock)
    if not rest:
        return day
    clock = read_clock(_FILLER.sub("", rest))
    if clock is None:
        raise ValidationError(f"{slot}: {text[:40]!r} is not understood; give {forms}")
    return at_clock(day, clock)


def read_period(text: str) -> tuple[date, date] | None:
    """Return the first and the last day of a week, a weekend or a month; None for anything else.

    What is over of this week or this month is left out.
    """
    which, _, unit = " ".join(_short(text).casefold().split()).removeprefix("the ").rpartition(" ")
    which = which or ("this" if unit == "weekend" else "")
    if which not in ("this", "next", "coming") or unit not in ("week", "weekend", "month"):
        return None
    today, later = dt_util.now().date(), which == "next"
    if unit == "month":
        first = today.replace(day=1)
        beyond = (first + timedelta(days=32)).replace(day=1)
        if later:
            first, beyond = beyond, (beyond + timedelta(days=32)).replace(day=1)
        return max(first, today), beyond - timedelta(days=1)
    monday = today - timedelta(days=today.weekday()) + timedelta(days=7 * later)
    first = monday + timedelta(days=5) if unit == "weekend" else monday
    return max(first, today), monday + timedelta(days=6)


def read_length(text: str) -> timedelta | None:
    """Return a length of time such as "10 minutes" or "1:30:00"; None for anything else."""
    words = " ".join(_short(text).strip().strip("\"'").casefold().split())
    words = _FILLER.sub("", words).strip()
    sign = -1 if words[:1] in "-\u2212" and words else 1
    seconds = read_seconds(words.lstrip("+-\u2212 "))
    return timedelta(seconds=sign * seconds) if seconds else None


def at_clock(day: date, clock: time) -> datetime:
    """Return a time of a local day."""
    return datetime.combine(day, clock, dt_util.get_default_time_zone())


def start_of(moment: date | datetime) -> datetime:
    """Return a moment, or the beginning of a local day."""
    return moment if isinstance(moment, datetime) else dt_util.start_of_local_day(moment)


def end_of(moment: date | datetime) -> datetime:
    """Return a moment, or the end of a local day."""
    if isinstance(moment, datetime):
        return moment
    return dt_util.start_of_local_day(moment + timedelta(days=1))


def read_clock(text: str) -> time | None:
    """Return a time of day: 18:30, 7 am, noon; None for anything else."""
    if text in NAMED_TIMES:
        return NAMED_TIMES[text]
    said, full, _ = _short(text).strip().casefold().partition(" oclock")
    match = _CLOCK.fullmatch(f"{said}:00" if full and said.isdecimal() else said)
    if match is None or (match[2] is None and match[3] is None):
        return None
    hour, minute = int(match[1]), int(match[2] or 0)
    if match[3]:
        hour = hour % 12 + (12 if match[3] == "p" else 0)
    try:
        return time(hour, minute)
    except ValueError:
        return None


def _short(text: str) -> str:
    """Return a text that may name a time; nothing for a longer one, which is refused like any other text."""
    return text if len(text) <= TIME_CHARS else ""


def _iso(text: str) -> date | datetime | None:
    """Return an ISO date or time; one without an offset is local."""
    try:
        day = dt_util.parse_date(text)
        moment = None if day else dt_util.parse_datetime(text)
    except ValueError:
        return None
    if moment is None:
        return day
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt_util.get_default_time_zone())
    return dt_util.as_local(moment)


def _day(word: str) -> date | None:
    today = dt_util.now().date()
    if word in ("today", "tonight", "now"):
        return today
    if word == "tomorrow":
        return today + timedelta(days=1)
    if word in WEEKDAYS:
        return today + timedelta(days=(WEEKDAYS.index(word) - today.weekday()) % 7 or 7)
    try:
        return dt_util.parse_date(word)
    except ValueError:
        return None


REPEAT_FORMS: Final = "daily, weekdays, weekends, weekly or days such as monday, friday"
NEVER: Final = frozenset({"", "no", "none", "never", "once", "false", "null"})
_REPEATS: Final = {
    "daily": EVERY_DAY,
    "day": EVERY_DAY,
    "weekdays": WORKDAYS,
    "weekday": WORKDAYS,
    "workdays": WORKDAYS,
    "workday": WORKDAYS,
    "working day": WORKDAYS,
    "weekends": WEEKEND,
    "weekend": WEEKEND,
    "weekly": (),
    "week": (),
}
_IGNORED: Final = frozenset({"and", "every", "each", "on", "at"})
"""Words beside days that say nothing."""
_TO: Final = frozenset({"to", "until", "through"})
_DASHES: Final = lazy_regex(r"[-\u2010-\u2015]")


def read_days(
    text: str, language: str, slot: str = "repeat", *, alone: bool = False
) -> tuple[int, ...] | None:
    """Return the days of a repetition from 0 for Monday, none for weekly; None for no repetition.

    Raises ValidationError for anything else. A text that contains days `alone`, and no time, may be a range
    in more words: "de martes a jueves".
    """
    written = " ".join(text.casefold().replace(",", " and ").split())
    for form in dict.fromkeys((" ".join(_DASHES.sub(" to ", written).split()), written)):
        for said in (form, *in_english(form, language)):
            if said in NEVER:
                return None
            if (found := _days(said, alone=alone)) is not None:
                return found
    raise ValidationError(f"{slot}: {text[:40]!r} is not one of {REPEAT_FORMS}")


def _days(said: str, *, alone: bool = False) -> tuple[int, ...] | None:
    """Return the days that an English text means; None if it means none, or if that is not clear."""
    words = said.split()
    if (named := _REPEATS.get(" ".join(word for word in words if word not in _IGNORED))) is not None:
        return named
    known = {name: number for number, name in enumerate(WEEKDAYS)}
    known |= {name[:3]: number for name, number in list(known.items())}
    found: set[int] = set()
    last, begins = None, None
    are_days = [word.removesuffix("s") in known for word in words]
    if alone and sum(are_days) > 1 and are_days[1] and not are_days[0]:
        words = words[1:]  # the word for "from"
    for word in words:
        day = known.get(word.removesuffix("s"))
        is_clear = day is not None or word in _IGNORED | _TO
        if not is_clear or (word == "at" and last is not None and not alone):  # "lundi au mercredi"
            return None
        if day is not None:
            first = day if begins is None else begins
            found |= {number % 7 for number in range(first, first + (day - first) % 7 + 1)}
        begins = last if word in _TO or (word == "at" and alone and last is not None) else None
        last = day
    return None if begins is not None else tuple(sorted(found)) or None
