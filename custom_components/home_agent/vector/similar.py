"""Finds words of a vocabulary that resemble a word: misspelt, inflected or part of a compound."""

from array import array
from collections.abc import Iterator, Sequence

GRAM_SIZES = (3, 4, 5)
MIN_LETTERS = 4
"""Shorter words resemble only themselves."""
MIN_PART = 4
"""Letters of a word that counts when it begins or ends a longer one."""
MIN_SIMILARITY = 0.4
SLIP = 1.5
"""Letters that one slip costs: similarity is 1 - SLIP / length."""
PART = 0.8
"""Similarity of a compound to the word that it begins or ends with."""
MAX_LETTERS = 40
MAX_COMMON = 0.25
"""Share of the vocabulary beyond which an n-gram says nothing."""


class SimilarWords:
    """A vocabulary prepared for similarity search."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Index the n-grams and the one-letter slips of all words."""
        self._words = vocabulary
        self._grams: dict[str, array[int]] = {}
        self._slips: dict[str, array[int]] = {}
        self._sizes = array("H", bytes(2 * len(vocabulary)))
        for number, word in enumerate(vocabulary):
            if not _is_fuzzy(word):
                continue
            grams = _grams(word)
            self._sizes[number] = len(grams)
            for gram in grams:
                self._grams.setdefault(gram, array("I")).append(number)
            for slip in _slips(word):
                self._slips.setdefault(slip, array("I")).append(number)
        most = max(20, int(len(vocabulary) * MAX_COMMON))
        self._grams = {gram: numbers for gram, numbers in self._grams.items() if len(numbers) <= most}

    def find(self, word: str) -> Iterator[tuple[int, float]]:
        """Yield the numbers of similar words with a similarity between 0 and 1."""
        if not _is_fuzzy(word):
            return
        slipped = {number for slip in _slips(word) for number in self._slips.get(slip, ())}
        for number in slipped:
            yield number, 1 - SLIP / max(len(word), len(self._words[number]))
        grams = _grams(word)
        shared: dict[int, int] = {}
        for gram in grams:
            for number in self._grams.get(gram, ()):
                shared[number] = shared.get(number, 0) + 1
        for number, count in shared.items():
            if number in slipped:
                continue
            similarity = 2 * count / (len(grams) + self._sizes[number])
            if similarity < PART and _is_part(word, self._words[number]):
                similarity = PART
            if similarity >= MIN_SIMILARITY:
                yield number, min(similarity, 0.99)


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


def _is_part(one: str, other: str) -> bool:
    """Return whether the shorter word begins or ends the longer one."""
    short, long = sorted((one, other), key=len)
    return len(short) >= MIN_PART and (long.startswith(short) or long.endswith(short))
