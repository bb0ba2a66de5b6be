"""What a turn costs beside the model, in counts: it hardly grows with the home, and nothing is done twice."""

from collections import Counter

import pytest

from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, speech
from tests.helpers.counting import Walked, counted_calls, own_calls
from tests.helpers.homes import build_home
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

QUESTION_CALLS = 2_950
ORDER_CALLS = 4_900
"""About a tenth more calls of functions than a turn makes now."""
LIGHT = "light.living_room_light"
REGISTRY_WALKS = ("UserDict.__iter__", "Mapping.items", "Mapping.values", "Mapping.keys")


async def async_in_house(hass: HomeAssistant, server: ModelServer, entities: int) -> Agent:
    """Set up an agent in a house of so many entities, with a light that can be turned on."""
    for component in ("homeassistant", "conversation"):
        assert await async_setup_component(hass, component, {})
    home = build_home(hass, entities)
    await hass.async_block_till_done()
    assert LIGHT in home.entities

    async def switch(call: ServiceCall) -> None:
        state = hass.states.get(LIGHT)
        hass.states.async_set(
            LIGHT, call.service.removeprefix("turn_"), state.attributes, context=call.context
        )

    hass.services.async_register("light", "turn_on", switch)
    return await async_add_agent(hass, server)


async def async_walks(agent: Agent) -> Walked:
    """Count from now on how often all entities of the home are walked over."""
    house = await agent.entry.runtime_data.house.async_snapshot()
    house.entities = walked = Walked(house.entities)
    return walked


async def async_count(
    agent: Agent, server: ModelServer, walked: Walked, sentence: str, replies: list[Reply]
) -> Counter[str]:
    """Return the calls of functions in the third turn: the first ones build what later ones use."""
    calls: Counter[str] = Counter()
    for _turn in range(3):
        server.script(list(replies))
        agent.hass.states.async_set(LIGHT, "off", agent.hass.states.get(LIGHT).attributes)
        walked.walks.clear()
        with counted_calls() as calls:
            assert speech(await agent.say(sentence)) == "It is on."
    return calls


@pytest.mark.parametrize("entities", [500, 2_000])
async def test_a_question_in_a_large_home(
    hass: HomeAssistant, model_server: ModelServer, entities: int
) -> None:
    """The work is the same in a home four times as large; nothing walks over all entities or registries."""
    agent = await async_in_house(hass, model_server, entities)
    await agent.say("Is the light in the kitchen on?")
    walked = await async_walks(agent)
    calls = await async_count(
        agent, model_server, walked, "Is the light in the kitchen on?", [text("It is on.")]
    )
    assert own_calls(calls) < QUESTION_CALLS
    assert walked.walks == []
    assert not any(calls[name] for name in REGISTRY_WALKS)
    assert calls["StateMachine.async_all"] == 2  # the players: which play a title, and which can search


async def test_a_command_reads_the_sentence_once(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Neither the reading of the sentence nor the repairs of a call are repeated needlessly."""
    agent = await async_in_house(hass, model_server, 500)
    walked = await async_walks(agent)
    order = tool_calls([("ha_control", {"action": "turn_on", "entity_id": LIGHT})])
    calls = await async_count(
        agent, model_server, walked, "Turn on the living room light", [order, text("It is on.")]
    )
    assert calls["languages/sentence.py:_Clause.__init__"] == 0, "it was read in an earlier turn"
    assert calls["tools/control/arguments.py:is_about_time"] < 20
    assert own_calls(calls) < ORDER_CALLS
    assert walked.walks == []
