"""The files of the embedded store: when they are written, what is in them, and broken ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
import errno
import json
import os
from pathlib import Path
from typing import Any, Never
import unicodedata

from freezegun.api import FrozenDateTimeFactory
import numpy as np
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.vector import embedded
from custom_components.home_agent.vector.embedded import EmbeddedStore, FileReport, FileState
from custom_components.home_agent.vector.store import Entry, VectorStoreError
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.checks import every

type Open = Callable[[], Awaitable[EmbeddedStore]]
VECTOR = np.array((1, 0, 0), np.float32)
MADE_BY = "test|words|3"


def entry(key: str, text: str = "") -> Entry:
    """Return an entry."""
    return Entry(id=key, text=text or key, vector=VECTOR, content_hash=f"#{text}", metadata={"said": text})


@pytest.fixture
def reports() -> list[FileReport]:
    """Return what was reported."""
    return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the store; it is not there yet."""
    return tmp_path / ".storage" / "vectors"


@pytest.fixture
async def open_store(hass: HomeAssistant, folder: Path, reports: list[FileReport]) -> AsyncIterator[Open]:
    """Return what opens the store of this folder; all of them are closed in the end."""
    opened: list[EmbeddedStore] = []

    async def open_one() -> EmbeddedStore:
        store = EmbeddedStore(folder, hass.async_add_executor_job, reports.append)
        opened.append(store)
        await store.async_start()
        return store

    yield open_one
    for store in opened:
        await store.async_close()


async def filled(open_store: Open, **texts: str) -> EmbeddedStore:
    """Return a store with one collection."""
    store = await open_store()
    await store.async_create("things", MADE_BY)
    await store.async_upsert("things", [entry(key, text) for key, text in texts.items()])
    return store


async def ids(store: EmbeddedStore, collection: str = "things") -> set[str]:
    """Return what a search finds."""
    return {hit.id for hit in await store.async_search(collection, VECTOR, 100)}


async def pass_time(hass: HomeAssistant, frozen: FrozenDateTimeFactory, seconds: float) -> None:
    """Let time pass and wait for what it starts."""
    frozen.tick(seconds)
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=1))
    await written(hass)


async def written(hass: HomeAssistant) -> None:
    """Wait for a save that has begun."""
    await asyncio.sleep(0)
    await hass.async_block_till_done(wait_background_tasks=True)


def on_disk(folder: Path) -> bytes:
    """Return every byte below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def files_of(folder: Path) -> list[Path]:
    """Return what is in a folder."""
    return sorted(folder.iterdir()) if folder.exists() else []


def only_file(folder: Path) -> Path:
    """Return the one file of a folder."""
    (path,) = files_of(folder)
    return path


def put(path: Path, text: str) -> None:
    """Write a file that is not the store's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# Writing


async def test_one_write_for_many_changes(
    hass: HomeAssistant, open_store: Open, folder: Path, freezer: FrozenDateTimeFactory
) -> None:
    store = await filled(open_store, a="apple")
    await pass_time(hass, freezer, embedded.SAVE_SECONDS - 5)
    await store.async_upsert("things", [entry("b")])
    assert files_of(folder) == []
    await pass_time(hass, freezer, 5)
    first = only_file(folder).read_bytes()
    assert b"apple" in first
    await pass_time(hass, freezer, 600)
    assert only_file(folder).read_bytes() == first
    await store.async_delete("things", ["nobody"])
    await pass_time(hass, freezer, 600)
    await store.async_upsert("things", [entry("c")])
    await pass_time(hass, freezer, embedded.SAVE_SECONDS)
    assert only_file(folder).read_bytes() != first
    assert only_file(folder).stat().st_mode & 0o077 == 0


async def test_nothing_deleted_stays_on_disk(open_store: Open, folder: Path) -> None:
    """Neither by deleting, replacing, emptying nor dropping."""
    store = await filled(open_store, a="secret-one", b="secret-two", c="stays")
    await store.async_create("others", MADE_BY)
    await store.async_upsert("others", [entry("d", "secret-three")])
    await store.async_create("more", MADE_BY)
    await store.async_upsert("more", [entry("e", "secret-four")])
    await store.async_close()
    assert on_disk(folder).count(b"secret-") == 12
    store = await open_store()
    await store.async_delete("things", ["a"])
    await store.async_upsert("things", [entry("b", "harmless")])
    await store.async_create("others", MADE_BY)
    await store.async_drop("more")
    assert b"secret-four" not in on_disk(folder), "gone at once"
    await store.async_close()
    assert b"secret-" not in on_disk(folder)
    assert b"stays" in on_disk(folder)
    store = await open_store()
    assert await ids(store) == {"b", "c"}
    assert set(await store.async_collections()) == {"things", "others"}


NAMES = [
    "home_entities",
    "Home_Entities",
    "home-entities",
    "home entities",
    "Handbücher",
    unicodedata.normalize("NFD", "Handbücher"),
    "居間",
    "مجموعة",
    "../../etc/passwd",
    "..",
    "",
    "a/b",
    "a\x00b",
    "CON",
    "x" * 400,
    "x" * 401,
    "half \ud83d",
]


async def test_names_in_any_script(open_store: Open, folder: Path) -> None:
    store = await open_store()
    for name in NAMES:
        await store.async_create(name, f"made {name}")
        await store.async_upsert(name, [entry(f"of {name}")])
    await store.async_close()
    files = files_of(folder)
    assert len({file.name.casefold() for file in files}) == len(NAMES)
    assert all(file.name.isascii() and len(file.name) < 100 for file in every(files))
    store = await open_store()
    assert await store.async_collections() == {name: f"made {name}" for name in NAMES}
    for name in NAMES:
        assert await ids(store, name) == {f"of {name}"}


async def test_half_written_files_go(open_store: Open, folder: Path) -> None:
    put(folder / "things.unfinished", "secret")
    put(folder / "README", "not ours")
    await open_store()
    assert [path.name for path in files_of(folder)] == ["README"]


# Broken files


def flipped(content: bytes) -> bytes:
    """Return content with one bit turned over near its end."""
    return content[:-7] + bytes([content[-7] ^ 1]) + content[-6:]


def with_header(content: bytes, **changes: Any) -> bytes:
    """Return content whose first line says something else."""
    line, _, rest = content.partition(b"\n")
    return json.dumps(json.loads(line) | changes).encode() + b"\n" + rest


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "garbage": lambda _: os.urandom(4096),
    "JSON": lambda _: b'{"version": 1, "data": {}}',
    "no vectors": lambda content: content[: -3 * 4],
    "longer": lambda content: content + b"\0\0\0\0",
    "bit": flipped,
    "newer": lambda content: with_header(content, format=2),
    "another's": lambda content: with_header(content, collection="others"),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_broken_file(open_store: Open, folder: Path, reports: list[FileReport], how: str) -> None:
    """It is kept aside and reported; everything else works, also a new file in its place."""
    store = await filled(open_store, a="apple", b="banana")
    await store.async_close()
    path = only_file(folder)
    content = BROKEN[how](path.read_bytes())
    path.write_bytes(content)
    await store.async_start()
    await store.async_create("whole", MADE_BY)
    await store.async_close()
    (report,) = reports
    assert report.state is FileState.UNREADABLE
    assert report.path.read_bytes() == content
    assert report.detail
    store = await open_store()
    assert set(await store.async_collections()) == {"whole"}
    await store.async_create("things", MADE_BY)
    await store.async_upsert("things", [entry("c")])
    await store.async_close()
    assert report.path.read_bytes() == content
    store = await open_store()
    assert await ids(store) == {"c"}
    assert len(reports) == 1
    await store.async_drop("things")
    assert not report.path.exists(), "what somebody wants gone is gone everywhere"


# Disks that refuse


def disk_full(*_args: Any, **_options: Any) -> Never:
    """Refuse as a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


def read_only(*_args: Any, **_options: Any) -> Never:
    """Refuse as a disk does that was mounted read-only."""
    raise OSError(errno.EROFS, "Read-only file system")


@pytest.mark.parametrize(("call", "fault"), [("os.fsync", disk_full), ("tempfile.mkstemp", read_only)])
async def test_disk_refuses(
    hass: HomeAssistant,
    open_store: Open,
    folder: Path,
    reports: list[FileReport],
    freezer: FrozenDateTimeFactory,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    fault: Callable[..., Never],
) -> None:
    """Memory keeps everything, the old file stays, and it is written when the disk is well again."""
    store = await filled(open_store, a="apple")
    await pass_time(hass, freezer, embedded.SAVE_SECONDS)
    path = only_file(folder)
    before = path.read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(call, fault)
        await store.async_upsert("things", [entry("b", "banana")])
        await pass_time(hass, freezer, embedded.SAVE_SECONDS)
        await pass_time(hass, freezer, embedded.RETRY_SECONDS)
        assert [(report.state, report.path) for report in reports] == [(FileState.UNWRITABLE, path)] * 2
        assert reports[0].detail in ("No space left on device", "Read-only file system")
        assert await ids(store) == {"a", "b"}
        assert only_file(folder).read_bytes() == before
    await pass_time(hass, freezer, 2 * embedded.RETRY_SECONDS)
    assert reports[-1].state is FileState.WRITTEN
    assert b"banana" in path.read_bytes()
    await pass_time(hass, freezer, embedded.MAX_RETRY_SECONDS)
    assert len(reports) == 3


async def test_dropping_from_a_read_only_disk(
    open_store: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is still on disk is not said to be gone."""
    store = await filled(open_store, a="apple")
    await store.async_close()
    store = await open_store()
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", read_only)
        with pytest.raises(VectorStoreError, match="Read-only file system"):
            await store.async_drop("things")
    assert await ids(store) == {"a"}
