"""Finds words of a vocabulary that resemble a word: misspelt, inflected or part of a compound."""

from array import array
from collections.abc import Iterable

GRAM_SIZES = (3, 4, 5)
MIN_LETTERS = 4
"""Shorter words resemble only themselves and what an ending makes of them."""
MIN_SIMILARITY = 0.4
SLIP = 1.5
"""Letters that one slip costs: similarity is 1 - SLIP / length."""
INFLECTED = 0.75
"""Similarity of words that differ in their ending, and the share of letters that they begin with alike."""
INFLECTED_SHARE = 2 / 3
MIN_STEM = 3
MAX_ENDING = 2
"""Letters of a short word, and of the ending it may take."""
MIN_PART = 4
PART = 0.6
LONG_PART = 6
LONG_PART_SIMILARITY = 0.8
"""Similarity of a compound to the word that it begins or ends with; short ones are often there by chance."""
MAX_LETTERS = 40
MAX_COMMON = 0.25
"""Share of the vocabulary beyond which an n-gram says nothing."""


class SimilarWords:
    """A vocabulary prepared for similarity search; it only grows."""

    def __init__(self) -> None:
        """Start empty."""
        self._words: list[str] = []
        self._grams: dict[str, array[int]] = {}
        self._slips: dict[str, array[int]] = {}
        self._short: dict[str, int] = {}
        self._sizes = array("H")

    def add(self, words: Iterable[str]) -> None:
        """Add words with their n-grams and one-letter slips; they are numbered in order."""
        for number, word in enumerate(words, len(self._words)):
            self._words.append(word)
            self._sizes.append(0)
            if not _is_fuzzy(word):
                if len(word) == MIN_STEM and word.isalpha():
                    self._short[word] = number
                continue
            grams = _grams(word)
            self._sizes[number] = len(grams)
            for gram in grams:
                self._grams.setdefault(gram, array("I")).append(number)
            for slip in _slips(word):
                self._slips.setdefault(slip, array("I")).append(number)

    def settle(self) -> None:
        """Forget the n-grams that most of the words have."""
        most = max(20, int(len(self._words) * MAX_COMMON))
        self._grams = {gram: numbers for gram, numbers in self._grams.items() if len(numbers) <= most}

    def find(self, word: str) -> dict[int, float]:
        """Return the numbers of similar words with a similarity between 0 and 1."""
        if not _is_fuzzy(word):
            return {}
        found: dict[int, float] = {}
        for length in range(max(MIN_STEM, len(word) - MAX_ENDING), len(word)):
            if (stem := self._short.get(word[:length])) is not None:
                found[stem] = INFLECTED
        for number in {number for slip in _slips(word) for number in self._slips.get(slip, ())}:
            found[number] = 1 - SLIP / max(len(word), len(self._words[number]))
        grams = _grams(word)
        shared: dict[int, int] = {}
        for gram in grams:
            for number in self._grams.get(gram, ()):
                shared[number] = shared.get(number, 0) + 1
        for number, count in shared.items():
            alike = 2 * count / (len(grams) + self._sizes[number])
            similarity = max(alike, _by_form(word, self._words[number]), found.get(number, 0.0))
            if similarity >= MIN_SIMILARITY:
                found[number] = min(similarity, 0.99)
        return found


def _is_fuzzy(word: str) -> bool:
    """Return whether a word is long enough to be meant by another, and no number."""
    return MIN_LETTERS <= len(word) <= MAX_LETTERS and not word.isdigit()


def _grams(word: str) -> set[str]:
    """Return the character n-grams of a word with its ends marked."""
    marked = f"^{word}$"
    return {
        marked[start : start + size] for size in GRAM_SIZES for start in range(max(1, len(marked) - size + 1))
    }


def _slips(word: str) -> set[str]:
    """Return the word and all words that lack one of its letters."""
    return {word, *(word[:index] + word[index + 1 :] for index in range(len(word)))}


def _by_form(one: str, other: str) -> float:
    """Return the similarity of two inflections of a word, or of a compound and its part."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if len(short) < MIN_PART:
        return 0.0
    common = 0
    while common < len(short) and short[common] == long[common]:
        common += 1
    if common >= MIN_PART and common >= INFLECTED_SHARE * len(long):
        return INFLECTED
    if common == len(short) or long.endswith(short):
        return LONG_PART_SIMILARITY if len(short) >= LONG_PART else PART
    return 0.0
