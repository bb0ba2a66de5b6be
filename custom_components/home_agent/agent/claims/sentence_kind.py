"""What a sentence wants: something done, something known, or something told."""

# ruff: noqa: RUF001 - marks of many languages
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Final
from unicodedata import combining, normalize

from ...regex import lazy
from .tongue import Tongue
from .tongues import ALIASES, TONGUES

FIRST_PERSONS: Final = frozenset(
    ("i", "i'm", "i've", "ich", "je", "j'ai", "ik", "jag", "jeg", "yo", "io", "eu", "я")
)
"""Who begins so tells something of themselves, whatever verbs follow."""
WORDS: Final = lazy(r"[^\W_]+(?:['’-][^\W_]+)*")
_LETTERS: Final = str.maketrans({"ł": "l", "ß": "ss", "ø": "o", "æ": "ae", "å": "a", "’": "'", "đ": "d"})
_PARTS: Final = lazy(r"[^.?!;\n]+[.?!;\n]*")


class Kind(Enum):
    """What a sentence wants."""

    ORDER = auto()
    REMARK = auto()
    """Neither a plain order nor a question; it may be either."""
    QUESTION = auto()
    STORY = auto()


def fold(word: str) -> str:
    """Return a word in small letters without accents."""
    word = word.casefold().translate(_LETTERS)
    return word if word.isascii() else "".join(c for c in normalize("NFKD", word) if not combining(c))


def tongues_of(language: str) -> tuple[Tongue, ...]:
    """Return what is said in a language and in English; in all where the language is not known."""
    code = language.casefold().replace("_", "-").partition("-")[0]
    tongue = TONGUES.get(ALIASES.get(code, code))
    if tongue is None:
        return tuple(TONGUES.values()) if not code or code == "*" else (TONGUES["en"],)
    return (tongue,) if code == "en" else (tongue, TONGUES["en"])


def kind_of(sentence: str, language: str) -> Kind:
    """Return what a sentence wants: to have something done, to know something, to be told something.

    A sentence with a question and something else is an order.
    """
    kinds = {
        _kind_of_part(words, language, asked="?" in part)
        for part in _PARTS.findall(sentence)
        if (words := [fold(word) for word in WORDS.findall(part)])
    }
    return next((kind for kind in Kind if kind in kinds), Kind.REMARK)


def _kind_of_part(words: Sequence[str], language: str, *, asked: bool) -> Kind:
    """Return what one clause wants; `asked` for one with a question mark."""
    text = f" {' '.join(words)} "
    tongue = tongues_of(language)[0]
    if text.startswith(_phrases(tongue.tells)):
        return Kind.STORY
    if any(phrase in text for phrase in _phrases(tongue.wonders)):
        return Kind.QUESTION
    is_order = any(phrase in text for phrase in _phrases(tongue.orders))
    if (asked or words[0] in _forms(tongue.asks).words) and not is_order:
        return Kind.QUESTION
    if words[0] in FIRST_PERSONS:
        return Kind.REMARK
    verbs = _forms(tongue.verbs)
    plain = words[-1] in _forms(tongue.last).words or any(map(verbs.fit, words))
    return Kind.ORDER if plain else Kind.REMARK


@dataclass(frozen=True, slots=True)
class _Forms:
    """Words as a language writes them down, ready to be compared."""

    words: frozenset[str]
    stems: tuple[str, ...]
    parts: tuple[str, ...]

    def fit(self, word: str) -> bool:
        """Return whether a word is one of several, or begins as one, or has one in it."""
        return word in self.words or word.startswith(self.stems) or any(part in word for part in self.parts)


@cache
def _forms(text: str) -> _Forms:
    """Read words, beginnings of words as `stem~`, and parts of words as `~part`."""
    forms = text.split()
    return _Forms(
        words=frozenset(form for form in forms if "~" not in form),
        stems=tuple(form[:-1] for form in forms if form.endswith("~")),
        parts=tuple(form[1:] for form in forms if form.startswith("~")),
    )


@cache
def _phrases(text: str) -> tuple[str, ...]:
    """Return phrases between the spaces that make them whole words."""
    return tuple(f" {phrase} " for phrase in text.split("|"))
