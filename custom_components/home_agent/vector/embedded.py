"""The store that needs no server: vectors in memory, one file for each collection.

The files are a cache: one that is damaged, or of an earlier version, goes, and whoever fills the collection
fills it again. This module loads numpy: import it off the event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
import hashlib
import json
import logging
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from atomicwrites import AtomicWriter  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt

from .store import Entry, Hit, StoreProblem, Value, Vector, VectorStoreError, check_maker

type Numbers = npt.NDArray[np.float32]

LOGGER: Final = logging.getLogger(__name__)
SUFFIX: Final = ".npz"


class Row(NamedTuple):
    """What is kept beside a vector."""

    id: str
    content_hash: str
    text: str
    metadata: Mapping[str, Value]


class Table:
    """Rows and their vectors of length 1, in the same order; a change makes a new table.

    A search therefore always sees one state, and needs no lock, in any thread.
    """

    def __init__(self, fingerprint: str, rows: Sequence[Row] = (), vectors: Numbers | None = None) -> None:
        self.fingerprint = fingerprint
        self._rows = rows
        self._vectors = np.empty((0, 0), np.float32) if vectors is None else vectors

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    @property
    def dimension(self) -> int:
        """Return the length of the vectors, 0 for a table that never had any."""
        return int(self._vectors.shape[1])

    @property
    def hashes(self) -> dict[str, str]:
        """Return the content hash of each id."""
        return {row.id: row.content_hash for row in self._rows}

    def with_entries(self, entries: Iterable[Entry]) -> Self:
        """Return the table with entries added, or in place of those of the same id.

        Raises VectorStoreError for vectors of another dimension and for values that are not numbers.
        """
        distinct = list({entry.id: entry for entry in entries}.values())
        if not distinct:
            return self
        shapes = {np.shape(entry.vector) for entry in distinct}
        expected = self.dimension or np.size(distinct[0].vector)
        if shapes != {(expected,)} or not expected:
            raise _other_dimension(expected, next(iter(shapes - {(expected,)}), (0,)))
        given = np.stack([entry.vector for entry in distinct]).astype(np.float32)
        lengths = np.linalg.norm(given, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise VectorStoreError(StoreProblem.INVALID, "a vector holds what is no number")
        added: Numbers = given / np.where(lengths == 0, np.float32(1), lengths)
        places = {row.id: place for place, row in enumerate(self._rows)}
        taken = [places.setdefault(entry.id, len(places)) for entry in distinct]
        rows = [*self._rows, *[None] * (len(places) - len(self))]
        for place, entry in zip(taken, distinct, strict=True):
            rows[place] = Row(entry.id, entry.content_hash, entry.text, dict(entry.metadata))
        vectors = np.empty((len(rows), added.shape[1]), np.float32)
        vectors[: len(self)] = self._vectors if len(self) else 0
        vectors[taken] = added
        return type(self)(self.fingerprint, [row for row in rows if row is not None], vectors)

    def without(self, ids: Collection[str]) -> Self:
        """Return the table without rows; the same one if it has none of them."""
        gone = frozenset(ids)
        kept = [place for place, row in enumerate(self._rows) if row.id not in gone]
        if len(kept) == len(self):
            return self
        return type(self)(self.fingerprint, [self._rows[place] for place in kept], self._vectors[kept])

    def search(self, vector: Vector, limit: int) -> list[Hit]:
        """Return the closest rows, best first. Raises VectorStoreError."""
        if limit < 1 or not self._rows:
            return []
        query = np.asarray(vector, np.float32)
        if query.shape != (self.dimension,):
            raise _other_dimension(self.dimension, query.shape)
        length = float(np.linalg.norm(query))
        if not np.isfinite(length):
            raise VectorStoreError(StoreProblem.INVALID, "the vector holds what is no number")
        # Row by row: a product of matrices is spread over threads, and those wait for busy processors.
        scores = np.vecdot(self._vectors, query / np.float32(length or 1))
        best = np.argsort(-scores, kind="stable")[:limit].tolist()
        nearest = ((self._rows[place], min(1.0, max(0.0, float(scores[place])))) for place in best)
        return [Hit(row.id, row.text, similarity, row.metadata) for row, similarity in nearest]

    def save(self, path: Path, collection: str) -> None:
        """Replace the file of this table. Raises OSError; the file is then what it was."""
        content = json.dumps([collection, self.fingerprint, self._rows], default=str).encode()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with AtomicWriter(path, mode="wb", overwrite=True).open() as file:
            np.savez(file, content=np.frombuffer(content, np.uint8), vectors=self._vectors)

    @classmethod
    def load(cls, path: Path) -> tuple[str, Self]:
        """Return a collection by its name. Raises any exception for a file that is damaged or foreign."""
        with np.load(path) as file:
            collection, fingerprint, rows = json.loads(file["content"].tobytes())
            vectors = file["vectors"].astype(np.float32, copy=False)
        if len(rows) != len(vectors) or file_name(collection) != path.name:
            raise ValueError("the file is of something else")
        return collection, cls(fingerprint, [Row(*row) for row in rows], vectors)


def file_name(collection: str) -> str:
    """Return the name of the file of a collection, whatever is in its own name."""
    return hashlib.sha256(collection.encode("utf-8", "surrogatepass")).hexdigest()[:32] + SUFFIX


def _other_dimension(expected: int, shape: tuple[int, ...]) -> VectorStoreError:
    given = "x".join(map(str, shape))
    return VectorStoreError(StoreProblem.DIMENSION, f"vectors of {expected} numbers are kept, not of {given}")


SAVE_SECONDS: Final = 10
"""From a change to its write, so that an indexing run is one write and not hundreds."""
RETRY_SECONDS: Final = 600

type RunInThread = Callable[..., Awaitable[Any]]


class EmbeddedStore:
    """Implements VectorStore with a folder of its own.

    Searches never wait for writers. Files are read at the start and written `SAVE_SECONDS` after a change, in
    a worker thread, each replaced whole; while a disk takes nothing, memory holds everything.
    """

    def __init__(self, folder: Path, run: RunInThread) -> None:
        self._folder = folder
        self._run = run
        self._tables: dict[str, Table] = {}
        self._changing = asyncio.Lock()
        self._unsaved: set[str] = set()
        self._saving = asyncio.Lock()
        self._saver: asyncio.Task[None] | None = None

    async def async_start(self) -> None:
        """Read all files."""

        def read() -> dict[str, Table]:
            """Read every collection; whatever else is there goes. Raises OSError."""
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            tables: dict[str, Table] = {}
            for path in sorted(filter(Path.is_file, self._folder.iterdir())):
                try:
                    collection, table = Table.load(path)
                except Exception as err:  # noqa: BLE001 - a damaged file may raise anything
                    LOGGER.warning("The vectors in %s cannot be read, they are made again: %s", path, err)
                    with suppress(OSError):
                        path.unlink()
                else:
                    tables[collection] = table
            return tables

        try:
            self._tables = await self._run(read)
        except OSError as err:
            raise _failed(err) from err

    async def async_collections(self) -> Mapping[str, str | None]:
        """Return the collections with their fingerprints."""
        return {name: table.fingerprint for name, table in self._tables.items()}

    async def async_create(self, collection: str, fingerprint: str) -> None:
        """Make an empty collection; one that is there is emptied."""
        async with self._changing:
            self._replace(collection, Table(fingerprint))

    async def async_hashes(self, collection: str) -> Mapping[str, str]:
        """Return the content hash of each id."""
        return self._find(collection).hashes

    async def async_upsert(self, collection: str, entries: Sequence[Entry]) -> None:
        """Add or replace entries, all or none."""
        async with self._changing:
            self._replace(collection, await self._run(self._find(collection).with_entries, entries))

    async def async_delete(self, collection: str, ids: Collection[str]) -> None:
        """Remove entries."""
        async with self._changing:
            table = self._find(collection)
            if (changed := await self._run(table.without, ids)) is not table:
                self._replace(collection, changed)

    async def async_search(
        self, collection: str, vector: Vector, limit: int, *, made_by: str | None = None
    ) -> list[Hit]:
        """Return the closest entries, best first."""
        table = self._find(collection)
        check_maker(table.fingerprint, made_by)
        hits: list[Hit] = await self._run(table.search, vector, limit)
        return hits

    async def async_close(self) -> None:
        """Write what is not written yet and let go of the memory. Raises VectorStoreError if that fails."""
        if self._saver is not None:
            self._saver.cancel()
            await asyncio.wait([self._saver])
        failure = await self._async_save()
        self._tables = {}
        if failure is not None:
            raise _failed(failure)

    def _find(self, collection: str) -> Table:
        if (table := self._tables.get(collection)) is None:
            raise VectorStoreError(StoreProblem.MISSING, f"there is no collection {collection}")
        return table

    def _replace(self, collection: str, table: Table) -> None:
        """Keep a changed collection, and write it after a while with whatever else changes until then."""
        self._tables[collection] = table
        self._unsaved.add(collection)

        async def save() -> None:
            pause = SAVE_SECONDS
            while self._unsaved:
                await asyncio.sleep(pause)
                pause = SAVE_SECONDS if await self._async_save() is None else RETRY_SECONDS

        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(save(), name="home_agent save vectors", eager_start=True)

    async def _async_save(self) -> OSError | None:
        """Write what is not written yet; return what went wrong last."""
        failure: OSError | None = None
        async with self._saving:
            for collection in sorted(self._unsaved):
                table = self._tables[collection]
                work = asyncio.ensure_future(
                    self._run(table.save, self._folder / file_name(collection), collection)
                )
                try:
                    await asyncio.shield(work)
                except asyncio.CancelledError:  # the file is written to the end all the same
                    await asyncio.wait([work])
                    raise
                except OSError as err:
                    failure = err
                    LOGGER.warning("The vectors of %s could not be written: %s", collection, err)
                    continue
                if self._tables[collection] is table:  # else it was changed meanwhile
                    self._unsaved.discard(collection)
        return failure


def _failed(err: OSError) -> VectorStoreError:
    return VectorStoreError(StoreProblem.UNAVAILABLE, err.strerror or type(err).__name__)
