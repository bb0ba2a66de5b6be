"""Which earlier memory a sentence corrects: "It's walnuts, not hazelnuts"."""

import re
from typing import Final, NamedTuple

from ..languages.phrases import all_words, any_of
from ..regex import composed, lazy_regex
from ..texts import fold_letters, words
from .sentences import is_telling, negations
from .words import STEM

ALIKE: Final = 0.5
"""Part of the words of both that a memory shares with the one that takes its place."""


class _Patterns(NamedTuple):
    """Patterns of words of all languages, for folded text."""

    corrections: re.Pattern[str]
    additions: re.Pattern[str]


@composed
def _patterns() -> _Patterns:
    corrected = (*all_words("memory.corrections"), *all_words("memory.negations"))
    return _Patterns(
        lazy_regex(any_of(corrected, fold_letters)),
        lazy_regex(any_of(all_words("memory.additions"), fold_letters)),
    )


def corrects(said: str) -> bool:
    """Return whether a sentence takes something back, rather than only adding to it."""
    folded = fold_letters(said)
    return not _patterns().additions.search(folded) and bool(_patterns().corrections.search(folded))


def takes_back(known: str, new: str, said: str, name: str) -> bool:
    """Return whether a sentence takes back what a memory says, and a new one says what is right.

    All that the new one no longer says is in the sentence, where it is denied, and all that it says newly
    is there too; so a model can neither drop nor invent a part. `name` is the speaker's.
    """
    old, other, heard = _telling(known), _telling(new), _stems(said)
    changed = old != other or words(known) != words(new)
    return changed and old - other <= heard and other <= heard | _stems(name) | old


def touched(known: str, new: str, said: str) -> bool:
    """Return whether a memory is about something that a sentence names and the new memory leaves out."""
    return not _telling(known).isdisjoint(_telling(said) - _stems(new))


def _telling(text: str) -> set[str]:
    """Return the significant words of a text, names among them, without those that only deny."""
    named = {stem for part in text.split() if part[:1].isupper() for stem in _stems(part)}
    return {word[:STEM] for word in words(text) if is_telling(word) and word not in negations()} | named


def _stems(text: str) -> set[str]:
    """Return all words of a text without their endings."""
    return {word[:STEM] for word in words(text)}
