"""What an agent with lists sees and controls: in requests, calls, intents, groups, scripts and knowledge."""

import json
from typing import Any

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.checks import every
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

ELSEWHERE = ("Bed Light", "bed_light", "Reading Lamp", "Front Door", "Bedroom", "Living Room", "Upstairs")
"""What an agent for the kitchen must not read."""
LAMPS = ("light.kitchen_ceiling", "light.kitchen_counter", "light.reading_lamp", "light.bed_light")
SCRIPTS = {
    "bedtime": {
        "alias": "Bedtime",
        "sequence": [{"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}],
    },
    "cooking": {
        "alias": "Cooking",
        "sequence": [{"action": "light.turn_on", "target": {"entity_id": "light.kitchen_counter"}}],
    },
    "guessed": {
        "alias": "Guessed",
        "sequence": [{"action": "light.turn_on", "target": {"entity_id": "{{ states('sensor.x') }}"}}],
    },
}
SCENES = [
    {"name": "Night", "entities": {"light.bed_light": "on", "light.kitchen_ceiling": "on"}},
    {"name": "Dinner", "entities": {"light.kitchen_ceiling": "on"}},
]


def area(hass: HomeAssistant, name: str) -> str:
    found = ar.async_get(hass).async_get_area_by_name(name)
    assert found is not None
    return found.id


async def kitchen_agent(hass: HomeAssistant, server: ModelServer, **options: Any) -> Agent:
    """Return an agent that knows the kitchen only."""
    agent = await async_agent(hass, server, {"visible_entities": {"areas": ["kitchen"]}, **options})
    assert area(hass, "Kitchen") == "kitchen"
    for lamp in LAMPS:
        await hass.services.async_call("light", "turn_off", {"entity_id": lamp}, blocking=True)
    await hass.async_block_till_done()
    return agent.at_satellite()


def states(hass: HomeAssistant) -> dict[str, str]:
    return {lamp: hass.states.get(lamp).state for lamp in LAMPS}


async def test_requests(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A request contains the list's entities with their rooms and floors, and nothing of the others."""
    agent = await kitchen_agent(hass, model_server)
    model_server.script([text("Hello."), text("Hello.")])
    await agent.say("Which lights are on upstairs and in the bedroom?")
    sent = json.dumps(model_server.chats[0].json).replace(
        "Which lights are on upstairs and in the bedroom?", ""
    )
    assert "kitchen_ceiling" in sent
    assert [name for name in ELSEWHERE if name in sent] == []


async def test_what_is_not_listed_does_not_exist(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """A call for it is refused like one for something that does not exist, and names nothing of it."""
    agent = await kitchen_agent(hass, model_server)
    for args in (
        {"action": "turn_on", "entity_id": "light.bed_light"},
        {"action": "turn_on", "entity_id": ["Bed Light"]},
        {"action": "turn_on", "area": "Bedroom", "domain": "light"},
        {"action": "turn_on", "floor": "Upstairs", "domain": "light"},
        {"action": "turn_on", "entity_id": "light.bed_light", "when": "10 minutes"},
        {"action": "unlock", "entity_id": "lock.front_door"},
    ):
        with subtests.test(args=args):
            model_server.clear()
            result = await agent.call("ha_control", **args)
            assert not result["success"]
            assert "Front Door" not in json.dumps(result)
            assert set(states(hass).values()) == {"off"}
            assert not agent.entry.runtime_data.planned.all()
            assert not agent.entry.runtime_data.confirmations.pending


async def test_all_lights_are_those_of_the_list(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Wildcards, kinds and queries reach the list's entities only."""
    agent = await kitchen_agent(hass, model_server)
    result = await agent.call("ha_control", "All on", action="turn_on", entity_id="light.*")
    assert result["success"], result
    assert {lamp for lamp, state in states(hass).items() if state == "on"} == set(LAMPS[:2])
    shown = json.dumps(await agent.call("ha_query", entity_id="*"))
    assert "kitchen_ceiling" in shown
    assert [name for name in ELSEWHERE if name in shown] == []


async def test_groups_scripts_and_scenes(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What a group, a script or a scene does outside of the list is refused, and so is what is unknown."""
    assert await async_setup_component(hass, "script", {"script": SCRIPTS})
    listed = {
        "areas": ["kitchen"],
        "entities": [
            *("light.everywhere", "script.bedtime", "script.cooking", "script.guessed"),
            *("scene.night", "scene.dinner"),
        ],
    }
    agent = await kitchen_agent(hass, model_server, visible_entities=listed)
    assert await async_setup_component(hass, "scene", {"scene": SCENES})
    group = {"platform": "group", "name": "Everywhere", "entities": [LAMPS[0], LAMPS[3]]}
    hass.states.async_set("light.everywhere", "off", {"entity_id": group["entities"]})
    for entity_id in every(listed["entities"]):
        async_expose_entity(hass, "conversation", entity_id, True)
    await hass.async_block_till_done()
    for entity_id in ("light.everywhere", "script.bedtime", "script.guessed", "scene.night"):
        result = await agent.call("ha_control", action="turn_on", entity_id=entity_id)
        assert not result["success"], entity_id
        assert "Bed Light" not in json.dumps(result)
    assert set(states(hass).values()) == {"off"}
    assert not agent.entry.runtime_data.confirmations.pending
    for entity_id in ("script.cooking", "scene.dinner"):
        result = await agent.call("ha_control", action="turn_on", entity_id=entity_id)
        assert result["success"], entity_id
    assert {lamp for lamp, state in states(hass).items() if state == "on"} == set(LAMPS[:2])


@pytest.mark.parametrize("sentence", ["Turn on the bed light", "Is the bed light on?", "Turn on all lights"])
async def test_built_in_sentences(hass: HomeAssistant, model_server: ModelServer, sentence: str) -> None:
    """Home Assistant's own sentences neither control nor tell what is not listed."""
    agent = await kitchen_agent(hass, model_server, local_first_enabled=True)
    assert await async_setup_component(hass, "intent", {})
    model_server.script([text("I do not know it.")])
    answer = speech(await agent.say(sentence))
    assert len(model_server.chats) == 1
    assert "on" not in states(hass).values()
    assert answer == "I do not know it."


async def test_built_in_sentences_about_the_list(hass: HomeAssistant, model_server: ModelServer) -> None:
    """They still work for what is listed."""
    agent = await kitchen_agent(hass, model_server, local_first_enabled=True)
    assert await async_setup_component(hass, "intent", {})
    await agent.say("Turn on the kitchen ceiling")
    assert states(hass)["light.kitchen_ceiling"] == "on"
    answer = speech(await agent.say("Is the kitchen ceiling on?"))
    assert answer.startswith("Yes")
    assert not model_server.chats


async def test_knowledge(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Rooms and scripts that speak of other entities are not found."""
    assert await async_setup_component(hass, "script", {"script": SCRIPTS})
    listed = {"areas": ["kitchen"], "entities": ["script.bedtime", "script.cooking"]}
    agent = await kitchen_agent(hass, model_server, visible_entities=listed)
    for entity_id in every(listed["entities"]):
        async_expose_entity(hass, "conversation", entity_id, True)
    found = json.dumps(await agent.call("retrieve_knowledge", query="cooking bedtime bedroom upstairs"))
    assert "Cooking" in found
    assert [name for name in ELSEWHERE if name in found.replace("bedroom upstairs", "")] == []
    assert "Bedtime" not in found


async def test_lists_follow_the_home(hass: HomeAssistant, model_server: ModelServer) -> None:
    """An entity that moves into the area, or an area that moves to the floor, is listed from then on."""
    agent = await kitchen_agent(hass, model_server)
    registry = er.async_get(hass)
    registry.async_update_entity("light.bed_light", area_id="kitchen")
    assert (await agent.call("ha_control", action="turn_on", entity_id="Bed Light"))["success"]
    registry.async_update_entity("light.bed_light", area_id=area(hass, "Bedroom"))
    assert not (await agent.call("ha_control", action="turn_off", entity_id="Bed Light"))["success"]
    upstairs = fr.async_get(hass).async_get_floor_by_name("Upstairs")
    await agent.set_options(visible_entities={"floors": [upstairs.floor_id]})
    assert not (await agent.call("ha_query", entity_id="light.kitchen_ceiling"))["success"]
    assert (await agent.call("ha_control", action="turn_off", entity_id="Bed Light"))["success"]
    ar.async_get(hass).async_update("kitchen", floor_id=upstairs.floor_id)
    assert (await agent.call("ha_query", entity_id="light.kitchen_ceiling"))["success"]


async def test_what_is_excluded(hass: HomeAssistant, model_server: ModelServer) -> None:
    """It is not in the list although its area is, or it is all that the list leaves out."""
    taken_out = {"excluded": {"entities": ["light.kitchen_counter"]}}
    agent = await kitchen_agent(hass, model_server, visible_entities={"areas": ["kitchen"], **taken_out})
    for listed, on in (
        ({"areas": ["kitchen"], **taken_out}, {"light.kitchen_ceiling"}),
        (taken_out, set(LAMPS) - {"light.kitchen_counter"}),
        ({"areas": ["kitchen"], "excluded": {"areas": ["kitchen"]}}, set[str]()),
    ):
        await agent.set_options(visible_entities=listed)
        model_server.clear()
        model_server.script([text("Hello.")])
        await agent.say("Which lights are there?")
        messages = model_server.chats[0].messages
        told = json.dumps([messages[0], messages[-1]])
        assert {lamp for lamp in LAMPS if lamp in told} == on
        await agent.call("ha_control", "All on", action="turn_on", entity_id="light.*")
        assert {lamp for lamp, state in states(hass).items() if state == "on"} == on
        await hass.services.async_call("light", "turn_off", {"entity_id": list(LAMPS)}, blocking=True)
