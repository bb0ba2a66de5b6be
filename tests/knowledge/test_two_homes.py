"""Two Home Assistants on one Chroma database and one model server: nothing of the one reaches the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pytest_homeassistant_custom_component.common import async_test_home_assistant

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import frame
from homeassistant.loader import DATA_CUSTOM_COMPONENTS
from tests.helpers.agent import Agent, async_agent
from tests.helpers.indexed import embedding_options
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.servers.chroma import ChromaServer
from tests.servers.model_server import ModelServer
from tests.servers.replies import text


@asynccontextmanager
async def second_home(folder: Path) -> AsyncIterator[HomeAssistant]:
    """Run another Home Assistant beside the first one."""
    (folder / ".storage").mkdir(parents=True)
    async with async_test_home_assistant(config_dir=str(folder)) as hass:
        frame.async_setup(hass)
        hass.data.pop(DATA_CUSTOM_COMPONENTS, None)
        try:
            yield hass
        finally:
            await hass.async_stop(force=True)


async def remembered(agent: Agent) -> list[str]:
    """Return what an agent remembers."""
    answer: dict[str, Any] = await agent.hass.services.async_call(  # type: ignore[assignment]
        DOMAIN, "list_memories", {}, blocking=True, return_response=True
    )
    return [memory["content"] for memory in answer["memories"]]


async def remember(agent: Agent, content: str) -> None:
    """Have an agent remember something."""
    await agent.hass.services.async_call(DOMAIN, "add_memory", {"content": content}, blocking=True)
    await agent.hass.async_block_till_done(wait_background_tasks=True)


async def test_collections_memories_and_histories_stay_apart(
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    chroma: ChromaServer,
    tmp_path: Path,
) -> None:
    """With the same names of collections, which both would have by default."""
    address = chroma.new_database()
    options = embedding_options(
        other_model_server,
        vector_db_backend="chroma",
        vector_db_host=address.host,
        vector_db_port=address.port,
        vector_db_database=address.database,
        context_mode="vector_db",
        memory_extraction_enabled=False,
    )
    one = await async_agent(hass, model_server, options)
    async with second_home(tmp_path / "second") as other_hass:
        two = await async_agent(other_hass, model_server, options)
        await remember(one, "Anna likes green tea")
        await remember(two, "Zoe plays the cello")
        for agent in (one, two):
            await agent.hass.services.async_call(DOMAIN, "reindex_entities", blocking=True)
            await agent.hass.async_block_till_done(wait_background_tasks=True)

        found = {name: chroma.count(address, name) for name in chroma.names(address)}
        memories = {
            name: count for name, count in found.items() if name.startswith("home_agent_memories") and count
        }
        assert list(memories.values()) == [1, 1]
        homes = [count for name, count in found.items() if name.startswith("home_entities")]
        assert homes[::2] == homes[1::2] != []
        assert await remembered(one) == ["Anna likes green tea"]
        assert await remembered(two) == ["Zoe plays the cello"]

        model_server.script([text("Hello."), text("Good evening."), text("No idea.")])
        said = await one.say("My code word is rhubarb", context=Context())
        await two.say("What is the code word?", conversation_id=said.conversation_id)
        assert "rhubarb" not in str(model_server.chats[-1].messages)
        await two.say("What does Anna like to drink?")
        assert "green tea" not in str(model_server.chats[-1].messages)

        await other_hass.config_entries.async_remove(two.entry.entry_id)
        await other_hass.async_block_till_done(wait_background_tasks=True)
    await hass.services.async_call(DOMAIN, "reindex_entities", blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await remembered(one) == ["Anna likes green tea"]
    found = {name: chroma.count(address, name) for name in chroma.names(address)}
    assert found["home_agent_memories"] == 1
    assert found["home_entities"] > 0
    one.server.script([text("Green tea.")])
    await one.say("What does Anna like to drink?")
    assert "green tea" in str(model_server.chats[-1].messages)
    await hass.config_entries.async_unload(one.entry.entry_id)
