"""Whether a sentence comes from what a person said, and not from what stood beside it."""

from typing import Final

from ...vector.text import words
from ..likeness import NEGATIONS
from ..words import STEM

TELLING: Final = 4
"""Letters from which a word says something by itself."""
TELLER: Final = frozenset(
    {"user", "speaker", "household", "person", "likes", "wants", "their", "they", "that"}
)
"""Words by which a model puts "I" and "my" into a sentence about somebody."""


def is_grounded(content: str, said: str, name: str) -> bool:
    """Return whether what is to be remembered shares a telling word with what the person said.

    The speaker's name does not count: the model was told it.
    """
    own = set(words(name))
    heard = {word[:STEM] for word in words(said) if _tells(word)} - {word[:STEM] for word in own}
    return any(word[:STEM] in heard for word in words(content) if _tells(word))


def is_own_words(content: str, said: str, name: str) -> bool:
    """Return whether what is to be remembered says nothing that the person did not say.

    Every telling word and number stands in the sentence, or is the speaker's name, and neither of both
    denies what the other says.
    """
    heard = {word[:STEM] for word in (*words(said), *words(name))}
    telling = [word for word in words(content) if _tells(word)]
    if not telling or bool(NEGATIONS & set(words(content))) != bool(NEGATIONS & set(words(said))):
        return False
    return all(word[:STEM] in heard or word in TELLER for word in telling)


def _tells(word: str) -> bool:
    """Return whether a word says something by itself: long, a number, or of a script without spaces."""
    return len(word) >= TELLING or not word.isascii() or any(char.isdigit() for char in word)
