"""Stores that lose nothing: what cannot be read is set aside and reported, a failed write is tried again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from functools import cache
from glob import escape
from math import isfinite
import os
from pathlib import Path
import shutil
from types import UnionType
from typing import Any, Final, Protocol, Union, cast, get_args, get_origin, get_type_hints, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, UnsupportedStorageVersionError
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.json import json_bytes
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util
from homeassistant.util.file import WriteError, write_utf8_file_atomic
from homeassistant.util.json import SerializationError, json_loads

from .const import LOGGER
from .issues import report, withdraw

SAVE_DELAY = 10
"""Seconds from a change to its write, so that a conversation is one write and not ten."""
RETRY_SECONDS = 60
UNREADABLE: Final = (LookupError, TypeError, ValueError, AttributeError, OverflowError)
"""What reading content of another shape raises."""

YEARS: Final = range(1970, 9000)
"""Years of stored times: with others neither a local time nor a later one can be calculated."""
MAX_DEPTH: Final = 100
LARGEST: Final = 2**63 - 1

ASIDE: Final = ".corrupt-"
"""Part of the names of files that were set aside, here and in the vector index."""

type Content = dict[str, Any]


class KeptStore(Store[Content]):
    """One file in `.storage` with one writer.

    `content` returns what is to be written; it is called in a worker thread and must not need the event loop.
    `migrate` turns the content of an older version into today's. `on_written` gets the size in bytes.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        key: str,
        content: Callable[[], Content],
        *,
        version: int = 1,
        minor_version: int = 1,
        migrate: Callable[[int, int, Any], Content] | None = None,
        on_written: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(
            hass,
            version,
            key,
            private=True,
            atomic_writes=True,
            minor_version=minor_version,
            serialize_in_event_loop=False,
        )
        self._writable = lambda: writable(content())
        self._migrate = migrate
        self._on_written = on_written
        self._has_failed = False
        """Whether the last write has failed."""

    async def async_read(self) -> Content:
        """Return the stored content, empty if there is none that can be read.

        What cannot be read stays on disk under another name and becomes a repair issue; Home Assistant
        itself does that for a file that is not JSON.
        """
        try:
            data: Any = await super().async_load()
        except (HomeAssistantError, NotImplementedError, *UNREADABLE) as err:
            await self.async_set_aside(err)
            return {}
        if data is None:
            return {}
        if not isinstance(data, dict):
            await self.async_set_aside(TypeError("not an object"))
            return {}
        return data

    async def async_set_aside(self, reason: Exception, *, keep_in_place: bool = False) -> None:
        """Keep the file under another name and report it.

        With `keep_in_place` a copy is kept, because part of the file is in use. Where neither works
        the store is not written any more, so that the file survives.
        """
        aside = f"{self.path}{ASIDE}{dt_util.utcnow():%Y%m%dT%H%M%S}"
        try:
            await self.hass.async_add_executor_job(
                shutil.copy2 if keep_in_place else os.replace, self.path, aside
            )
        except FileNotFoundError:
            return
        except OSError:
            self.make_read_only()
            aside = str(self.path)
        LOGGER.error("The store %s cannot be read (%s); it is kept as %s", self.key, _reason(reason), aside)
        report(
            self.hass,
            self._issue("unreadable"),
            "store_unreadable",
            severity=ir.IssueSeverity.ERROR,
            persistent=True,
            fix={"path": aside},
            store=self.key,
            path=aside,
        )

    @callback
    def schedule(self) -> None:
        """Write soon, together with what else changes until then."""
        self.async_delay_save(self._writable, SAVE_DELAY)

    async def async_flush(self) -> bool:
        """Write now what has not been written yet, and wait for a write that is under way.

        Return whether that worked; a write that failed is tried again later.
        """
        await self._async_handle_write_data()  # type: ignore[no-untyped-call]
        return not (self._has_failed or self._read_only)

    async def async_forget_set_aside(self, entry_id: str | None = None) -> bool:
        """Delete the files that were set aside, or the data of one agent in them; return whether all went.

        A file that cannot be parsed may hold what other agents keep, so it stays while there are any.
        """
        left = await self.hass.async_add_executor_job(_forget_aside, Path(self.path), entry_id)
        if not left:
            withdraw(self.hass, self._issue("unreadable"))
        return not left

    @override
    async def _async_migrate_func(
        self, old_major_version: int, old_minor_version: int, old_data: Any
    ) -> Content:
        """Bring the content of an older version to today's shape; refuse a newer one."""
        if (old_major_version, old_minor_version) > (self.version, self.minor_version):
            raise UnsupportedStorageVersionError(self.key, old_major_version, self.version)
        if self._migrate is None:
            raise NotImplementedError
        return self._migrate(old_major_version, old_minor_version, old_data)

    @override
    async def _async_write_data(self, data: dict[str, Any]) -> None:
        """Write, and where the disk refuses say so and try again later."""
        self._has_failed = False
        try:
            await super()._async_write_data(data)
        except (WriteError, OSError, SerializationError, RecursionError, *UNREADABLE) as err:
            self._has_failed = True
            LOGGER.error("The store %s cannot be written: %s", self.key, _reason(err))
            if not self.hass.is_stopping:
                report(
                    self.hass,
                    self._issue("unwritable"),
                    "store_unwritable",
                    severity=ir.IssueSeverity.ERROR,
                    store=self.key,
                    path=str(self.path),
                )
                self.async_delay_save(self._writable, RETRY_SECONDS)
            return
        withdraw(self.hass, self._issue("unwritable"))
        if self._on_written is not None:
            file = Path(self.path)
            self._on_written(
                await self.hass.async_add_executor_job(lambda: file.stat().st_size if file.exists() else 0)
            )

    def _issue(self, kind: str) -> str:
        return f"store_{kind}_{self.key}"


class AgentData(Protocol):
    """What one agent keeps. Both are called in a worker thread."""

    def stored(self) -> Any:
        """Return the data to write."""

    def restore(self, stored: Any) -> Exception | None:
        """Take what is stored into an empty one; return what was wrong with what is left out.

        Raises one of UNREADABLE where all of it has to be left out.
        """


class EntryStore[T: AgentData](KeptStore):
    """What each agent keeps of one kind, in memory and in one file.

    `make` returns one that is empty; it gets what has a change written. `options` are those of the file.
    """

    def __init__(
        self, hass: HomeAssistant, key: str, make: Callable[[Callable[[], None]], T], **options: Any
    ) -> None:
        self._make = make
        self._entries: dict[str, T] = {}
        super().__init__(hass, key, self._content, **options)

    @override
    async def async_load(self) -> None:
        """Read the file; what cannot be read is kept aside and left out."""
        if not (data := await self.async_read()):
            return
        found, problem = await self.hass.async_add_executor_job(self._read, data)
        if problem is not None:
            await self.async_set_aside(problem, keep_in_place=True)
        self._entries |= found

    @callback
    def of(self, entry_id: str) -> T:
        """Return the stored data of an agent."""
        if entry_id not in self._entries:
            self._entries[entry_id] = self._make(self.schedule)
        return self._entries[entry_id]

    @callback
    def forget(self, entry_id: str) -> None:
        """Drop what an agent kept that is removed."""
        if self._entries.pop(entry_id, None) is not None:
            self.schedule()

    def _read(self, data: Content) -> tuple[dict[str, T], Exception | None]:
        """Return the valid items, and the problems of the rest."""
        found: dict[str, T] = {}
        problem: Exception | None = None
        entries = data.get("entries")
        if not isinstance(entries, Mapping):
            return found, TypeError("no entries")
        for entry_id, stored in entries.items():
            kept = self._make(self.schedule)
            try:
                problem = kept.restore(stored) or problem
            except UNREADABLE as err:
                problem = err
            else:
                found[entry_id] = kept
        return found, problem

    def _content(self) -> Content:
        return {"entries": {entry_id: kept.stored() for entry_id, kept in list(self._entries.items())}}


def read_list[T](stored: object, read: Callable[[Any], T]) -> tuple[list[T], Exception | None]:
    """Return the valid items of a stored list, and the problems of the rest.

    Raises TypeError if it is not a list.
    """
    if not isinstance(stored, list):
        raise TypeError("not a list")
    found: list[T] = []
    problem: Exception | None = None
    for item in stored:
        try:
            found.append(read(item))
        except UNREADABLE as err:
            problem = err
    return found, problem


def read_moment(text: object) -> datetime:
    """Return a stored point in time.

    Raises ValueError or TypeError for anything else.
    """
    if not isinstance(text, str):
        raise TypeError("not a time")
    moment = datetime.fromisoformat(text)
    if moment.year not in YEARS:
        raise ValueError("no time that can be calculated with")
    return dt_util.as_utc(moment)


def read_text_or_none(value: object) -> str | None:
    """Return a stored id or text that may be missing. Raises TypeError for anything else."""
    if value is None or (isinstance(value, str) and value):
        return value
    raise TypeError("not a text")


def dump(value: Any) -> Any:
    """Return a record as JSON keeps it: fields by name, times in ISO 8601, sets in order."""
    if is_dataclass(value):
        return {item.name: dump(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): dump(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [dump(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(dump, value))
    if isinstance(value, (date, time)):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value


def load[T](kind: type[T], stored: Any) -> T:
    """Return the record that `dump` has written; a field that is missing has its default.

    Raises one of UNREADABLE for anything else.
    """
    if not isinstance(stored, Mapping):
        raise TypeError("not an object")
    hints = _annotations(cast("Any", kind))
    return kind(**{name: _load(of, stored[name]) for name, of in hints.items() if name in stored})


_annotations = cache(get_type_hints)


def _load(kind: Any, stored: Any) -> Any:
    """Return a stored value of the kind with which a field of a record is annotated."""
    if is_dataclass(kind):
        return load(cast("type[Any]", kind), stored)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        text = read_text_or_none(stored) if isinstance(stored, str) else stored
        return None if text is None else _load(parts[0], text)
    if origin in (list, tuple, frozenset) and isinstance(stored, list):
        return origin(_load(parts[0], item) for item in stored)
    if origin in (dict, Mapping) and isinstance(stored, Mapping):
        return {key: _load(parts[1], item) for key, item in stored.items()}
    # The annotation may be another class of this name while a test has stopped the clock.
    singles = ((datetime, read_moment), (date, date.fromisoformat), (time, time.fromisoformat), (Enum, kind))
    for base, read in singles:
        if isinstance(kind, type) and issubclass(kind, base):
            return read(stored)
    if kind is float and type(stored) in (int, float) and isfinite(stored):
        return float(stored)
    if kind is not Any and type(stored) is not kind:
        raise TypeError(f"not {kind}")
    return stored


def writable(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a value that JSON supports: incomplete characters and other types become text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping) and depth:
        return {writable(str(key)): writable(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and depth:
        return [writable(item, depth - 1) for item in value]
    if isinstance(value, int) and abs(value) > LARGEST:
        return float(LARGEST)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return writable(str(value)) if depth else None


def _reason(err: Exception) -> str:
    return f"{type(err).__name__}: {err}"[:200]


def _forget_aside(path: Path, entry_id: str | None) -> bool:
    """Delete the files that were set aside for a store, or one agent's part; return whether any is left."""
    left = False
    for aside in path.parent.glob(f"{escape(path.name)}.corrupt*"):
        with suppress(OSError, WriteError, *UNREADABLE):
            content: Any = {"data": {}} if entry_id is None else json_loads(aside.read_bytes())
            entries = content["data"].get("entries", content["data"])
            found = entries.pop(entry_id, None)
            if not entries:
                aside.unlink()
                continue
            if found is not None:
                write_utf8_file_atomic(str(aside), json_bytes(content), private=True, mode="wb")
        left = True
    return left
