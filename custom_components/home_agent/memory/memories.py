"""Memories of one agent: search, merging and removal."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, override

from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..const import (
    CONF_MEMORY_COLLECTION,
    CONF_MEMORY_DECAY,
    CONF_MEMORY_DEDUP,
    CONF_MEMORY_MAX,
    CONF_MEMORY_TTL,
    DOMAIN,
    EVENT_MEMORY_STORED,
)
from ..errors import ValidationError
from ..events import EventEmitter
from ..knowledge.semantic import SemanticIndex
from ..store import Content, EntryStore, dump, read_list
from ..texts import clean
from ..timespans import read_span
from ..vector.lexical import fuse
from .records import (
    MAX_PROVENANCE,
    Memory,
    MemoryType,
    Origin,
    ProfileEntry,
    Provenance,
    has_expired,
    merged,
    read_earlier_memory,
    read_memory,
    strength,
)
from .sentences import WordIndex, differ


class MemorySettings(NamedTuple):
    """The options of one entry."""

    most: int = 100
    """Memories kept, beside those that a person asked for."""
    dedup_threshold: float = 0.85
    decay: float = 0.0
    """Share of its importance that a memory loses for each day without use."""
    collection: str = "home_agent_memories"
    lifetimes: Mapping[MemoryType, timedelta | None] = MappingProxyType({})

    @classmethod
    def from_options(cls, settings: Mapping[str, Any]) -> Self:
        """Read the options."""
        return cls(
            most=settings[CONF_MEMORY_MAX],
            dedup_threshold=settings[CONF_MEMORY_DEDUP],
            decay=settings[CONF_MEMORY_DECAY],
            collection=settings[CONF_MEMORY_COLLECTION],
            lifetimes={
                MemoryType(kind): read_span(settings.get(key, "")) for kind, key in CONF_MEMORY_TTL.items()
            },
        )


MAX_CONTENT: Final = 500
"""Characters of one memory."""
MAX_KEPT: Final = 10_000
"""Beyond this limit even explicitly requested memories are refused."""
SEMANTIC_HITS: Final = 4
"""Hits by meaning that are looked at for each one asked for: others' memories are among them."""


class SaveOutcome(StrEnum):
    """What became of something to remember."""

    ADDED = "added"
    MERGED = "merged"
    """It was known already; the memory was brought up to date."""
    FULL = "full"
    """The memory is full, and all entries are more important."""


class FoundMemory(NamedTuple):
    """A memory that fits a query; `relevance` is from 0 to 1."""

    memory: Memory
    relevance: float


class Kept[T: (Memory, ProfileEntry)]:
    """What one agent keeps by id, found by words and, where there is an index, by meaning.

    The store of all agents is notified of every change.
    """

    def __init__(
        self,
        changed: Callable[[], None],
        flush: Callable[[], Awaitable[bool]],
        read: Callable[[Any], T],
    ) -> None:
        self._note_change = changed
        self.async_flush = flush
        self._read: Callable[[Any], T] = read
        self._kept: dict[str, T] = {}
        self._words = WordIndex()
        self.index: SemanticIndex | None = None
        self._collection = ""
        self.on_forgotten: Callable[[Collection[str]], None] | None = None
        """Called with the ids of what a person wants to forget."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._kept)

    @callback
    def take_index(self, index: SemanticIndex | None, collection: str) -> None:
        """Take where the vectors are; without an index words alone find anything."""
        self.index, self._collection = index, collection
        if index is not None:
            index.owners[collection] = self.async_sync

    def records(self) -> list[T]:
        """Return all, also what has expired."""
        return list(self._kept.values())

    def ids_of(self, person_id: str) -> list[str]:
        """Return the ids of what belongs to a person."""
        return [item.id for item in self.records() if item.person == person_id]

    def stored(self) -> Any:
        """Return all that is to be written; called in a worker thread."""
        return dump(self.records())

    def restore(self, stored: object) -> Exception | None:
        """Load the stored items; return the problem of skipped ones. Raises TypeError if it is not a list."""
        found, problem = read_list(stored, self._read)
        for item in found:
            self._put(item)
        return problem

    @callback
    def get(self, item_id: str) -> T | None:
        """Return one."""
        return self._kept.get(item_id)

    async def async_forget(self, ids: Collection[str]) -> list[T]:
        """Forget what a person wants to forget; return what it was."""
        gone = await self.async_drop(ids)
        if gone and self.on_forgotten is not None:
            self.on_forgotten([item.id for item in gone])
        return gone

    async def async_drop(self, ids: Collection[str]) -> list[T]:
        """Drop what is over or makes room, in the index as well; return what it was."""
        gone = [item for item_id in ids if (item := self._kept.pop(item_id, None))]
        for item in gone:
            self._words.remove(item.id)
        if gone:
            self._note_change()
            if self.index is not None:
                await self.index.async_remove(self._collection, [item.id for item in gone])
        return gone

    async def async_sync(self) -> None:
        """Sync the vectors; existing ones are not embedded again."""
        if self.index is not None:
            listed = [document for item in self._kept.values() if (document := item.document)]
            await self.index.async_sync(self._collection, listed)

    async def _async_ranked(
        self, query: str, words: str, limit: int, allows: Callable[[str], bool], least_meaning: float
    ) -> list[tuple[str, float]]:
        """Return ids with their relevance, best first; only `words` are compared by their letters."""
        by_words = self._words.search(words, limit * SEMANTIC_HITS, allows)
        by_meaning: list[tuple[str, float]] = []
        if self.index is not None:
            by_meaning = [
                (hit.id, hit.similarity)
                for hit in await self.index.async_search(self._collection, query, limit * SEMANTIC_HITS)
                if hit.similarity >= least_meaning and allows(hit.id)
            ]
        relevance = dict(by_words)
        for item_id, similarity in by_meaning:
            relevance[item_id] = max(similarity, relevance.get(item_id, 0.0))
        ranked = fuse([([key for key, _ in hits], 1.0) for hits in (by_words, by_meaning)])
        return [(key, relevance[key]) for key in ranked[:limit]]

    async def _async_store(self, item: T) -> T:
        self._put(item)
        self._note_change()
        if self.index is not None:
            if document := item.document:
                await self.index.async_sync(self._collection, [document], complete=False)
            else:
                await self.index.async_remove(self._collection, [item.id])
        return item

    def _put(self, item: T) -> None:
        self._kept[item.id] = item
        self._words.add(item.id, item.text)


class Memories(Kept[Memory]):
    """The memories of one entry."""

    def __init__(self, changed: Callable[[], None], flush: Callable[[], Awaitable[bool]]) -> None:
        def note_change() -> None:
            changed()
            if self.on_change is not None:
                self.on_change()

        super().__init__(note_change, flush, read_memory)
        self.settings = MemorySettings()
        self._emitter: EventEmitter | None = None
        self.on_change: Callable[[], None] | None = None
        """Called when memories are added, removed or changed."""

    @callback
    def configure(
        self, settings: MemorySettings, index: SemanticIndex | None, emitter: EventEmitter | None = None
    ) -> None:
        """Take the options of the entry, where its vectors are, and what fires its events."""
        self.settings = settings
        self._emitter = emitter
        self.take_index(index, settings.collection)

    @callback
    def all(self) -> list[Memory]:
        """Return all that has not expired, the newest first."""
        now = dt_util.utcnow()
        kept = [memory for memory in self._kept.values() if not has_expired(memory, now)]
        return sorted(kept, key=lambda memory: memory.created_at, reverse=True)

    async def async_remember(self, new: Memory, context: Context | None = None) -> tuple[SaveOutcome, Memory]:
        """Keep a memory, or update the one that says the same; `context` is that of the request.

        Raises ValidationError for one without words, and if there is no room for what must be kept.
        """
        content = clean(new.content, MAX_CONTENT)
        if not content:
            raise ValidationError("content: there is nothing to remember in it")
        new = replace(new, content=content)
        twin = await self._async_find_duplicate(new)
        if twin is not None:
            return SaveOutcome.MERGED, await self._async_store(merged(twin, new))
        if not self._make_room(new):
            if new.origin is Origin.TOLD:
                raise ValidationError(f"{MAX_KEPT} memories are kept, no more; forget some first")
            return SaveOutcome.FULL, new
        lifetime = self.settings.lifetimes.get(new.type)
        if new.expires_at is None and lifetime is not None and new.origin is not Origin.TOLD:
            new = replace(new, expires_at=new.created_at + lifetime)
        return SaveOutcome.ADDED, self._announced(await self._async_store(new), context)

    async def async_adopt(self, memory: Memory) -> None:
        """Take a memory of another agent over; the limit of the options is applied later, not here."""
        twin = await self._async_find_duplicate(memory)
        await self._async_store(memory if twin is None else merged(twin, memory))

    async def async_search(
        self,
        query: str,
        limit: int,
        *,
        may_see: Callable[[Memory], bool],
        min_importance: float = 0.0,
        words: str | None = None,
        least_meaning: float = 0.0,
    ) -> list[FoundMemory]:
        """Return the matches of a query, best first.

        Where `words` are given, only these are compared by their letters; `least_meaning` is from 0 to 1.
        """
        now = dt_util.utcnow()

        def allows(memory_id: str) -> bool:
            memory = self._kept.get(memory_id)
            return (
                memory is not None
                and memory.importance >= min_importance
                and not has_expired(memory, now)
                and may_see(memory)
            )

        if not any(map(allows, self._kept)):
            return []
        compared = query if words is None else words
        ranked = await self._async_ranked(query, compared, limit, allows, least_meaning)
        return [FoundMemory(self._kept[key], relevance) for key, relevance in ranked]

    @callback
    def alike(self, content: str, least: float, *, may_see: Callable[[Memory], bool]) -> list[Memory]:
        """Return the memories that share a part of their words with a text, the best first."""
        now = dt_util.utcnow()
        found = (self._kept[memory_id] for memory_id, _ in self._words.alike(content, least))
        return [memory for memory in found if not has_expired(memory, now) and may_see(memory)]

    @callback
    def always_relevant(self, now: datetime, may_see: Callable[[Memory], bool], least: float) -> list[Memory]:
        """Return the memories whose strength is at least `least`, the strongest first."""
        weighed = [
            (strength(memory, now, self.settings.decay), memory)
            for memory in self._kept.values()
            if not has_expired(memory, now) and may_see(memory)
        ]
        weighed.sort(key=lambda item: (-item[0], item[1].created_at))
        return [memory for weight, memory in weighed if weight >= least]

    @callback
    def touch(self, memory_ids: Iterable[str], now: datetime) -> None:
        """Note that memories were of use."""
        for memory_id in memory_ids:
            if (memory := self._kept.get(memory_id)) is not None:
                used = replace(memory, accessed_at=now, access_count=memory.access_count + 1)
                self._kept[memory_id] = used
        self._note_change()

    async def async_rewrite(
        self, memory: Memory, heard: Provenance, context: Context | None = None
    ) -> Memory:
        """Rewrite a memory; the author of the new words is its source, and the old words leave every index.

        A name that the old words taught goes with them. Raises ValidationError for one without words.
        """
        content = clean(memory.content, MAX_CONTENT)
        if not content:
            raise ValidationError("content: there is nothing to remember in it")
        heard_from = (*memory.provenance, heard)[-MAX_PROVENANCE:]
        corrected = replace(memory, content=content, provenance=heard_from, learned=None)
        corrected = replace(corrected, origin=Origin.TOLD, expires_at=None)
        return self._announced(await self._async_store(corrected), context)

    @callback
    def forget_sayer(self, person_id: str) -> None:
        """Keep the household's memories, without the person who said them and the original words."""
        for memory in self.records():
            if any(heard.person == person_id for heard in memory.provenance):
                anonymous = tuple(
                    replace(heard, person=None, said="") if heard.person == person_id else heard
                    for heard in memory.provenance
                )
                self._kept[memory.id] = replace(memory, provenance=anonymous)
                self._note_change()

    async def async_observe(self, memory: Memory) -> bool:
        """Store an observed memory in place of the one with its id; return whether there was space.

        What is alike is not merged: two habits may differ in a word.
        """
        known = memory.id in self._kept
        if not known and not self._make_room(memory):
            return False
        await self._async_store(memory)
        if not known:
            self._announced(memory, None)
        return True

    async def async_tidy(self, now: datetime) -> list[Memory]:
        """Forget expired memories and those beyond the limit; return which they were."""
        expired = [memory.id for memory in self._kept.values() if has_expired(memory, now)]
        gone = await self.async_drop(expired)
        return gone + await self.async_drop(self._weakest(len(self._learned()) - self.settings.most, now))

    def _announced(self, memory: Memory, context: Context | None) -> Memory:
        """Fire the event of a memory that is new or was corrected, without its content; return the memory."""
        if self._emitter is not None:
            data = {
                "memory_id": memory.id,
                "memory_type": memory.type.value,
                "person": memory.person,
                "source": memory.origin.value,
                "private": memory.private,
            }
            self._emitter.fire(EVENT_MEMORY_STORED, data, context)
        return memory

    async def _async_find_duplicate(self, new: Memory) -> Memory | None:
        """Return what says the same of the same person, for the same eyes and of the same name if any."""
        threshold = self.settings.dedup_threshold
        keys = [key for key, _ in self._words.alike(new.content, threshold)]
        if self.index is not None and not new.private:
            hits = await self.index.async_search(self._collection, new.content, SEMANTIC_HITS, threshold)
            keys += [hit.id for hit in hits]
        near = (self._kept[key] for key in keys if key in self._kept)
        scope = (new.person, new.private, new.learned)
        same = (one for one in near if (one.person, one.private, one.learned) == scope)
        return next((one for one in same if not differ(one.content, new.content)), None)

    def _make_room(self, new: Memory) -> bool:
        """Return whether there is space; the weakest memory goes if it is weaker than the new one."""
        if new.origin is Origin.TOLD:
            return len(self._kept) < MAX_KEPT
        if len(self._learned()) < self.settings.most:
            return True
        now = dt_util.utcnow()
        weakest = self._weakest(1, now)
        return bool(weakest) and strength(self._kept[weakest[0]], now, self.settings.decay) < new.importance

    def _learned(self) -> list[Memory]:
        """Return the memories that nobody asked to keep; the limit is theirs alone."""
        return [memory for memory in self._kept.values() if memory.origin is not Origin.TOLD]

    def _weakest(self, count: int, now: datetime) -> list[str]:
        weighed = sorted(
            (strength(memory, now, self.settings.decay), memory.accessed_at, memory.id)
            for memory in self._learned()
        )
        return [memory_id for _, _, memory_id in weighed[: max(count, 0)]]


def make_memory(
    content: str,
    *,
    type: MemoryType = MemoryType.FACT,  # noqa: A002 - its name everywhere
    importance: float = 0.5,
    person: str | None = None,
    origin: Origin = Origin.TOLD,
    private: bool = False,
    heard: Provenance,
) -> Memory:
    """Return a new memory, learned when it was heard."""
    return Memory(
        id=ulid_now(),
        content=content,
        type=type,
        importance=importance,
        person=person,
        origin=origin,
        private=private,
        created_at=heard.at,
        accessed_at=heard.at,
        provenance=(heard,),
    )


STORE_KEY = f"{DOMAIN}.memories"


class MemoryManager(EntryStore[Memories]):
    """Keeps the memories by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, lambda changed: Memories(changed, self.async_flush))
        self._hass = hass

    @override
    def _read(self, data: Content) -> tuple[dict[str, Memories], Exception | None]:
        """Return the memories by entry; those of the first release, which all shared, go to the oldest."""
        earlier = data.get("memories")
        entries = self._hass.config_entries.async_entries(DOMAIN)
        if "entries" in data or earlier is None or not entries:
            return super()._read(data)
        stored = list(earlier.values()) if isinstance(earlier, Mapping) else earlier
        memories, problem = read_list(stored, read_earlier_memory)
        kept = self._make(self.schedule)
        kept.restore(dump(memories))
        return {entries[0].entry_id: kept}, problem
