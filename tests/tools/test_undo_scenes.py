"""Undo of scenes: what they change is known before they run."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_mock_service

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.undo import BED, LIGHT, control, undo
from tests.servers.model_server import ModelServer

MOVIE = "scene.movie"


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent with a scene of Home Assistant's own, which holds two lights."""
    agent = await async_agent(hass, model_server)
    entities = {LIGHT: {"state": "on", "brightness": 50}, BED: "on", "group.both": "on"}
    hass.states.async_set("group.both", "off", {"entity_id": [LIGHT, BED]})
    scene = {"name": "Movie", "entities": entities}
    assert await async_setup_component(hass, "scene", {"scene": [scene]})
    await hass.async_block_till_done()
    async_expose_entity(hass, "conversation", MOVIE, True)
    return agent


def is_on(hass: HomeAssistant, *entity_ids: str) -> list[bool]:
    return [hass.states.is_state(entity_id, "on") for entity_id in entity_ids]


async def test_what_a_scene_changed_comes_back(hass: HomeAssistant, agent: Agent) -> None:
    """Its lights are as they were, and what it found so already stays."""
    await hass.services.async_call("light", "turn_on", {"entity_id": LIGHT, "brightness": 200}, blocking=True)
    first = await agent.act(control("activate", MOVIE))
    assert is_on(hass, LIGHT, BED) == [True, True]
    result = await undo(agent, first.conversation_id)
    assert result["success"], result
    assert set(result["result"]["restored"]) == {LIGHT, BED}
    assert is_on(hass, LIGHT, BED) == [True, False]
    assert hass.states.get(LIGHT).attributes["brightness"] == 200
    again = await undo(agent, first.conversation_id)
    assert "nothing to put back" in again["error"]


@pytest.mark.parametrize(("platform", "known"), [("hue", True), ("tuya", False)])
async def test_scenes_that_are_kept_elsewhere(
    hass: HomeAssistant, agent: Agent, platform: str, known: bool
) -> None:
    """Of a bridge of lamps those of the room come back; of another hub nothing is known, and that is said."""
    entry = MockConfigEntry(domain=platform)
    entry.add_to_hass(hass)
    room = ar.async_get(hass).async_create("Den").id
    registry = er.async_get(hass)
    ids = {}
    for domain in ("scene", "light"):
        found = registry.async_get_or_create(domain, platform, "relax", config_entry=entry)
        registry.async_update_entity(found.entity_id, area_id=room)
        attributes: dict[str, Any] = {"supported_color_modes": ["onoff"], "color_mode": "onoff"}
        hass.states.async_set(found.entity_id, "off", attributes if domain == "light" else {})
        async_expose_entity(hass, "conversation", found.entity_id, True)
        ids[domain] = found.entity_id
    switched = async_mock_service(hass, "light", "turn_off")

    async def apply(_call: Any) -> None:
        hass.states.async_set(ids["light"], "on", hass.states.get(ids["light"]).attributes)

    hass.services.async_register("scene", "turn_on", apply)
    await agent.set_options(policy_allowed=["scene"])
    first = await agent.act(control("activate", ids["scene"]))
    result = await undo(agent, first.conversation_id)
    assert [call.data["entity_id"] for call in switched] == ([[ids["light"]]] if known else [])
    assert known or "cannot be undone as a whole" in result["error"]
