"""Patterns composed of the words and phrases of the language files.

In an entry, `*` stands for any letters, and an apostrophe may be missing.
"""

from collections.abc import Callable, Iterable
from functools import cache
import re
from typing import Final

from . import languages, words

_UNSPACED: Final = range(0x0E00, 0x0EFF), range(0x1780, 0x17FF), range(0x3040, 0xA000), range(0xAC00, 0xD7B0)
"""Letters of scripts whose words have no space between them, or particles attached to them."""
ANY_LETTERS: Final = r"\w*"
_PARTS: Final = {"*": ANY_LETTERS, " ": r"[\s-]{1,4}", "-": r"[\s-]{1,4}", "'": r"['\u2019]?\s?"}
NEVER: Final = r"(?!)"


@cache
def all_words(name: str) -> tuple[str, ...]:
    """Return the entries of a table in all languages."""
    return tuple(dict.fromkeys(entry for language in languages() for entry in words(language, name)))


def any_of(entries: Iterable[str], read: Callable[[str], str]) -> str:
    """Return the source of a pattern that finds each of these entries in a text that `read` returned."""
    spaced: set[str] = set()
    unspaced: set[str] = set()
    for entry in entries:
        folded = read(entry)
        is_unspaced = any(ord(folded[-1]) in letters for letters in _UNSPACED)
        (unspaced if is_unspaced else spaced).add("".join(_PARTS.get(c, re.escape(c)) for c in folded))
    found = [rf"(?<!\w)(?:{_either(spaced)})(?!\w)"] if spaced else []
    found += [_either(unspaced)] if unspaced else []
    return rf"(?=\w)(?:{'|'.join(found)})" if found else NEVER


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
