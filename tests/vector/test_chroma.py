"""The store on a Chroma server: what goes over the wire, collections of other programs, and faults."""

from collections.abc import AsyncIterator, Awaitable, Callable
import json
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

from custom_components.home_agent.vector import chroma
from custom_components.home_agent.vector.chroma import ChromaAddress, ChromaStore
from custom_components.home_agent.vector.store import Entry, StoreProblem, VectorStoreError
from tests.servers import replies
from tests.servers.chroma import ChromaServer
from tests.servers.chroma_stand_in import ChromaStandIn
from tests.servers.replies import Reply

MADE_BY = "test|words|3"
TOKEN = "ck-very-secret-token"
VECTOR = np.array((1, 0, 0), np.float32)
ENTRY = Entry(id="a", text="apple", vector=VECTOR, content_hash="#1", metadata={"area": "kitchen"})


@pytest.fixture
async def session(socket_enabled: None) -> AsyncIterator[aiohttp.ClientSession]:
    """Return a session, as Home Assistant has one."""
    async with aiohttp.ClientSession() as session:
        yield session


def store_at(session: aiohttp.ClientSession, server: ChromaStandIn, **settings: Any) -> ChromaStore:
    """Return a store on the stand-in."""
    return ChromaStore(session, ChromaAddress(host="127.0.0.1", port=server.port, **settings))


async def failure(work: Awaitable[object]) -> VectorStoreError:
    """Return what went wrong; it is short and holds no key."""
    with pytest.raises(VectorStoreError) as caught:
        await work
    assert 0 < len(caught.value.detail) <= 200
    assert TOKEN not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    return caught.value


async def similarities(store: ChromaStore, name: str, limit: int = 5) -> dict[str, Any]:
    """Return what a search finds."""
    return {
        hit.id: pytest.approx(hit.similarity, abs=1e-5)
        for hit in await store.async_search(name, VECTOR, limit)
    }


# Collections of other programs

ENTRIES = {
    "ids": ["same", "near", "half", "behind"],
    "embeddings": [[1, 0, 0], [0.8, 0.6, 0], [0.6, 0.8, 0], [-1, 0, 0]],
    "documents": ["the same", None, "half way", "behind"],
    "metadatas": [{"page": 1}, None, {"page": 2, "draft": True}, None],
}


@pytest.mark.parametrize("space", [None, "l2", "ip", "cosine"])
async def test_foreign_collection(
    chroma: ChromaServer, session: aiohttp.ClientSession, space: str | None
) -> None:
    """It is searched with the right similarities, however it measures, and never changed."""
    address = chroma.new_database()
    chroma.fill(address, "manuals", ENTRIES, metadata={"hnsw:space": space} if space else None)
    store = ChromaStore(session, address)
    await store.async_start()
    assert await store.async_collections() == {"manuals": None}
    assert await similarities(store, "manuals") == {"same": 1, "near": 0.8, "half": 0.6, "behind": 0}
    hits = {hit.id: (hit.text, hit.metadata) for hit in await store.async_search("manuals", VECTOR, 3)}
    assert hits == {
        "same": ("the same", {"page": 1}),
        "near": ("", {}),
        "half": ("half way", {"page": 2, "draft": True}),
    }
    assert await store.async_hashes("manuals") == dict.fromkeys(ENTRIES["ids"], "")
    changes = [
        store.async_create("manuals", MADE_BY),
        store.async_upsert("manuals", [ENTRY]),
        store.async_delete("manuals", ["same"]),
    ]
    for change in changes:
        error = await failure(change)
        assert error.problem is StoreProblem.REFUSED
        assert "another name" in error.detail
    assert chroma.count(address, "manuals") == 4


# Faults of a real server


async def test_collection_gone(chroma: ChromaServer, session: aiohttp.ClientSession) -> None:
    """Somebody deletes it, and somebody makes it anew."""
    address = chroma.new_database()
    store, other = ChromaStore(session, address), ChromaStore(session, address)
    await store.async_create("things", MADE_BY)
    await store.async_upsert("things", [ENTRY])
    chroma.ask("DELETE", f"/tenants/{address.tenant}/databases/{address.database}/collections/things")
    assert (await failure(store.async_search("things", VECTOR, 1))).problem is StoreProblem.MISSING
    assert (await failure(store.async_upsert("things", [ENTRY]))).problem is StoreProblem.MISSING
    await other.async_create("things", MADE_BY)
    await store.async_upsert("things", [ENTRY])
    await other.async_create("things", "another|model|2")
    assert (await failure(store.async_search("things", VECTOR, 1))).problem is StoreProblem.MISSING
    assert await store.async_search("things", VECTOR, 1) == []
    assert await store.async_collections() == {"things": "another|model|2"}


@pytest.mark.parametrize("header", ["Authorization", "X-Chroma-Token"])
async def test_token(
    chroma: ChromaServer, session: aiohttp.ClientSession, tmp_path: Path, header: str
) -> None:
    """Servers before 1.0 check a token themselves, in either header; newer ones leave that to a proxy."""
    settings = {
        "CHROMA_SERVER_AUTHN_PROVIDER": "chromadb.auth.token_authn.TokenAuthenticationServerProvider",
        "CHROMA_SERVER_AUTHN_CREDENTIALS": TOKEN,
        "CHROMA_AUTH_TOKEN_TRANSPORT_HEADER": header,
    }
    with ChromaServer(chroma.program, tmp_path / "server", settings) as server:
        for wrong in ("", "another-token") if chroma.is_old else ():
            store = ChromaStore(session, ChromaAddress(host="127.0.0.1", port=server.port, token=wrong))
            assert (await failure(store.async_start())).problem is StoreProblem.REFUSED
        store = ChromaStore(session, ChromaAddress(host="127.0.0.1", port=server.port, token=TOKEN))
        await store.async_start()
        await store.async_create("things", MADE_BY)


# What goes over the wire


async def test_requests(chroma_stand_in: ChromaStandIn, session: aiohttp.ClientSession) -> None:
    """Token, tenant and database; a collection that ranks by the angle; batches as the server wants them."""
    chroma_stand_in.max_batch_size = 7
    address = {"tenant": "our house", "database": "a/b", "token": f" {TOKEN}\n"}
    store = store_at(session, chroma_stand_in, **address)
    await store.async_start()
    await store.async_create("things", MADE_BY)
    many = [Entry(id=str(number), text="", vector=VECTOR, content_hash="#") for number in range(20)]
    await store.async_upsert("things", many)
    await store.async_delete("things", [entry.id for entry in many])
    await store.async_search("things", VECTOR, 3)
    asked = chroma_stand_in.requests
    for request in asked:
        assert request.headers["x-chroma-token"] == TOKEN
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert TOKEN not in request.path + request.query
    assert asked[0].path == "/api/v2/tenants/our%20house/databases/a%2Fb"
    (made,) = [
        request.json
        for request in asked
        if request.method == "POST" and request.path.endswith("/collections")
    ]
    assert made == {
        "name": "things",
        "metadata": {"hnsw:space": "cosine", "home_agent:fingerprint": MADE_BY},
        "get_or_create": True,
    }
    for verb in ("upsert", "delete"):
        sizes = [len(request.json["ids"]) for request in asked if request.path.endswith(f"/{verb}")]
        assert sizes == [7, 7, 6]
    assert asked[-1].json == {
        "query_embeddings": [[1.0, 0.0, 0.0]],
        "n_results": 3,
        "include": ["documents", "metadatas", "distances"],
    }
    assert TOKEN not in repr(ChromaAddress(host="h", token=TOKEN))


# Faults that a stand-in plays


def says(status: int, kind: str, message: str) -> Reply:
    """Answer with an error as Chroma does."""
    return Reply(status=status, body=json.dumps({"error": kind, "message": message}).encode())


ERRORS = {
    "proxy key": (replies.html(401), StoreProblem.REFUSED),
    "0.6 gone": (says(400, "InvalidCollection", "Collection x does not exist."), StoreProblem.MISSING),
    "1.0 gone": (says(404, "NotFoundError", "Collection [x] does not exists"), StoreProblem.MISSING),
    "0.6 dimension": (
        says(400, "InvalidDimension", "Embedding dimension 2 does not match collection dimensionality 3"),
        StoreProblem.DIMENSION,
    ),
    "400": (says(400, "InvalidArgumentError", "Expected IDs to be unique"), StoreProblem.INVALID),
    "read-only": (
        says(500, "InternalError", "error returned from database: attempt to write a readonly database"),
        StoreProblem.REFUSED,
    ),
    "500": (says(500, "InternalError", "KeyError('x')"), StoreProblem.UNAVAILABLE),
    "503": (replies.html(503), StoreProblem.UNAVAILABLE),
    "redirect": (
        Reply(status=302, headers={"Location": "https://elsewhere"}, body=b""),
        StoreProblem.INVALID,
    ),
    "reset": (replies.reset(), StoreProblem.UNAVAILABLE),
    "hang": (replies.hang(), StoreProblem.UNAVAILABLE),
    "echo": (says(400, "ValueError", f"bad header {TOKEN}"), StoreProblem.INVALID),
}


WORKS: list[tuple[str, Callable[[ChromaStore], Awaitable[object]]]] = [
    ("/query", lambda store: store.async_search("things", VECTOR, 1)),
    ("/get", lambda store: store.async_hashes("things")),
    ("/upsert", lambda store: store.async_upsert("things", [ENTRY])),
    ("/delete", lambda store: store.async_delete("things", ["a"])),
    ("/collections", lambda store: store.async_collections()),
]


async def test_errors(
    chroma_stand_in: ChromaStandIn,
    session: aiohttp.ClientSession,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    """Each fault is one problem with a short sentence, in every request; afterwards everything works."""
    monkeypatch.setattr(chroma, "MAX_ANSWER", 1000)
    for fault, (reply, problem) in ERRORS.items():
        with subtests.test(fault):
            monkeypatch.setattr(chroma, "SECONDS", 0.1 if fault == "hang" else 30)
            store = store_at(session, chroma_stand_in, token=TOKEN)
            await store.async_start()
            for ending, work in WORKS:
                chroma_stand_in.on(ending, reply)
                assert (await failure(work(store))).problem is problem, ending
                chroma_stand_in.clear()
            monkeypatch.setattr(chroma, "SECONDS", 30)
            for _, work in WORKS:
                await work(store)


ODD_ANSWERS: list[Any] = [
    None,
    "text",
    {"ids": None},
    {"ids": [["a"]], "documents": [["x"]], "metadatas": [[None]], "distances": [["far"]]},
    {"ids": [["a", "b"]], "documents": [["x"]], "metadatas": [[None]], "distances": [[0.1, 0.2]]},
    {"ids": [["a"]], "documents": [["x"]], "metadatas": [["text"]], "distances": [[0.1]]},
    [{"name": "no id"}],
    {"id": 1, "name": "things", "metadata": 7},
]


async def test_odd_answers(
    chroma_stand_in: ChromaStandIn, session: aiohttp.ClientSession, subtests: pytest.Subtests
) -> None:
    """Whatever a server answers, it is a VectorStoreError or a result."""
    for answer in ODD_ANSWERS:
        with subtests.test(answer=answer):
            reply = Reply(body=json.dumps(answer).encode())
            for ending in ("/query", "/get", "/collections", "/things", "/pre-flight-checks", "/count"):
                chroma_stand_in.clear()
                chroma_stand_in.on(ending, reply)
                store = store_at(session, chroma_stand_in)
                for work in (
                    store.async_start(),
                    store.async_collections(),
                    store.async_hashes("things"),
                    store.async_search("things", VECTOR, 1),
                    store.async_upsert("things", [ENTRY]),
                    store.async_create("things", MADE_BY),
                ):
                    try:
                        await work
                    except VectorStoreError as err:
                        assert err.problem is StoreProblem.INVALID  # noqa: PT017 - not every answer is one
            chroma_stand_in.clear()
