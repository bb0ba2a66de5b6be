"""What models are offered of ha_control, and results that are true: steps, limits, what has no effect."""

from typing import Any

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.demo_house import async_demo_house
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    await async_demo_house(hass)
    return await async_add_agent(hass, model_server, {"memory_extraction_enabled": False})


async def call(hass: HomeAssistant, service: str, entity_id: str, **data: Any) -> None:
    """Call a service as somebody else would."""
    domain, name = service.split(".")
    await hass.services.async_call(domain, name, {"entity_id": entity_id, **data}, blocking=True)
    await hass.async_block_till_done()


async def test_a_step_is_felt_and_never_turns_off(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    """The larger of the device's own step and what people notice; what is low is halved."""
    for service, start, entity_id, action, attribute, after in [
        ("fan.set_percentage", {"percentage": 50}, "fan.office", "increase", "percentage", 60),
        ("fan.set_percentage", {"percentage": 50}, "fan.office", "decrease", "percentage", 40),
        ("light.turn_on", {"brightness_pct": 30}, "light.bathroom", "increase", "brightness", 128),
        ("light.turn_on", {"brightness_pct": 20}, "light.bathroom", "decrease", "brightness", 26),
        ("climate.set_temperature", {"temperature": 20}, "climate.bedroom", "increase", "temperature", 20.5),
        (
            "media_player.volume_set",
            {"volume_level": 0.4},
            "media_player.living_room_speaker",
            "increase",
            "volume_level",
            0.5,
        ),
        (
            "media_player.volume_set",
            {"volume_level": 0.1},
            "media_player.living_room_speaker",
            "decrease",
            "volume_level",
            0.05,
        ),
    ]:
        with subtests.test(service=service, start=start):
            await call(hass, service, entity_id, **start)
            result = await agent.call("ha_control", entity_id=entity_id, action=action)
            assert entity_id in result["result"]["done"]
            assert hass.states.get(entity_id).attributes[attribute] == after


async def test_a_value_that_a_lamp_does_not_have_is_named(hass: HomeAssistant, agent: Agent) -> None:
    """The rest is done: alone it is turned on; among others a lamp that cannot be dimmed stays as it is."""
    alone = await agent.call("ha_control", entity_id="light.hallway", action="turn_on", brightness=40)
    assert alone == {
        "success": True,
        "result": {"done": {"light.hallway": "on"}, "notes": ["Hallway Light cannot be dimmed"]},
        "error": None,
    }
    both = await agent.call(
        "ha_control",
        entity_id=["light.bathroom", "light.worktop"],
        action="turn_on",
        brightness=40,
        color_temp=2700,
    )
    assert both["result"] == {
        "done": {"light.bathroom": "on, 40%"},
        "failed": {"light.worktop": "cannot be dimmed"},
        "notes": ["Bathroom Light has no colour temperature"],
    }
    assert both["error"] == "Worktop Lights cannot be dimmed"
    assert hass.states.get("light.worktop").state == "off"
    plug = await agent.call("ha_control", entity_id="switch.coffee_machine", action="turn_on", brightness=40)
    assert plug["result"]["done"] == {"switch.coffee_machine": "on"}
    assert plug["result"]["notes"] == ["Coffee Machine has no brightness"]


async def test_what_was_done_is_told_in_percent(hass: HomeAssistant, agent: Agent) -> None:
    """Neither of 255 nor of 1."""
    await call(hass, "light.turn_on", "light.bathroom", brightness=26)
    dimmed = ("ha_control", {"action": "turn_on", "entity_id": "light.bathroom", "brightness": 30})
    agent.server.script([tool_calls([dimmed]), text("Okay.")])
    first = await agent.say("Do that")
    agent.server.script([tool_calls([("activity", {"action": "list"})]), text("Okay.")])
    await agent.say("What did you do?", conversation_id=first.conversation_id)
    (row,) = agent.results[-1]["result"]["newest_first"]
    assert row["to"] == {"light.bathroom": {"state": "on", "brightness": "10% -> 30%"}}


def offered(request: Any) -> dict[str, Any]:
    """Return the slots of ha_control that a request offers."""
    tools = {tool["function"]["name"]: tool["function"] for tool in request.json["tools"]}
    slots: dict[str, Any] = tools["ha_control"]["parameters"]["properties"]
    return slots


async def slots_offered(agent: Agent) -> dict[str, Any]:
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
    slots = await slots_offered(agent)
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
    first = await slots_offered(agent)
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.hallway"}, blocking=True)
    await hass.services.async_call("lock", "unlock", {"entity_id": "lock.front_door"}, blocking=True)
    assert await slots_offered(agent) == first
    async_expose_entity(hass, "conversation", "lock.front_door", False)
    assert {"lock", "unlock"} & set((await slots_offered(agent))["action"]["enum"]) == set()


async def test_a_field_for_each_kind_of_value(hass: HomeAssistant, agent: Agent) -> None:
    """Short choices are listed, long ones are not."""
    await set_up(hass, "input_select", {"mode": {"options": ["Party", "Quiet"]}})
    slots = await slots_offered(agent)
    assert slots["option"] == {"type": "string", "enum": ["Party", "Quiet"]}
    await hass.services.async_call(
        "input_select",
        "set_options",
        {"entity_id": "input_select.mode", "options": [f"Station number {number}" for number in range(9)]},
        blocking=True,
    )
    await set_up(hass, "input_number", {"limit": {"min": 0, "max": 9}})
    await set_up(hass, "input_text", {"note": {}})
    slots = await slots_offered(agent)
    assert slots["option"] == {"type": "string"}
    assert slots["value"] == {"type": "string"}, "a number or a text"


async def test_a_call_as_offered_needs_no_repair(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    """Values beside the target reach the service, and the call counts as right at the first try."""
    for args, entity_id, attribute, value in [
        ({"action": "turn_on", "brightness": 40}, "light.bathroom", "brightness", 102),
        ({"action": "turn_on", "color": "blue"}, "light.sofa_strip", "hs_color", (240, 100)),
        ({"action": "set_value", "temperature": 20}, "climate.bedroom", "temperature", 20),
        ({"action": "set_value", "position": 40}, "cover.living_room_blinds", "current_position", 40),
        ({"action": "set_value", "percentage": 30}, "fan.office", "percentage", 30),
        ({"action": "set_value", "volume": 30}, "media_player.living_room_speaker", "volume_level", 0.3),
    ]:
        with subtests.test(args=args, entity_id=entity_id):
            await hass.services.async_call(
                "homeassistant", "turn_on", {"entity_id": entity_id}, blocking=True
            )
            agent.server.script(
                [tool_calls([("ha_control", {**args, "entity_id": [entity_id]})]), text("Okay.")]
            )
            await agent.say("Do that")
            (result,) = agent.results
            assert result["error"] is None
            assert hass.states.get(entity_id).attributes[attribute] == value
            turn = agent.entry.runtime_data.turn_log.short()[0]
            (call,) = agent.entry.runtime_data.turn_log.whole(turn["id"])["calls"]
            assert call["fit"] == "first_try"
