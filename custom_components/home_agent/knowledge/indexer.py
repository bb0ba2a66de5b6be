"""Indexer: keeps the search index in sync with the home."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple
import zlib

from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.debounce import Debouncer
from homeassistant.helpers.event import (
    async_track_state_added_domain,
    async_track_state_removed_domain,
    async_track_time_change,
)
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util

from ..const import DOMAIN, EVENT_INDEX_PROGRESS, LOGGER
from ..events import EventEmitter
from ..idle import in_slices
from ..vector.lexical import Document, LexicalIndex
from .documents import async_configured, async_places, entity_text
from .house import House, HouseSnapshot
from .semantic import KnowledgeDocument, SemanticIndex, SyncReport, TextSource
from .spoken_words import ClassWords, async_class_words, known_language
from .summaries import Summaries

TITLE_WEIGHT: Final = 1.6
TEXT_WEIGHT: Final = 0.7
KIND_WEIGHT: Final = 0.4
DOMAINS: Final[Mapping[TextSource, str]] = {
    TextSource.AUTOMATION: "automation",
    TextSource.SCENE: "scene",
    TextSource.SCRIPT: "script",
}
"""Sources that Home Assistant has a name for, in the home's language."""
RELOADED: Final = ("automation_reloaded", "scene_reloaded")
"""Events after which all of a domain may differ."""

type Documents = Mapping[str, KnowledgeDocument]
type ReadDocuments = Callable[[HouseSnapshot], Awaitable[Iterable[KnowledgeDocument]]]


class HouseKnowledge:
    """The documents of all sources with the index of their words; recreated when asked after a change."""

    def __init__(self, hass: HomeAssistant, house: House) -> None:
        self._hass = hass
        self._house = house
        self._summaries = Summaries(hass, house)
        self._documents: Documents = {}
        self._snapshot: HouseSnapshot | None = None
        self._dirty = True
        self._index: tuple[Documents, LexicalIndex] | None = None
        self._lock = asyncio.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._unsubscribe: list[CALLBACK_TYPE] = []
        self._users = 0

    @callback
    def async_use(self) -> CALLBACK_TYPE:
        """Follow what is known for one more agent; return its stop function. The last one stops it."""
        if not self._users:
            self._dirty = True
            self._unsubscribe = [
                self._house.async_listen(self._on_change),
                self._summaries.async_listen(self._on_change),
                async_track_state_added_domain(self._hass, DOMAINS.values(), self._on_change),
                async_track_state_removed_domain(self._hass, DOMAINS.values(), self._on_change),
                *(self._hass.bus.async_listen(event, self._on_change) for event in RELOADED),
            ]
        self._users += 1

        @callback
        def leave() -> None:
            self._users -= 1
            while self._unsubscribe and not self._users:
                self._unsubscribe.pop()()

        return leave

    @callback
    def async_listen(self, listener: Callable[[], None]) -> CALLBACK_TYPE:
        """Call a listener whenever documents may differ; return how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def async_refresh(self) -> None:
        """Read everything again, the last 24 hours too."""
        await self._summaries.async_refresh()
        self._on_change()

    async def async_documents(self) -> Documents:
        """Return all documents by id, as of now."""
        async with self._lock:
            snapshot = await self._house.async_snapshot()
            if self._dirty or snapshot is not self._snapshot:
                self._dirty = False
                self._snapshot = snapshot
                self._documents = await self._async_read(snapshot)
            return self._documents

    async def async_index(self) -> tuple[Documents, LexicalIndex]:
        """Return the documents and the index of their words."""
        documents = await self.async_documents()
        if self._index is None or self._index[0] is not documents:
            kinds = await self._async_kinds(self._hass.config.language)
            self._index = (documents, await self._hass.async_add_executor_job(_build, documents, kinds))
        return self._index

    async def _async_read(self, house: HouseSnapshot) -> Documents:
        """Return the documents of all sources; one that fails costs its own."""
        sources: dict[TextSource, ReadDocuments] = {
            **{source: partial(async_configured, self._hass, source) for source in DOMAINS},
            TextSource.AREA: async_places,
            TextSource.SUMMARY: self._summaries.async_documents,
        }
        found: dict[str, KnowledgeDocument] = {}
        for source, async_read in sources.items():
            try:
                found.update((document.id, document) for document in await async_read(house))
            except Exception:  # noqa: BLE001 - configurations of others are read here
                LOGGER.exception("What is known of each %s could not be read", source)
        return found

    async def _async_kinds(self, language: str) -> dict[TextSource, str]:
        texts = [
            await async_get_translations(self._hass, each, "title", DOMAINS.values())
            for each in dict.fromkeys((language, "en"))
        ]
        return {
            source: " ".join((domain, *(found.get(f"component.{domain}.title", "") for found in texts)))
            for source, domain in DOMAINS.items()
        }

    @callback
    def _on_change(self, _event: Event[Any] | None = None) -> None:
        self._dirty = True
        for listener in self._listeners:
            listener()


def _build(documents: Documents, kinds: Mapping[TextSource, str]) -> LexicalIndex:
    return LexicalIndex.build(
        Document(
            key,
            (
                (document.title, TITLE_WEIGHT),
                (document.text.removeprefix(f"{document.title}."), TEXT_WEIGHT),
                (kinds.get(document.source, document.source.value), KIND_WEIGHT),
            ),
        )
        for key, document in documents.items()
    )


FOLLOW_SECONDS = 20
"""From a change of the home to the update of the index, with whatever else changes until then."""
NIGHTLY_HOUR = 3
MAX_ENTITIES = 20_000


class IndexReport(NamedTuple):
    """What a run did."""

    entities: SyncReport
    documents: SyncReport

    @property
    def size(self) -> int:
        """Return how many texts are in the index."""
        return sum(part.indexed + part.skipped for part in (self.entities, self.documents))

    def raise_for_failed(self) -> None:
        """Raise HomeAssistantError if some texts could not be indexed."""
        if failed := self.entities.failed + self.documents.failed:
            raise index_failed(failed, self.entities.total + self.documents.total)


class IndexState(StrEnum):
    """What the index is doing."""

    WAITING = "waiting"
    """Nothing was indexed yet."""
    INDEXING = "indexing"
    READY = "ready"
    UNAVAILABLE = "unavailable"
    """Store or embedder do not work; a repair issue says which."""


class Indexer:
    """Keeps the two collections of an agent: the exposed entities, and other knowledge about the home.

    One run at a time; a request during a run gets the next one. Runs are started when Home
    Assistant has started, after changes, and every night.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        *,
        entry_id: str,
        house: House,
        knowledge: HouseKnowledge,
        semantic: SemanticIndex,
        collection: str,
        emitter: EventEmitter,
        told: Callable[[], None],
        left_out: Collection[TextSource] = (),
    ) -> None:
        self._left_out = left_out
        self._hass = hass
        self._minute = zlib.crc32(entry_id.encode()) % 60
        self._house = house
        self._knowledge = knowledge
        self._semantic = semantic
        self.collection = collection
        self.knowledge_collection = knowledge_collection(collection)
        self._emitter = emitter
        self._told = told
        self.last_sync: datetime | None = None
        self.size = 0
        self._unsubscribe: list[CALLBACK_TYPE] = []
        self._changed = Debouncer(
            hass, LOGGER, cooldown=FOLLOW_SECONDS, immediate=False, function=self._request
        )
        self._started = self._stopped = False
        self._running = False
        self._lock = asyncio.Lock()
        self._next: asyncio.Task[IndexReport] | None = None
        self._tasks: set[asyncio.Task[IndexReport]] = set()

    @property
    def state(self) -> IndexState:
        """Return the status of the index."""
        if not self._semantic.available:
            return IndexState.UNAVAILABLE if self._started else IndexState.WAITING
        if self._running:
            return IndexState.INDEXING
        return IndexState.READY if self.last_sync else IndexState.WAITING

    async def async_start(self) -> None:
        """Open store and embedder, fill the collections and follow the changes, if an embedder is chosen."""
        if not self._semantic.configured:
            return
        await self._semantic.async_start()
        if self._stopped:
            return
        self._started = True
        self._semantic.owners[self.collection] = self.async_sync
        self._semantic.owners[self.knowledge_collection] = self.async_sync
        self._unsubscribe = [
            self._house.async_listen(self._changed.async_schedule_call),
            self._knowledge.async_listen(self._changed.async_schedule_call),
            # Once a night everything is read, regardless of change events.
            async_track_time_change(
                self._hass,
                lambda _now: self._request(refresh=True),
                hour=NIGHTLY_HOUR,
                minute=self._minute,
                second=0,
            ),
        ]
        await self.async_sync()

    async def async_stop(self) -> None:
        """Stop following, and cancel a run that is under way."""
        self._started, self._stopped = False, True
        self._changed.async_shutdown()
        while self._unsubscribe:
            self._unsubscribe.pop()()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def async_sync(self) -> IndexReport:
        """Sync both collections; returns when they contain everything that is known now.

        Before store and embedder were opened nothing is done: everything is synced when they are.
        """
        if not self._started:
            return IndexReport(entities=SyncReport(total=0), documents=SyncReport(total=0))
        if self._next is None:
            run = self._async_run()
            self._next = self._hass.async_create_background_task(run, "home_agent index", eager_start=False)
            self._tasks.add(self._next)
            self._next.add_done_callback(self._tasks.discard)
        return await asyncio.shield(self._next)

    async def async_index_entity(self, entity_id: str) -> str:
        """Sync one entity; return `indexed`, `unchanged`, `failed` or `not_exposed`."""
        house = await self._house.async_snapshot()
        if entity_id not in house.entities:
            await self._semantic.async_remove(self.collection, [entity_id])
            return "not_exposed"
        document = _entity(house, entity_id, await self._async_words(house))
        report = await self._semantic.async_sync(self.collection, [document], complete=False)
        return "indexed" if report.indexed else "unchanged" if report.skipped else "failed"

    async def _async_run(self) -> IndexReport:
        async with self._lock:
            self._next = None  # from here on a change is for the next run
            self._changed.async_cancel()
            self._running = True
            self._told()
            try:
                house = await self._house.async_snapshot()
                words = await self._async_words(house)
                entity_ids = list(house.entities)[:MAX_ENTITIES]
                entities = [_entity(house, entity_id, words) async for entity_id in in_slices(entity_ids)]
                known = (await self._knowledge.async_documents()).values()
                documents = [document for document in known if document.source not in self._left_out]
                report = IndexReport(
                    entities=await self._async_fill(self.collection, entities),
                    documents=await self._async_fill(self.knowledge_collection, documents),
                )
                if self._semantic.available:
                    self.size = report.size
                    self.last_sync = dt_util.utcnow()
                return report
            finally:
                self._running = False
                self._told()

    async def _async_fill(self, collection: str, documents: Sequence[KnowledgeDocument]) -> SyncReport:
        report = await self._semantic.async_sync(collection, documents)
        self._emitter.fire(
            EVENT_INDEX_PROGRESS,
            {
                "collection": collection,
                "status": "failed" if report.failed else "completed",
                "done": report.indexed + report.skipped,
                "total": report.total,
                "failed": report.failed,
            },
        )
        return report

    async def _async_words(self, house: HouseSnapshot) -> ClassWords:
        return await async_class_words(self._hass, house, [known_language(self._hass.config.language)])

    @callback
    def _request(self, *, refresh: bool = False) -> None:
        async def run() -> None:
            if refresh:
                await self._knowledge.async_refresh()
            await self.async_sync()

        self._hass.async_create_background_task(run(), "home_agent index follows")


def index_failed(failed: int, total: int) -> HomeAssistantError:
    """Return the error that says how many texts could not be indexed."""
    return HomeAssistantError(
        translation_domain=DOMAIN,
        translation_key="index_failed",
        translation_placeholders={"failed": str(failed), "total": str(total)},
    )


def knowledge_collection(collection: str) -> str:
    """Return the collection of knowledge other than entities."""
    return f"{collection}_knowledge"


def profile_collection(memories: str) -> str:
    """Return the collection of the profiles, next to that of the memories."""
    return f"{memories}_profile"


def _entity(house: HouseSnapshot, entity_id: str, words: ClassWords) -> KnowledgeDocument:
    record = house.entities[entity_id]
    return KnowledgeDocument(
        id=entity_id,
        source=TextSource.ENTITY,
        title=record.name,
        text=entity_text(record, house, words),
        entity_ids=(entity_id,),
    )
