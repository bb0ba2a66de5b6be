"""Whether a sentence comes from what a person said, and not from what stood beside it."""

from typing import Final

from ...vector.text import words
from ..words import STEM

TELLING: Final = 4
"""Letters from which a word says something by itself."""


def is_grounded(content: str, said: str, name: str) -> bool:
    """Return whether what is to be remembered shares a telling word with what the person said.

    The speaker's name does not count: the model was told it.
    """
    own = set(words(name))
    heard = {word[:STEM] for word in words(said) if _tells(word)} - {word[:STEM] for word in own}
    return any(word[:STEM] in heard for word in words(content) if _tells(word))


def _tells(word: str) -> bool:
    """Return whether a word says something by itself: long, a number, or of a script without spaces."""
    return len(word) >= TELLING or not word.isascii() or any(char.isdigit() for char in word)
