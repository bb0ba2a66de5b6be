"""What a model reads where a target or a value is not clear: the nearest first, and how many more."""

from typing import Any

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.demo_house import async_demo_house
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


@pytest.fixture(autouse=True)
def expected_lingering_timers() -> bool:
    """The demo house has automations that wait for a time of day."""
    return True


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent in the demo house."""
    await async_demo_house(hass)
    return await async_add_agent(hass, model_server, {"memory_extraction_enabled": False})


async def error(agent: Agent, sentence: str, **args: Any) -> str:
    """Return what the model reads of a call that does not fit."""
    agent.server.script([tool_calls([("ha_control", args)]), text("Which one?")])
    await agent.say(sentence)
    result = tool_results(agent.server.chats[-1])[-1]
    assert result["success"] is False
    return str(result["error"])


async def test_lamps_come_first_for_the_lamp(agent: Agent) -> None:
    """Not the first lights of the alphabet, and apostrophes stay."""
    told = await error(agent, "Turn on the lamp", action="turn_on", domain="light")
    assert told.startswith("Which ones? Give area or entity_id: light.bedside_anna (Anna's Bedside Lamp, ")
    assert "light.bedside_tom (Tom's Bedside Lamp" in told
    assert told.index("light.reading_lamp") < told.index("light.bathroom")
    assert "+11 more" in told


async def test_an_invented_id_finds_the_device_in_it(agent: Agent) -> None:
    """The hallway light comes before all lamps."""
    told = await error(agent, "Turn on the hallway light", action="turn_on", entity_id="light.hall_way_lamp")
    assert "Nearest: light.hallway (Hallway Light" in told


async def test_an_id_that_is_the_name_of_a_room(hass: HomeAssistant, agent: Agent) -> None:
    """It does not find the thermostat whose id is the name of the room."""
    call = {"action": "turn_off", "entity_id": "light.living_room"}
    agent.server.script([tool_calls([("ha_control", call)]), text("It is off.")])
    await agent.say("Turn off the light in the living room")
    assert hass.states.is_state("light.living_room_ceiling", "off")
    assert hass.states.is_state("climate.living_room", "heat")
