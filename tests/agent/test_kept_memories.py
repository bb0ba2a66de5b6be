"""Memories of agents that were removed: kept, given to another agent, or erased."""

from datetime import timedelta
import json
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from homeassistant.components.repairs import RepairsFlowManager
from homeassistant.components.repairs.const import DOMAIN as REPAIRS
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_add_agent, call_action
from tests.helpers.further import async_add_further
from tests.servers.model_server import ModelServer

FACT = "The bins go out on Tuesday"


async def remember(hass: HomeAssistant, agent_id: str, content: str = FACT) -> None:
    await call_action(hass, "add_memory", {"content": content, "config_entry_id": agent_id})


def stored(hass: HomeAssistant, agent_id: str) -> list[str]:
    shared = hass.data["home_agent"]
    return [memory.content for memory in shared.memories.of(agent_id).records()]


def asked(hass: HomeAssistant, agent_id: str) -> bool:
    """Return whether the household is asked about the memories of a removed agent."""
    return ir.async_get(hass).async_get_issue("home_agent", f"memories_kept_{agent_id}") is not None


async def answer(hass: HomeAssistant, agent_id: str, step: str, **typed: Any) -> dict[str, Any]:
    assert await async_setup_component(hass, REPAIRS, {})
    manager: RepairsFlowManager = hass.data[REPAIRS]["flow_manager"]
    flow = await manager.async_init("home_agent", data={"issue_id": f"memories_kept_{agent_id}"})
    assert flow["type"] is FlowResultType.MENU
    result = await manager.async_configure(flow["flow_id"], {"next_step_id": step})
    if typed:
        result = await manager.async_configure(flow["flow_id"], typed)
    await hass.async_block_till_done()
    return dict(result)


async def remove(hass: HomeAssistant, agent: Agent, subentry_id: str | None = None) -> None:
    if subentry_id is None:
        await hass.config_entries.async_remove(agent.entry.entry_id)
    else:
        hass.config_entries.async_remove_subentry(agent.entry, subentry_id)
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_a_shared_memory_stays(hass: HomeAssistant, agent: Agent) -> None:
    """Nothing is lost or asked when an agent goes that shared the household's memory."""
    guests = await async_add_further(hass, agent)
    await remember(hass, guests.agent_id)
    await remove(hass, agent, guests.agent_id)
    assert stored(hass, agent.entry.entry_id) == [FACT]
    assert not asked(hass, guests.agent_id)


async def test_memories_of_its_own_are_given_to_another(hass: HomeAssistant, agent: Agent) -> None:
    """The household is asked, and can give them to the first agent, which merges what it knows."""
    guests = await async_add_further(hass, agent, shared_memory=False)
    await remember(hass, guests.agent_id)
    await remember(hass, guests.agent_id, "The guests like tea")
    await remember(hass, agent.entry.entry_id)
    await remove(hass, agent, guests.agent_id)
    assert asked(hass, guests.agent_id)
    assert stored(hass, agent.entry.entry_id) == [FACT]
    await answer(hass, guests.agent_id, "later")
    assert asked(hass, guests.agent_id)
    result = await answer(hass, guests.agent_id, "give", agent=agent.entry.entry_id)
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert sorted(stored(hass, agent.entry.entry_id)) == [FACT, "The guests like tea"]
    assert stored(hass, guests.agent_id) == []
    assert not asked(hass, guests.agent_id)


async def test_erased_on_request_and_on_disk(
    hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any], agent: Agent
) -> None:
    """Erasing takes the memories from the file at once."""
    await async_add_agent(hass, model_server)
    old = agent.entry.entry_id
    await remember(hass, old)
    await remove(hass, agent)
    assert FACT in json.dumps(hass_storage["home_agent.memories"])
    await answer(hass, old, "erase")
    assert FACT not in json.dumps(hass_storage["home_agent.memories"])
    assert old not in json.dumps(hass_storage["home_agent.agents"])
    assert not asked(hass, old)


async def test_nothing_stays_without_a_connection(
    hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any], agent: Agent
) -> None:
    """With the last one all files go, and what an earlier one left; nothing would look after them later."""
    guests = await async_add_further(hass, agent, shared_memory=False)
    await remember(hass, guests.agent_id)
    await remember(hass, agent.entry.entry_id)
    await remove(hass, agent, guests.agent_id)
    assert asked(hass, guests.agent_id)
    await remove(hass, agent)
    assert not [key for key in hass_storage if key.startswith("home_agent")]
    assert not asked(hass, guests.agent_id)
    assert not asked(hass, agent.entry.entry_id)
    new = await async_add_agent(hass, model_server)
    assert new.entry.state is ConfigEntryState.LOADED
    assert stored(hass, agent.entry.entry_id) == stored(hass, guests.agent_id) == []


async def test_kept_for_thirty_days(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, agent: Agent
) -> None:
    """After that they are erased without a question."""
    guests = await async_add_further(hass, agent, shared_memory=False)
    await remember(hass, guests.agent_id)
    await remove(hass, agent, guests.agent_id)
    now = dt_util.utcnow()
    freezer.move_to(now + timedelta(days=29))
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert stored(hass, guests.agent_id) == [FACT]
    freezer.move_to(now + timedelta(days=31))
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert stored(hass, guests.agent_id) == []
    assert not asked(hass, guests.agent_id)
