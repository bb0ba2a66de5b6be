"""Analysis of sentences: requests to remember, their subject, and the similarity of two sentences."""

from collections.abc import Collection
from functools import cache
import re
from typing import Final, NamedTuple

from ..languages.phrases import all_words, any_of
from ..regex import composed, lazy_regex
from ..texts import fold_letters, words
from .words import STEM

NAME_WITHIN: Final = 3
"""Words behind "call me" among which the name is looked for."""
TELLING: Final = 4
"""Letters from which a word is significant on its own."""
TELLER: Final = frozenset(
    {"user", "speaker", "household", "person", "likes", "wants", "their", "they", "that"}
)
"""Words by which a model puts "I" and "my" into a sentence about a person."""

_WORD: Final = lazy_regex(r"[^\W\d_][\w'\u2019-]*")


class _SpeechPatterns(NamedTuple):
    """Patterns of words of all languages, for folded text."""

    recall: re.Pattern[str]
    remember: re.Pattern[str]
    change: re.Pattern[str]
    group: re.Pattern[str]
    myself: re.Pattern[str]
    called: re.Pattern[str]


@composed
def _patterns() -> _SpeechPatterns:
    tables = (
        "memory.recall",
        "memory.remember",
        "firewall.keep",
        "memory.group",
        "memory.self",
        "memory.called",
    )
    return _SpeechPatterns(*(lazy_regex(any_of(all_words(table), fold_letters)) for table in tables))


@cache
def negations() -> frozenset[str]:
    """Return the words that turn a sentence into its contrary, folded."""
    return frozenset(map(fold_letters, all_words("memory.negations")))


def asks_to_remember(sentence: str) -> bool:
    """Return whether a sentence asks to remember something, rather than for a memory."""
    folded = fold_letters(sentence)
    return not _patterns().recall.search(folded) and bool(_patterns().remember.search(folded))


def asks_to_change(sentence: str, text: str, name: str) -> bool:
    """Return whether a sentence asks to remember, change or forget something, and what `text` says.

    Nothing that somebody else wrote can be the reason. `name` is the speaker's.
    """
    asked = asks_to_remember(sentence) or _patterns().change.search(fold_letters(sentence))
    return bool(asked) and is_own_words(text, sentence, name)


def is_households(content: str, said: str, name: str) -> bool:
    """Return whether a candidate that a model assigns to the household can belong to it.

    A person who says "I" and not "we", or whose name is in the content, speaks of themselves.
    """
    folded = fold_letters(said)
    if _patterns().group.search(folded):
        return True
    return not _patterns().myself.search(folded) and set(words(name)).isdisjoint(words(content))


def name_told(content: str, said: str, known: str, ordinary: Collection[str]) -> str | None:
    """Return the name by which a person has just asked to be called; None if the sentence says none.

    The name stands behind "call me" or "my name is" in the sentence, and in what a model wrote of it.
    It is no `ordinary` word ("call me when ...") and not the `known` name, and nothing is denied.
    """
    folded = fold_letters(said)
    if (
        not negations().isdisjoint((*words(said), *words(content)))
        or (asked := _patterns().called.search(folded)) is None
    ):
        return None
    written = {fold_letters(word): word for word in _WORD.findall(content)}
    behind = words(folded[asked.end() :])[:NAME_WITHIN]
    strange = [word for word in behind if word not in ordinary and word not in words(known)]
    return next((written[word] for word in strange if word in written), None)


def likeness(one: str, other: str) -> float:
    """Return how much of the words of two sentences is shared, from 0 to 1.

    Sentences with other numbers, or of which one denies what the other says, share nothing: they are not
    the same thing said twice, whatever else is alike.
    """
    mine, theirs = set(words(one)), set(words(other))
    if not mine or not theirs or differ(one, other):
        return 0.0
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def differ(one: str, other: str) -> bool:
    """Return whether two sentences cannot mean the same: other numbers, or one denies."""
    mine, theirs = set(words(one)), set(words(other))
    numbers = {word for word in mine ^ theirs if any(char.isdigit() for char in word)}
    return bool(numbers) or mine.isdisjoint(negations()) != theirs.isdisjoint(negations())


def is_grounded(content: str, said: str, name: str) -> bool:
    """Return whether a candidate shares a significant word with the person's sentence.

    The speaker's name does not count, since the model knows it.
    """
    own = set(words(name))
    heard = {word[:STEM] for word in words(said) if is_telling(word)} - {word[:STEM] for word in own}
    return any(word[:STEM] in heard for word in words(content) if is_telling(word))


def is_own_words(content: str, said: str, name: str) -> bool:
    """Return whether a candidate contains only what the person said.

    Every significant word and number is in the sentence, or is the speaker's name, and neither of both
    denies what the other says.
    """
    heard = {word[:STEM] for word in (*words(said), *words(name))}
    telling = [word for word in words(content) if is_telling(word)] or words(content)
    denied = negations().isdisjoint(words(content)) != negations().isdisjoint(words(said))
    if not telling or denied:
        return False
    return all(word[:STEM] in heard or word in TELLER for word in telling)


def is_telling(word: str) -> bool:
    """Return whether a word is significant on its own: long, a number, or of a script without spaces."""
    return len(word) >= TELLING or not word.isascii() or any(char.isdigit() for char in word)
