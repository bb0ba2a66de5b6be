"""Patterns composed of the words and phrases of the language files.

In an entry, `*` stands for any letters and `…` for a few words. An apostrophe may be missing.
"""

from collections.abc import Callable, Iterable
from functools import cache
import re
from typing import Final

from ..texts import is_unspaced
from . import languages, words

_BEGIN: Final = r"(?<!\w)(?=\w)"
_END: Final = r"(?!\w)"
GAP: Final = r"[^.!?\n\u3002\uff01\uff1f]"
"""A character between two words of one sentence."""
ANY_LETTERS: Final = r"\w*"
_PARTS: Final = {
    "*": ANY_LETTERS,
    " ": r",?[\s-]{1,4}",
    "-": r"[\s-]{1,4}",
    "'": r"['\u2019]?\s?",
    "ß": "(?:ß|ss)",
    "…": f"{GAP}{{0,30}}?",
}
NEVER: Final = r"(?!)"


@cache
def all_words(name: str) -> tuple[str, ...]:
    """Return the entries of a table in all languages."""
    return tuple(dict.fromkeys(entry for language in languages() for entry in words(language, name)))


def any_of(entries: Iterable[str], read: Callable[[str], str], *, whole_words: bool = True) -> str:
    """Return the source of a pattern that finds each of these entries in a text that `read` returned."""
    spaced: set[str] = set()
    unspaced: set[str] = set()
    for entry in entries:
        source = "".join(_PARTS.get(char, re.escape(char)) for char in read(entry))
        if whole_words and not is_unspaced(entry):
            spaced.add(source if entry.endswith(tuple("./")) else source + _END)
        else:
            unspaced.add(source)
    found = [f"{_BEGIN}(?:{_either(spaced)})"] if spaced else []
    found += [_either(unspaced)] if unspaced else []
    return f"(?:{'|'.join(found)})" if unspaced else "".join(found) or NEVER


def either(*sources: str) -> str:
    """Return the source of a pattern that finds any of these; the beginning of a word is looked for once."""
    joined = f"(?:{'|'.join(source for source in sources if not source.startswith(NEVER))})"
    return _BEGIN + joined if all(source.startswith((_BEGIN, NEVER)) for source in sources) else joined


def _either(sources: set[str]) -> str:
    """Return alternatives, longer ones first: a phrase must not be hidden by its beginning.

    What they begin with is written once, so that a pattern of many languages decides by the first letter.
    """
    by_start: dict[str, list[str]] = {}
    for source in sorted(sources, key=lambda source: (-len(source), source)):
        start = source[:3] if source.startswith(ANY_LETTERS) else source[0] if source[0].isalnum() else ""
        by_start.setdefault(start, []).append(source.removeprefix(start))
    return "|".join(
        start + (rest[0] if len(rest) == 1 else f"(?:{'|'.join(rest)})") for start, rest in by_start.items()
    )
