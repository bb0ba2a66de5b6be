"""Whether a sentence contains one of the phrases of a table."""

from functools import cache

from ..texts import words as split
from . import DEFAULT, find, words


def mentions(sentence: str, language: str, name: str) -> bool:
    """Return whether a sentence has a phrase of a table, for example `questions.reasons`, in whole words."""
    said = f" {' '.join(split(sentence))} "
    return any(f" {phrase} " in said for phrase in _phrases(find(language) or DEFAULT, name))


@cache
def _phrases(language: str, name: str) -> tuple[str, ...]:
    """Return the phrases of a table as they are compared."""
    return tuple(" ".join(split(phrase)) for phrase in words(language, name))
