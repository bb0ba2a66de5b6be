"""The files of the embedded store: when they are written, what is in them, and broken ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
import errno
import os
from pathlib import Path
from typing import Any, Never

from freezegun.api import FrozenDateTimeFactory
import numpy as np
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.vector import embedded
from custom_components.home_agent.vector.embedded import EmbeddedStore
from custom_components.home_agent.vector.store import Entry
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

type Open = Callable[[], Awaitable[EmbeddedStore]]
VECTOR = np.array((1, 0, 0), np.float32)
MADE_BY = "test|words|3"


def entry(key: str, text: str = "") -> Entry:
    """Return an entry."""
    return Entry(id=key, text=text or key, vector=VECTOR, content_hash=f"#{text}", metadata={"said": text})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the store; it is not there yet."""
    return tmp_path / ".storage" / "vectors"


@pytest.fixture
async def open_store(hass: HomeAssistant, folder: Path) -> AsyncIterator[Open]:
    """Return what opens the store of this folder; all of them are closed in the end."""
    opened: list[EmbeddedStore] = []

    async def open_one() -> EmbeddedStore:
        store = EmbeddedStore(folder, hass.async_add_executor_job)
        opened.append(store)
        await store.async_start()
        return store

    yield open_one
    for store in opened:
        await store.async_close()


async def filled(open_store: Open, collection: str = "things", **texts: str) -> EmbeddedStore:
    """Return a store with one collection."""
    store = await open_store()
    await store.async_create(collection, MADE_BY)
    await store.async_upsert(collection, [entry(key, text) for key, text in texts.items()])
    return store


async def ids(store: EmbeddedStore, collection: str = "things") -> set[str]:
    """Return what a search finds."""
    return {hit.id for hit in await store.async_search(collection, VECTOR, 100)}


async def pass_time(hass: HomeAssistant, frozen: FrozenDateTimeFactory, seconds: float) -> None:
    """Let time pass and wait for the save that it starts."""
    frozen.tick(seconds)
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=1))
    await asyncio.sleep(0)
    await hass.async_block_till_done(wait_background_tasks=True)


def paths_of(folder: Path) -> list[Path]:
    """Return the files of a folder."""
    return list(folder.glob("*"))


def only_file(folder: Path) -> bytes:
    """Return what the one file of a folder holds."""
    (path,) = paths_of(folder)
    return path.read_bytes()


async def test_one_write_for_many_changes(
    hass: HomeAssistant, open_store: Open, folder: Path, freezer: FrozenDateTimeFactory
) -> None:
    store = await filled(open_store, a="apple")
    await pass_time(hass, freezer, embedded.SAVE_SECONDS - 5)
    await store.async_upsert("things", [entry("b")])
    assert not paths_of(folder)
    await pass_time(hass, freezer, 5)
    first = only_file(folder)
    assert b"apple" in first
    await store.async_delete("things", ["nobody"])
    await pass_time(hass, freezer, 600)
    assert only_file(folder) == first
    await store.async_upsert("things", [entry("c")])
    await pass_time(hass, freezer, embedded.SAVE_SECONDS)
    assert only_file(folder) != first
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths_of(folder))


async def test_nothing_deleted_stays_on_disk(open_store: Open, folder: Path) -> None:
    """Neither by deleting, replacing nor emptying."""

    def on_disk() -> bytes:
        return b"".join(path.read_bytes() for path in paths_of(folder))

    store = await filled(open_store, a="secret-one", b="secret-two", c="stays")
    await store.async_create("others", MADE_BY)
    await store.async_upsert("others", [entry("d", "secret-three")])
    await store.async_close()
    assert on_disk().count(b"secret-") == 9
    store = await open_store()
    await store.async_delete("things", ["a"])
    await store.async_upsert("things", [entry("b", "harmless")])
    await store.async_create("others", MADE_BY)
    await store.async_close()
    assert b"secret-" not in on_disk()
    assert b"stays" in on_disk()
    store = await open_store()
    assert await ids(store) == {"b", "c"}
    assert set(await store.async_collections()) == {"things", "others"}


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "garbage": lambda _: os.urandom(4096),
    "JSON": lambda _: b'{"version": 1, "data": {}}',
    "short": lambda content: content[: len(content) // 2],
    "bit": lambda content: content.replace(b"apple", b"bpple"),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_file_goes(
    open_store: Open, folder: Path, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """Also one of another version; everything else works, and the collection can be made again."""
    store = await filled(open_store, a="apple")
    await store.async_close()
    (path,) = paths_of(folder)
    path.write_bytes(BROKEN[how](path.read_bytes()))
    (folder / "home-entities-0123.vectors").write_bytes(b"{}\nsecret")
    store = await filled(open_store, "whole", b="banana")
    assert not paths_of(folder)
    assert caplog.text.count("cannot be read") == 2
    await store.async_close()
    store = await open_store()
    assert set(await store.async_collections()) == {"whole"}
    assert await ids(store, "whole") == {"b"}


def read_only(*_args: Any, **_options: Any) -> Never:
    """Refuse as a disk does that was mounted read-only."""
    raise OSError(errno.EROFS, "Read-only file system")


async def test_disk_refuses(
    hass: HomeAssistant,
    open_store: Open,
    folder: Path,
    freezer: FrozenDateTimeFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory keeps everything, the old file stays, and it is written when the disk is well again."""
    store = await filled(open_store, a="apple")
    await pass_time(hass, freezer, embedded.SAVE_SECONDS)
    before = only_file(folder)
    for call in ("atomicwrites._proper_fsync", "tempfile.mkstemp"):
        with monkeypatch.context() as broken:
            broken.setattr(call, read_only)
            await store.async_upsert("things", [entry("b", "banana")])
            await pass_time(hass, freezer, embedded.RETRY_SECONDS)
            assert await ids(store) == {"a", "b"}
            assert only_file(folder) == before
    await pass_time(hass, freezer, embedded.RETRY_SECONDS)
    assert b"banana" in only_file(folder)
