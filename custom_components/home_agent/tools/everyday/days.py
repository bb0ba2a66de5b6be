"""Days of the week on which something is repeated, as models write them in any language."""

from typing import Final

from ...errors import ValidationError
from ...languages.times import in_english
from ...regex import lazy_regex
from ...timers.repeating import EVERY_DAY, WEEKEND, WORKDAYS
from .moments import WEEKDAYS

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
