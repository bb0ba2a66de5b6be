"""A store of vectors in memory and an embedder of words, both of which fail on demand."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
import zlib

import numpy as np

from custom_components.home_agent.vector.embeddings import EmbeddingError
from custom_components.home_agent.vector.store import (
    Entry,
    Hit,
    StoreProblem,
    Value,
    VectorStoreError,
)

if TYPE_CHECKING:
    from custom_components.home_agent.vector.store import Vector


class WordEmbedder:
    """Texts that share words are close; `fault` is raised instead of an answer."""

    def __init__(self, fingerprint: str = "test|words", dimension: int = 64) -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.fault: str | None = None
        self.poison: str | None = None
        self.awake = asyncio.Event()
        self.awake.set()
        self.texts: list[str] = []

    async def async_embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text."""
        await self.awake.wait()
        if self.fault is not None:
            raise EmbeddingError(self.fault)
        if self.poison is not None and any(self.poison in text for text in texts):
            raise EmbeddingError("cannot embed this")
        self.texts += texts
        return [self._vector(text) for text in texts]

    @property
    def documents(self) -> list[str]:
        """Return what was embedded besides attempts whether it works."""
        return [text for text in self.texts if not _is_attempt(text)]

    def _vector(self, text: str) -> Vector:
        """Return how often words fall into each place, as a vector of length 1."""
        vector = np.zeros(self.dimension, np.float32)
        for word in text.casefold().split():
            vector[zlib.crc32(word.encode()) % self.dimension] += 1
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector


def _is_attempt(text: str) -> bool:
    first, _, rest = text.partition(" ")
    return first == "light" and rest.replace(".", "").isdigit()


class MemoryStore:
    """Keeps everything in dictionaries."""

    def __init__(self) -> None:
        self.made_by: dict[str, str | None] = {}
        self.kept: dict[str, dict[str, Entry]] = {}
        self.problem: StoreProblem | None = None
        self.read_only = False
        self.closed = False

    async def async_start(self) -> None:
        """Fail or not."""
        self._check()

    async def async_collections(self) -> Mapping[str, str | None]:
        """Return fingerprints."""
        self._check()
        return dict(self.made_by)

    async def async_create(self, collection: str, fingerprint: str) -> None:
        """Make an empty collection."""
        self._check(writing=True)
        self.made_by[collection] = fingerprint
        self.kept[collection] = {}

    async def async_drop(self, collection: str) -> None:
        """Remove a collection."""
        self._check(writing=True)
        self.made_by.pop(collection, None)
        self.kept.pop(collection, None)

    async def async_hashes(self, collection: str) -> Mapping[str, str]:
        """Return content hashes."""
        return {entry.id: entry.content_hash for entry in self._of(collection).values()}

    async def async_upsert(self, collection: str, entries: Sequence[Entry]) -> None:
        """Keep entries."""
        self._check(writing=True)
        self._of(collection).update({entry.id: entry for entry in entries})

    async def async_delete(self, collection: str, ids: Collection[str]) -> None:
        """Forget entries."""
        self._check(writing=True)
        for key in ids:
            self._of(collection).pop(key, None)

    async def async_search(
        self, collection: str, vector: Vector, limit: int, *, where: Mapping[str, Value] | None = None
    ) -> list[Hit]:
        """Return the closest entries."""
        entries = [
            entry
            for entry in self._of(collection).values()
            if all(entry.metadata.get(key) == value for key, value in (where or {}).items())
        ]
        if any(len(entry.vector) != len(vector) for entry in entries):
            raise VectorStoreError(StoreProblem.DIMENSION, "another dimension")
        hits = [
            Hit(
                id=entry.id,
                text=entry.text,
                similarity=max(0.0, float(entry.vector @ vector)),
                metadata=entry.metadata,
            )
            for entry in entries
        ]
        return sorted(hits, key=lambda hit: -hit.similarity)[:limit]

    async def async_close(self) -> None:
        """Note it."""
        self.closed = True

    def _of(self, collection: str) -> dict[str, Entry]:
        self._check()
        if collection not in self.kept:
            raise VectorStoreError(StoreProblem.MISSING, f"no collection {collection}")
        return self.kept[collection]

    def _check(self, *, writing: bool = False) -> None:
        if self.problem is not None:
            raise VectorStoreError(self.problem, "the store is down")
        if writing and self.read_only:
            raise VectorStoreError(StoreProblem.REFUSED, "may not write")
