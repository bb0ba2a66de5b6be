"""How words are compared: without case, accents and punctuation."""

from functools import lru_cache
from typing import Final
import unicodedata

from ..regex import lazy

_SPECIAL: Final = str.maketrans(
    {"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "\u0131": "i", "þ": "th"}
)
_DIACRITICS: Final = range(0x300, 0x370)
_NO_WORD = lazy("[^a-z0-9]+")


@lru_cache(maxsize=16384)
def fold(text: str) -> str:
    """Return text without case, accents and punctuation, words parted by one space.

    Only accents of Latin, Greek and Cyrillic letters are removed: vowel signs of other scripts matter.
    """
    text = text.casefold()
    if text.isascii():
        return _NO_WORD.sub(" ", text).strip()
    parts = unicodedata.normalize("NFKD", text.translate(_SPECIAL))
    return _spaced(unicodedata.normalize("NFC", "".join(c for c in parts if ord(c) not in _DIACRITICS)))


def plain(text: str) -> str:
    """Return text without case and punctuation but with its accents, words parted by one space."""
    return _spaced(unicodedata.normalize("NFC", text.casefold()))


def _spaced(text: str) -> str:
    """Return text in which one space replaces all characters that are not part of a word."""
    return " ".join("".join(char if is_word(char) else " " for char in text).split())


def is_word(char: str) -> bool:
    """Return whether a character is part of a word, as vowel signs of Indic scripts are."""
    return char.isalnum() or (not char.isascii() and unicodedata.category(char)[0] == "M")
