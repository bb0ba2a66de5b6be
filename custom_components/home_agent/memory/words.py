"""Finds sentences by their words, one added or removed at a time."""

from collections.abc import Callable
from heapq import nsmallest
from math import ceil
from typing import Final

from ..texts import words
from ..vector.lexical import rarity

STEM: Final = 5
"""Letters by which inflections of a word are taken for it."""
FEW: Final = 20
"""Sentences assumed at least: among fewer ones, words that none of them has would outweigh the others."""
STEM_SHARE: Final = 0.6
"""The weight of an inflection, relative to the word itself."""


class WordIndex:
    """Sentences by key. Short texts in any language, without a prepared index."""

    def __init__(self) -> None:
        self._texts: dict[str, frozenset[str]] = {}
        self._by_word: dict[str, set[str]] = {}
        self._by_stem: dict[str, set[str]] = {}

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._texts)

    def add(self, key: str, text: str) -> None:
        """Add a sentence, or replace the one of this key."""
        self.remove(key)
        found = self._texts[key] = frozenset(words(text))
        for word in found:
            self._by_word.setdefault(word, set()).add(key)
            self._by_stem.setdefault(word[:STEM], set()).add(key)

    def remove(self, key: str) -> None:
        """Remove a sentence; a missing one is not an error."""
        for word in self._texts.pop(key, frozenset()):
            for table, entry in ((self._by_word, word), (self._by_stem, word[:STEM])):
                if (keys := table.get(entry)) is not None:
                    keys.discard(key)
                    if not keys:
                        del table[entry]

    def search(self, query: str, limit: int, allows: Callable[[str], bool]) -> list[tuple[str, float]]:
        """Return keys with the share of the query that they cover, from 0 to 1, best first.

        Rare words weigh more than common ones. `allows` says which keys may be among the answers.
        """
        scores: dict[str, float] = {}
        whole = 0.0
        for word in dict.fromkeys(words(query)):
            exact = self._by_word.get(word, set())
            alike = self._by_stem.get(word[:STEM], set()) if len(word) >= STEM else exact
            weight = rarity(max(len(self._texts), FEW), len(alike))
            whole += weight
            inflected = weight * STEM_SHARE
            for key in alike:
                scores[key] = scores.get(key, 0.0) + (weight if key in exact else inflected)
        wanted = limit
        while True:
            best = nsmallest(wanted, scores.items(), key=lambda item: (-item[1], item[0]))
            found = [(key, score / whole) for key, score in best if allows(key)]
            if len(found) >= limit or len(best) == len(scores):
                return found[:limit]
            wanted *= 8

    def alike(self, text: str, least: float) -> list[tuple[str, float]]:
        """Return the sentences that share at least such a part of their words with a text, the best first.

        The part is twice the shared words by all words of both. Who shares that much shares one of the
        rarest words, so only these are looked up.
        """
        asked = frozenset(words(text))
        if not asked:
            return []
        needed = max(1, ceil(len(asked) * least / (2 - least)))
        rarest = sorted(asked, key=lambda word: len(self._by_word.get(word, ())))[: len(asked) - needed + 1]
        found = []
        for key in {key for word in rarest for key in self._by_word.get(word, ())}:
            known = self._texts[key]
            share = 2 * len(asked & known) / (len(asked) + len(known))
            if share >= least:
                found.append((key, share))
        return sorted(found, key=lambda item: (-item[1], item[0]))
