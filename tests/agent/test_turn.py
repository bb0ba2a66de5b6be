"""One turn from sentence to answer, seen from outside: requests, states, events, speech."""

import json

from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import (
    EVENT_CONVERSATION_FINISHED,
    EVENT_CONVERSATION_STARTED,
    EVENT_TOOL_EXECUTED,
)
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.intent import IntentResponseTargetType, IntentResponseType
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.checks import every
from tests.helpers.turns import LIGHT, ON, tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


async def test_a_question_is_answered(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """The answer is spoken, the turn keeps its conversation id, events tell of it."""
    started = async_capture_events(hass, EVENT_CONVERSATION_STARTED)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    model_server.script([text(chunks=["It is ", "warm."], usage=(100, 5, 60))])

    result = await agent.say("How warm is it in the kitchen?")

    assert speech(result) == "It is warm."
    assert result.conversation_id == started[0].data["conversation_id"]
    assert finished[0].data["tokens"] == {"prompt": 100, "completion": 5, "total": 105, "cached": 60}
    (request,) = model_server.chats
    assert [message["role"] for message in request.messages] == ["system", "user"]
    offered = {tool["function"]["name"] for tool in request.json["tools"]}
    assert offered >= {"activity", "ha_control", "ha_query", "memory", "retrieve_knowledge"}
    newest = request.messages[-1]["content"]
    assert newest.startswith("How warm is it in the kitchen?")
    assert "21.5" in newest, "the state of the entity that was asked about reaches the model"


async def test_a_light_is_switched(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """The call runs with the speaker's context, the result names the new state."""
    executed = async_capture_events(hass, EVENT_TOOL_EXECUTED)
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    model_server.script([tool_calls([ON]), text("The light is on.")])
    context = Context()

    result = await agent.say("Kitchen ceiling on", context=context)

    assert hass.states.get(LIGHT).state == "on"
    assert speech(result) == "The light is on."
    assert [event.context.id for event in services if event.data["domain"] == "light"] == [context.id]
    (envelope,) = tool_results(model_server.chats[1])
    assert envelope["success"] is True
    assert envelope["error"] is None
    assert "on" in json.dumps(envelope["result"])
    assert executed[0].data["tool_name"] == "ha_control"
    assert executed[0].data["success"] is True


async def test_more_calls_than_allowed(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Every call id gets a result, the surplus is not run, and the last request has no calls to make."""
    agent = await async_agent(hass, model_server, {"tools_max_calls_per_turn": 2})
    names = ["kitchen_ceiling", "kitchen_counter", "bed_light"]
    model_server.script(
        [
            tool_calls([("ha_control", {"action": "turn_on", "entity_id": f"light.{n}"}) for n in names]),
            text("Two are on."),
        ]
    )
    result = await agent.say("All on")
    assert speech(result) == "Two are on."
    results = tool_results(model_server.chats[1])
    assert [envelope["success"] for envelope in results] == [True, True, False]
    assert hass.states.get("light.bed_light").state == "off"
    assert model_server.chats[1].json["tool_choice"] == "none"


async def test_extra_system_prompt_reaches_the_model(model_server: ModelServer, agent: Agent) -> None:
    """It is sent, and stays for the conversation."""
    first = await agent.say("Yes", extra_system_prompt="You asked whether to close the garage.")
    await agent.say("And now?", conversation_id=first.conversation_id)
    for request in every(model_server.chats):
        assert "whether to close the garage" in request.messages[0]["content"]


async def test_a_command_is_a_done_action(model_server: ModelServer, agent: Agent) -> None:
    """The response has the entity as a target, and its state after the command."""
    model_server.script([tool_calls([ON]), text("The light is on.")])

    response = (await agent.say("Turn on the kitchen ceiling")).response

    assert response.response_type is IntentResponseType.ACTION_DONE
    assert [(target.type, target.id) for target in response.success_results] == [
        (IntentResponseTargetType.ENTITY, LIGHT)
    ]
    assert [(state.entity_id, state.state) for state in response.matched_states] == [(LIGHT, "on")]
    assert response.as_dict()["data"]["success"][0]["id"] == LIGHT


async def test_a_question_of_ours_is_an_answer(model_server: ModelServer, agent: Agent) -> None:
    """A call that waits for a confirmation has done nothing; the confirmed one has."""
    unlock = ("ha_control", {"action": "unlock", "entity_id": ["lock.front_door"]})
    model_server.script([tool_calls([unlock])])

    asked = await agent.at_satellite().say("Unlock the front door")
    done = await agent.at_satellite().say("Yes", conversation_id=asked.conversation_id)

    assert asked.response.response_type is IntentResponseType.QUERY_ANSWER
    assert done.response.response_type is IntentResponseType.ACTION_DONE
    assert [state.entity_id for state in done.response.matched_states] == ["lock.front_door"]
