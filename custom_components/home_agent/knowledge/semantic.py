"""SemanticIndex: collections of texts that are found by meaning, and that never cost a turn."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
import json
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later

from ..const import EVENT_VECTOR_QUERIED, LOGGER
from ..events import EventEmitter
from ..idle import in_slices
from ..issues import report, withdraw
from ..vector.embeddings import CachedEmbedder, EmbeddingError
from ..vector.store import Entry, Hit, StoreProblem, Value, VectorStore, VectorStoreError


class TextSource(StrEnum):
    """Where a text of the knowledge comes from."""

    ENTITY = "entity"
    AUTOMATION = "automation"
    SCENE = "scene"
    SCRIPT = "script"
    AREA = "area"
    SUMMARY = "summary"
    """What happened in the last 24 hours."""
    PROFILE = "profile"
    MEMORY = "memory"
    FILE = "file"
    """A passage of a text file, in an additional collection; never among the home's own knowledge."""


class KnowledgeDocument(NamedTuple):
    """One text that can be found."""

    id: str
    """Unique over all sources: the entity id, or `source:name`."""
    source: TextSource
    title: str
    text: str
    entity_ids: tuple[str, ...] = ()
    """The entities it speaks of. Where none of them is exposed any more, it is not shown."""
    person: str | None = None
    """The owner; None is the household."""


if TYPE_CHECKING:
    from ..vector.store import Vector


FIRST_PAUSE = 15
LONGEST_PAUSE = 600
"""Seconds between two tries; each pause is twice the one before."""
FORGOTTEN_SECONDS = 1800
"""An index that worked for so long starts with the first pause again."""


class Part(StrEnum):
    """What can fail on its own."""

    STORE = "store"
    EMBEDDER = "embedder"


ISSUES = {Part.STORE: "vector_store", Part.EMBEDDER: "embedder"}
"""How the translation keys of the issues of a part begin."""


class Fault(NamedTuple):
    """What is wrong with a part; `issue` is the translation key of its repair issue."""

    issue: str
    detail: str


def _fault(part: Part, err: Exception) -> Fault:
    refused, detail = False, f"{type(err).__name__}: {err}"
    match err:
        case VectorStoreError():
            refused, detail = err.problem is StoreProblem.REFUSED, err.detail
        case EmbeddingError():
            refused, detail = err.refused, err.detail
        case TimeoutError():
            detail = "no answer in time"
    return Fault(f"{ISSUES[part]}_{'refused' if refused else 'unavailable'}", detail[:200])


UNWRITABLE = "vector_writing"
BATCH = 64
WITHOUT_WORDS = frozenset({TextSource.MEMORY, TextSource.PROFILE})
"""Of these a store gets vectors and ids alone: some stores keep deleted texts in their files."""


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """What a sync did. `skipped` were there already; `failed` are tried again with the next one."""

    total: int
    indexed: int = 0
    failed: int = 0
    skipped: int = 0


async def _async_vectors(embedder: CachedEmbedder, batch: Sequence[KnowledgeDocument]) -> dict[str, Vector]:
    """Return vectors by id, without those of texts that the embedder rejects.

    Raises EmbeddingError if it is the embedder that fails.
    """
    try:
        vectors = await embedder.async_embed([document.text for document in batch])
    except EmbeddingError:
        await embedder.async_embed([_uncached_probe_text()])
        if len(batch) == 1:
            return {}
    else:
        return {document.id: vector for document, vector in zip(batch, vectors, strict=True)}
    accepted: dict[str, Vector] = {}
    for document in batch:
        accepted |= await _async_vectors(embedder, [document])
    return accepted


def _fingerprint(embedder: CachedEmbedder, vector: Vector) -> str:
    return f"{embedder.fingerprint}|{len(vector)}"


def _uncached_probe_text() -> str:
    """Return a text that is in no cache, to find out whether an embedder works."""
    return f"light {perf_counter()}"


def _metadata(document: KnowledgeDocument) -> dict[str, Value]:
    return {
        "source": document.source.value,
        "title": document.title,
        "entity_ids": ",".join(document.entity_ids),
        "person": document.person or "",
    }


SEARCH_SECONDS = 1.5
"""What a search may take: a provider of context has two seconds."""
TRY_SECONDS = 60
"""What a part may take when it is tried in the background; a model may have to be loaded."""

type Owner = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class _Collection:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    filling: asyncio.Task[None] | None = None
    refused: bool = False
    """Whether the store did not take what was written last."""


class SemanticIndex:
    """Joins a store of vectors and an embedder, for one entry.

    No method raises. A fault makes the index unavailable and is tried again at once; if that fails too it
    becomes a repair issue, and is tried again in the background with growing pauses. What fills a collection
    registers in `owners` and is asked to fill it again when it no longer exists, was made by another
    embedder, or when a fault is over.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        *,
        entry_id: str,
        title: str,
        emitter: EventEmitter,
        open_store: Callable[[], Awaitable[VectorStore]] | None = None,
        open_embedder: Callable[[], Awaitable[CachedEmbedder | None]] | None = None,
    ) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._title = title
        self._emitter = emitter
        self._open_store = open_store
        self._open_embedder = open_embedder
        self._store: VectorStore | None = None
        self._embedder: CachedEmbedder | None = None
        self.faults: dict[Part, Fault] = {}
        self._tries = 0
        self._well_since = 0.0
        self._next_try: CALLBACK_TYPE | None = None
        self._trying: asyncio.Task[None] | None = None
        self.owners: dict[str, Owner] = {}
        self._made_now = ""
        self._collections: defaultdict[str, _Collection] = defaultdict(_Collection)
        self._failed_search: tuple[str, Vector] | None = None
        self._closed = False

    @property
    def configured(self) -> bool:
        """Return whether a store and an embedder are configured."""
        return self._open_store is not None and self._open_embedder is not None

    @property
    def available(self) -> bool:
        """Return whether both parts are there and well, and it is known which embedder it is."""
        return bool(self._store and self._made_now and not self._closed and not self.faults)

    async def async_start(self) -> None:
        """Open store and embedder; what cannot be opened is tried again in the background."""

        async def open_part(part: Part) -> None:
            try:
                await self._async_probe(part)
            except Exception as err:  # noqa: BLE001 - also what an installation of packages raises
                self._note(part, err)

        if self.configured:
            await asyncio.gather(open_part(Part.STORE), open_part(Part.EMBEDDER))
        if self.available:
            self._refill_all()  # an early query was answered as if nothing was indexed

    async def async_collections(self) -> Mapping[str, str | None] | None:
        """Return the collections with the fingerprint of their embedders; None if that is not known now.

        One that another program filled has none: it is searched and never changed.
        """
        if not self.available or self._store is None:
            return None
        try:
            async with asyncio.timeout(SEARCH_SECONDS):
                return await self._store.async_collections()
        except (VectorStoreError, TimeoutError) as err:
            self._note(Part.STORE, err)
            return None

    async def async_close(self) -> None:
        """Stop what runs, write what is not written, and let go."""
        self._closed = True
        if self._next_try is not None:
            self._next_try()
        tasks = [
            task for task in (self._trying, *(one.filling for one in self._collections.values())) if task
        ]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for issue_id in (UNWRITABLE, *(f"vector_{part}" for part in Part)):
            withdraw(self._hass, f"{issue_id}_{self._entry_id}")
        for collection in self._collections:
            withdraw(self._hass, self._issue_id(collection))
        if self._embedder is not None:
            await self._embedder.async_close()
        if self._store is not None:
            try:
                await self._store.async_close()
            except VectorStoreError as err:
                LOGGER.warning("%s: the vector store could not be closed: %s", self._title, err.detail)

    async def async_search(
        self,
        collection: str,
        query: str,
        limit: int,
        threshold: float = 0.0,
    ) -> list[Hit]:
        """Return the closest matches, best first; none if the search fails now."""
        store, embedder = self._store, self._embedder
        if not self.available or store is None or embedder is None or limit < 1 or not query.strip():
            return []
        part = Part.EMBEDDER
        try:
            async with asyncio.timeout(SEARCH_SECONDS):
                (vector,) = await embedder.async_embed([query])
                part = Part.STORE
                self._made_now = _fingerprint(embedder, vector)
                hits = await store.async_search(collection, vector, limit, made_by=self._made_now)
        except VectorStoreError as err:
            if err.problem not in (StoreProblem.MISSING, StoreProblem.DIMENSION):
                self._failed_search = (collection, vector)
                self._note(part, err)
                return []
            if collection in self.owners:
                self._refill(collection)
            elif err.problem is StoreProblem.DIMENSION:  # not ours, so it is left alone
                report(
                    self._hass,
                    self._issue_id(collection),
                    "collection_mismatch",
                    fix={"entry_id": self._entry_id, "collection": collection},
                    title=self._title,
                    collection=collection,
                )
            return []
        except (EmbeddingError, TimeoutError) as err:
            self._note(part, err)
            return []
        withdraw(self._hass, self._issue_id(collection))
        hits = [hit for hit in hits if hit.similarity >= threshold]
        self._emitter.fire(
            EVENT_VECTOR_QUERIED,
            {
                "collection": collection,
                "results_count": len(hits),
                "top_k": limit,
                "entity_ids": [hit.id for hit in hits if hit.metadata.get("source") == TextSource.ENTITY],
            },
        )
        return hits

    async def async_sync(
        self,
        collection: str,
        documents: Sequence[KnowledgeDocument],
        *,
        complete: bool = True,
    ) -> SyncReport:
        """Sync a collection with the documents: embed what is new or differs, delete what no longer exists.

        A collection that another embedder made is built again. With `complete` false the documents are not
        all there is, and nothing is deleted.
        """
        report = SyncReport(total=len(documents))
        store, embedder = self._store, self._embedder
        if self.available and store is not None and embedder is not None:
            async with self._collections[collection].lock:
                try:
                    await self._async_fill(store, embedder, collection, documents, report, complete=complete)
                except EmbeddingError as err:
                    self._note(Part.EMBEDDER, err)
                except VectorStoreError as err:
                    self._note_unwritten(collection, err)
                else:
                    self._collections[collection].refused = False
                    refused = [name for name, state in self._collections.items() if state.refused]
                    if not refused:
                        withdraw(self._hass, f"{UNWRITABLE}_{self._entry_id}")
                    for name in refused if report.indexed else ():  # the store takes something again
                        if name in self.owners:
                            self._refill(name)
        report.failed = report.total - report.indexed - report.skipped
        return report

    async def async_remove(self, collection: str, ids: Collection[str]) -> None:
        """Delete entries; where that fails, the next complete sync does it."""
        if self._store is None or not ids:
            return
        async with self._collections[collection].lock:
            try:
                await self._store.async_delete(collection, ids)
            except VectorStoreError as err:
                if err.problem is not StoreProblem.MISSING:
                    self._note_unwritten(collection, err)

    async def _async_fill(
        self,
        store: VectorStore,
        embedder: CachedEmbedder,
        collection: str,
        documents: Sequence[KnowledgeDocument],
        report: SyncReport,
        *,
        complete: bool,
    ) -> None:
        made_by = (await store.async_collections()).get(collection)
        made_now = self._made_now
        if made_by == made_now:
            kept = await store.async_hashes(collection)
        else:
            await store.async_create(collection, made_now)
            kept = {}
        hashes: dict[str, str] = {}
        async for document in in_slices(documents):
            content = json.dumps([document.text, _metadata(document)], ensure_ascii=False)
            digest = blake2b(content.encode(errors="replace"), digest_size=16)
            hashes[document.id] = digest.hexdigest()
        pending = [document for document in documents if kept.get(document.id) != hashes[document.id]]
        report.skipped = len(documents) - len(pending)
        if complete and (gone := kept.keys() - hashes.keys()):
            await store.async_delete(collection, gone)
        while pending:
            batch, pending = pending[:BATCH], pending[BATCH:]
            if not (vectors := await _async_vectors(embedder, batch)):
                continue
            if (new := _fingerprint(embedder, next(iter(vectors.values())))) != made_now:
                # The model has been replaced in the meantime, so the collection is built again.
                self._made_now = made_now = new
                await store.async_create(collection, made_now)
                asked = {document.id for document in batch}
                pending = [document for document in documents if document.id not in asked]
                report.indexed = report.skipped = 0
            entries = [
                Entry(
                    id=document.id,
                    text="" if document.source in WITHOUT_WORDS else document.text,
                    vector=vectors[document.id],
                    content_hash=hashes[document.id],
                    metadata=_metadata(document),
                )
                for document in batch
                if document.id in vectors
            ]
            await store.async_upsert(collection, entries)
            report.indexed += len(entries)

    async def _async_probe(self, part: Part) -> None:
        """Open a part, or find out whether it works again. Raises what is wrong."""
        match part:
            case Part.STORE:
                if self._store is None:
                    assert self._open_store is not None
                    store = await self._open_store()
                    async with asyncio.timeout(TRY_SECONDS):
                        await store.async_start()
                    if self._closed:
                        await store.async_close()
                        return
                    self._store = store
                async with asyncio.timeout(TRY_SECONDS):
                    await self._store.async_collections()
                    if self._failed_search is not None:
                        try:
                            await self._store.async_search(*self._failed_search, 1)
                        except VectorStoreError as err:
                            if err.problem not in (StoreProblem.MISSING, StoreProblem.DIMENSION):
                                raise
                self._failed_search = None
            case Part.EMBEDDER:  # it works when it answers as fast as a search needs it
                if self._embedder is None:
                    assert self._open_embedder is not None
                    self._embedder = await self._open_embedder()
                if self._embedder is None:
                    raise EmbeddingError("no embedding model is chosen")
                for seconds in (TRY_SECONDS, SEARCH_SECONDS):
                    started = perf_counter()
                    async with asyncio.timeout(seconds):
                        (vector,) = await self._embedder.async_embed([_uncached_probe_text()])
                    self._made_now = _fingerprint(self._embedder, vector)
                    if perf_counter() - started < SEARCH_SECONDS:
                        return

    @callback
    def _note(self, part: Part, err: Exception) -> None:
        """Note that a part failed, and try it again: at once if the index was well for long."""
        if self._closed:
            return
        new = part not in self.faults
        fault = self.faults[part] = _fault(part, err)
        if not new:
            return
        LOGGER.warning("%s: the %s of the vector index failed: %s", self._title, part, fault.detail)
        self._emitter.fire_error("index", err, fault.detail, part=part.value)
        if self._trying is not None or self._next_try is not None:
            return
        if self._hass.loop.time() - self._well_since > FORGOTTEN_SECONDS:
            self._tries = 0
        self._plan()

    @callback
    def _plan(self) -> None:
        """Report what is wrong and try it again after a pause; the first time it is tried at once instead."""

        @callback
        def begin(_now: datetime | None = None) -> None:
            self._next_try = None
            self._tries += 1
            name = "home_agent try the vector index again"
            self._trying = self._hass.async_create_background_task(self._async_try(), name, eager_start=False)

        if not self._tries:
            begin()
            return
        for part, fault in self.faults.items():
            self._report(f"vector_{part}", fault)
        pause = min(FIRST_PAUSE * 2 ** (self._tries - 1), LONGEST_PAUSE)
        self._next_try = async_call_later(self._hass, pause, HassJob(begin, cancel_on_shutdown=True))

    async def _async_try(self) -> None:
        for part in list(self.faults):
            try:
                await self._async_probe(part)
            except Exception as err:  # noqa: BLE001 - whatever it is, it does not work yet
                self.faults[part] = _fault(part, err)
                continue
            del self.faults[part]
            withdraw(self._hass, f"vector_{part}_{self._entry_id}")
            LOGGER.info("%s: the %s of the vector index works", self._title, part)
        self._trying = None
        if self.faults:
            self._plan()
            return
        self._well_since = self._hass.loop.time()
        self._refill_all()

    @callback
    def _report(self, issue_id: str, fault: Fault) -> None:
        report(
            self._hass,
            f"{issue_id}_{self._entry_id}",
            fault.issue,
            fix={"entry_id": self._entry_id},
            title=self._title,
            error=fault.detail,
        )

    @callback
    def _refill_all(self) -> None:
        for collection in self.owners:
            self._refill(collection)

    @callback
    def _refill(self, collection: str) -> None:
        owner, state = self.owners[collection], self._collections[collection]
        if self._closed or state.filling is not None:
            return

        async def fill() -> None:
            try:
                await owner()
            finally:
                state.filling = None

        name = f"home_agent fill {collection}"
        state.filling = self._hass.async_create_background_task(fill(), name, eager_start=False)

    @callback
    def _note_unwritten(self, collection: str, err: VectorStoreError) -> None:
        """A collection could not be written; a store that refuses that may still be searched."""
        if err.problem is not StoreProblem.REFUSED:
            self._note(Part.STORE, err)
        elif not self._closed:
            self._collections[collection].refused = True
            LOGGER.warning("%s: the vector store takes nothing: %s", self._title, err.detail)
            self._report(UNWRITABLE, Fault("vector_store_unwritable", err.detail))

    def _issue_id(self, collection: str) -> str:
        return f"collection_mismatch_{self._entry_id}_{collection}"
