"""V1: both stores of vectors side by side, with the same vectors and the same questions.

The Chroma server is a real one on loopback; `HOME_AGENT_CHROMA` names it (`scripts/bench` installs one).
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import batched
from pathlib import Path
import tempfile
from time import perf_counter

import aiohttp
import numpy as np
import numpy.typing as npt

from custom_components.home_agent.vector.chroma import ChromaAddress, ChromaStore
from custom_components.home_agent.vector.embedded import EmbeddedStore
from custom_components.home_agent.vector.store import Entry, VectorStore
from tests.servers.chroma import ChromaServer, name_of, programs

from .report import Table, middle, p95
from .start import LoopWatch

SIZES = (1_000, 5_000, 20_000)
DIMENSIONS = (256, 384)
QUESTIONS = 200
WANTED = 10
BATCH = 200
KINDS = 400
"""Groups of vectors that are close to each other, as those of similar things are."""
SPREAD = 0.7
TEXT = "Ceiling light in the children's bedroom on the upper floor, number {}"
COLLECTION = "things"
COLUMNS = (
    "store",
    "numbers",
    "vectors",
    "insert s",
    "search p50 ms",
    "search p95 ms",
    "add one ms",
    "reload s",
    "disk MB",
    "loop work ms",
    "found %",
)

type Vectors = npt.NDArray[np.float32]
type Reload = Callable[[], Awaitable[VectorStore]]
type Opened = AsyncGenerator[tuple[VectorStore, Reload, Path]]


async def run() -> list[Table]:
    """Measure and return the table."""
    table = Table("V1", "stores of vectors", COLUMNS)
    servers = programs()
    if not servers:
        table.notes.append("Chroma left out: scripts/bench installs it")
    for dimension in DIMENSIONS:
        for size in SIZES:
            vectors, questions = _vectors(size, dimension)
            async with _embedded() as opened:
                table.add("embedded", dimension, size, *await _measure(*opened, vectors, questions))
            for program in servers:
                async with _chroma(program) as opened:
                    table.add(name_of(program), dimension, size, *await _measure(*opened, vectors, questions))
    table.notes.append(f"{QUESTIONS} searches for {WANTED}; found: of the {WANTED} closest")
    return [table]


def _vectors(size: int, dimension: int) -> tuple[Vectors, Vectors]:
    """Return vectors to keep and vectors to ask for, the same in every run."""
    random = np.random.default_rng(1)
    kinds = random.standard_normal((KINDS, dimension), np.float32)
    noise = random.standard_normal((size + QUESTIONS, dimension), np.float32)
    vectors = kinds[random.integers(0, KINDS, size + QUESTIONS)] + SPREAD * noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors[:size], vectors[size:]


def _entry(number: int, vector: Vectors) -> Entry:
    """Return an entry as an index makes it."""
    return Entry(
        id=f"light.number_{number}",
        text=TEXT.format(number),
        vector=vector,
        content_hash=f"{number:064x}",
        metadata={"source": "entity", "title": f"Light {number}"},
    )


@asynccontextmanager
async def _embedded() -> Opened:
    """Return an embedded store, how it is opened again, and its folder."""
    with tempfile.TemporaryDirectory() as folder:

        async def open_store() -> VectorStore:
            store = EmbeddedStore(Path(folder), asyncio.to_thread)
            await store.async_start()
            return store

        yield await open_store(), open_store, Path(folder)


@asynccontextmanager
async def _chroma(program: Path) -> Opened:
    """Return a store on a new server, how both are started again, and the server's folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server"
        async with aiohttp.ClientSession() as session:
            with ChromaServer(program, path) as server:

                async def open_store() -> VectorStore:
                    store = ChromaStore(session, ChromaAddress(host="127.0.0.1", port=server.port))
                    await store.async_start()
                    return store

                async def reopen() -> VectorStore:
                    await asyncio.to_thread(server.stop)
                    await asyncio.to_thread(server.start)
                    return await open_store()

                yield await open_store(), reopen, path


async def _measure(
    store: VectorStore, reload: Reload, folder: Path, vectors: Vectors, questions: Vectors
) -> Sequence[object]:
    """Return the figures of one store."""
    entries = [_entry(number, vector) for number, vector in enumerate(vectors)]
    closest = np.argsort(-(questions @ vectors.T), axis=1)[:, :WANTED]
    watch = LoopWatch()
    started = perf_counter()
    await store.async_create(COLLECTION, "benchmark")
    for batch in batched(entries, BATCH, strict=False):
        await store.async_upsert(COLLECTION, batch)
        await asyncio.sleep(0)
    inserting = perf_counter() - started
    searches, share = await _search(store, questions, closest)
    adding = await _add(store, len(vectors), questions)
    _, held = watch.stop()
    await store.async_close()
    started = perf_counter()
    again = await reload()
    await again.async_search(COLLECTION, questions[0], WANTED)
    reloading = perf_counter() - started
    await again.async_close()
    times = (inserting, middle(searches), p95(searches), adding, reloading)
    return *times, _megabytes(folder), held, 100 * share


def _megabytes(folder: Path) -> float:
    """Return what the files of a folder take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


async def _search(
    store: VectorStore, questions: Vectors, closest: npt.NDArray[np.intp]
) -> tuple[list[float], float]:
    """Return the milliseconds of each search, and the share of the closest entries that were found."""
    times: list[float] = []
    found = 0
    for question, numbers in zip(questions, closest.tolist(), strict=True):
        started = perf_counter()
        hits = await store.async_search(COLLECTION, question, WANTED)
        times.append((perf_counter() - started) * 1000)
        found += len({hit.id for hit in hits} & {f"light.number_{number}" for number in numbers})
        await asyncio.sleep(0)
    return times, found / (WANTED * len(questions))


async def _add(store: VectorStore, size: int, questions: Vectors) -> float:
    """Return the milliseconds that adding one entry takes, in the middle."""
    times: list[float] = []
    for number, vector in enumerate(questions[:50]):
        started = perf_counter()
        await store.async_upsert(COLLECTION, [_entry(size + number, vector)])
        times.append((perf_counter() - started) * 1000)
        await asyncio.sleep(0)
    return middle(times)
