"""Times and lengths of time in the words of a language, translated for the readers of English times."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from . import DEFAULT, find, languages_with, table, words_to_99
from .lexicon import Lexicon, Word, clauses

MAX_CHARS: Final = 64
"""Longer texts name no time."""


def in_english(text: str, language: str, *, past: bool = False) -> Iterator[str]:
    """Yield a text about time with the words of a language in English: of the speaker's, English, the others.

    "20 Minuten" becomes "20 minute"; with `past`, "heute morgen" becomes "this morning".
    A text without a word of a language is not yielded for it.
    """
    if len(text) > MAX_CHARS:
        return
    known = languages_with("times")
    own = find(language)
    first = [each for each in (own, DEFAULT) if each in known]
    seen = {text}
    for each in dict.fromkeys((*first, *known)):
        if (found := _translated(text, each, past=past)) not in seen:
            seen.add(found)
            yield found


@cache
def _tables(language: str, past: bool) -> tuple[Lexicon, Mapping[str, str]]:
    """Return the words of a language by their English ones, and its numbers in words."""
    english: Mapping[str, Sequence[str]] = table(language, "times.english")
    tables: dict[str, Sequence[str]] = dict(english)
    if past:
        tables |= table(language, "times.past") or {}
    digits = [*table(language, "numbers.digits"), *((word,) for word in words_to_99(language))]
    tables |= {f"={number}": spoken for number, spoken in enumerate(digits)}
    return Lexicon(tables), {name: name.removeprefix("=") for name in tables}


def _translated(text: str, language: str, *, past: bool) -> str:
    lexicon, names = _tables(language, past)
    said = _words(text)
    found = lexicon.all_matches(said)
    parts: list[str] = []
    index = 0
    while index < len(said):
        best = max(
            ((match, name) for name in names if (match := found[name].get(index))),
            default=None,
            key=lambda one: one[0],
        )
        parts.append(names[best[1]] if best else said[index].plain)
        index += best[0].words if best else 1
    return " ".join(parts)


def _words(text: str) -> list[Word]:
    """Return the words of a text; times and signs stay as they are."""
    found: list[Word] = []
    for piece in text.split():
        inner = [word for clause in clauses(piece) for word in clause.words]
        if any(char.isdigit() for char in piece) or not inner:
            found.append(Word(piece.casefold(), piece.casefold()))
        else:
            found.extend(inner)
    return found
