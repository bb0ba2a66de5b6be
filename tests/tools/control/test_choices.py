"""Numbers and choices set as people say them, by real helpers."""

from typing import Any

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.servers.model_server import ModelServer

MODES = ["Eco Mode", "Comfort plus", "Automatic", "Off"]
WASHES = ["Cotton 40", "Cotton 60", "Wool"]
HELPERS: dict[str, dict[str, Any]] = {
    "input_select": {
        "boiler": {"name": "Boiler Mode", "options": MODES, "initial": "Off"},
        "wash": {"name": "Washing Program", "options": WASHES, "initial": "Wool"},
    },
    "input_number": {"limit": {"name": "Charge Limit", "min": 20, "max": 100, "step": 5, "initial": 50}},
}


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    for integration in ("homeassistant", "conversation"):
        assert await async_setup_component(hass, integration, {})
    for domain, config in HELPERS.items():
        assert await async_setup_component(hass, domain, {domain: config})
        for name in config:
            async_expose_entity(hass, "conversation", f"{domain}.{name}", True)
    await hass.async_block_till_done()
    return (await async_add_agent(hass, model_server)).at_satellite()


async def test_set_and_undone(hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests) -> None:
    """Choices by a part of their name, numbers with units and steps; undo restores them."""
    for args, state in [
        ({"action": "set_value", "entity_id": "input_select.boiler", "option": "eco"}, "Eco Mode"),
        ({"action": "select_option", "name": "Boiler Mode", "option": "comfort"}, "Comfort plus"),
        ({"action": "set_value", "name": "boiler mode", "parameters": {"mode": "auto"}}, "Automatic"),
        (
            {"action": "set_value", "entity_id": "input_select.boiler", "value": "COMFORT PLUS"},
            "Comfort plus",
        ),
        ({"action": "next", "entity_id": "input_select.boiler"}, "Eco Mode"),
        ({"action": "set_value", "entity_id": "input_select.wash", "option": "60"}, "Cotton 60"),
        ({"action": "set_value", "entity_id": "input_number.limit", "value": "80 %"}, "80.0"),
        ({"action": "set_value", "name": "charge limit", "parameters": {"value": "80"}}, "80.0"),
        ({"action": "increase", "entity_id": "input_number.limit"}, "55.0"),
        ({"action": "decrease", "entity_id": "input_number.limit", "step": 20}, "30.0"),
    ]:
        with subtests.test(args=args, state=state):
            before = {entity.entity_id: entity.state for entity in hass.states.async_all([*HELPERS])}
            result = await agent.call("ha_control", "Set it", **args)
            assert result["success"], result
            (entity_id,) = result["result"]["done"]
            assert hass.states.get(entity_id).state == state
            await agent.act(("activity", {"action": "undo"}), sentence="Undo that")
            assert hass.states.get(entity_id).state == before[entity_id]


async def test_the_error_names_what_there_is(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    """Nothing is guessed, and nothing is set."""
    for args, problem in [
        (
            {"action": "set_value", "entity_id": "input_select.boiler", "option": "turbo"},
            "is not one of Eco Mode, Comfort plus, Automatic, Off",
        ),
        (
            {"action": "set_value", "entity_id": "input_select.wash", "option": "cotton"},
            "Cotton 40, Cotton 60",
        ),
        ({"action": "set_value", "entity_id": "input_number.limit", "value": 10}, "allowed 20"),
        ({"action": "set_value", "entity_id": "input_number.limit", "value": 120}, "allowed 20"),
    ]:
        with subtests.test(args=args, problem=problem):
            before = [entity.state for entity in hass.states.async_all([*HELPERS])]
            result = await agent.call("ha_control", "Set it", **args)
            assert problem in result["error"]
            assert [entity.state for entity in hass.states.async_all([*HELPERS])] == before


async def test_a_number_with_a_unit(hass: HomeAssistant, agent: Agent) -> None:
    """Small models give degrees as a temperature and percent as a percentage."""
    for slot in ("temperature", "percentage"):
        hass.states.async_set("input_number.limit", "50", hass.states.get("input_number.limit").attributes)
        result = await agent.call(
            "ha_control", "Set the limit", action="set_value", name="Charge Limit", **{slot: 80}
        )
        assert result["result"]["done"] == {"input_number.limit": "80"}, slot
