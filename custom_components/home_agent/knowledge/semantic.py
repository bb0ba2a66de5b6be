"""SemanticIndex: collections of texts that are found by meaning, and that never cost a turn."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
import json
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later

from ..const import EVENT_VECTOR_QUERIED, LOGGER
from ..event_data import VectorQueried
from ..events import EventEmitter
from ..idle import in_slices
from ..issues import report, withdraw
from ..safety.disclosure import Disclosure
from ..vector.embeddings import Embedder, EmbeddingError
from ..vector.store import Entry, Hit, StoreProblem, Value, VectorStore, VectorStoreError


class Source(StrEnum):
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
    source: Source
    title: str
    text: str
    entity_ids: tuple[str, ...] = ()
    """The entities it speaks of. Where none of them is exposed any more, it is not shown."""
    person: str | None = None
    """The owner; None is the household."""


class KnowledgeSource(Protocol):
    """One kind of knowledge."""

    source: Source

    async def async_documents(self) -> Iterable[KnowledgeDocument]:
        """Return all documents as of now; takes no time on the event loop."""

    def async_listen(self, changed: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `changed` when documents may differ; return how to stop that."""


class PersonalSource(Protocol):
    """Finds what is known of a person, such as the profile.

    It belongs to one agent, and what it gives depends on who asks. So each search asks it, and its documents
    are not among those that agents share.
    """

    async def async_find(
        self, text: str, person_id: str | None, model: Disclosure
    ) -> list[KnowledgeDocument]:
        """Return the results that this person may see with this model, best first, without sensitive ones."""


if TYPE_CHECKING:
    from ..vector.store import Vector


FIRST_PAUSE = 15
LONGEST_PAUSE = 600
"""Seconds between two tries; each pause is twice the one before."""
FORGOTTEN_SECONDS = 1800
"""A part that worked for so long starts with the first pause again."""


class Part(StrEnum):
    """What can fail on its own."""

    STORE = "store"
    WRITING = "writing"
    """The store can be searched but takes nothing."""
    EMBEDDER = "embedder"


ISSUES = {
    Part.STORE: "vector_store_unavailable",
    Part.WRITING: "vector_store_unwritable",
    Part.EMBEDDER: "embedder_unavailable",
}
REFUSED = {
    Part.STORE: "vector_store_refused",
    Part.WRITING: "vector_store_unwritable",
    Part.EMBEDDER: "embedder_refused",
}


class Fault(NamedTuple):
    """What is wrong with a part; `issue` is the translation key of its repair issue."""

    issue: str
    detail: str


class Health:
    """Keeps the faults of one entry.

    A fault is tried again at once; the issue appears when that fails too, and goes when a try succeeds.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        title: str,
        *,
        emitter: EventEmitter,
        probe: Callable[[Part], Awaitable[None]],
        recovered: Callable[[Part], None],
    ) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._title = title
        self._emitter = emitter
        self._probe = probe
        self._recovered = recovered
        self.faults: dict[Part, Fault] = {}
        self._tries: dict[Part, int] = {}
        self._well_since: dict[Part, float] = {}
        self._planned: dict[Part, CALLBACK_TYPE] = {}
        self._running: dict[Part, asyncio.Task[None]] = {}
        self._closed = False

    @callback
    def note(self, part: Part, err: Exception) -> None:
        """Note that a part failed, and plan to try it again."""
        if self._closed:
            return
        new = part not in self.faults
        fault = self.faults[part] = _fault(part, err)
        if not new:
            return
        LOGGER.warning("%s: the %s of the vector index failed: %s", self._title, part.value, fault.detail)
        self._emitter.fire_error("index", err, fault.detail, part=part.value)
        if self._hass.loop.time() - self._well_since.get(part, 0.0) > FORGOTTEN_SECONDS:
            self._tries[part] = 0
        self._plan(part)

    async def async_close(self) -> None:
        """Stop trying and take the issues back."""
        self._closed = True
        for stop in self._planned.values():
            stop()
        for task in self._running.values():
            task.cancel()
        if self._running:
            await asyncio.wait(self._running.values())
        for part in Part:
            withdraw(self._hass, self._issue_id(part))

    @callback
    def _plan(self, part: Part) -> None:
        """Try a part at once if this is the first time, else after a pause, and report it."""
        if (tries := self._tries.get(part, 0)) == 0:
            self._try(part)
            return

        @callback
        def retry(_now: datetime) -> None:
            self._try(part)

        self._report(part)
        pause = min(FIRST_PAUSE * 2 ** (tries - 1), LONGEST_PAUSE)
        job = HassJob(retry, cancel_on_shutdown=True)
        self._planned[part] = async_call_later(self._hass, pause, job)

    @callback
    def _try(self, part: Part) -> None:
        self._planned.pop(part, None)
        self._tries[part] = self._tries.get(part, 0) + 1
        self._running[part] = self._hass.async_create_background_task(
            self._async_try(part), f"home_agent try the {part.value} again", eager_start=False
        )

    async def _async_try(self, part: Part) -> None:
        try:
            await self._probe(part)
        except Exception as err:  # noqa: BLE001 - whatever it is, it does not work yet
            self.faults[part] = _fault(part, err)
            self._plan(part)
            return
        del self.faults[part]
        self._well_since[part] = self._hass.loop.time()
        withdraw(self._hass, self._issue_id(part))
        LOGGER.info("%s: the %s of the vector index works", self._title, part.value)
        self._recovered(part)

    @callback
    def _report(self, part: Part) -> None:
        """Raise the repair issue of a part."""
        fault = self.faults[part]
        report(
            self._hass,
            self._issue_id(part),
            fault.issue,
            fix={"entry_id": self._entry_id},
            title=self._title,
            error=fault.detail,
        )

    def _issue_id(self, part: Part) -> str:
        return f"vector_{part.value}_{self._entry_id}"


def _fault(part: Part, err: Exception) -> Fault:
    refused, detail = False, f"{type(err).__name__}: {err}"
    match err:
        case VectorStoreError():
            refused, detail = err.problem is StoreProblem.REFUSED, err.detail
        case EmbeddingError():
            refused, detail = err.refused, err.detail
        case TimeoutError():
            detail = "no answer in time"
    return Fault((REFUSED if refused else ISSUES)[part], detail[:200])


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
    return {document.id: content_hash(document) async for document in in_slices(documents)}


def content_hash(document: KnowledgeDocument) -> str:
    """Return the hash of the text and the metadata of a document."""
    content = json.dumps([document.text, metadata(document)], ensure_ascii=False)
    return blake2b(content.encode(errors="replace"), digest_size=16).hexdigest()


SEARCH_SECONDS = 1.5
"""What a search may take: a provider of context has two seconds."""
TRY_SECONDS = 60
"""What a part may take when it is tried in the background; a model may have to be loaded."""

type Owner = Callable[[], Awaitable[object]]


class SemanticIndex:
    """Joins a store of vectors and an embedder, for one entry.

    No method raises: a fault makes the index unavailable, becomes a repair issue, and is tried again in
    the background with growing pauses. What fills a collection registers in `owners` and is asked to fill it
    again when it no longer exists, was made by another embedder, or when a fault is over.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        *,
        entry_id: str,
        title: str,
        emitter: EventEmitter,
        open_store: Callable[[], Awaitable[VectorStore]] | None = None,
        open_embedder: Callable[[], Awaitable[Embedder | None]] | None = None,
    ) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._title = title
        self._emitter = emitter
        self._open_store = open_store
        self._open_embedder = open_embedder
        self._store: VectorStore | None = None
        self._embedder: Embedder | None = None
        self.health = Health(
            hass, entry_id, title, emitter=emitter, probe=self._async_probe, recovered=self._on_recovered
        )
        self.owners: dict[str, Owner] = {}
        self._made_by: dict[str, str | None] | None = None
        self._made_now: str | None = None
        self._locks: dict[str, asyncio.Lock] = {}
        self._refilling: dict[str, asyncio.Task[None]] = {}
        self._unwritten: set[str] = set()
        self._empty: set[str] = set()
        self._odd: set[str] = set()
        self._failed_search: tuple[str, Vector] | None = None
        self._closed = False

    @property
    def configured(self) -> bool:
        """Return whether a store and an embedder are configured."""
        return self._open_store is not None and self._open_embedder is not None

    @property
    def available(self) -> bool:
        """Return whether both parts are there and well, and it is known which embedder it is."""
        faults = self.health.faults
        opened = self._store is not None and self._made_now is not None
        return opened and not self._closed and Part.STORE not in faults and Part.EMBEDDER not in faults

    async def async_start(self) -> None:
        """Open store and embedder; what cannot be opened is tried again in the background."""
        if self.configured:
            await asyncio.gather(*(self._async_open(part) for part in (Part.STORE, Part.EMBEDDER)))
        if self.available:
            self._refill_all()  # an early query was answered as if nothing was indexed

    async def async_missing(self, collection: str) -> bool | None:
        """Return whether there is no such collection; None if that cannot be found out now."""
        if not self.available or self._store is None:
            return None
        if self._made_by is None:
            try:
                async with asyncio.timeout(SEARCH_SECONDS):
                    self._made_by = dict(await self._store.async_collections())
            except (VectorStoreError, TimeoutError) as err:
                self.health.note(Part.STORE, err)
                return None
        return collection not in self._made_by

    async def async_is_foreign(self, collection: str) -> bool:
        """Return whether another program filled a collection: it is searched and never changed."""
        there = await self.async_missing(collection) is False
        return there and self._made_by is not None and self._made_by.get(collection, "") is None

    async def _async_open(self, part: Part) -> None:
        """Open one part, and note where that fails."""
        try:
            await self._async_probe(part)
        except Exception as err:  # noqa: BLE001 - also what an installation of packages raises
            self.health.note(part, err)

    async def async_close(self) -> None:
        """Stop what runs, write what is not written, and let go."""
        self._closed = True
        await self.health.async_close()
        tasks = list(self._refilling.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for collection in self._odd:
            withdraw(self._hass, self._issue_id(collection))
        if self._embedder is not None and (close := getattr(self._embedder, "async_close", None)):
            await close()
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
        where: Mapping[str, Value] | None = None,
    ) -> list[Hit]:
        """Return the closest matches, best first; none if the search fails now."""
        store, embedder = self._store, self._embedder
        if not self.available or store is None or embedder is None or not query.strip():
            return []
        if limit < 1 or collection in self._empty:
            return []
        part = Part.EMBEDDER
        try:
            async with asyncio.timeout(SEARCH_SECONDS):
                (vector,) = await embedder.async_embed([query])
                part = Part.STORE
                self._made_now = fingerprint(embedder, vector)
                await self._async_check(store, collection, self._made_now)
                hits = await store.async_search(collection, vector, limit, where=where)
        except VectorStoreError as err:
            if err.problem in (StoreProblem.MISSING, StoreProblem.DIMENSION):
                self._note_stale(collection, err)
            else:
                self._failed_search = (collection, vector)
                self.health.note(part, err)
            return []
        except (EmbeddingError, TimeoutError) as err:
            self.health.note(part, err)
            return []
        self._note_fresh(collection)
        hits = [hit for hit in hits if hit.similarity >= threshold]
        self._emitter.fire(
            EVENT_VECTOR_QUERIED,
            VectorQueried(
                collection=collection, results_count=len(hits), top_k=limit, entity_ids=_entity_ids(hits)
            ),
        )
        return hits

    async def async_sync(
        self,
        collection: str,
        documents: Sequence[KnowledgeDocument],
        *,
        complete: bool = True,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Sync a collection with the documents: embed what is new or differs, delete what no longer exists.

        A collection that another embedder made is built again. With `complete` false the documents are not
        all there is, and nothing is deleted.
        """
        report = SyncReport(total=len(documents))
        async with self._locks.setdefault(collection, asyncio.Lock()):
            try:
                await self._async_fill(collection, documents, report, complete=complete, progress=progress)
            except EmbeddingError as err:
                self.health.note(Part.EMBEDDER, err)
            except VectorStoreError as err:
                self._note_unwritten(collection, err)
            else:
                self._unwritten.discard(collection)
        report.failed = report.total - report.indexed - report.skipped
        return report

    async def async_remove(self, collection: str, ids: Collection[str]) -> None:
        """Delete entries; where that fails, the next complete sync does it."""
        if self._store is None or not ids:
            return
        async with self._locks.setdefault(collection, asyncio.Lock()):
            try:
                await self._store.async_delete(collection, ids)
            except VectorStoreError as err:
                if err.problem is not StoreProblem.MISSING:
                    self._note_unwritten(collection, err)

    async def _async_fill(
        self,
        collection: str,
        documents: Sequence[KnowledgeDocument],
        report: SyncReport,
        *,
        complete: bool,
        progress: Progress | None,
    ) -> None:
        """Do a sync, counting in the report. Raises what failed."""
        store, embedder = self._store, self._embedder
        if not self.available or store is None or embedder is None:
            return
        made_by = (await store.async_collections()).get(collection)
        if not documents and complete:
            await store.async_drop(collection)
            self._empty.add(collection)
            return
        self._empty.discard(collection)
        filling = Filling(
            store=store,
            embedder=embedder,
            collection=collection,
            made_by=made_by if made_by == self._made_now else None,
            report=report,
            progress=progress,
        )
        try:
            await filling.async_run(documents, complete=complete)
        finally:
            self._made_by = None

    async def _async_check(self, store: VectorStore, collection: str, made_now: str) -> None:
        """Raise VectorStoreError if a collection no longer exists or was made by another embedder."""
        if self._made_by is None or collection not in self._made_by:
            self._made_by = dict(await store.async_collections())
        if collection not in self._made_by:
            raise VectorStoreError(StoreProblem.MISSING, f"there is no collection {collection}")
        made_by = self._made_by[collection]
        if made_by is not None and made_by != made_now:
            raise VectorStoreError(StoreProblem.DIMENSION, f"{collection} was made by {made_by}")

    async def _async_probe(self, part: Part) -> None:
        """Open a part, or find out whether it works again. Raises what is wrong."""
        probes = {
            Part.STORE: self._async_probe_store,
            Part.WRITING: self._async_write_again,
            Part.EMBEDDER: self._async_probe_embedder,
        }
        await probes[part]()

    async def _async_probe_store(self) -> None:
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
            self._made_by = dict(await self._store.async_collections())
            if self._failed_search is not None and self._failed_search[0] in self._made_by:
                try:
                    await self._store.async_search(*self._failed_search, 1)
                except VectorStoreError as err:
                    if err.problem not in (StoreProblem.MISSING, StoreProblem.DIMENSION):
                        raise
        self._failed_search = None

    async def _async_probe_embedder(self) -> None:
        """Open the embedder; it works when it answers as fast as a search needs it."""
        if self._embedder is None:
            assert self._open_embedder is not None
            self._embedder = await self._open_embedder()
        if self._embedder is None:
            raise EmbeddingError("no embedding model is chosen")
        for seconds in (TRY_SECONDS, SEARCH_SECONDS):
            started = perf_counter()
            async with asyncio.timeout(seconds):
                (vector,) = await self._embedder.async_embed([uncached_probe_text()])
            self._made_now = fingerprint(self._embedder, vector)
            if perf_counter() - started < SEARCH_SECONDS:
                return

    async def _async_write_again(self) -> None:
        """Have filled again what could not be written. Raises VectorStoreError if it still cannot."""
        for collection in list(self._unwritten):
            if (owner := self.owners.get(collection)) is None:
                self._unwritten.discard(collection)
            else:
                await owner()
        if self._unwritten:
            detail = self.health.faults[Part.WRITING].detail
            raise VectorStoreError(StoreProblem.REFUSED, detail)

    @callback
    def _on_recovered(self, part: Part) -> None:
        if part is not Part.WRITING:
            self._refill_all()

    @callback
    def _refill_all(self) -> None:
        for collection in self.owners:
            self._refill(collection)

    @callback
    def _refill(self, collection: str) -> None:
        if self._closed or collection in self._refilling:
            return
        owner = self.owners[collection]

        async def fill() -> None:
            try:
                await owner()
            finally:
                self._refilling.pop(collection, None)

        name = f"home_agent fill {collection}"
        task = self._hass.async_create_background_task(fill(), name, eager_start=False)
        self._refilling[collection] = task

    @callback
    def _note_stale(self, collection: str, err: VectorStoreError) -> None:
        """Have a missing or unsuitable collection filled again; one that is not ours is left alone."""
        self._made_by = None
        if collection in self.owners:
            self._refill(collection)
            return
        if err.problem is StoreProblem.DIMENSION and collection not in self._odd:
            self._odd.add(collection)
            LOGGER.warning("%s: %s cannot be searched: %s", self._title, collection, err.detail)
            report(
                self._hass,
                self._issue_id(collection),
                "collection_mismatch",
                fix={"entry_id": self._entry_id, "collection": collection},
                title=self._title,
                collection=collection,
            )

    @callback
    def _note_unwritten(self, collection: str, err: VectorStoreError) -> None:
        """A collection could not be written; a store that refuses may still be searched."""
        self._made_by = None
        self._unwritten.add(collection)
        refused = err.problem is StoreProblem.REFUSED
        self.health.note(Part.WRITING if refused else Part.STORE, err)

    @callback
    def _note_fresh(self, collection: str) -> None:
        """A collection was searched; take back what was said against it."""
        if collection in self._odd:
            self._odd.discard(collection)
            withdraw(self._hass, self._issue_id(collection))

    def _issue_id(self, collection: str) -> str:
        return f"collection_mismatch_{self._entry_id}_{collection}"


def _entity_ids(hits: Iterable[Hit]) -> list[str]:
    return [hit.id for hit in hits if hit.metadata.get("source") == Source.ENTITY]
