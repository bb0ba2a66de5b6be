"""What every store of vectors does: the embedded one and real Chroma servers, side by side."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from custom_components.home_agent.vector.chroma import ChromaStore
from custom_components.home_agent.vector.embedded import EmbeddedStore
from custom_components.home_agent.vector.store import (
    Entry,
    StoreProblem,
    Value,
    Vector,
    VectorStore,
    VectorStoreError,
)
from homeassistant.core import HomeAssistant
from tests.servers.chroma import name_of, programs

MADE_BY = "test|words|3"
EMBEDDED = "embedded"
KINDS = [EMBEDDED, *programs()] if programs() else [EMBEDDED, None]
type Open = Callable[[], Awaitable[VectorStore]]


def vector(*numbers: float) -> Vector:
    """Return a vector as an embedder does."""
    return np.array(numbers, np.float32)


def entry(
    key: str, numbers: tuple[float, ...], text: str = "", metadata: Mapping[str, Value] | None = None
) -> Entry:
    """Return an entry; its hash tells its text."""
    return Entry(
        id=key, text=text or key, vector=vector(*numbers), content_hash=f"#{text}", metadata=metadata or {}
    )


@pytest.fixture(params=KINDS, ids=lambda kind: name_of(kind) if isinstance(kind, Path) else str(kind))
async def open_store(
    request: pytest.FixtureRequest, hass: HomeAssistant, socket_enabled: None, tmp_path: Path
) -> AsyncIterator[Open]:
    """Return what opens the same store again and again."""
    opened: list[VectorStore] = []
    if request.param == EMBEDDED:

        def make() -> VectorStore:
            return EmbeddedStore(tmp_path / "vectors", hass.async_add_executor_job)

    else:
        if request.param is None:
            pytest.fail("there is no Chroma server: run scripts/test --unit once, it installs one")
        server = request.getfixturevalue("chroma_servers").get(request.param)
        address = server.new_database()

        def make() -> VectorStore:
            return ChromaStore(session, address)

    async def open_one() -> VectorStore:
        store = make()
        await store.async_start()
        opened.append(store)
        return store

    async with aiohttp.ClientSession() as session:
        yield open_one
        for store in opened:
            await store.async_close()


@pytest.fixture
async def store(open_store: Open) -> VectorStore:
    """Return a store with one empty collection."""
    store = await open_store()
    await store.async_create("things", MADE_BY)
    return store


async def fails(problem: StoreProblem, work: Awaitable[object]) -> None:
    """Expect a failure that says what it is."""
    with pytest.raises(VectorStoreError) as caught:
        await work
    assert caught.value.problem is problem, caught.value.detail
    assert 0 < len(caught.value.detail) <= 200


async def found(store: VectorStore, *numbers: float, limit: int = 10) -> list[str]:
    """Return the ids that a search finds."""
    hits = await store.async_search("things", vector(*numbers), limit)
    return [hit.id for hit in hits]


async def test_closest_first(store: VectorStore) -> None:
    await store.async_upsert(
        "things",
        [
            entry("far", (0, 0, 1), "a far one"),
            entry("near", (1, 0, 0), "a near one", {"area": "Küche", "floor": 1}),
            entry("middle", (0.6, 0.8, 0), "in between"),
            entry("behind", (-1, 0, 0), "behind"),
        ],
    )
    hits = await store.async_search("things", vector(1, 0, 0), 3)
    assert [(hit.id, hit.text) for hit in hits][:2] == [("near", "a near one"), ("middle", "in between")]
    assert [hit.similarity for hit in hits] == pytest.approx([1, 0.6, 0], abs=1e-5)
    assert hits[0].metadata == {"area": "Küche", "floor": 1}
    assert hits[1].metadata == {}
    assert len(await store.async_search("things", vector(1, 0, 0), 100)) == 4
    assert await store.async_search("things", vector(1, 0, 0), 0) == []


async def test_empty_collection(store: VectorStore) -> None:
    assert await store.async_collections() == {"things": MADE_BY}
    assert await store.async_search("things", vector(1, 0, 0), 5) == []
    assert await store.async_hashes("things") == {}
    await store.async_upsert("things", [])
    await store.async_delete("things", [])
    await store.async_delete("things", ["nobody"])


async def test_replacing(store: VectorStore) -> None:
    await store.async_upsert("things", [entry("a", (1, 0, 0), "old", {"kept": 1})])
    await store.async_upsert("things", [entry("a", (0, 1, 0), "new", {"kept": 2})])
    (hit,) = await store.async_search("things", vector(0, 1, 0), 5)
    assert (hit.text, hit.metadata) == ("new", {"kept": 2})
    assert hit.similarity == pytest.approx(1, abs=1e-5)
    assert await store.async_hashes("things") == {"a": "#new"}


async def test_deleting(store: VectorStore) -> None:
    await store.async_upsert("things", [entry(key, (1, 0, 0)) for key in "abc"])
    await store.async_delete("things", ["a", "c", "nobody", "a"])
    assert await found(store, 1, 0, 0) == ["b"]
    assert set(await store.async_hashes("things")) == {"b"}
    await store.async_upsert("things", [entry("a", (1, 0, 0))])
    assert set(await found(store, 1, 0, 0)) == {"a", "b"}


async def test_many(store: VectorStore) -> None:
    """More than fits one request or one page of an answer."""
    many = [entry(f"light.{number}", (1, number / 700, 0), f"light {number}") for number in range(700)]
    await store.async_upsert("things", many)
    assert await store.async_hashes("things") == {item.id: item.content_hash for item in many}
    assert await found(store, 1, 0, 0, limit=3) == ["light.0", "light.1", "light.2"]
    await store.async_delete("things", [item.id for item in many[:650]])
    assert set(await store.async_hashes("things")) == {item.id for item in many[650:]}
    assert await found(store, 1, 0, 0, limit=1) == ["light.650"]
    assert len(await found(store, 1, 0, 0, limit=60)) == 50


async def test_emptied_and_missing(store: VectorStore) -> None:
    await store.async_upsert("things", [entry("a", (1, 0, 0))])
    await store.async_create("things", "other|model|2")
    assert await store.async_collections() == {"things": "other|model|2"}
    assert await store.async_hashes("things") == {}
    await fails(StoreProblem.MISSING, store.async_search("others", vector(1, 0, 0), 1))
    await fails(StoreProblem.MISSING, store.async_hashes("others"))
    await fails(StoreProblem.MISSING, store.async_upsert("others", [entry("a", (1, 0, 0))]))
    await fails(StoreProblem.MISSING, store.async_delete("others", ["a"]))


async def reopened(store: VectorStore, open_store: Open) -> VectorStore:
    """Return the store as it is after a restart."""
    await store.async_close()
    return await open_store()


async def test_restart(store: VectorStore, open_store: Open) -> None:
    await store.async_create("others", "other|model|2")
    await store.async_upsert("things", [entry(key, (1, 0, 0), key, {"n": 1.5}) for key in "abc"])
    await store.async_delete("things", ["b"])
    again = await reopened(store, open_store)
    assert await again.async_collections() == {"things": MADE_BY, "others": "other|model|2"}
    hits = await again.async_search("things", vector(1, 0, 0), 5)
    assert {(hit.id, hit.text, hit.metadata["n"]) for hit in hits} == {("a", "a", 1.5), ("c", "c", 1.5)}
    assert await again.async_search("others", vector(1, 0), 5) == []
    await again.async_upsert("things", [entry("d", (1, 0, 0))])
    assert set(await again.async_hashes("things")) == {"a", "c", "d"}
