"""Names held against names and found in sentences: the same, nearly the same, or another."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..texts import fold, words
from .spoken_words import excepting_words, stop_words

MIN_COVERAGE: Final = 0.72
"""Fraction of the query that a similar match must cover."""
MARGIN: Final = 0.04
"""By how much the best near match must lead to be the only one."""
SURE: Final = 0.8
"""How like a name a word must be that is only near to it."""
COMMON_STEM: Final = 0.7
"""Share of the longer word that two forms of it have in common at their start."""
MIN_STEM: Final = 4
MAX_ENDING: Final = 4
LONG_WORD: Final = 7
MAX_TYPOS: Final = 2


@lru_cache(maxsize=16384)
def squash(text: str) -> str:
    """Return folded text without spaces, so that different spellings of a name are equal."""
    return fold(text).replace(" ", "")


@lru_cache(maxsize=16384)
def content_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a text that name something."""
    found = words(text)
    return tuple(word for word in found if word not in stop_words()) or tuple(found)


def without_article(text: str) -> str:
    """Return folded text without the articles at its head."""
    words = fold(text).split()
    first = next((at for at, word in enumerate(words[:-1]) if word not in stop_words()), len(words) - 1)
    return " ".join(words[max(0, first) :])


@lru_cache(maxsize=65536)
def word_similarity(first: str, second: str) -> float:
    """Return how surely two folded words are the same, misspelt or inflected: 0 or 0.75 to 1."""
    if first == second:
        return 1.0
    if first.isdigit() or second.isdigit():
        return 0.0
    if not excepting_words().isdisjoint((first, second)):  # "außer" is not "außen"
        return 0.0
    shorter, longer = sorted((first, second), key=len)
    prefix = common_prefix(shorter, longer)
    if prefix == len(shorter) >= MIN_STEM and len(longer) - prefix <= MAX_ENDING:
        return 0.92
    if prefix >= max(MIN_STEM, COMMON_STEM * len(longer)):
        return 0.88
    return _spelling_similarity(shorter, longer)


def _spelling_similarity(shorter: str, longer: str) -> float:
    """Return how likely one word is the other misspelt: short words allow fewer errors."""
    same_start = shorter[:1] == longer[:1]
    if len(shorter) >= MIN_STEM + (not same_start) and distance(shorter, longer, 1) <= 1:
        return 0.86
    if same_start and len(shorter) >= LONG_WORD - 1 and len(longer) >= LONG_WORD:
        return 0.78 if distance(shorter, longer, MAX_TYPOS) <= MAX_TYPOS else 0.0
    return 0.0


def common_prefix(first: str, second: str) -> int:
    """Return how many characters two words have in common at their start."""
    count = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        count += 1
    return count


def distance(first: str, second: str, limit: int) -> int:
    """Return the edits (insert, delete, replace, swap neighbours) between two words, at most limit + 1."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, 1):
        previous, row = row, [i]
        for j, right in enumerate(second, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (left != right))
            if i > 1 and j > 1 and left == second[j - 2] and right == first[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before = previous
    return min(row[-1], limit + 1)


def numbers(words: Iterable[str]) -> frozenset[str]:
    """Return the words that are numbers: they are never near another."""
    return frozenset(word for word in words if not word.isalpha() and any(char.isdigit() for char in word))


def phrase_similarity(asked: Sequence[str], name: Sequence[str]) -> float:
    """Return how well a name accounts for all words asked for, 0 if it does not."""
    if not asked or not name or not numbers(asked) <= numbers(name):
        return 0.0
    total = sum(map(len, asked))
    used: set[str] = set()
    score = 0.0
    for word in asked:
        best = max(name, key=lambda other: word_similarity(word, other))
        if similarity := word_similarity(word, best):
            score += similarity * len(word)
            used.add(best)
    coverage = score / total
    if coverage < MIN_COVERAGE:
        return 0.0
    return 0.75 * coverage + 0.25 * sum(map(len, used)) / sum(map(len, name))


def called[T](
    items: Iterable[T],
    said: str,
    names: Callable[[T], Iterable[str]],
    *,
    sure: float = SURE,
    in_parts: bool = False,
) -> list[T]:
    """Return the items of a name: exact matches, else those with all its words, else similar ones.

    `names` returns the names of an item. `sure` is the least similarity of a match that is only similar.
    With `in_parts`, a name also matches if all of its words were said.
    """
    listed = [(item, tuple(filter(None, names(item)))) for item in items]
    wanted, words, asked = squash(said), {*content_words(said)}, fold(said).split()

    def bears(name: str) -> bool:
        own = {*content_words(name)}
        return bool(words and own) and (words <= own or (in_parts and own <= words))

    tests: tuple[Callable[[str], bool], ...] = (
        lambda name: squash(name) == wanted,
        bears,
        lambda name: phrase_similarity(asked, fold(name).split()) >= sure,
    )
    for fits in tests:
        if found := [item for item, own in listed if any(map(fits, own))]:
            return found
    return []


@dataclass(frozen=True, slots=True)
class Mention[T]:
    """A phrase that a text contains."""

    phrase: tuple[str, ...]
    value: T
    at: frozenset[int]
    """Which words of the text say it."""


class Phrases[T]:
    """Phrases with their meanings, to be found in texts."""

    def __init__(self, phrases: Iterable[tuple[Iterable[str], T]]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], T]]] = {}
        self.words: set[str] = set()
        for spoken, value in phrases:
            if phrase := tuple(spoken):
                self._by_first.setdefault(phrase[0], []).append((phrase, value))
                self.words.update(phrase)

    def find(self, meanings: Sequence[Collection[str]], *, in_a_row: bool = False) -> list[Mention[T]]:
        """Return the phrases that a text contains, all their words in any order or `in_a_row`.

        `meanings` has the words of phrases that each word of the text may mean.
        """
        where: dict[str, list[int]] = {}
        for index, meant in enumerate(meanings):
            for word in meant:
                where.setdefault(word, []).append(index)
        spread = _in_a_row if in_a_row else _in_any_order
        found = [
            Mention(phrase, value, at)
            for first, starts in where.items()
            for phrase, value in self._by_first.get(first, ())
            if all(word in where for word in phrase)
            for start in starts
            if (at := spread(phrase, start, where))
        ]
        return sorted(found, key=lambda mention: min(mention.at))


def _in_a_row(phrase: Sequence[str], start: int, where: Mapping[str, Sequence[int]]) -> frozenset[int]:
    places = range(start, start + len(phrase))
    is_there = all(_closest(where[word], place) == place for word, place in zip(phrase, places, strict=True))
    return frozenset(places if is_there else ())


def _in_any_order(phrase: Sequence[str], start: int, where: Mapping[str, Sequence[int]]) -> frozenset[int]:
    """Return the words of a text that say a phrase, those closest to its first word."""
    return frozenset((start, *(_closest(where[word], start) for word in phrase[1:])))


def _closest(places: Sequence[int], wanted: int) -> int:
    """Return which of some sorted numbers is closest to another one."""
    after = bisect_left(places, wanted)
    return min(places[max(0, after - 1) : after + 1], key=lambda place: abs(place - wanted))


def longest[T](mentions: Iterable[Mention[T]]) -> list[Mention[T]]:
    """Return the mentions that are not a part of a longer one: "Kids Bedroom" does not mean the bedroom."""
    by_place: dict[int, list[Mention[T]]] = {}
    for one in (found := list(mentions)):
        for place in one.at:
            by_place.setdefault(place, []).append(one)
    return [one for one in found if not any(one.at < other.at for other in by_place[min(one.at)])]
