"""What a household sees of its agent: counters, the number of memories, whether the server answers."""

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.const import DOMAIN
from homeassistant.const import Platform
from homeassistant.core import Context, HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from tests.helpers.agent import Agent, async_agent
from tests.helpers.pauses import everything, pause
from tests.servers.model_server import ModelServer
from tests.servers.replies import reset, status, text, tool_calls

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})


def entity_id_of(agent: Agent, key: str, platform: str = Platform.SENSOR) -> str:
    found = er.async_get(agent.hass).async_get_entity_id(platform, DOMAIN, f"{agent.entry.entry_id}_{key}")
    assert found is not None
    return found


def shown(agent: Agent, key: str, platform: str = Platform.SENSOR) -> State:
    state = agent.hass.states.get(entity_id_of(agent, key, platform))
    assert state is not None
    return state


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    agent = await async_agent(hass, model_server)
    registry = er.async_get(hass)
    for entry in er.async_entries_for_config_entry(registry, agent.entry.entry_id):
        registry.async_update_entity(entry.entity_id, disabled_by=None)
    await reload(agent)
    model_server.default = text("Yes.", usage=(100, 20, 60))
    return agent


async def reload(agent: Agent) -> None:
    assert await agent.hass.config_entries.async_reload(agent.entry.entry_id)
    await agent.hass.async_block_till_done(wait_background_tasks=True)


async def test_the_number_of_memories(agent: Agent) -> None:
    """It follows each added or deleted memory, and is removed with the option."""
    assert shown(agent, "memories").state == "0"
    calls = agent.hass.services.async_call
    added = await calls(
        DOMAIN, "add_memory", {"content": "The pond is deep"}, blocking=True, return_response=True
    )
    await agent.hass.async_block_till_done()
    assert shown(agent, "memories").state == "1"
    await calls(DOMAIN, "delete_memory", added, blocking=True)
    await agent.hass.async_block_till_done()
    assert shown(agent, "memories").state == "0"
    entity_id = entity_id_of(agent, "memories")
    await agent.set_options(memory_enabled=False)
    assert agent.hass.states.get(entity_id) is None


async def test_whether_the_server_answers(agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    """The first request that fails changes the state, and so does the first one that works."""
    assert shown(agent, "server", Platform.BINARY_SENSOR).state == "on"
    agent.server.on(everything, reset())
    await agent.say("Is it warm?")
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    assert shown(agent, "server", Platform.BINARY_SENSOR).state == "off"
    agent.server.clear()
    await pause(agent.hass, freezer, 120)
    assert shown(agent, "server", Platform.BINARY_SENSOR).state == "on"


async def test_events_carry_the_context_of_the_request(
    hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser
) -> None:
    """Each event of a turn and the state that it changed go back to the same request."""
    agent = await async_agent(hass, model_server)
    events = {
        name: async_capture_events(hass, f"{DOMAIN}.{name}")
        for name in ("conversation.started", "tool.progress", "tool.executed", "conversation.finished")
    }
    events["context.injected"] = async_capture_events(hass, f"{DOMAIN}.context.injected")
    model_server.script([tool_calls([ON]), text("On.")])
    context = Context(user_id=hass_admin_user.id)
    await agent.say("Turn on the kitchen ceiling", context=context)
    assert {name: {event.context.id for event in found} for name, found in events.items()} == {
        name: {context.id} for name in events
    }
    model_server.script([status(400)] * 4)
    errors = async_capture_events(hass, f"{DOMAIN}.error")
    await agent.set_options(local_fallback_enabled=False)
    failing = Context()
    await agent.say("Turn it off", context=failing)
    assert [event.context.id for event in errors] == [failing.id]
