"""Text as it is compared and as it may be shown: folding, splitting into words, cleaning."""

from functools import lru_cache
import unicodedata

from ..regex import lazy

UNDECOMPOSED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Letters that normalisation leaves alone although people type them without the stroke."""

UNSPACED = (
    "\u0e00-\u0e7f"  # Thai
    "\u0e80-\u0eff"  # Lao
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # kana
    "\u3400-\u9fff"  # Han
    "\uac00-\ud7af"  # Hangul, whose particles hang on the word
    "\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts that put no space between words; their text is taken in pairs of characters."""

_WORD = lazy(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_UNSPACED_RUN = lazy(rf"[{UNSPACED}]")
_NUMBERED = lazy(r"^([^\W\d_]{2,})(\d+)$")
_BREAKS = lazy(r"[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+")
_JOINERS = frozenset("\u200c\u200d")
"""Zero-width characters that some scripts and emoji need."""


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Return text without case, accents and width, so that spellings of one word are equal."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return unicodedata.normalize("NFKC", plain).translate(UNDECOMPOSED)


def words(text: str) -> list[str]:
    """Split text into folded words; runs of unspaced script become pairs of characters.

    A number at the end of a word is a word of its own.
    """
    found: list[str] = []
    for word in _WORD.findall(fold(text)):
        if _UNSPACED_RUN.match(word):
            found.extend(_pairs(word))
        elif numbered := _NUMBERED.match(word):
            found.extend(numbered.groups())
        else:
            found.append(word)
    return found


def _pairs(run: str) -> list[str]:
    """Return the overlapping pairs of characters of a run, or the run if it is one character."""
    if len(run) == 1:
        return [run]
    return [run[index : index + 2] for index in range(len(run) - 1)]


def clean(text: str, limit: int = 80) -> str:
    """Return text that somebody else wrote as one harmless line of at most `limit` characters.

    Line breaks and control characters become spaces, invisible characters go, back-ticks become
    apostrophes. What is cut ends with an ellipsis.
    """
    line = _BREAKS.sub(" ", text)
    if not line.isascii():
        line = "".join(
            char for char in line if char in _JOINERS or unicodedata.category(char) not in {"Cf", "Co", "Cs"}
        )
    line = line.replace("`", "'").strip()
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def quoted(text: str, limit: int = 80) -> str:
    """Return cleaned text in double quotes that nothing inside can close."""
    return '"' + clean(text, limit).replace("\\", "/").replace('"', "'") + '"'
