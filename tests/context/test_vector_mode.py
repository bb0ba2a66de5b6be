"""Mode vector_db: entities found by meaning reach the request, hidden ones never; words answer without it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_CONTEXT_INJECTED
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.indexed import async_indexed, embedding_options, issues
from tests.servers.chroma import ChromaServer
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer, embedding, on_path
from tests.servers.replies import Reply, status, text

MEANINGS = {"thrilling": "lamp", "novel": "reading"}
"""What stands for what in the vectors of the scripted server, and in no word of the house."""


def understanding(request: Captured) -> Reply:
    """Return embeddings of a model that knows what words mean."""
    vectors = []
    for content in request.json["input"]:
        words = [MEANINGS.get(word, word) for word in content.lower().replace(",", " ").split()]
        vectors.append(embedding(" ".join(words), 256))
    return status(200, {"data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)]})


UNSAID = "My novel is thrilling"
NO_WORDS = {"vector_db_similarity_threshold": 0.2}

type Start = Callable[..., Awaitable[Agent]]


@pytest.fixture
def embedder(other_model_server: ModelServer) -> ModelServer:
    """Return a server whose embeddings know what words mean."""
    other_model_server.on(on_path("/embeddings"), understanding)
    return other_model_server


@pytest.fixture
async def start(
    hass: HomeAssistant, model_server: ModelServer, embedder: ModelServer, tmp_path: Path
) -> AsyncIterator[Start]:
    """Return what sets an agent up in vector mode; it is unloaded at the end."""
    started: list[Agent] = []

    async def start(**options: Any) -> Agent:
        chosen = embedding_options(embedder, **{"context_mode": "vector_db", **NO_WORDS, **options})
        model_server.default = text("I see.")
        started.append(await async_indexed(hass, model_server, chosen, tmp_path))
        return started[-1]

    yield start
    for agent in started:
        await hass.config_entries.async_unload(agent.entry.entry_id)


def told(agent: Agent) -> tuple[str, str]:
    """Return the system prompt and the newest message of the last request."""
    messages = agent.server.chats[-1].messages
    return messages[0]["content"], messages[-1]["content"]


async def test_what_is_meant_is_in_the_request(start: Start) -> None:
    """No word is shared; the entity stands beside the sentence with name, room, abilities and state."""
    agent = await start()
    events = async_capture_events(agent.hass, EVENT_CONTEXT_INJECTED)
    await agent.say(UNSAID)
    system, newest = told(agent)
    assert 'light.reading_lamp "Reading Lamp" in "Living Room"' in newest
    assert "light.reading_lamp" not in system
    assert "Living Room" in system
    (event,) = events
    assert event.data["mode"] == "vector_db"
    assert event.data["vector_db_query"] == UNSAID
    assert "light.reading_lamp" in event.data["entities_included"]


async def test_hidden_entities_never(start: Start) -> None:
    """One that was hidden after it was indexed is still in the store, and not in the request."""
    agent = await start()
    async_expose_entity(agent.hass, "conversation", "light.reading_lamp", False)
    await agent.say(UNSAID)
    assert "reading_lamp" not in agent.server.chats[-1].raw.decode()
    assert "Reading Lamp" not in agent.server.chats[-1].raw.decode()


async def test_the_threshold(start: Start) -> None:
    """What is further away is left out."""
    agent = await start(vector_db_similarity_threshold=0.95)
    await agent.say(UNSAID)
    assert "light.reading_lamp" not in told(agent)[1]


async def test_the_mode_can_be_changed(start: Start) -> None:
    """In direct mode the house is listed; the way back leads to rooms."""
    agent = await start()
    await agent.set_options(context_mode="direct")
    events = async_capture_events(agent.hass, EVENT_CONTEXT_INJECTED)
    await agent.say(UNSAID)
    assert "light.reading_lamp" in told(agent)[0]
    assert (events[0].data["mode"], events[0].data["vector_db_query"]) == ("direct", None)
    await agent.set_options(context_mode="vector_db")
    await agent.say(UNSAID)
    assert "light.reading_lamp" not in told(agent)[0]
    assert 'light.reading_lamp "Reading Lamp"' in told(agent)[1]


async def test_without_an_embedding_model(start: Start) -> None:
    agent = await start(vector_db_embedding_provider="none")
    await agent.say("Is the bed light on?")
    system, newest = told(agent)
    assert 'light.bed_light "Bed Light"' in newest
    assert "light.bed_light" not in system
    assert not issues(agent.hass)


async def test_on_a_real_chroma_server(start: Start, chroma: ChromaServer) -> None:
    agent = await start(vector_db_backend="chroma", vector_db_host="127.0.0.1", vector_db_port=chroma.port)
    await agent.say(UNSAID)
    assert 'light.reading_lamp "Reading Lamp"' in told(agent)[1]
