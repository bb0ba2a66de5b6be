"""Synchronizes one collection of a vector store with documents."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
import json
from time import perf_counter
from typing import TYPE_CHECKING

from ..idle import in_slices
from ..vector.embeddings import Embedder, EmbeddingError
from ..vector.store import Entry, Value, VectorStore
from .documents import KnowledgeDocument, Source

if TYPE_CHECKING:
    from ..vector.store import Vector

BATCH = 64
WITHOUT_WORDS = frozenset({Source.MEMORY, Source.PROFILE})
"""Of these a store gets vectors and ids alone: some stores keep deleted texts in their files."""

type Progress = Callable[[int, int], None]
"""Called with how many documents are done and how many there are."""


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """What a sync did. `skipped` were there already; `failed` are tried again with the next one."""

    total: int
    indexed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(slots=True, kw_only=True)
class Filling:
    """One sync. `made_by` is the fingerprint of the collection, None if it is to be recreated."""

    store: VectorStore
    embedder: Embedder
    collection: str
    made_by: str | None
    report: SyncReport
    progress: Progress | None

    async def async_run(self, documents: Sequence[KnowledgeDocument], *, complete: bool) -> None:
        """Embed what is new or differs and, if these are all documents, delete what no longer exists.

        Raises EmbeddingError and VectorStoreError; the report counts what was done until then.
        """
        kept = await self.store.async_hashes(self.collection) if self.made_by is not None else {}
        hashes = await _async_hashes(documents)
        pending = [document for document in documents if kept.get(document.id) != hashes[document.id]]
        self.report.skipped = len(documents) - len(pending)
        if complete and (gone := kept.keys() - hashes.keys()):
            await self.store.async_delete(self.collection, gone)
        while pending:
            batch, pending = pending[:BATCH], pending[BATCH:]
            vectors = await self._async_vectors(batch)
            if not vectors:
                continue
            if await self._async_recreate_if_changed(next(iter(vectors.values()))):
                asked = {document.id for document in batch}
                pending = [document for document in documents if document.id not in asked]
                self.report.indexed = self.report.skipped = 0
            entries = [
                Entry(
                    id=document.id,
                    text="" if document.source in WITHOUT_WORDS else document.text,
                    vector=vectors[document.id],
                    content_hash=hashes[document.id],
                    metadata=metadata(document),
                )
                for document in batch
                if document.id in vectors
            ]
            await self.store.async_upsert(self.collection, entries)
            self.report.indexed += len(entries)
            if self.progress is not None:
                self.progress(len(documents) - len(pending), len(documents))

    async def _async_recreate_if_changed(self, vector: Vector) -> bool:
        """Empty the collection if it holds another embedder's vectors; return whether that was so."""
        made_now = fingerprint(self.embedder, vector)
        if self.made_by == made_now:
            return False
        await self.store.async_create(self.collection, made_now)
        self.made_by = made_now
        return True

    async def _async_vectors(self, batch: Sequence[KnowledgeDocument]) -> dict[str, Vector]:
        """Return vectors by id, without those of texts that the embedder rejects.

        Raises EmbeddingError if it is the embedder that fails.
        """
        try:
            vectors = await self.embedder.async_embed([document.text for document in batch])
        except EmbeddingError:
            await self.embedder.async_embed([uncached_probe_text()])
        else:
            return {document.id: vector for document, vector in zip(batch, vectors, strict=True)}
        found: dict[str, Vector] = {}
        for document in batch:
            try:
                (found[document.id],) = await self.embedder.async_embed([document.text])
            except EmbeddingError:
                await self.embedder.async_embed([uncached_probe_text()])
        return found


def fingerprint(embedder: Embedder, vector: Vector) -> str:
    """Return which embedder made a vector, with its dimension."""
    return f"{embedder.fingerprint}|{len(vector)}"


def uncached_probe_text() -> str:
    """Return a text that is in no cache, to find out whether an embedder works."""
    return f"light {perf_counter()}"


def metadata(document: KnowledgeDocument) -> dict[str, Value]:
    """Return the metadata of a text, which `where` can filter by."""
    return {
        "source": document.source.value,
        "title": document.title,
        "entity_ids": ",".join(document.entity_ids),
        "person": document.person or "",
    }


async def _async_hashes(documents: Iterable[KnowledgeDocument]) -> dict[str, str]:
    """Return the content hash of each document by id, a slice of the loop at a time."""
    return {document.id: content_hash(document) async for document in in_slices(documents)}


def content_hash(document: KnowledgeDocument) -> str:
    """Return the hash of the text and the metadata of a document."""
    content = json.dumps([document.text, metadata(document)], ensure_ascii=False)
    return blake2b(content.encode(errors="replace"), digest_size=16).hexdigest()
