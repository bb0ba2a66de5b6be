"""Finds short documents by words: exact, inflected, compounded and misspelt; joins rankings.

BM25 over folded words. A word of the query matches every word of the index that it resembles:
the same word, one slip off, or sharing enough character n-grams. Documents whose title is named
completely come first.

Documents share most of their texts (a room, a kind of device), so a query is scored against the
distinct texts, and each text passes its score on to its documents.
"""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from math import ceil, log
from typing import NamedTuple, Self

from ..texts import words

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
    marked = f"^{word}$"
    return {
        marked[start : start + size] for size in GRAM_SIZES for start in range(max(1, len(marked) - size + 1))
    }


def _slips(word: str) -> set[str]:
    return {word, *(word[:index] + word[index + 1 :] for index in range(len(word)))}


def _by_form(one: str, other: str) -> float:
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if len(short) < MIN_PART:
        return 0.0
    stem = max(MIN_PART, ceil(INFLECTED_SHARE * len(long)))
    if short[:stem] == long[:stem]:
        return INFLECTED
    if long.startswith(short) or long.endswith(short):
        return LONG_PART_SIMILARITY if len(short) >= LONG_PART else PART
    return 0.0


TITLE_WEIGHT = 1.0
"""Fields of at least this weight are titles: names by which the document is called."""
SATURATION = 1.2
"""BM25's k1: how fast repetition stops counting."""
MAX_QUERY_WORDS = 48
MAX_EXPANSIONS = 12
"""Index words that match one query word."""
EXPANSION_CACHE = 2048
JOINED = 0.9
"""Similarity of two query words to the index word that they make together."""
TITLE_BONUS = 0.6
"""Share by which a completely named title raises a score."""
RERANKED = 4
"""Documents weighed for each one asked for, where the answer is a share of the query."""
CANDIDATES = 2
"""Documents ranked by title for each one asked for."""
DAMPING = 20
"""How little the first places of a ranking differ from those that follow, where several are joined."""


class Document(NamedTuple):
    """What is searched for: its key and its texts, each with a weight."""

    key: str
    fields: Sequence[tuple[str, float]]


type WordMeanings = list[tuple[str, float]]
"""The words of the index that a word of a query may mean, with their similarity, closest first."""


class LexicalIndex:
    """An index of documents."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._numbers: dict[str, int] = {}
        self._texts: list[tuple[int, ...]] = []
        """Per document: its texts."""
        self._titles: list[tuple[int, ...]] = []
        """Per document: those of its texts that are titles."""
        self._words: list[str] = []
        self._word_ids: dict[str, int] = {}
        self._counts: list[int] = []
        """Per word: how many documents have it."""
        self._idf: list[float] = []
        self._postings: list[array[int]] = []
        """Per word: the texts that contain it."""
        self._repeats: dict[int, list[tuple[int, float]]] = {}
        """Per word: the texts that contain it several times, and what that adds."""
        self._text_ids: dict[tuple[str, float], int] = {}
        self._text_words: list[tuple[int, ...]] = []
        self._text_weights: list[float] = []
        self._text_documents: list[list[int]] = []
        self._similar = SimilarWords()
        self._expansions: dict[str, list[tuple[int, float]]] = {}

    @classmethod
    def build(cls, documents: Iterable[Document]) -> Self:
        """Build an index; it takes time with thousands of documents, so not on an event loop."""
        index = cls()
        for document in sorted(documents, key=lambda document: document.key):
            index._add(document)
        index._similar.add(index._words)
        index._similar.settle()
        index._idf = [rarity(len(index), count) for count in index._counts]
        return index

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._numbers)

    def search(
        self, query: str, limit: int = 20, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return keys and scores, best first, ties by key; only documents that share something.

        `allowed` limits the answer to these keys.
        """
        meanings = self._matches(_query_words(query))
        totals = self._score(meanings)
        covered: dict[int, float] = {}
        for matches in meanings:
            for word_id, similarity in matches:
                covered[word_id] = max(similarity, covered.get(word_id, 0.0))
        found = [number for number, total in enumerate(totals) if total > 0.0]
        if allowed is not None:
            found = [number for number in found if self._keys[number] in allowed]
        if len(found) > limit * CANDIDATES:
            least = sorted([totals[number] for number in found])[-limit * CANDIDATES]
            found = [number for number in found if totals[number] >= least]
        best = sorted([(-totals[number], self._keys[number], number) for number in found])
        best = best[: limit * CANDIDATES]
        scored = [
            (total * (1 + TITLE_BONUS * self._named(number, covered)), key) for total, key, number in best
        ]
        return [(key, -score) for score, key in sorted(scored)[:limit]]

    def shares(self, query: str, limit: int = 20) -> list[tuple[str, float]]:
        """Return keys with the share of a query that documents answer, from 0 to 1, the largest first.

        A word counts by its length and by how few documents have it, so that a share of 1 holds every word,
        and a sentence about something else stays low although small words are everywhere.
        """
        meant = []
        for word in _query_words(query):  # one that no document has weighs as much as the rarest
            word_id = self._word_ids.get(word)
            having = self._counts[word_id] if word_id is not None else 0
            meant.append((len(word) * rarity(len(self), max(1, having)), self._expand(word)))
        total = sum(weight for weight, _ in meant)
        found = []
        for key, _ in self.search(query, limit * RERANKED) if total else ():
            own = {word_id for text in self._texts[self._numbers[key]] for word_id in self._text_words[text]}
            best = (max((like for each, like in matches if each in own), default=0.0) for _, matches in meant)
            share = sum(weight * like**2 for (weight, _), like in zip(meant, best, strict=True)) / total
            found.append((key, round(share, 4)))
        return sorted(found, key=lambda item: (-item[1], item[0]))[:limit]

    def understand(self, query: str) -> dict[str, WordMeanings]:
        """Return the possible meanings of each word of a query."""
        query_words = _query_words(query)
        return {
            word: [(self._words[word_id], similarity) for word_id, similarity in matches]
            for word, matches in zip(query_words, self._matches(query_words), strict=True)
        }

    def _add(self, document: Document) -> None:
        number = len(self._keys)
        self._keys.append(document.key)
        self._numbers[document.key] = number
        for text, weight in document.fields:
            if (text, weight) in self._text_ids:
                continue
            text_id = self._text_ids[text, weight] = len(self._text_words)
            counts: Counter[int] = Counter()
            for word in words(text):
                word_id = self._word_ids.setdefault(word, len(self._words))
                if word_id == len(self._words):
                    self._words.append(word)
                    self._counts.append(0)
                    self._postings.append(array("I"))
                counts[word_id] += 1
            self._text_words.append(tuple(counts))
            self._text_weights.append(weight)
            self._text_documents.append([])
            for word_id, count in counts.items():
                self._postings[word_id].append(text_id)
                if count > 1:
                    repeated = count * (SATURATION + 1) / (count + SATURATION)
                    self._repeats.setdefault(word_id, []).append((text_id, repeated))
        texts = tuple(dict.fromkeys(self._text_ids[field] for field in document.fields))
        self._texts.append(texts)
        self._titles.append(tuple(text for text in texts if self._text_weights[text] >= TITLE_WEIGHT))
        for text_id in texts:
            self._text_documents[text_id].append(number)
        for word_id in {word_id for text in texts for word_id in self._text_words[text]}:
            self._counts[word_id] += 1

    def _score(self, meanings: Iterable[Sequence[tuple[int, float]]]) -> list[float]:
        """Return the score of each document; each word counts as the best it may mean in a text."""
        scores: dict[int, float] = {}
        for matches in meanings:
            best: dict[int, float] = {}
            values = sorted(
                (self._idf[word_id] * similarity * similarity, word_id) for word_id, similarity in matches
            )
            for value, word_id in values:
                best.update(dict.fromkeys(self._postings[word_id], value))
            for value, word_id in values:
                for text_id, repeated in self._repeats.get(word_id, ()):
                    best[text_id] = max(best[text_id], value * repeated)
            for text_id in best.keys() & scores.keys():
                best[text_id] += scores[text_id]
            scores.update(best)
        totals = [0.0] * len(self._keys)
        for text_id, score in scores.items():
            value = score * self._text_weights[text_id]
            for number in self._text_documents[text_id]:
                totals[number] += value
        return totals

    def _matches(self, query: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Return for each query word the index words it may mean, with their similarity."""
        joined: dict[str, int] = {}
        for pair in pairwise(query):
            if (whole := self._word_ids.get("".join(pair))) is not None:
                joined.update(dict.fromkeys(pair, whole))
        return [
            [*self._expand(word), *([(joined[word], JOINED)] if word in joined else [])] for word in query
        ]

    def _expand(self, word: str) -> list[tuple[int, float]]:
        """Return the index words that a query word may mean, best first."""
        if (known := self._expansions.get(word)) is not None:
            return known
        found = self._similar.find(word)
        if (exact := self._word_ids.get(word)) is not None:
            found[exact] = 1.0
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MAX_EXPANSIONS]
        if len(self._expansions) >= EXPANSION_CACHE:
            self._expansions.clear()
        self._expansions[word] = ranked
        return ranked

    def _named(self, number: int, covered: dict[int, float]) -> float:
        best = 0.0
        idf = self._idf
        for title in self._titles[number]:
            whole = part = 0.0
            for word_id in self._text_words[title]:
                whole += idf[word_id]
                if word_id in covered:
                    part += idf[word_id] * covered[word_id]
            best = max(best, part / (whole or 1.0))
        return best


def rarity(total: int, having: int) -> float:
    """Return what a word is worth by how many of all documents have it, as BM25 weighs it."""
    return log(1 + (total - having + 0.5) / (having + 0.5))


def _query_words(query: str) -> list[str]:
    return list(dict.fromkeys(words(query)))[:MAX_QUERY_WORDS]


def fuse(rankings: Sequence[tuple[Sequence[str], float]]) -> list[str]:
    """Return everything that is in any of the rankings, best first, by reciprocal rank fusion.

    Each ranking, best first, comes with its weight. Ties keep the order of the first ranking that has them.
    """
    scores: dict[str, float] = {}
    for ranking, weight in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking)):
            scores[key] = scores.get(key, 0.0) + weight / (DAMPING + rank)
    return sorted(scores, key=lambda key: -scores[key])
