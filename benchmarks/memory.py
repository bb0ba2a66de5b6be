"""P7: searching memories, adding one, and reading all at the start; by words, and with vectors beside."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from itertools import islice, product
from pathlib import Path
import tempfile
from time import perf_counter

from pytest_homeassistant_custom_component.common import async_test_home_assistant

import custom_components.home_agent  # noqa: F401 - before the test plugin's own package of that name
from custom_components.home_agent.const import CONF_EMBEDDING_PROVIDER, DEFAULTS, EMBEDDING_BUILTIN
from custom_components.home_agent.events import EventEmitter
from custom_components.home_agent.knowledge.search import async_create_embedder
from custom_components.home_agent.knowledge.semantic import SemanticIndex
from custom_components.home_agent.memory.memories import MemoryManager, MemorySettings, make_memory
from custom_components.home_agent.memory.records import Origin, Provenance
from custom_components.home_agent.vector.embedded import EmbeddedStore
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from .report import Table, middle, p95

ENTRY = "bench"
SIZES = (1_000, 10_000)
ADDED = 100
QUESTIONS = 200
LIMIT = 5

NAMES = ("Anna", "Ben", "Carl", "Dora", "Emil", "Fine", "Grandma", "Hans", "Ida", "Jule")
VERBS = (
    "likes",
    "dislikes",
    "bought",
    "lost",
    "repaired",
    "borrowed",
    "collects",
    "paints",
    "sells",
    "misses",
)
THINGS = (
    *("tea with honey", "the red bicycle", "old records", "the garden shed", "strong coffee", "wool socks"),
    *("the tall ladder", "chess problems", "stamps from Peru", "the blue armchair"),
)
WHENS = (
    *("in the morning", "on Sundays", "at work", "in winter", "by the sea", "with friends", "at night"),
    *("for the school", "in the cellar", "on holiday"),
)
COLUMNS = ("memories", "found by", "search p50 ms", "search p95 ms", "add one p50 ms", "reload s")


@asynccontextmanager
async def semantic_index(hass: HomeAssistant) -> AsyncGenerator[SemanticIndex]:
    """Return an index with the built-in embedder and a store of its own."""
    with tempfile.TemporaryDirectory() as folder:

        async def open_store() -> EmbeddedStore:
            return EmbeddedStore(Path(folder), hass.async_add_executor_job)

        settings = {**DEFAULTS, CONF_EMBEDDING_PROVIDER: EMBEDDING_BUILTIN}
        index = SemanticIndex(
            hass,
            entry_id="bench",
            title="Benchmark",
            emitter=EventEmitter(hass, enabled=False),
            open_store=open_store,
            open_embedder=lambda: async_create_embedder(hass, settings),
        )
        await index.async_start()
        try:
            yield index
        finally:
            await index.async_close()


async def run() -> list[Table]:
    """Measure and return the table."""
    table = Table("P7", "memories", COLUMNS)
    for size in SIZES:
        table.add(size, "words", *await _measure(size, vectors=False))
        table.add(size, "words and vectors", *await _measure(size, vectors=True))
    table.notes.append("goal at 1,000 / 10,000: search p95 3 / 20 ms; add one 10 ms; reload of 1,000 0.3 s")
    table.notes.append("with vectors the sentence is embedded already, as it is once for the whole turn")
    return [table]


def _contents(count: int) -> Sequence[str]:
    parts = product(THINGS, VERBS, WHENS, NAMES)
    return [f"{name} {verb} {thing} {when}" for thing, verb, when, name in islice(parts, count)]


async def _measure(size: int, *, vectors: bool) -> Sequence[float]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with async_test_home_assistant(config_dir=folder) as hass:
            try:
                async with semantic_index(hass) if vectors else nullcontext() as index:
                    return await _figures(hass, size, index)
            finally:
                await hass.async_stop(force=True)


async def _figures(hass: HomeAssistant, size: int, index: SemanticIndex | None) -> Sequence[float]:
    manager = MemoryManager(hass)
    memories = manager.of(ENTRY)
    settings = MemorySettings(most=2 * size, dedup_threshold=1.0)
    memories.configure(settings, None)
    contents = _contents(size)

    async def add(content: str) -> float:
        heard = Provenance(at=dt_util.utcnow())
        begin = perf_counter()
        await memories.async_remember(make_memory(content, origin=Origin.EXTRACTED, heard=heard))
        return (perf_counter() - begin) * 1000

    async def search(question: str) -> float:
        begin = perf_counter()
        await memories.async_search(question, LIMIT, may_see=lambda _memory: True)
        return (perf_counter() - begin) * 1000

    for content in contents[:-ADDED]:
        await add(content)
    memories.configure(settings, index)
    await memories.async_sync()
    adding = [await add(content) for content in contents[-ADDED:]]
    searching = []
    for question in contents[:: size // QUESTIONS]:
        if index is not None:
            await search(question)  # embeds the sentence
        searching.append(await search(question))
    await manager.async_flush()
    begin = perf_counter()
    again = MemoryManager(hass)
    await again.async_load()
    again.of(ENTRY).configure(settings, index)
    await again.of(ENTRY).async_sync()
    return middle(searching), p95(searching), middle(adding), perf_counter() - begin
