"""Times of a command that models write under other names than `when` and `for`.

A command with a time that nobody understands must not run at once, so no such value is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.spoken_words import words_of
from ...languages.times import in_english
from ...texts import words
from ..everyday.moments import read_length
from .asked import FOR_FORMS, WHEN_FORMS
from .script_fields import SCRIPT

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
    """Return whether entities of a domain have a value of this name."""
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
        sizes = range(min(LONGEST, len(said) - start), 0, -1)
        found = ((size, _length(" ".join(said[start : start + size]), language)) for size in sizes)
        size, length = next((one for one in found if one[1] is not None), (1, None))
        if length is not None:
            yield length
        start += size


def _length(text: str, language: str) -> float | None:
    """Return the seconds that words mean; None if they are no length of time."""
    for form in (text, *in_english(text, language)):
        if (length := read_length(form)) is not None:
            return length.total_seconds()
    return None
