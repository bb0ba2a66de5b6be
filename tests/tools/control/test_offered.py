"""What models are offered of ha_control: the actions and values that some exposed entity supports."""

from typing import Any

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
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


def offered(request: Any) -> dict[str, Any]:
    """Return the slots of ha_control that a request offers."""
    tools = {tool["function"]["name"]: tool["function"] for tool in request.json["tools"]}
    slots: dict[str, Any] = tools["ha_control"]["parameters"]["properties"]
    return slots


async def asked(agent: Agent) -> dict[str, Any]:
    """Return the slots that a new request offers."""
    agent.server.script([text("It is.")])
    await agent.say("Is it?")
    return offered(agent.server.chats[-1])


async def set_up(hass: HomeAssistant, domain: str, config: dict[str, Any]) -> None:
    """Set up an integration with exposed entities."""
    assert await async_setup_component(hass, domain, {domain: config})
    await hass.async_block_till_done()
    for name in config:
        async_expose_entity(hass, "conversation", f"{domain}.{name}", True)


async def test_actions_of_the_home_without_synonyms(agent: Agent) -> None:
    """Only what some entity can do is offered, each action under one name."""
    slots = await asked(agent)
    actions = slots["action"]["enum"]
    assert actions == sorted(actions)
    assert {"turn_on", "open", "unlock", "set_value", "return_to_base"} <= set(actions)
    assert not {"volume_up", "activate", "set_temperature", "arm_away", "disarm", "press"} & set(actions)
    assert slots["brightness"] == {"type": "integer"}
    assert slots["temperature"] == {"type": "number"}
    assert slots["hvac_mode"] == {"type": "string", "enum": ["cool", "heat", "off"]}
    assert not {"option", "value", "duration", "humidity", "variables", "parameters"} & slots.keys()


async def test_the_same_bytes_until_exposure_changes(hass: HomeAssistant, agent: Agent) -> None:
    """A state changes nothing, a lock that is hidden takes its actions along."""
    first = await asked(agent)
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.hallway"}, blocking=True)
    await hass.services.async_call("lock", "unlock", {"entity_id": "lock.front_door"}, blocking=True)
    assert await asked(agent) == first
    async_expose_entity(hass, "conversation", "lock.front_door", False)
    assert {"lock", "unlock"} & set((await asked(agent))["action"]["enum"]) == set()


async def test_a_field_for_each_kind_of_value(hass: HomeAssistant, agent: Agent) -> None:
    """Short choices are listed, long ones are not."""
    await set_up(
        hass,
        "input_select",
        {"mode": {"options": ["Party", "Quiet"]}},
    )
    slots = await asked(agent)
    assert slots["option"] == {"type": "string", "enum": ["Party", "Quiet"]}
    await hass.services.async_call(
        "input_select",
        "set_options",
        {"entity_id": "input_select.mode", "options": [f"Station number {number}" for number in range(9)]},
        blocking=True,
    )
    await set_up(hass, "input_number", {"limit": {"min": 0, "max": 9}})
    await set_up(hass, "input_text", {"note": {}})
    slots = await asked(agent)
    assert slots["option"] == {"type": "string"}
    assert slots["value"] == {"type": "string"}, "a number or a text"


@pytest.mark.parametrize(
    ("args", "entity_id", "attribute", "value"),
    [
        ({"action": "turn_on", "brightness": 40}, "light.bathroom", "brightness", 102),
        ({"action": "turn_on", "color": "blue"}, "light.sofa_strip", "hs_color", (240, 100)),
        ({"action": "set_value", "temperature": 20}, "climate.bedroom", "temperature", 20),
        ({"action": "set_value", "position": 40}, "cover.living_room_blinds", "current_position", 40),
        ({"action": "set_value", "percentage": 30}, "fan.office", "percentage", 30),
        ({"action": "set_value", "volume": 30}, "media_player.living_room_speaker", "volume_level", 0.3),
    ],
)
async def test_a_call_as_offered_needs_no_repair(
    hass: HomeAssistant, agent: Agent, args: dict[str, Any], entity_id: str, attribute: str, value: Any
) -> None:
    """Values beside the target reach the service, and the call counts as right at the first try."""
    await hass.services.async_call("homeassistant", "turn_on", {"entity_id": entity_id}, blocking=True)
    agent.server.script([tool_calls([("ha_control", {**args, "entity_id": [entity_id]})]), text("Okay.")])
    await agent.say("Do that")
    (result,) = tool_results(agent.server.chats[-1])
    assert result["error"] is None
    assert hass.states.get(entity_id).attributes[attribute] == value
    turn = agent.entry.runtime_data.turn_log.short()[0]
    (call,) = agent.entry.runtime_data.turn_log.whole(turn["id"])["calls"]
    assert call["fit"] == "first_try"


async def test_a_device_class_is_a_domain(hass: HomeAssistant, agent: Agent) -> None:
    """There is one slot for kinds."""
    opening = ("ha_control", {"action": "open", "domain": "curtain"})
    agent.server.script([tool_calls([opening]), text("Okay.")])
    await agent.say("Open all curtains")
    assert hass.states.get("cover.bedroom_curtains").state in ("opening", "open")
    assert hass.states.get("cover.garage_door").state == "closed"
