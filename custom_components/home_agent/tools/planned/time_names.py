"""Times as names: "the one on Saturday", "das um sieben Uhr"."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from homeassistant.util import dt as dt_util

from ...knowledge.names import word_similarity
from ...knowledge.spoken_words import stop_words
from ...languages.times import in_english
from ...texts import fold, words
from ...timers.repeating import WEEKDAYS, told_days
from ..everyday.moments import read_clock

SAME: Final = 0.88
"""How alike two forms of a word are."""
_TODAY: Final = ("today", "tonight")
_BESIDE: Final = frozenset({"at", "on", "in", "for", "every", "oclock", "next", "this"})
"""English words beside a time that name nothing."""


def time_words(due: datetime, days: Collection[int]) -> frozenset[str]:
    """Return the English words for a time to come, and for the days on which it is repeated."""
    local, today = dt_util.as_local(due), dt_util.now().date()
    known = {fold(WEEKDAYS[day]) for day in (*days, local.weekday())}
    known |= {day[:3] for day in known} | {fold(local.date().isoformat())}
    if days:
        known.update(words(told_days(tuple(days))))
    ahead = (local.date() - today).days
    known.update(_TODAY if ahead == 0 else ("tomorrow",) if ahead == 1 else ())
    return frozenset(known)


def is_described(
    said: str, language: str, due: datetime, days: Collection[int], named: Collection[str]
) -> bool:
    """Return whether each word is one of a name or of a time: `named` are the folded words of the name."""
    times, clock = time_words(due, days), dt_util.as_local(due).time()

    def fits(word: str) -> bool:
        if (told := read_clock(word)) is not None:
            return told == clock.replace(second=0, microsecond=0)
        if word.isdecimal() and not clock.minute:
            return int(word) in (clock.hour, clock.hour % 12 or 12)
        if word in times or word.removesuffix("s") in times or f"{word}s" in times:
            return True
        return any(word_similarity(word, other) >= SAME for other in named)

    written = " ".join(said.casefold().replace(",", " ").split())
    for form in (written, *in_english(written, language)):
        asked = [word for word in map(_folded, form.split()) if word not in stop_words() | _BESIDE]
        if asked and all(map(fits, asked)):
            return True
    return False


def _folded(word: str) -> str:
    """Return a folded word; a time stays as it is."""
    return word if read_clock(word) is not None else fold(word)
