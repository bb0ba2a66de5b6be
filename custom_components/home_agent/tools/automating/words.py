"""Everyday words about people who come and go, and about what is above and below, in any language."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from ...languages import DEFAULT, find, languages_with, table, words
from ...regex import lazy_regex
from ...texts import fold

SECTION: Final = "automations"
MAX_CHARS: Final = 200
MAX_WORDS: Final = 5
"""Words of one word for a day: "tous les jours de la semaine"."""
_SIGNS: Final = lazy_regex(r"[-\u2010-\u2015]")


def spoken_in(language: str) -> Iterator[str]:
    """Yield the languages whose words are looked for: the speaker's, English, the others."""
    known = languages_with(SECTION)
    own = find(language)
    yield from dict.fromkeys(one for one in (own, DEFAULT, *known) if one in known)


def split_by(text: str, name: str, language: str) -> tuple[str, str] | None:
    """Return a folded text before and after the first words of a table; None if it has none of them.

    Of several entries the longest counts, and of several languages the speaker's.
    """
    said = f" {fold(text[:MAX_CHARS])} "
    for each in spoken_in(language):
        for entry in _entries(each, name):
            if (at := said.find(f" {entry} ")) >= 0:
                return said[:at].strip(), said[at + len(entry) + 2 :].strip()
    return None


def means(text: str, name: str, language: str) -> bool:
    """Return whether a text is one of the entries of a table."""
    said = fold(text[:MAX_CHARS])
    return any(said in _entries(each, name) for each in spoken_in(language))


def days_in_english(text: str, language: str) -> Iterator[str]:
    """Yield a text about days with short names and other forms in English, of each language that has some."""
    said = [fold(word) for word in _SIGNS.sub(" to ", text[:MAX_CHARS]).replace(",", " , ").split()]
    for each in spoken_in(language):
        known, found, index = _days(each), list[str](), 0
        while index < len(said):
            sizes = range(min(MAX_WORDS, len(said) - index), 0, -1)
            size = next((size for size in sizes if " ".join(said[index : index + size]) in known), 0)
            found.append(known[" ".join(said[index : index + size])] if size else said[index])
            index += size or 1
        yield " ".join(found)


def is_self(text: str, language: str) -> bool:
    """Return whether a word means the speaker."""
    said = fold(text)
    own = [find(language), DEFAULT]
    tables = (word for each in own if each for word in words(each, "memory.self"))
    return said in SPEAKER or any(said == fold(word) for word in tables)


SPEAKER: Final = frozenset({"me", "i", "user", "speaker", "myself"})
"""What models call the person who speaks."""


@cache
def _entries(language: str, name: str) -> tuple[str, ...]:
    """Return the entries of a table, folded, the longest first."""
    return tuple(sorted(map(fold, words(language, f"{SECTION}.{name}")), key=len, reverse=True))


@cache
def _days(language: str) -> Mapping[str, str]:
    found = table(language, f"{SECTION}.days") or {}
    return {fold(word): english for english, said in found.items() for word in said}
