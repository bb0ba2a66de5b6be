"""What a sentence does not support is refused once, and what is there already needs no confirmation."""

import json
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.secure_house import SecureHouse, agent  # noqa: F401 - a fixture
from tests.helpers.tables import tables
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

TABLES = tables(__file__)

TURN_ON = {"action": "turn_on", "entity_id": "light.hall"}
ONLY_ASKS = "only asks how things are"


async def results(agent: Agent, sentence: str, *calls: dict[str, Any], language: str = "en") -> list[str]:
    """Let a model make calls, one in each answer, and return what it reads of each."""
    server = agent.server
    server.clear()
    server.script([*(tool_calls([("ha_control", call)]) for call in calls), text("I cannot say.")])
    await agent.say(sentence, language=language)
    return [json.dumps(request.messages[-1]) for request in server.chats[1 : len(calls) + 1]]


async def test_a_call_that_nothing_supports(
    model_server: ModelServer, secure: SecureHouse, subtests: pytest.Subtests
) -> None:
    """The first call is refused and says why; the same call again is made."""
    agent = await secure.async_agent(model_server, {"history_enabled": False})
    for language, sentence, reason in TABLES["a_call_that_nothing_supports"]:
        with subtests.test(language=language, sentence=sentence):
            model_server.clear()
            secure.reset()
            first, second = await results(agent, sentence, TURN_ON, TURN_ON, language=language)
            assert reason in first
            assert "done" in second
            assert secure.moved() == [("light.turn_on", ("light.hall",))]


async def test_a_supported_call_runs(secure: SecureHouse, agent: Agent, subtests: pytest.Subtests) -> None:
    for sentence in [
        "why is the hall light off again just turn it on",
        "turn on the hall light for tonight",
        "hall light on like every evening",
        "turn on the hall light, dinner is in ten minutes",
        "don't leave it dark turn on the hall light",
        "turn on the hall light if it is off",
        "turn off no i mean turn on the hall light",
        "whenever you are ready turn on the hall light",
    ]:
        with subtests.test(sentence=sentence):
            agent.server.clear()
            secure.reset()
            await results(agent, sentence, TURN_ON)
            assert secure.moved() == [("light.turn_on", ("light.hall",))]


async def test_intents_are_held_to_it_too(hass: HomeAssistant, model_server: ModelServer) -> None:
    """HassTurnOn of the API Assist answers no question."""
    agent = await async_agent(hass, model_server, {"llm_apis": ["assist"]})
    calls = async_capture_events(hass, "call_service")
    model_server.script([text("Hello.")])
    await agent.say("Hello")
    offered = [tool["function"]["name"] for tool in model_server.chats[0].json["tools"]]
    name = next(each for each in offered if each.endswith("HassTurnOn"))
    model_server.clear()
    model_server.script([tool_calls([(name, {"name": "Kitchen Ceiling"})]), text("No.")])
    await agent.say("Is the kitchen ceiling on?")
    assert ONLY_ASKS in json.dumps(model_server.chats[1].json)
    assert calls == []


def show(hass: HomeAssistant, entity_id: str, value: str, **attributes: Any) -> None:
    state = hass.states.get(entity_id)
    assert state is not None
    hass.states.async_set(entity_id, value, {**state.attributes, **attributes})


async def test_only_a_change_is_asked_about(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, subtests: pytest.Subtests
) -> None:
    agent = await secure.async_agent(model_server)
    for entity_id, action, value, attributes, is_asked in TABLES["changes"]:
        with subtests.test(entity_id=entity_id, value=value, attributes=attributes):
            secure.reset()
            model_server.clear()
            show(hass, entity_id, value, **attributes)
            call = ("ha_control", {"action": action, "entity_id": entity_id})
            model_server.script([tool_calls([call]), *([] if is_asked else [text("It is.")])])
            answer = await agent.say("Do that")
            assert secure.moved() == []
            if is_asked:
                assert speech(answer).startswith("Should I ")
                await agent.entry.runtime_data.confirmations.async_stop()
            else:
                assert speech(answer) == "It is."
                result = tool_results(model_server.chats[1])[-1]
                assert (result["success"], list(result["result"])) == (True, ["unchanged"])
                assert result["result"]["unchanged"][entity_id].startswith(value)


async def test_only_the_rest_is_asked_about(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, agent: Agent
) -> None:
    """Of several things, those that are so already are left out of the question and stay as they are."""
    show(hass, "cover.garage", "open", current_position=100)
    calls = [
        ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}),
        ("ha_control", {"action": "open", "entity_id": ["cover.garage", "cover.blind"]}),
    ]
    model_server.script([tool_calls(calls)])
    answer = await agent.say("Unlock the front door and open the garage and the blind")
    assert speech(answer).endswith("Should I unlock the Front Door?")
    await agent.say("yes", conversation_id=answer.conversation_id)
    moved = secure.moved()
    assert ("lock.unlock", ("lock.front_door",)) in moved
    assert not [ids for _, ids in moved if "cover.garage" in ids]
