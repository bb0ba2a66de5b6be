"""The store that needs no server: vectors in memory, one file for each collection.

This module loads numpy: import it off the event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from glob import escape
import hashlib
import json
import os
from pathlib import Path
import re
import tempfile
from typing import Any, Final, NamedTuple, Self
import zlib

import numpy as np
import numpy.typing as npt

from .store import Entry, Hit, StoreProblem, Value, Vector, VectorStoreError

type Numbers = npt.NDArray[np.float32]

FORMAT: Final = 1
SUFFIX: Final = ".vectors"
HEADER_BYTES: Final = 64 * 1024
NUMBER_BYTES: Final = 4


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
        added = self._unit_vectors(distinct)
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

    def search(self, vector: Vector, limit: int, where: Mapping[str, Value] | None = None) -> list[Hit]:
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
        # With their types: 1 is neither true nor "1".
        conditions = {(key, type(value), value) for key, value in (where or {}).items()}
        hits: list[Hit] = []
        for place in np.argsort(-scores, kind="stable").tolist():
            row = self._rows[place]
            if not conditions.issubset({(key, type(value), value) for key, value in row.metadata.items()}):
                continue
            similarity = min(1.0, max(0.0, float(scores[place])))
            hits.append(Hit(id=row.id, text=row.text, similarity=similarity, metadata=row.metadata))
            if len(hits) == limit:
                break
        return hits

    def _unit_vectors(self, entries: Sequence[Entry]) -> Numbers:
        """Return the vectors of entries as rows of length 1. Raises VectorStoreError."""
        shapes = {np.shape(entry.vector) for entry in entries}
        expected = self.dimension or np.size(entries[0].vector)
        if shapes != {(expected,)} or not expected:
            raise _other_dimension(expected, next(iter(shapes - {(expected,)}), (0,)))
        vectors = np.stack([entry.vector for entry in entries]).astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise VectorStoreError(StoreProblem.INVALID, "a vector holds what is no number")
        unit: Numbers = vectors / np.where(lengths == 0, np.float32(1), lengths)
        return unit

    def file_parts(self, collection: str) -> Iterable[Any]:
        """Return the parts of the file of this table."""
        texts = b"".join(map(_line, self._rows))
        numbers = np.ascontiguousarray(self._vectors, "<f4").reshape(-1).view(np.uint8).data
        header = {
            "format": FORMAT,
            "collection": collection,
            "fingerprint": self.fingerprint,
            "rows": len(self),
            "dimension": self.dimension,
            "text_bytes": len(texts),
            "checksum": zlib.crc32(numbers, zlib.crc32(texts)),
        }
        return _line(header), texts, numbers


def file_name(collection: str) -> str:
    """Return the name of the file of a collection: readable if its name is plain, and of no other one."""
    plain = re.sub(r"[^a-z0-9]+", "-", collection.lower()).strip("-")[:40]
    digest = hashlib.sha256(collection.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{plain or 'collection'}-{digest}{SUFFIX}"


def read_table(path: Path) -> tuple[str, Table]:
    """Return a collection and its name. Raises any exception for a file that is damaged or foreign."""
    with path.open("rb") as file:
        header = json.loads(file.readline(HEADER_BYTES))
        if header["format"] != FORMAT:
            raise ValueError(f"the file is of format {header['format']}, this version reads {FORMAT}")
        texts = file.read(header["text_bytes"])
        numbers = bytearray(file.read())
    rows, dimension = header["rows"], header["dimension"]
    if len(texts) != header["text_bytes"] or len(numbers) != rows * dimension * NUMBER_BYTES:
        raise ValueError("the file is not complete")
    if zlib.crc32(numbers, zlib.crc32(texts)) != header["checksum"]:
        raise ValueError("the file is damaged")
    kept = [Row(*json.loads(line)) for line in texts.splitlines()]
    if len(kept) != rows:
        raise ValueError("the file is not complete")
    if file_name(header["collection"]) != path.name:
        raise ValueError(f"the file belongs to the collection {header['collection']}")
    vectors = np.frombuffer(numbers, "<f4").astype(np.float32, copy=False).reshape(rows, dimension)
    return header["collection"], Table(header["fingerprint"], kept, vectors)


def _line(value: object) -> bytes:
    return json.dumps(value, default=str).encode() + b"\n"


def _other_dimension(expected: int, shape: tuple[int, ...]) -> VectorStoreError:
    given = "x".join(map(str, shape))
    return VectorStoreError(StoreProblem.DIMENSION, f"vectors of {expected} numbers are kept, not of {given}")


SAVE_SECONDS: Final = 10
"""From a change to its write, so that an indexing run is one write and not hundreds."""
RETRY_SECONDS: Final = 60
MAX_RETRY_SECONDS: Final = 3600
ON_LOOP_NUMBERS: Final = 2_000_000
"""A table of so many numbers is searched on the event loop, which takes about a millisecond."""
ON_LOOP_ROWS: Final = 2_000
"""The metadata of so many rows may be compared on the event loop."""
ON_LOOP_ENTRIES: Final = 200
UNFINISHED: Final = ".unfinished"
ASIDE: Final = ".corrupt-"


type RunInThread = Callable[..., Awaitable[Any]]


class FileState(StrEnum):
    """What is reported about a file."""

    UNREADABLE = "unreadable"
    """It could not be read and is kept under another name; its collection is not there."""
    UNWRITABLE = "unwritable"
    """It could not be written; it is tried again, and memory holds everything until then."""
    WRITTEN = "written"
    """It could be written again."""


class FileReport(NamedTuple):
    """News about the file of a collection."""

    state: FileState
    path: Path
    """Where the file is now."""
    detail: str
    """What the disk or the file said, in a few words."""


class EmbeddedStore:
    """Implements VectorStore with a folder of its own.

    Searches never wait for writers. Files are read at the start and written `SAVE_SECONDS` after a change, in
    a worker thread, each replaced whole. `report` gets the files that could not be read or written.
    """

    def __init__(self, folder: Path, run: RunInThread, report: Callable[[FileReport], None]) -> None:
        self._folder = folder
        self._run = run
        self._report = report
        self._started: dict[str, Table] | None = None
        self._changing = asyncio.Lock()
        self._unsaved: set[str] = set()
        self._failing: set[str] = set()
        self._saving = asyncio.Lock()
        self._saver: asyncio.Task[None] | None = None

    @property
    def _tables(self) -> dict[str, Table]:
        """Return the collections. Raises VectorStoreError before the start."""
        if self._started is None:
            raise VectorStoreError(StoreProblem.UNAVAILABLE, "the store is not started")
        return self._started

    async def async_start(self) -> None:
        """Read all files; those that cannot be read are kept aside and reported."""
        if self._started is not None:
            return
        try:
            self._started, unreadable = await self._run(_read_folder, self._folder)
        except OSError as err:
            raise VectorStoreError(StoreProblem.UNAVAILABLE, _reason(err)) from err
        for file in unreadable:
            self._report(file)

    async def async_collections(self) -> Mapping[str, str | None]:
        """Return the collections with their fingerprints."""
        return {name: table.fingerprint for name, table in self._tables.items()}

    async def async_create(self, collection: str, fingerprint: str) -> None:
        """Make an empty collection; one that is there is emptied."""
        async with self._changing:
            self._replace(collection, Table(fingerprint))

    async def async_drop(self, collection: str) -> None:
        """Remove a collection and its file now, and what was once set aside of it."""
        path = self._folder / file_name(collection)
        async with self._changing, self._saving:
            _ = self._tables
            try:
                await self._finish(_delete, path)
            except OSError as err:
                raise VectorStoreError(StoreProblem.UNAVAILABLE, _reason(err)) from err
            self._tables.pop(collection, None)

    async def async_hashes(self, collection: str) -> Mapping[str, str]:
        """Return the content hash of each id."""
        return self._find(collection).hashes

    async def async_upsert(self, collection: str, entries: Sequence[Entry]) -> None:
        """Add or replace entries, all or none."""
        async with self._changing:
            table = self._find(collection)
            if len(entries) > ON_LOOP_ENTRIES or _is_large(table):
                changed = await self._run(table.with_entries, entries)
            else:
                changed = table.with_entries(entries)
            self._replace(collection, changed)

    async def async_delete(self, collection: str, ids: Collection[str]) -> None:
        """Remove entries."""
        async with self._changing:
            table = self._find(collection)
            changed = await self._run(table.without, ids) if _is_large(table) else table.without(ids)
            if changed is not table:
                self._replace(collection, changed)

    async def async_search(
        self, collection: str, vector: Vector, limit: int, *, where: Mapping[str, Value] | None = None
    ) -> list[Hit]:
        """Return the closest entries, best first."""
        table = self._find(collection)
        if _is_large(table) or (where and len(table) > ON_LOOP_ROWS):
            hits: list[Hit] = await self._run(table.search, vector, limit, where)
            return hits
        return table.search(vector, limit, where)

    async def async_close(self) -> None:
        """Write what is not written yet and let go of the memory. Raises VectorStoreError if that fails."""
        if self._saver is not None:
            self._saver.cancel()
            await asyncio.wait([self._saver])
        if self._started is None:
            return
        failure = await self._async_save()
        self._started = None
        if failure is not None:
            raise VectorStoreError(StoreProblem.UNAVAILABLE, _reason(failure))

    def _find(self, collection: str) -> Table:
        """Return a collection. Raises VectorStoreError if there is none."""
        if (table := self._tables.get(collection)) is None:
            raise VectorStoreError(StoreProblem.MISSING, f"there is no collection {collection}")
        return table

    def _replace(self, collection: str, table: Table) -> None:
        """Keep a changed collection, and write it after a while with whatever else changes until then."""
        self._tables[collection] = table
        self._unsaved.add(collection)
        if self._saver is None or self._saver.done():
            name = "home_agent save vectors"
            self._saver = asyncio.create_task(self._async_save_later(), name=name, eager_start=True)

    async def _async_save_later(self) -> None:
        """Save until everything is written; after a failure, with growing pauses."""
        pause, retry = SAVE_SECONDS, RETRY_SECONDS
        while self._unsaved:
            await asyncio.sleep(pause)
            if await self._async_save() is None:
                pause, retry = SAVE_SECONDS, RETRY_SECONDS
            else:
                pause, retry = retry, min(2 * retry, MAX_RETRY_SECONDS)

    async def _async_save(self) -> OSError | None:
        """Write what is not written yet; return what went wrong last."""
        failure: OSError | None = None
        async with self._saving:
            for collection in sorted(self._unsaved):
                table, path = self._tables.get(collection), self._folder / file_name(collection)
                try:
                    if table is not None:
                        await self._finish(self._write, path, collection, table)
                except OSError as err:
                    failure = err
                    self._failing.add(collection)
                    self._report(FileReport(FileState.UNWRITABLE, path, _reason(err)))
                    continue
                if self._tables.get(collection) is table:  # else it was changed meanwhile
                    self._unsaved.discard(collection)
                if collection in self._failing:
                    self._failing.discard(collection)
                    self._report(FileReport(FileState.WRITTEN, path, ""))
        return failure

    async def _finish[*Ts, T](self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """Change files in a worker thread; a caller that is cancelled meanwhile waits for the end."""
        work = asyncio.ensure_future(self._run(function, *args))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise

    def _write(self, path: Path, collection: str, table: Table) -> None:
        """Replace the file of a collection. Raises OSError; the file is then what it was."""
        parts = table.file_parts(collection)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(UNFINISHED, path.stem, self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            Path(unfinished).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(unfinished).unlink()
            raise


def _read_folder(folder: Path) -> tuple[dict[str, Table], list[FileReport]]:
    """Read every collection; what cannot be read is moved aside if possible. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for unfinished in folder.glob(f"*{UNFINISHED}"):
        unfinished.unlink(missing_ok=True)
    found: dict[str, Table] = {}
    unreadable: list[FileReport] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            collection, table = read_table(path)
        except Exception as err:  # noqa: BLE001 - a damaged file may raise anything
            reason = getattr(err, "strerror", None) or str(err) or type(err).__name__
            aside = path.with_name(f"{path.name}{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
            with suppress(OSError):
                path = path.rename(aside)  # noqa: PLW2901 - where the file is now
            unreadable.append(FileReport(FileState.UNREADABLE, path, reason))
        else:
            found[collection] = table
    return found, unreadable


def _delete(path: Path) -> None:
    """Delete the file of a collection, and what was once set aside of it. Raises OSError."""
    for file in (path, *path.parent.glob(f"{escape(path.name)}{ASIDE}*")):
        file.unlink(missing_ok=True)


def _is_large(table: Table) -> bool:
    """Return whether a table is too large for the event loop."""
    return len(table) * table.dimension > ON_LOOP_NUMBERS


def _reason(err: OSError) -> str:
    return err.strerror or type(err).__name__
