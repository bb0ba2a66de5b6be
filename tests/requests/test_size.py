"""What the first request of the demo house costs: tools, rules and the list of the house."""

import json
from typing import Any

from custom_components.home_agent.context.window import estimate_tokens
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent
from tests.helpers.demo_house import async_demo_house
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer

MOST_TOOLS = 10
"""In the demo house itself."""
MOST_WITH_EVERYDAY = 12
"""With to-do lists, a calendar and a weather entity."""
MOST_BESIDE_DEVICES = 2950
"""Characters of all tools beside `ha_control` and `ha_query`."""
MOST_RULES = 230
"""Tokens as `estimate_tokens` counts them."""
EVERYDAY = {"todo.shopping": 127, "todo.tasks": 127, "calendar.family": 7, "weather.home": 3}


async def test_the_first_request_of_the_demo_house(hass: HomeAssistant, model_server: ModelServer) -> None:
    """With lists, a calendar and a weather entity added, as a household has them."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent = await async_add_agent(hass, model_server)
    await agent.say("Is the kitchen light on?")
    alone = _sizes(model_server.chats[-1].json["tools"])
    for entity_id, features in EVERYDAY.items():
        domain, _, name = entity_id.partition(".")
        er.async_get(hass).async_get_or_create(
            domain, "test", name, object_id_base=name, supported_features=features
        )
        hass.states.async_set(entity_id, "1", {"supported_features": features})
        async_expose_entity(hass, "conversation", entity_id, True)
    await agent.say("Is the kitchen light on?")
    body = model_server.chats[-1].json
    everyday = _sizes(body["tools"])
    assert everyday.keys() - alone.keys() == {"todo_list", "calendar", "weather"}
    assert {"memory", "timer", "activity", "retrieve_knowledge"} < alone.keys()
    assert len(alone) <= MOST_TOOLS
    assert len(everyday) <= MOST_WITH_EVERYDAY
    assert sum(size for name, size in everyday.items() if not name.startswith("ha_")) <= MOST_BESIDE_DEVICES
    rules, _, house = body["messages"][0]["content"].partition("Exposed entities")
    assert house
    assert estimate_tokens(rules) <= MOST_RULES


def _sizes(tools: list[dict[str, Any]]) -> dict[str, int]:
    functions = [tool["function"] for tool in tools]
    return {function["name"]: len(json.dumps(function, separators=(",", ":"))) for function in functions}
