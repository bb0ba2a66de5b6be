"""Finds passages by words, and says how much of a sentence each one answers."""

from collections import Counter
from collections.abc import Iterable
from math import log
from typing import Final

from ..texts import words
from ..vector.lexical import Document, LexicalIndex
from .documents import KnowledgeDocument

TITLE_WEIGHT: Final = 0.5
TEXT_WEIGHT: Final = 0.8
RERANKED: Final = 4
"""Passages weighed for each one asked for."""
MAX_WORDS: Final = 48


class PassageIndex:
    """An index of passages; it never changes once built."""

    def __init__(self, documents: Iterable[KnowledgeDocument]) -> None:
        """Build the index; it takes time with thousands of passages, so not on an event loop."""
        self.documents = {document.id: document for document in documents}
        self._words = {
            key: frozenset((*words(document.title), *words(document.text)))
            for key, document in self.documents.items()
        }
        self._frequencies = Counter(word for found in self._words.values() for word in found)
        self._index = LexicalIndex.build(
            Document(key, ((document.title, TITLE_WEIGHT), (document.text, TEXT_WEIGHT)))
            for key, document in self.documents.items()
        )

    def search(self, query: str, limit: int, threshold: float) -> list[tuple[KnowledgeDocument, float]]:
        """Return passages with the share of the query that they answer, the largest first.

        A word counts by its length and by how few passages have it, so that a share of 1 holds every word and
        a sentence about something else stays low although small words are everywhere.
        """
        asked = list(dict.fromkeys(words(query)))[:MAX_WORDS]
        meant = [(self._weight(word), self._index.covered(word)) for word in asked]
        total = sum(weight for weight, _ in meant)
        if not total:
            return []
        shares = []
        for key, _ in self._index.search(query, limit * RERANKED):
            share = sum(weight * self._best(key, found) for weight, found in meant) / total
            if share >= threshold:
                shares.append((self.documents[key], round(share, 4)))
        return sorted(shares, key=_order)[:limit]

    def _weight(self, word: str) -> float:
        """Return what a word of a query counts; one that no passage has, as much as the rarest."""
        passages, having = len(self.documents), max(1, self._frequencies[word])
        return len(word) * log(1 + (passages - having + 0.5) / (having + 0.5))

    def _best(self, key: str, found: dict[str, float]) -> float:
        """Return how well a passage has a word that means these words of the index."""
        similar = (similarity for word, similarity in found.items() if word in self._words[key])
        return max(similar, default=0.0) ** 2


def _order(found: tuple[KnowledgeDocument, float]) -> tuple[float, str]:
    """Return what passages are sorted by: the best first, ties by id."""
    document, share = found
    return (-share, document.id)
