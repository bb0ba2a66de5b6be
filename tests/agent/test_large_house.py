"""A house too large for the prompt still answers with default settings."""

import json

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent, speech
from tests.helpers.homes import build_home, expose
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


async def test_what_the_sentence_names_is_found(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Rooms stand in the prompt with counts; the entities meant stand beside the sentence."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "conversation", {})
    home = build_home(hass, 1200)
    agent = await async_add_agent(hass, model_server)
    model_server.script([tool_calls([("ha_query", {"name": "Kitchen Light"})]), text("Half bright.")])
    assert speech(await agent.say("How bright is the kitchen light?")) == "Half bright."
    system, newest = (model_server.chats[0].messages[index]["content"] for index in (0, -1))
    assert "Kitchen" in system
    assert "light.kitchen_light" not in system
    assert 'light.kitchen_light "Kitchen Light" in "Kitchen" [brightness]: on, 50%' in newest
    assert len(model_server.chats[0].raw) < 16_000
    assert len(home.entities) == 1200
    answer = json.loads(model_server.chats[1].messages[-1]["content"])
    assert answer["success"] is True


async def test_all_that_a_sentence_asks_for_reach_the_model(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """Also with more entities than are usually found, within the budget of the default settings."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "conversation", {})
    home = build_home(hass, 1200, floors=3)
    agent = await async_add_agent(hass, model_server)
    upstairs = set(home.areas[1::3])
    registry = er.async_get(hass)
    blinds = [
        entity_id
        for entity_id in home.entities
        if entity_id.startswith("cover.") and registry.entities[entity_id].area_id in upstairs
    ]
    assert len(blinds) == 40
    await agent.say("Close all blinds upstairs")
    newest = model_server.chats[0].messages[-1]["content"]
    told = {line.split()[0].rstrip(":") for line in newest.splitlines() if line}
    assert set(blinds) <= told
    assert '"Kitchen Blind" in "Kitchen"' in newest


async def test_questions_about_everything_in_a_large_home(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """Lines about hundreds of entities are complete; what is hidden meanwhile is not named."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "conversation", {})
    home = build_home(hass, 1200)
    agent = await async_add_agent(hass, model_server)
    gone = [entity_id for entity_id in home.entities if entity_id.startswith("fan.")][:2]
    for entity_id in gone:
        state = hass.states.get(entity_id)
        assert state is not None
        hass.states.async_set(entity_id, "unavailable", state.attributes)
    expose(hass, gone[1], exposed=False)
    await agent.say("Which devices are offline?")
    newest = model_server.chats[0].messages[-1]["content"]
    name = hass.states.get(gone[0])
    assert name is not None
    assert f"devices: 1 of 1199 unavailable: {name.name}" in newest
    model_server.clear()
    await agent.say("What is on?")
    newest = model_server.chats[0].messages[-1]["content"]
    lights = sum(entity_id.startswith("light.") for entity_id in home.entities)
    assert f"of {lights} on: " in newest
    assert "more (ha_query)" in newest
