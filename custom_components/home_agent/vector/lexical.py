"""Finds short documents by words: exact, inflected, compounded and misspelt.

BM25 over folded words. A word of the query stands for every word of the index that it resembles:
the same word, one slip off, or sharing enough character n-grams. Documents whose title is named
completely come first.

Documents share most of their texts (a room, a kind of device), so a query is scored against the
distinct texts, and each text passes its score on to its documents.
"""

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Self

from .similar import SimilarWords
from .text import words

TITLE_WEIGHT = 1.0
"""Fields of at least this weight are titles: names by which the document is called."""
SATURATION = 1.2
"""BM25's k1: how fast repetition stops counting."""
MAX_QUERY_WORDS = 48
MAX_EXPANSIONS = 12
"""Index words one query word may stand for."""
EXPANSION_CACHE = 2048
JOINED = 0.9
"""Similarity of two query words to the index word that they make together."""
TITLE_BONUS = 0.6
"""Share by which a completely named title raises a score."""
CANDIDATES = 2
"""Documents ranked by title for each one asked for."""


@dataclass(frozen=True, slots=True)
class Document:
    """What is searched for: its key and its texts, each with a weight."""

    key: str
    fields: Sequence[tuple[str, float]]


class LexicalIndex:
    """An index of documents; it never changes once built."""

    def __init__(self) -> None:
        """Make an empty index; use `build`."""
        self._keys: list[str] = []
        self._words: list[str] = []
        self._word_ids: dict[str, int] = {}
        self._idf: list[float] = []
        self._postings: list[array[int]] = []
        """Per word: the texts that contain it."""
        self._impacts: list[array[float]] = []
        """Per word: what it adds to the score of these texts."""
        self._text_words: list[Sequence[int]] = []
        self._text_documents: list[array[int]] = []
        self._text_weights: list[array[float]] = []
        self._titles: list[tuple[int, ...]] = []
        """Per document: the texts that are its titles."""
        self._title_weights: dict[int, float] = {}
        """Per title: the weight of all its words."""
        self._similar = SimilarWords([])
        self._expansions: dict[str, list[tuple[int, float]]] = {}

    @classmethod
    def build(cls, documents: Iterable[Document]) -> Self:
        """Build an index; it takes time with thousands of documents, so not on an event loop."""
        index = cls()
        text_ids: dict[str, int] = {}
        frequencies: list[int] = []
        for number, document in enumerate(sorted(documents, key=lambda document: document.key)):
            index._keys.append(document.key)
            texts = [(index._text_id(text, text_ids), weight) for text, weight in document.fields]
            for text_id, weight in texts:
                index._text_documents[text_id].append(number)
                index._text_weights[text_id].append(weight)
            index._titles.append(tuple(text_id for text_id, weight in texts if weight >= TITLE_WEIGHT))
            frequencies.extend([0] * (len(index._words) - len(frequencies)))
            for word_id in {word_id for text_id, _ in texts for word_id in index._text_words[text_id]}:
                frequencies[word_id] += 1
        index._weigh(frequencies)
        index._similar = SimilarWords(index._words)
        return index

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._keys)

    def search(
        self, query: str, limit: int = 20, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return keys and scores, best first, ties by key; only documents that share something.

        `allowed` limits the answer to these keys.
        """
        totals, covered = self._score(_query_words(query))
        found = [number for number, total in enumerate(totals) if total > 0.0]
        if allowed is not None:
            found = [number for number in found if self._keys[number] in allowed]
        best = sorted(found, key=totals.__getitem__, reverse=True)[: limit * CANDIDATES]
        scored = [
            (-totals[number] * (1 + TITLE_BONUS * self._named(number, covered)), self._keys[number])
            for number in best
        ]
        return [(key, -score) for score, key in sorted(scored)[:limit]]

    def covered(self, query: str) -> dict[str, float]:
        """Return the words of the index that a query means, with their similarity."""
        found: dict[str, float] = {}
        for word in _query_words(query):
            for word_id, similarity in self._expand(word):
                name = self._words[word_id]
                found[name] = max(similarity, found.get(name, 0.0))
        return found

    def _text_id(self, text: str, text_ids: dict[str, int]) -> int:
        """Return the number of a text, a new one with its words if it is new."""
        text_id = text_ids.setdefault(text, len(text_ids))
        if text_id == len(self._text_words):
            self._text_words.append([self._word_id(word) for word in words(text)])
            self._text_documents.append(array("I"))
            self._text_weights.append(array("f"))
        return text_id

    def _word_id(self, word: str) -> int:
        """Return the number of a word, a new one if it is new."""
        word_id = self._word_ids.setdefault(word, len(self._words))
        if word_id == len(self._words):
            self._words.append(word)
        return word_id

    def _weigh(self, frequencies: Sequence[int]) -> None:
        """Weigh words by how few documents have them, and list the texts that contain them."""
        total = len(self._keys)
        self._idf = [log(1 + (total - count + 0.5) / (count + 0.5)) for count in frequencies]
        self._postings = [array("I") for _ in self._words]
        self._impacts = [array("f") for _ in self._words]
        for text_id, word_ids in enumerate(self._text_words):
            for word_id in dict.fromkeys(word_ids):
                count = word_ids.count(word_id)
                self._postings[word_id].append(text_id)
                self._impacts[word_id].append(
                    self._idf[word_id] * count * (SATURATION + 1) / (count + SATURATION)
                )
        for text_id in {text_id for titles in self._titles for text_id in titles}:
            self._title_weights[text_id] = sum(self._idf[word_id] for word_id in self._text_words[text_id])

    def _score(self, query: Sequence[str]) -> tuple[list[float], dict[int, float]]:
        """Return the score of each document, and the index words that the query covers, how well."""
        scores: dict[int, float] = {}
        covered: dict[int, float] = {}
        for matches in self._matches(query):
            best: dict[int, float] = {}
            for word_id, similarity in matches:
                covered[word_id] = max(similarity, covered.get(word_id, 0.0))
                factor = similarity * similarity
                for text_id, impact in zip(self._postings[word_id], self._impacts[word_id], strict=True):
                    if impact * factor > best.get(text_id, 0.0):
                        best[text_id] = impact * factor
            for text_id, value in best.items():
                scores[text_id] = scores.get(text_id, 0.0) + value
        totals = [0.0] * len(self._keys)
        for text_id, score in scores.items():
            documents, weights = self._text_documents[text_id], self._text_weights[text_id]
            for number, weight in zip(documents, weights, strict=True):
                totals[number] += score * weight
        return totals, covered

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
        """Return which share of its best covered title a query names, by weight of the words."""
        best = 0.0
        for title in self._titles[number]:
            part = sum(self._idf[word_id] * covered.get(word_id, 0.0) for word_id in self._text_words[title])
            best = max(best, part / (self._title_weights[title] or 1.0))
        return best


def _query_words(query: str) -> list[str]:
    """Return the distinct words of a query, in order, up to a limit."""
    return list(dict.fromkeys(words(query)))[:MAX_QUERY_WORDS]
