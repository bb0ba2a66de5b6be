"""Times and days as people and models write them, in any language.

What is to come is read by `read`, what has passed by `read_period` and `read_asked`. All of them try a text
as it is, then its words in English.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache
from operator import itemgetter
from typing import Final, NamedTuple

from homeassistant.util import dt as dt_util

from .errors import ValidationError
from .languages import DEFAULT, find, languages_with, table, words_to_99
from .languages.lexicon import Lexicon, Word, clauses
from .regex import lazy_regex
from .timespans import EVERY_DAY, TIME_CHARS, WEEKEND, WORKDAYS, read_seconds

FORMS: Final = "2026-03-29, 2026-03-29 18:30, 18:30, today, tomorrow 7:00 or a weekday"
REPEAT_FORMS: Final = "daily, weekdays, weekends, weekly or days such as monday, friday"
PERIOD_FORMS: Final = (
    "90m, 24h, 7d, today, this morning, last night, yesterday, this week, last month, 2026-10, since 8:00"
    " or a date"
)
INSTANT_FORMS: Final = "03:00, yesterday 3:00, a date with time or 2h ago"
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS: Final = {
    "now": 0,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "day before yesterday": -2,
}
"""Days by their distance from today."""
CALENDAR: Final = {"last": -1, "this": 0, "coming": 0, "next": 1}
PARTS: Final = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (20, 32)}
"""Hours of the parts of a day."""
MAX_PERIOD: Final = timedelta(days=366)
MIN_PERIOD: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)

_SIGNS: Final = str.maketrans({"\u2212": "-", "\u2013": "-", "_": " "})
_NOON: Final = lazy_regex(r"\b(?:noon|midday)\b")
_FULL_HOUR: Final = lazy_regex(r"\b(at|until|since|tomorrow|\w+day) (\d{1,2}) ?h\b")
_BARE_HOUR: Final = lazy_regex(r"at (\d{1,2})")
_FILLER: Final = lazy_regex(
    r"^(?:in|after|for|at|on|by|this|next)\s+|(?<!\s)\s+(?:from now|later)$|(?<=\s)at\s+"
)
_CLOCK: Final = lazy_regex(
    r"(?<![\d-])(\d{1,2})(?:[:.h](\d{2}))?(?::\d{2})?(?:\s*([ap])\.?m?\b\.?)?(?![\d:-])"
)
_BESIDE_CLOCK: Final = lazy_regex(r"\b(?:at|on|last night|this morning|the)\b|,")
_SUN: Final = lazy_regex(
    r"(?:(?P<ahead>.+ )?(?P<side>before|after) )?(?P<event>sunset|sunrise)"
    r"(?: ?(?P<sign>[-+]) ?(?P<behind>.+))?"
)
_BESIDE_SUN: Final = frozenset({"at", "the", "today", "tomorrow"})
_MONTH: Final = lazy_regex(
    r"(?:in )?(?:(?P<iso>20\d\d)-(?P<number>\d\d)|"
    r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}(?: (?P<year>20\d\d))?)"
)
_DATES: Final = lazy_regex(r"(?:from )?(\d{4}-\d\d-\d\d) ?(?:to|until|/|-|\.\.) ?(\d{4}-\d\d-\d\d)")
_PASSED: Final = lazy_regex(r"^(?:in\s+|over\s+|for\s+)?(?:the\s+)?(?:last|past|previous)\s+|^-")
_AGO: Final = lazy_regex(r"(?:(.{1,40}?) ago|-(.{1,40}))")


class Sun(NamedTuple):
    """A time by the sun."""

    event: str
    offset: int
    """Seconds after it, negative before it."""
    tomorrow: bool


class Period(NamedTuple):
    """A stretch of time; both ends are aware."""

    start: datetime
    end: datetime
    closes: datetime | None = None
    """When the day, week, month or year ends that it is; None if it is no such part of the calendar."""

    @property
    def length(self) -> timedelta:
        """Return the time that really passes, whatever clocks are put forward or back."""
        return timedelta(seconds=self.end.timestamp() - self.start.timestamp())


type Coming = date | datetime | timedelta | Sun | Period


def forms(text: str, language: str, *, past: bool = False) -> Iterator[str]:
    """Yield a text about a time as it is, and with its words in English; of a long one nothing."""
    if len(text) > TIME_CHARS:
        return
    plain = " ".join(text.strip().strip("\"'").casefold().translate(_SIGNS).replace(", ", " ").split())
    yield plain
    yield from in_english(plain, language, past=past)


def read(text: str, language: str, now: datetime | None = None, *, until: bool = False) -> Coming | None:
    """Return what a text about a time to come means, behind the word for `until` too; None for anything else.

    A day is a date, a time an aware local datetime: one that is over today is tomorrow's. A length may be
    negative. Of a week, a weekend or a month what is over is left out.
    """
    local = dt_util.as_local(now) if now else dt_util.now()
    for form in forms(text, language):
        is_end = until and form.startswith("until ")
        words = f"at {form.removeprefix('until ')}" if is_end else form
        if (value := _coming(words, local)) is not None:
            return value
    return None


def read_moment(text: str, language: str, slot: str) -> date | datetime:
    """Return the day or the local time that a text means. Raises ValidationError with what is accepted."""
    moment = read(text, language)
    if isinstance(moment, date):
        return moment
    raise ValidationError(f"{slot}: {text.strip()[:40]!r} is not understood; give {FORMS}")


def read_length(text: str, language: str) -> timedelta | None:
    """Return a length of time such as "10 minutes" or "1:30:00"; None for anything else."""
    return next((length for form in forms(text, language) if (length := _length(form)) is not None), None)


def read_clock(text: str) -> time | None:
    """Return a time of day: 18:30, 7 am, noon; None for anything else, and for an hour alone."""
    clock, rest = _clock(_spelt(text.strip().casefold()) if len(text) <= TIME_CHARS else "")
    return None if rest else clock


def read_period(text: str, language: str, now: datetime, name: str = "history.duration") -> Period:
    """Return the period of the past that a text means, ending now or at the end of the day it names.

    `name` is the parameter. Raises ValidationError that names it and what is accepted.
    """
    for form in forms(text, language, past=True):
        if (period := _part_of_day(form, now) or _passed(form, now) or _since(form, now)) is None:
            continue
        if period.start >= now:
            raise ValidationError(f"{name}: {text[:40]!r} has not begun yet")
        if period.length > MAX_PERIOD:
            raise ValidationError(f"{name}: {text[:40]!r} is too long; at most 1y")
        return period
    raise ValidationError(f"{name}: {text[:40]!r} is not understood; give {PERIOD_FORMS}")


def read_asked(at: str, duration: str, language: str, now: datetime) -> tuple[Period, bool]:
    """Return the period that is asked about, 24 hours without a duration; and whether it is a minute.

    `at` may be a minute, such as "03:00", "yesterday 3:00" or "2 hours ago": without a day the newest such
    time, on the day of the duration if that names one. It may be a day, a part of one or "since 8:00", too.
    Raises ValidationError that names what is accepted.
    """
    if not at:
        return read_period(duration or "24h", language, now), False
    today = dt_util.as_local(now).date()
    for form in forms(at, language, past=True):
        if _day(form, today, past=True) or _part_of_day(form, now) or _since(form, now):
            return read_period(at, language, now), False
        if (start := _ago(form, now) or _past_clock(form, duration.strip().casefold(), now)) is None:
            continue
        if start >= now:
            raise ValidationError(f"history.at: {at[:40]!r} has not come yet")
        if now - start > MAX_PERIOD:
            raise ValidationError(f"history.at: {at[:40]!r} is too long ago; at most 1y")
        return Period(start, min(now, start + MINUTE)), True
    raise ValidationError(f"history.at: {at[:40]!r} is not understood; give {INSTANT_FORMS}")


def at_clock(day: date, clock: time) -> datetime:
    """Return a time of a local day."""
    return datetime.combine(day, clock, dt_util.get_default_time_zone())


def start_of(moment: date | datetime) -> datetime:
    """Return a moment, or the beginning of a local day."""
    return moment if isinstance(moment, datetime) else dt_util.start_of_local_day(moment)


def end_of(moment: date | datetime) -> datetime:
    """Return a moment, or the end of a local day."""
    return start_of(moment if isinstance(moment, datetime) else moment + timedelta(days=1))


def _coming(words: str, now: datetime) -> Coming | None:
    if (moment := read_iso(words.removeprefix("at "))) is not None:
        return moment
    words = _spelt(words)
    if sun := _sun(words):
        return sun
    if days := _calendar(words, now.date()):
        first, beyond = days
        return Period(start_of(max(first, now.date()) if beyond > now.date() else first), start_of(beyond))
    if length := _length(words):
        return length
    if bare := _BARE_HOUR.fullmatch(words):  # the next time that a clock with twelve hours shows it
        hour = int(bare[1])
        hours = {hour % 12, hour % 12 + 12} if hour <= 12 else {hour % 24}
        return min(_next(time(each), now) for each in hours) if hour <= 24 else None
    words = _plain(words)
    if (day := _day(words, now.date())) is not None:
        return day
    clock, rest = _clock(words)
    if clock is None:
        return None
    day = _day(_plain(rest), now.date())
    return at_clock(day, clock) if day else None if rest else _next(clock, now)


def _spelt(words: str) -> str:
    """Return words with each time of day in digits."""
    words = _NOON.sub("12:00", words).replace("midnight", "0:00").replace("o'clock", "oclock")
    return _FULL_HOUR.sub(r"\1 \2:00", words.replace(" oclock", ":00"))


def _plain(words: str) -> str:
    while (shorter := _FILLER.sub("", words).strip()) != words:
        words = shorter
    return words


def _length(words: str) -> timedelta | None:
    words = _plain(words)
    seconds = read_seconds(words.lstrip("+- "))
    return timedelta(seconds=-seconds if words[:1] == "-" else seconds) if seconds else None


def _next(clock: time, now: datetime) -> datetime:
    moment = at_clock(now.date(), clock)
    return moment if moment > now else at_clock(now.date() + timedelta(days=1), clock)


def read_iso(words: str) -> date | datetime | None:
    """Return an ISO date or time; one without an offset is local."""
    try:
        day = dt_util.parse_date(words)
        moment = None if day else dt_util.parse_datetime(words.upper())
    except ValueError:
        return None
    if moment is None:
        return day
    return dt_util.as_local(moment if moment.tzinfo else at_clock(moment.date(), moment.time()))


def _day(words: str, today: date, *, past: bool = False) -> date | None:
    if words in DAYS:
        return today + timedelta(days=DAYS[words])
    if words in WEEKDAYS:
        ahead = (WEEKDAYS.index(words) - today.weekday()) % 7 or 7
        return today + timedelta(days=ahead - 7 * past)
    day = read_iso(words)
    return None if isinstance(day, datetime) else day


def _clock(words: str, *, bare: bool = False) -> tuple[time | None, str]:
    """Return the time of day among words, perhaps a `bare` hour, and the others."""
    found = _CLOCK.search(words)
    if found is None or not (bare or found[2] or found[3]):
        return None, words
    hour = int(found[1])
    if found[3]:
        hour = hour % 12 + (12 if found[3] == "p" else 0)
    try:
        clock = time(hour, int(found[2] or 0))
    except ValueError:
        return None, words
    return clock, f"{words[: found.start()]} {words[found.end() :]}".strip()


def _sun(words: str) -> Sun | None:
    found = _SUN.fullmatch(" ".join(word for word in words.split() if word not in _BESIDE_SUN))
    if found is None or (found["side"] and found["sign"]):
        return None
    text = found["ahead"] or found["behind"]
    length = _length(text) if text else timedelta()
    if length is None:
        return None
    seconds = int(length.total_seconds())
    is_before = found["side"] == "before" or found["sign"] == "-"
    return Sun(found["event"], -seconds if is_before else seconds, "tomorrow" in words.split())


def _calendar(words: str, today: date) -> tuple[date, date] | None:
    """Return the first day of a week, a weekend, a month or a year, and the day after its last one."""
    which, _, unit = words.removeprefix("the ").rpartition(" ")
    if (step := CALENDAR.get(which or ("this" if unit == "weekend" else ""))) is None:
        return None
    monday = today + timedelta(days=7 * step - today.weekday())
    match unit:
        case "week":
            return monday, monday + timedelta(days=7)
        case "weekend":
            return monday + timedelta(days=5), monday + timedelta(days=7)
        case "month":
            return _month_of(today, step), _month_of(today, step + 1)
        case "year":
            return date(today.year + step, 1, 1), date(today.year + step + 1, 1, 1)
    return None


def _month_of(day: date, later: int) -> date:
    """Return the first day of a month so many months after that of a day."""
    year, month = divmod(12 * day.year + day.month - 1 + later, 12)
    return date(year, month + 1, 1)


def _until_now(first: date, beyond: date, now: datetime) -> Period:
    closes = start_of(beyond)
    return Period(start_of(first), min(now, closes), closes)


def _passed(words: str, now: datetime) -> Period | None:
    """Return a day, a week, a month, a year, a range of dates, or a length that ends now."""
    today = dt_util.as_local(now).date()
    if (day := _day(words, today, past=True)) is not None:
        return _until_now(day, day + timedelta(days=1), now)
    if days := _calendar(words, today):
        return _until_now(*days, now)
    if found := _DATES.fullmatch(words):
        first, last = _day(found[1], today), _day(found[2], today)
        return Period(start_of(first), min(now, end_of(last))) if first and last and first <= last else None
    if found := _MONTH.fullmatch(words):
        month = int(found["number"] or 0) or MONTHS.index(found["name"][:3]) + 1
        # Without a year it is the last one that has begun.
        year = int(found["iso"] or found["year"] or today.year - (month > today.month))
        if not 1 <= month <= len(MONTHS):
            return None
        return _until_now(date(year, month, 1), _month_of(date(year, month, 1), 1), now)
    seconds = read_seconds(_PASSED.sub("", words))
    if seconds is None or seconds < MIN_PERIOD.total_seconds():
        return None
    return Period(_before(now, seconds), now)


def _part_of_day(words: str, now: datetime) -> Period | None:
    """Return the part of today or yesterday that words mean, as far as it has passed."""
    now = dt_util.as_local(now)
    if words == "tonight":
        words = "last night" if now.hour < PARTS["morning"][0] else "this evening"
    which, _, part = ("yesterday night" if words == "last night" else words).rpartition(" ")
    if part not in PARTS or which not in ("this", "today", "yesterday"):
        return None
    day = now.date() - timedelta(days=which == "yesterday")
    begin, end = PARTS[part]
    start = at_clock(day, time(begin))
    return Period(start, max(start, min(at_clock(day + timedelta(days=end // 24), time(end % 24)), now)))


def _since(words: str, now: datetime) -> Period | None:
    head, _, rest = words.partition(" ")
    if head != "since":
        return None
    named = _part_of_day(rest, now) or (None if read_seconds(rest) else _passed(rest, now))
    start = named.start if named else _ago(rest, now) or _past_clock(rest, "", now)
    return None if start is None else Period(start, now)


def _ago(words: str, now: datetime) -> datetime | None:
    found = _AGO.fullmatch(words)
    seconds = read_seconds(found[1] or found[2]) if found else None
    return None if seconds is None else _before(now, seconds)


def _before(now: datetime, seconds: float) -> datetime:
    """Return a moment of the past, right across a change of the clocks; at most two years back."""
    return dt_util.as_utc(now) - timedelta(seconds=min(seconds, 2 * MAX_PERIOD.total_seconds()))


def _past_clock(words: str, day: str, now: datetime) -> datetime | None:
    """Return the newest moment of a time of day, or that of the day beside it."""
    if isinstance(moment := read_iso(words), datetime):
        return moment
    clock, rest = _clock(_spelt(words), bare=True)
    if clock is None:
        return None
    rest = _BESIDE_CLOCK.sub(" ", rest).strip()
    today = dt_util.as_local(now).date()
    found = _day(rest or day, today, past=True)
    if found is None and rest:
        return None
    at = at_clock(found or today, clock)
    return at - timedelta(days=1) if found is None and at >= now else at


NEVER: Final = frozenset({"", "0", "no", "none", "never", "once", "false", "null"})
_REPEATS: Final = {
    **dict.fromkeys(("daily", "day"), EVERY_DAY),
    **dict.fromkeys(("weekdays", "weekday", "workdays", "workday", "working day"), WORKDAYS),
    **dict.fromkeys(("weekends", "weekend"), WEEKEND),
    **dict.fromkeys(("weekly", "week"), ()),
}
REPEATING: Final = frozenset(("every", "daily", "weekdays", "weekends", "weekly"))
"""English words that say that something is repeated."""
_BESIDE_DAYS: Final = frozenset({"and", "every", "each", "on", "at"})
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
        for words in (form, *in_english(form, language)):
            if words in NEVER:
                return None
            if (days := _days(words, alone=alone)) is not None:
                return days
    raise ValidationError(f"{slot}: {text[:40]!r} is not one of {REPEAT_FORMS}")


def _days(text: str, *, alone: bool) -> tuple[int, ...] | None:
    """Return the days that an English text means; None if it means none, or if that is not clear."""
    words = text.split()
    if (named := _REPEATS.get(" ".join(word for word in words if word not in _BESIDE_DAYS))) is not None:
        return named
    numbers = {name[:size]: number for number, name in enumerate(WEEKDAYS) for size in (3, None)}
    are_days = [word.removesuffix("s") in numbers for word in words]
    if alone and sum(are_days) > 1 and are_days[1] and not are_days[0]:
        words = words[1:]  # the word for "from"
    days: set[int] = set()
    last, begins = None, None
    for word in words:
        day = numbers.get(word.removesuffix("s"))
        is_clear = day is not None or word in _BESIDE_DAYS | _TO
        if not is_clear or (word == "at" and last is not None and not alone):  # "lundi au mercredi"
            return None
        if day is not None:
            first = day if begins is None else begins
            days |= {number % 7 for number in range(first, first + (day - first) % 7 + 1)}
        begins = last if word in _TO or (word == "at" and alone and last is not None) else None
        last = day
    return None if begins is not None else tuple(sorted(days)) or None


def in_english(text: str, language: str, *, past: bool = False) -> Iterator[str]:
    """Yield a text about time with the words of a language in English: of the speaker's, English, the others.

    "20 Minuten" becomes "20 minute"; with `past`, "heute morgen" becomes "this morning".
    A text without a word of a language is not yielded for it.
    """
    if len(text) > TIME_CHARS:
        return
    known = languages_with("times")
    own = [each for each in (find(language), DEFAULT) if each in known]
    texts, words = {text}, list[Word]()
    for piece in text.split():
        inner = [word for clause in clauses(piece) for word in clause.words]
        is_word = inner and not any(char.isdigit() for char in piece)  # times and signs stay as they are
        words += inner if is_word else [Word(piece.casefold(), piece.casefold())]
    for each in dict.fromkeys((*own, *known)):
        lexicon, names = _lexicon(each, past)
        matches = lexicon.all_matches(words)
        parts: list[str] = []
        index = 0
        while index < len(words):
            fitting = [(match, name) for name in names if (match := matches[name].get(index))]
            match, name = max(fitting, default=(None, words[index].plain), key=itemgetter(0))
            parts.append(names.get(name, name))
            index += match.words if match else 1
        if (translated := " ".join(parts)) not in texts:
            texts.add(translated)
            yield translated


def times_named(texts: Iterable[str], language: str) -> set[str]:
    """Return the words about time in texts by their English ones, and all numbers in digits."""
    own = find(language)
    lexicon, names = _lexicon(own if own and own in languages_with("times") else DEFAULT, False)
    named = set[str]()
    for text in texts:
        said = [word for clause in clauses(text) for word in clause.words]
        named |= {names[name] for name, matches in lexicon.all_matches(said).items() if matches}
        named |= {word.plain for word in said if word.plain.isdecimal()}
    return named


@cache
def _lexicon(language: str, past: bool) -> tuple[Lexicon, Mapping[str, str]]:
    """Return the words of a language by their English ones, and its numbers in words."""
    tables: dict[str, Sequence[str]] = dict(table(language, "times.english"))
    if past:
        tables |= table(language, "times.past") or {}
    digits = [*table(language, "numbers.digits"), *((word,) for word in words_to_99(language))]
    tables |= {f"={number}": spoken for number, spoken in enumerate(digits)}
    return Lexicon(tables), {name: name.removeprefix("=") for name in tables}
