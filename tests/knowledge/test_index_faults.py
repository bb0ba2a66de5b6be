"""Faults of embedder and store: the turn is answered, an issue says so, and it goes by itself."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
import json
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_ERROR
from custom_components.home_agent.knowledge import semantic
from custom_components.home_agent.vector.chroma import ChromaAddress
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from tests.helpers.agent import Agent, speech
from tests.helpers.indexed import async_indexed, embedding_options, issues, later, settled
from tests.servers.chroma import ChromaServer
from tests.servers.chroma_between import ChromaBetween
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import Reply, hang, reset, status, text

type Break = Callable[[ModelServer], None]

QUESTION = "Is the reading lamp on?"
HOME = "home_entities"


@pytest.fixture
def embedder(other_model_server: ModelServer) -> ModelServer:
    """Return the server that makes the embeddings of the agent."""
    return other_model_server


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Do not wait long for what never comes."""
    if "hangs" in request.node.name:
        monkeypatch.setattr(semantic, "SEARCH_SECONDS", 0.2)
        monkeypatch.setattr(semantic, "TRY_SECONDS", 0.2)


type Indexed = Callable[..., AbstractAsyncContextManager[Agent]]


@pytest.fixture
def indexed(hass: HomeAssistant, model_server: ModelServer, embedder: ModelServer, tmp_path: Path) -> Indexed:
    """Return what sets up an agent that finds entities by meaning; it is unloaded at the end."""

    @asynccontextmanager
    async def start(**options: Any) -> AsyncIterator[Agent]:
        chosen = embedding_options(embedder, context_mode="vector_db", **options)
        agent = await async_indexed(hass, model_server, chosen, tmp_path)
        try:
            yield agent
        finally:
            await hass.config_entries.async_unload(agent.entry.entry_id)

    return start


async def found(agent: Agent, query: str = "reading lamp") -> list[str]:
    """Return what is found by meaning."""
    hits = await agent.entry.runtime_data.semantic.async_search(HOME, query, 3)
    await settled(agent.hass)
    return [hit.id for hit in hits]


async def answers(agent: Agent) -> None:
    """Ask, and check that the answer knew the entity's state all the same."""
    agent.server.script([text("It is off.")])
    assert speech(await agent.say(QUESTION)) == "It is off."
    assert "light.reading_lamp" in json.dumps(agent.server.chats[-1].messages)
    await settled(agent.hass)


def exceptions(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the exceptions in the log, but for those of the camera integration, which misses a library."""
    return [record.message for record in caplog.records if record.exc_info and "camera" not in record.name]


def answer_with(reply: Reply) -> Break:
    """Break an embedder by such an answer."""
    return lambda server: server.on(on_path("/embeddings"), reply)


def vectors(*rows: list[float]) -> Reply:
    """Return an answer of an embedding server."""
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    return status(200, {"object": "list", "data": data, "model": "words"})


EMBEDDER_FAULTS: dict[str, tuple[Break, str]] = {
    "resets": (answer_with(reset()), "embedder_unavailable"),
    "hangs": (answer_with(hang()), "embedder_unavailable"),
    "401": (answer_with(status(401)), "embedder_refused"),
    "wrong count": (answer_with(vectors([1.0] * 256, [1.0] * 256)), "embedder_unavailable"),
}


@pytest.mark.parametrize("fault", EMBEDDER_FAULTS)
async def test_embedder(
    hass: HomeAssistant, indexed: Indexed, embedder: ModelServer, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    """An embedder that fails costs the meaning, not the answer; what changed meanwhile is not lost."""
    breaks, issue = EMBEDDER_FAULTS[fault]
    errors = async_capture_events(hass, EVENT_ERROR)
    async with indexed() as agent:
        assert "light.reading_lamp" in await found(agent)
        breaks(embedder)
        await answers(agent)
        assert issues(hass) == {issue}
        assert [event.data["component"] for event in errors] == ["index"]
        er.async_get(hass).async_update_entity("light.bed_light", name="Moonbeam")
        await later(hass)
        assert issues(hass) == {issue}
        await answers(agent)
        embedder.clear()
        await later(hass)
        assert not issues(hass)
        await later(hass)
        assert "light.bed_light" in await found(agent, "Moonbeam")
    assert not exceptions(caplog)


async def test_embedder_gone_at_the_start(
    hass: HomeAssistant, indexed: Indexed, embedder: ModelServer
) -> None:
    """Its machine starts after Home Assistant: the house is indexed when it is there."""
    port = embedder.port
    embedder.stop()
    async with indexed() as agent:
        await answers(agent)
        assert issues(hass) == {"embedder_unavailable"}
        with ModelServer(port):
            await later(hass)
            assert not issues(hass)
            assert "light.reading_lamp" in await found(agent)


async def test_another_dimension(hass: HomeAssistant, indexed: Indexed, embedder: ModelServer) -> None:
    """Where the model is replaced under its name, everything is embedded anew, in the background."""
    async with indexed() as agent:
        embedder.dimensions = 128
        await answers(agent)
        assert "light.reading_lamp" in await found(agent)
        assert not issues(agent.hass)


def chroma_options(chroma: ChromaServer, port: int | None = None) -> dict[str, Any]:
    """Return the options of a store in a database of its own."""
    return {
        "vector_db_backend": "chroma",
        "vector_db_host": "127.0.0.1",
        "vector_db_port": port or chroma.port,
        "vector_db_database": chroma.new_database().database,
    }


async def test_chroma_down_in_use(
    hass: HomeAssistant,
    indexed: Indexed,
    chroma: ChromaServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A real server goes away and comes back."""
    async with indexed(**chroma_options(chroma)) as agent:
        assert "light.reading_lamp" in await found(agent)
        chroma.stop()
        try:
            await answers(agent)
            assert issues(hass) == {"vector_store_unavailable"}
            er.async_get(hass).async_update_entity("light.bed_light", name="Moonbeam")
            await later(hass)
        finally:
            chroma.start()
        await later(hass)
        assert not issues(hass)
        await later(hass)
        assert "light.bed_light" in await found(agent, "Moonbeam")
    assert not exceptions(caplog)


async def test_chroma_collection_gone(hass: HomeAssistant, indexed: Indexed, chroma: ChromaServer) -> None:
    """Somebody deleted the collection: it is made again."""
    options = chroma_options(chroma)
    async with indexed(**options) as agent:
        database = f"/tenants/default_tenant/databases/{options['vector_db_database']}"
        chroma.ask("DELETE", f"{database}/collections/{HOME}")
        await answers(agent)
        assert "light.reading_lamp" in await found(agent)
        assert not issues(hass)


async def test_chroma_takes_offence(
    hass: HomeAssistant, indexed: Indexed, chroma: ChromaServer, chroma_between: ChromaBetween
) -> None:
    """It answers, but not to searches."""
    async with indexed(**chroma_options(chroma, chroma_between.port)) as agent:
        for code, issue in (
            (400, "vector_store_unavailable"),
            (401, "vector_store_refused"),
            (500, "vector_store_unavailable"),
        ):
            assert "light.reading_lamp" in await found(agent)
            chroma_between.refuses["/query"] = code
            await answers(agent)
            await later(hass)
            await answers(agent)
            assert issues(hass) == {issue}, code
            chroma_between.refuses.clear()
            await later(hass)
            assert not issues(hass)


async def test_chroma_read_only(
    hass: HomeAssistant, indexed: Indexed, chroma: ChromaServer, chroma_between: ChromaBetween
) -> None:
    """A server that takes nothing is searched as before; what could not be written is written later."""
    async with indexed(**chroma_options(chroma, chroma_between.port)) as agent:
        chroma_between.refuses |= {"/upsert": 403, "/delete": 403, "/add": 403}
        er.async_get(hass).async_update_entity("light.bed_light", name="Moonbeam")
        await settled(hass)
        await later(hass, 30)
        assert issues(hass) == {"vector_store_unwritable"}
        assert "light.reading_lamp" in await found(agent)
        async_expose_entity(hass, "conversation", "light.reading_lamp", False)
        chroma_between.refuses.clear()
        await later(hass)
        await later(hass)
        assert not issues(hass)
        assert "light.bed_light" in await found(agent, "Moonbeam")
        assert "light.reading_lamp" not in await found(agent)


async def test_a_collection_of_another_embedder(
    hass: HomeAssistant, indexed: Indexed, embedder: ModelServer, chroma: ChromaServer
) -> None:
    """One that nobody here fills cannot be searched, which is said until it can."""
    options = chroma_options(chroma) | {"additional_collections": ["manuals"]}
    address = ChromaAddress(host="127.0.0.1", port=chroma.port, database=options["vector_db_database"])
    entries = {"ids": ["1"], "documents": ["boiler"], "embeddings": [[1, 0, 0]], "metadatas": [None]}
    chroma.fill(address, "manuals", entries)
    async with indexed(**options) as agent:
        await answers(agent)
        assert issues(hass) == {"collection_mismatch"}
        embedder.dimensions = 3
        await found(agent, "something else")
        await later(hass)
        await answers(agent)
        assert not issues(hass)
