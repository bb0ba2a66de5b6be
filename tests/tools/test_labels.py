"""Labels as targets: what a call reaches, what the model is told of labels, and what it gets wrong."""

from typing import Any

import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, label_registry as lr
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.checks import every
from tests.helpers.secure_house import pending_ids
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

LIGHTS = ("light.kitchen_ceiling", "light.kitchen_counter", "light.reading_lamp", "light.bed_light")
LAMPS = {"light.kitchen_counter", "light.reading_lamp"}
PARTY = {*LAMPS, "switch.garland"}


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent in a house with the labels Party, on two lights and a plug, and Night, on a door."""
    found = await async_agent(hass, model_server)
    assert await async_setup_component(hass, "switch", {})
    await add_garland(hass)
    labels, registry = lr.async_get(hass), er.async_get(hass)
    party, night = labels.async_create("Party"), labels.async_create("Good Night")
    labels.async_create("Unused")
    for entity_id in PARTY:
        registry.async_update_entity(entity_id, labels={party.label_id})
    for entity_id in ("lock.front_door", "light.bed_light"):
        registry.async_update_entity(entity_id, labels={night.label_id})
    registry.async_update_entity("light.secret_light", labels={party.label_id})
    await hass.async_block_till_done()
    return found.at_satellite()


async def add_garland(hass: HomeAssistant) -> None:
    """Add a plug that remembers its state."""
    registry = er.async_get(hass)
    registry.async_get_or_create("switch", "test", "garland", suggested_object_id="garland")

    async def turn(call: Any) -> None:
        for entity_id in call.data["entity_id"]:
            hass.states.async_set(entity_id, call.service.removeprefix("turn_"), {"friendly_name": "Garland"})

    for service in ("turn_on", "turn_off"):
        hass.services.async_register("switch", service, turn)
    hass.states.async_set("switch.garland", "off", {"friendly_name": "Garland"})
    async_expose_entity(hass, "conversation", "switch.garland", True)


async def use(
    agent: Agent, sentence: str, *calls: dict[str, Any], tool: str = "ha_control"
) -> dict[str, Any]:
    """Say a sentence that the model answers with calls, one after the other; return the last result."""
    agent.server.clear()
    agent.server.script([*(tool_calls([(tool, call)]) for call in calls), text("Done.")])
    await agent.say(sentence)
    return next(reversed(agent.results), {})


def on(hass: HomeAssistant) -> set[str]:
    return {
        key for key in (*LIGHTS, "light.secret_light", "switch.garland") if hass.states.is_state(key, "on")
    }


async def test_what_is_reached(hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests) -> None:
    """All of the label that is exposed and that the action fits, and nothing else."""
    for sentence, call, reached in [
        ("Turn on everything labelled Party", {"label": "Party"}, PARTY),
        ("Turn on everything labelled Party", {"label": "Party", "domain": "light"}, LAMPS),
        ("Turn on the party lights", {"label": "Party"}, LAMPS),
        ("Turn on the party lights in the kitchen", {"label": "Party", "area": "Kitchen"}, {LIGHTS[1]}),
        # What models write in place of the label.
        ("Turn on the party lights", {"name": "party lights"}, LAMPS),
        ("Turn on party", {"name": "everything labelled Party"}, PARTY),
        ("Schalte alles mit dem Label Party ein", {"name": "alles mit dem Label Party"}, PARTY),
        ("Turn on everything labelled Party", {"area": "Party"}, PARTY),
        ("Turn on everything labelled Party", {"labels": ["Party"]}, PARTY),
        ("Turn on everything labelled Party", {"entity_id": "label.party"}, PARTY),
        ("Turn on everything labelled Party", {"label": "Partys"}, PARTY),
        ("Turn on the lights in the kitchen", {"label": "Kitchen", "domain": "light"}, {*LIGHTS[:2]}),
        # No such label, or none of it that the action fits: nothing else instead.
        ("Turn on everything labelled Christmas", {"label": "Christmas"}, set()),
        ("Turn on everything labelled Unused", {"label": "Unused", "domain": "light"}, set()),
        ("Turn on the Christmas lights", {"label": "Christmas", "domain": "light", "area": "Kitchen"}, set()),
    ]:
        with subtests.test(sentence=sentence, call=call):
            await hass.services.async_call("light", "turn_off", {"entity_id": LIGHTS}, blocking=True)
            hass.states.async_set("switch.garland", "off", {"friendly_name": "Garland"})
            result = await use(agent, sentence, {"action": "turn_on", **call})
            assert on(hass) == reached
            assert result["success"] is bool(reached)


async def test_a_lock_with_a_label_asks(hass: HomeAssistant, agent: Agent) -> None:
    """A label opens nothing without a question, and a guessed label opens nothing at all."""
    await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    result = await use(
        agent, "Unlock everything labelled Good Night", {"action": "unlock", "label": "Goodnigt"}
    )
    assert not result["success"]
    assert not pending_ids(hass)
    agent.server.clear()
    agent.server.script([tool_calls([("ha_control", {"action": "unlock", "label": "Good Night"})])])
    asked = await agent.say("Unlock everything labelled Good Night")
    assert asked.continue_conversation
    assert hass.states.is_state("lock.front_door", "locked")


async def test_a_device_and_an_area_give_their_labels(hass: HomeAssistant, agent: Agent) -> None:
    """A label on a room counts for what is in it, from the moment it is put there."""
    area = ar.async_get(hass).async_get_area_by_name("Bedroom")
    assert area is not None
    call = {"action": "turn_on", "label": "Party", "domain": "light"}
    await use(agent, "Turn on the party lights", call)
    assert "light.bed_light" not in on(hass)
    ar.async_get(hass).async_update(area.id, labels={"party"})
    await hass.async_block_till_done()
    await use(agent, "Turn on the party lights", call)
    assert "light.bed_light" in on(hass)
    assert "light.secret_light" not in on(hass)


def offered(agent: Agent) -> set[str]:
    """Return the slots for labels that the newest request offers, by tool."""
    tools = agent.server.chats[-1].json["tools"]
    return {
        tool["function"]["name"] for tool in tools if "label" in tool["function"]["parameters"]["properties"]
    }


async def test_what_the_model_is_told(hass: HomeAssistant, agent: Agent) -> None:
    """Only labels that exposed entities have, and nothing where there are none."""
    await use(agent, "Hello")
    assert offered(agent) == {"ha_control", "ha_query"}
    system = agent.server.chats[-1].messages[0]["content"]
    assert "\nLabels: Good Night, Party" in system
    assert "Unused" not in system
    registry = er.async_get(hass)
    for entity_id in every((*PARTY, "lock.front_door", "light.bed_light")):
        registry.async_update_entity(entity_id, labels=set())
    await hass.async_block_till_done()
    await use(agent, "Hello")
    assert offered(agent) == set()
    assert "Labels:" not in agent.server.chats[-1].messages[0]["content"]
    result = await use(agent, "Turn on the party lights", {"action": "turn_on", "label": "Party"})
    assert "there is no label 'Party'" in result["error"]


async def test_a_rule_for_a_label_and_a_call_for_it(hass: HomeAssistant, agent: Agent) -> None:
    """What a rule takes out of a label is refused, the rest of it runs."""
    rule = {"decision": "never", "entities": ["light.reading_lamp"]}
    await agent.set_options(policy_choices=[rule])
    result = await use(agent, "Turn on party", {"action": "turn_on", "label": "Party"})
    assert on(hass) == PARTY - {"light.reading_lamp"}
    assert "this may not be done with Reading Lamp" in result["error"]
