"""A fact said in one life of Home Assistant is in a request of the next one, in every mode."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
import json
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockUser,
    async_fire_time_changed,
    async_test_home_assistant,
)

from custom_components.home_agent.const import DOMAIN
from homeassistant import loader
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import frame
from homeassistant.setup import async_setup_component
from tests.helpers.agent import IDLE_SECONDS, Agent, async_add_agent
from tests.helpers.embeddings import understanding
from tests.helpers.extraction_notes import asks_for_notes
from tests.helpers.household import async_furnish
from tests.helpers.indexed import embedded, embedding_options
from tests.helpers.real_files import hass_storage  # noqa: F401 - fixtures
from tests.helpers.remembering import remember_much
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import text, tool_calls

FACT = "Anna needs a reading lamp beside her armchair"
IN_WORDS = "Where does Anna need a reading lamp?"
IN_MEANING = {
    "none": (),
    "builtin": ("It is too gloomy for my novel",),
    "openai": ("My novel is thrilling",),
}
"""Share no word with the fact; the embedders know what they mean."""
ANNA = "a" * 32
PEOPLE = [{"id": "p-anna", "name": "Anna", "user_id": ANNA}]
WEAK = 0.4
"""An importance with which a memory is shown only to a sentence that it fits."""


@asynccontextmanager
async def a_life(folder: Path, freezer: FrozenDateTimeFactory) -> AsyncGenerator[HomeAssistant]:
    """Start Home Assistant on a folder, and stop it as somebody who restarts it does."""
    async with async_test_home_assistant(config_dir=str(folder)) as hass:
        frame.async_setup(hass)
        hass.data.pop(loader.DATA_CUSTOM_COMPONENTS)
        MockUser(id=ANNA, name="Anna").add_to_hass(hass)
        for component, config in (
            ("homeassistant", {}),
            ("person", {"person": PEOPLE}),
            ("conversation", {}),
        ):
            assert await async_setup_component(hass, component, config)
        try:
            yield hass
        finally:
            freezer.tick(timedelta(seconds=1))  # ids are ordered by the clock
            await hass.async_stop(force=True)


async def begin(hass: HomeAssistant, server: ModelServer, options: dict[str, Any]) -> Agent:
    """Set up a house and an agent for the first time, kept on the disk as Home Assistant keeps it."""
    await async_furnish(hass)
    agent = await async_add_agent(hass, server, options)
    hass.config_entries._async_schedule_save()
    return agent


async def go_on(hass: HomeAssistant, server: ModelServer) -> Agent:
    """Set up what the disk says was there."""
    await hass.config_entries.async_initialize()
    (entry,) = hass.config_entries.async_entries(DOMAIN)
    assert not isinstance(entry, MockConfigEntry)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    server.clear()
    return Agent(hass, entry, server)  # type: ignore[arg-type]


async def by_tool(agent: Agent, _freezer: FrozenDateTimeFactory) -> None:
    """Say a fact that the model stores at once."""
    store = ("store_memory", {"content": FACT, "importance": WEAK})
    agent.server.script([tool_calls([store]), text("I will remember it.")])
    await agent.say(f"Remember: {FACT}", context=Context(user_id=ANNA))


async def by_extraction(agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    """Say a fact that the model notes when nobody speaks any more."""
    note = {"content": FACT, "type": "fact", "importance": WEAK, "about": "speaker"}
    agent.server.on(asks_for_notes, text(json.dumps({"memories": [note]})))
    agent.server.script([text("I see.")])
    await agent.say("I need a reading lamp beside my armchair", context=Context(user_id=ANNA))
    freezer.tick(timedelta(seconds=IDLE_SECONDS + 1))
    async_fire_time_changed(agent.hass)
    await agent.hass.async_block_till_done(wait_background_tasks=True)


@pytest.mark.slow
@pytest.mark.parametrize("expected_lingering_timers", [True])  # of entries, which a stop does not unload
@pytest.mark.parametrize("learn", [by_tool, by_extraction])
@pytest.mark.parametrize("embedder", ["none", "builtin", "openai"])
@pytest.mark.parametrize("mode", ["direct", "vector_db"])
async def test_said_once_and_known_after_a_restart(
    model_server: ModelServer,
    other_model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    tmp_path: Path,
    mode: str,
    embedder: str,
    learn: Any,
    expected_lingering_timers: bool,
) -> None:
    """In another conversation, beside the sentence that it fits; nothing is embedded a second time."""
    other_model_server.on(on_path("/embeddings"), understanding)
    options = {"context_mode": mode, "vector_db_embedding_provider": embedder}
    if embedder == "openai":
        options = embedding_options(other_model_server, context_mode=mode)
    async with a_life(tmp_path, freezer) as hass:
        first = await begin(hass, model_server, options)
        await learn(first, freezer)
        (memory,) = first.entry.runtime_data.memories.all()
        assert (memory.content, memory.person, memory.importance) == (FACT, "p-anna", WEAK)
        await remember_much(first)
        before = set(first.entry.runtime_data.shared.history._entries.get(first.entry.entry_id, ()))
    model_server.clear()
    other_model_server.requests.clear()
    async with a_life(tmp_path, freezer) as hass:
        agent = await go_on(hass, model_server)
        assert agent.entry.entry_id == first.entry.entry_id
        for sentence in (IN_WORDS, *IN_MEANING[embedder]):
            await asked(agent, sentence, before)
        await agent.say("What is the weather like?", context=Context(user_id="b" * 32))
        assert FACT not in str(agent.server.chats[-1].messages)
    outside = embedded(other_model_server)
    assert bool(outside) is (embedder == "openai")
    assert not [one for one in outside if FACT in one]


async def asked(agent: Agent, sentence: str, before: set[str]) -> None:
    """Ask in a new conversation and look at what the model was told."""
    agent.server.script([text("There you are.")])
    result = await agent.say(sentence, context=Context(user_id=ANNA))
    assert result.conversation_id not in before
    system, *_, newest = agent.server.chats[-1].messages
    assert f'- "{FACT}"' in newest["content"], sentence
    assert FACT not in system["content"]
