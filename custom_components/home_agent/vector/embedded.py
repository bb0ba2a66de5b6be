"""The store that needs no server: vectors in memory, one file for each collection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from .store import Entry, Hit, StoreProblem, Value, VectorStoreError

if TYPE_CHECKING:
    from .files import Disk, Stored
    from .store import Vector

SAVE_SECONDS: Final = 10
"""From a change to its write, so that an indexing run is one write and not hundreds."""
RETRY_SECONDS: Final = 60
MAX_RETRY_SECONDS: Final = 3600
ON_LOOP_NUMBERS: Final = 2_000_000
"""A matrix of so many numbers is multiplied on the event loop, which takes about a millisecond."""
ON_LOOP_ROWS: Final = 2_000
"""So many rows may have their metadata looked at on the event loop."""
ON_LOOP_ENTRIES: Final = 200
MAX_COLLECTIONS: Final = 100
MAX_NAME: Final = 500
MAX_ENTRIES: Final = 50_000
"""Of one collection."""
MAX_NUMBERS: Final = 100_000_000
"""Of one collection: 400 MB."""
MAX_TEXT: Final = 100_000
"""Characters of one text."""


class Run(Protocol):
    """Runs a function in a worker thread."""

    def __call__[*Ts, T](self, function: Callable[[*Ts], T], /, *args: *Ts) -> Awaitable[T]:
        """Return its result."""
        ...


class FileState(StrEnum):
    """What is to be told about a file."""

    UNREADABLE = "unreadable"
    """It could not be read and is kept under another name; its collection is not there."""
    UNWRITABLE = "unwritable"
    """It could not be written; it is tried again, and memory holds everything until then."""
    WRITTEN = "written"
    """It could be written again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """News about the file of a collection."""

    state: FileState
    path: Path
    """Where the file is now."""
    detail: str
    """What the disk or the file said, in a few words."""


@dataclass(slots=True, eq=False)
class _Kept:
    """A collection in memory; who changes it holds the lock."""

    stored: Stored
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class EmbeddedStore:
    """Implements VectorStore with a folder of its own.

    Searches never wait for writers. Files are read at the start and written `SAVE_SECONDS` after a change, in
    a worker thread, each replaced whole. `report` hears of files that could not be read or written.
    """

    def __init__(self, folder: Path, run: Run, report: Callable[[FileReport], None]) -> None:
        """Take the folder; nothing is read yet."""
        self._folder = folder
        self._run = run
        self._report = report
        self._open: Disk | None = None
        self._kept: dict[str, _Kept] = {}
        self._unsaved: set[str] = set()
        self._failing: set[str] = set()
        self._saving = asyncio.Lock()
        self._save_task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._retry_seconds = RETRY_SECONDS

    @property
    def _disk(self) -> Disk:
        """Return the files. Raises VectorStoreError before the start."""
        if self._open is None:
            raise VectorStoreError(StoreProblem.UNAVAILABLE, "the store is not started")
        return self._open

    async def async_start(self) -> None:
        """Read all files; those that cannot be read are kept aside and reported."""
        if self._open is not None:
            return
        try:
            disk = await self._run(_open_disk, self._folder)
            found, unreadable = await self._run(disk.read_all)
        except ImportError as err:
            raise VectorStoreError(StoreProblem.UNAVAILABLE, f"the package {err.name} is missing") from err
        except OSError as err:
            raise VectorStoreError(StoreProblem.UNAVAILABLE, _reason(err)) from err
        self._open = disk
        self._kept = {stored.collection: _Kept(stored) for stored in found}
        for file in unreadable:
            self._report(FileReport(state=FileState.UNREADABLE, path=file.path, detail=file.reason))

    async def async_collections(self) -> Mapping[str, str | None]:
        """Return the collections with their fingerprints."""
        _ = self._disk
        return {name: kept.stored.fingerprint for name, kept in self._kept.items()}

    async def async_create(self, collection: str, fingerprint: str) -> None:
        """Make an empty collection; one that is there is emptied."""
        disk = self._disk
        if len(collection) > MAX_NAME:
            raise VectorStoreError(StoreProblem.INVALID, "the name of the collection is too long")
        if collection not in self._kept and len(self._kept) >= MAX_COLLECTIONS:
            raise VectorStoreError(StoreProblem.INVALID, f"there are {MAX_COLLECTIONS} collections already")
        self._kept[collection] = _Kept(disk.empty(collection, fingerprint))
        self._save_soon(collection)

    async def async_drop(self, collection: str) -> None:
        """Remove a collection and its file now."""
        async with self._saving:
            try:
                await self._finish(self._disk.delete, collection)
            except OSError as err:
                raise VectorStoreError(StoreProblem.UNAVAILABLE, _reason(err)) from err
            self._kept.pop(collection, None)

    async def async_hashes(self, collection: str) -> Mapping[str, str]:
        """Return the content hash of each id."""
        kept = self._find(collection)
        async with kept.lock:
            return kept.stored.matrix.hashes()

    async def async_upsert(self, collection: str, entries: Sequence[Entry]) -> None:
        """Add or replace entries, all or none."""
        kept = self._find(collection)
        async with kept.lock:
            matrix = kept.stored.matrix
            _check_room(entries, len(matrix) + matrix.new(entries))
            aside = matrix.size > ON_LOOP_NUMBERS or len(entries) > ON_LOOP_ENTRIES
            await self._finish(matrix.upsert, entries) if aside else matrix.upsert(entries)
        self._save_soon(collection)

    async def async_delete(self, collection: str, ids: Collection[str]) -> None:
        """Remove entries."""
        kept = self._find(collection)
        async with kept.lock:
            matrix = kept.stored.matrix
            aside = matrix.size > ON_LOOP_NUMBERS
            changed = await self._finish(matrix.delete, ids) if aside else matrix.delete(ids)
        if changed:
            self._save_soon(collection)

    async def async_search(
        self, collection: str, vector: Vector, limit: int, *, where: Mapping[str, Value] | None = None
    ) -> list[Hit]:
        """Return the closest entries, best first."""
        matrix = self._find(collection).stored.matrix
        if matrix.size > ON_LOOP_NUMBERS or (where and len(matrix) > ON_LOOP_ROWS):
            return await self._run(matrix.search, vector, limit, where)
        return matrix.search(vector, limit, where)

    async def async_close(self) -> None:
        """Write what is not written yet and let go of the memory. Raises VectorStoreError if that fails."""
        self._cancel_timer()
        if self._save_task is not None:
            await asyncio.wait([self._save_task])
        if self._open is None:
            return
        failure = await self._async_save()
        self._cancel_timer()
        self._open = None
        self._kept.clear()
        if failure is not None:
            raise VectorStoreError(StoreProblem.UNAVAILABLE, _reason(failure))

    def _find(self, collection: str) -> _Kept:
        """Return a collection. Raises VectorStoreError where there is none."""
        if (kept := self._kept.get(collection)) is None:
            _ = self._disk
            raise VectorStoreError(StoreProblem.MISSING, f"there is no collection {collection}")
        return kept

    async def _finish[*Ts, T](self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run a change in a worker thread; whoever is cancelled meanwhile waits for its end."""
        work = asyncio.ensure_future(self._run(function, *args))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise

    def _save_soon(self, collection: str) -> None:
        """Write a collection after a while, with whatever else changes until then."""
        self._unsaved.add(collection)
        if self._timer is None:
            self._set_timer(SAVE_SECONDS)

    def _set_timer(self, seconds: float) -> None:
        """Save in so many seconds."""
        loop = asyncio.get_running_loop()

        def save() -> None:
            self._timer = None
            self._save_task = loop.create_task(self._async_save_in_background())

        self._timer = loop.call_later(seconds, save)

    def _cancel_timer(self) -> None:
        """Save no more by itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _async_save_in_background(self) -> None:
        """Save; what failed is tried again with growing pauses."""
        if await self._async_save() is None:
            self._retry_seconds = RETRY_SECONDS
            return
        self._cancel_timer()
        self._set_timer(self._retry_seconds)
        self._retry_seconds = min(2 * self._retry_seconds, MAX_RETRY_SECONDS)

    async def _async_save(self) -> OSError | None:
        """Write what is not written yet; return what went wrong last."""
        failure: OSError | None = None
        async with self._saving:
            for collection in sorted(self._unsaved):
                self._unsaved.discard(collection)
                if (kept := self._kept.get(collection)) is None:
                    continue
                try:
                    await self._finish(self._disk.write, kept.stored)
                except OSError as err:
                    failure = err
                    self._unsaved.add(collection)
                    self._failing.add(collection)
                    self._tell(FileState.UNWRITABLE, collection, _reason(err))
                else:
                    if collection in self._failing:
                        self._failing.discard(collection)
                        self._tell(FileState.WRITTEN, collection, "")
        return failure

    def _tell(self, state: FileState, collection: str, detail: str) -> None:
        """Report the file of a collection."""
        self._report(FileReport(state=state, path=self._disk.path_of(collection), detail=detail))


def _open_disk(folder: Path) -> Disk:
    """Load numpy, which takes a while, and return the files of the folder."""
    from .files import Disk  # noqa: PLC0415

    return Disk(folder)


def _check_room(entries: Sequence[Entry], total: int) -> None:
    """Raise VectorStoreError where entries are too many or too long."""
    if any(len(entry.text) > MAX_TEXT for entry in entries):
        raise VectorStoreError(StoreProblem.INVALID, f"a text has more than {MAX_TEXT} characters")
    dimension = max((len(entry.vector) for entry in entries), default=0)
    if total > MAX_ENTRIES or total * dimension > MAX_NUMBERS:
        raise VectorStoreError(StoreProblem.INVALID, f"no room for {total} entries in one collection")


def _reason(err: OSError) -> str:
    """Return what the disk said, in a few words."""
    return err.strerror or type(err).__name__
