"""Words that mean the same in every house, folded, in all languages."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from ...languages import languages, table
from ...texts import fold

NO_VALUE: Final = frozenset(("", "null", "none", "nil", "n/a", "undefined", "unknown", "any"))
"""What models write where they mean nothing."""


@cache
def whites() -> Mapping[str, int]:
    """Return the words for a white, each with its temperature in kelvin."""
    return {word: int(kelvin) for kelvin, word in _named("names.whites")}


@cache
def colors() -> Mapping[str, str]:
    """Return the names of colours in other languages, each with the English one."""
    return {word: color for color, word in _named("names.colors")}


def _named(name: str) -> list[tuple[str, str]]:
    """Return the keys of a table in all languages, each with a word for it."""
    return [
        (key, fold(word))
        for language in languages()
        for key, said in (table(language, name) or {}).items()
        for word in said
    ]
