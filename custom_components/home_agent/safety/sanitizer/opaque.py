"""Words that nobody can read: an encoding tells a server what no other check sees, and no query needs it."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from math import log
from typing import Final

from ...languages import find, languages_with
from ...regex import lazy_regex
from ...texts import fold_letters
from .origins import MAX_SINGLE, neutral_words
from .private_names import ordinary_words

LEAST_LETTERS: Final = 8
"""Fewer letters that nobody has said hide nothing."""
LEAST_LIKELY: Final = -3.25
"""How likely the letters of a text have to follow each other, as a logarithm.

Ordinary words have -2 in the mean, the least likely of 270 queries has -2.85, and Base64 has -4.
"""
LEAST_LIKELY_ELSEWHERE: Final = -3.75
"""The same in languages whose words are not in the list."""
USUAL: Final = -1.2
"""What counts for a word that is in the list, or that was said."""
BETTER_BACKWARDS: Final = 0.5
LONGEST_MIXED: Final = 11
"""Characters of a word in which letters and digits take turns; product numbers are shorter."""
MAX_FIGURES: Final = 16
"""Numbers in one text."""

_TOKEN: Final = lazy_regex(r"[^\W_]+")
_MIXED: Final = lazy_regex(r"[a-z]\d{1,30}[a-z]|\d[a-z]{1,30}\d")


def is_opaque(text: str, known: Collection[str], language: str) -> bool:
    """Return whether a text has words that no language has, or reads better backwards.

    `known` are the words that were said, or come from the receiver.
    """
    tokens = _TOKEN.findall(fold_letters(text))
    new = [token for token in tokens if token not in known]
    single = [token for token in new if len(token) == 1 and token.isalpha()]
    figures = [token for token in new if not token.isalpha()]
    if len(single) > MAX_SINGLE or len(figures) > MAX_FIGURES:
        return True
    if any(len(token) > LONGEST_MIXED and _MIXED.search(token) for token in figures):
        return True
    if any(_likelihood([token], known) < LEAST_LIKELY_ELSEWHERE for token in new):
        return True
    if find(language) not in languages_with("privacy.absent"):
        return False
    forward, backward = _likelihood(tokens, known), _likelihood([token[::-1] for token in tokens], known)
    return forward < max(LEAST_LIKELY, backward - BETTER_BACKWARDS)


def _likelihood(tokens: Sequence[str], known: Collection[str]) -> float:
    """Return how likely the letters of Latin words follow each other; 0 for too few that are new."""
    words = ["".join(filter(str.isalpha, token)) for token in tokens if token.isascii()]
    new = [word for word in words if len(word) > 1 and word not in known and word not in _usual()]
    if (letters := sum(map(len, new))) < LEAST_LETTERS:
        return 0.0
    others = sum(len(word) for word in words if len(word) > 1) - letters
    return (USUAL * others + sum(len(word) * _of_word(word) for word in new)) / (letters + others)


def _of_word(word: str) -> float:
    triples, pairs = _model()
    framed = f"^{word}$"
    shares = (
        (triples[framed[at : at + 3]] + 0.3) / (pairs[framed[at : at + 2]] + 8) for at in range(len(word))
    )
    return sum(map(log, shares)) / len(word)


@cache
def _usual() -> frozenset[str]:
    return neutral_words() | ordinary_words()


@cache
def _model() -> tuple[Counter[str], Counter[str]]:
    """Return how often three and two letters follow each other in ordinary words. Takes a moment once."""
    framed = [f"^{word}$" for word in _usual()]
    triples = Counter(word[at : at + 3] for word in framed for at in range(len(word) - 2))
    return triples, Counter(word[at : at + 2] for word in framed for at in range(len(word) - 2))
