"""The response of a turn names what was done, as that of Home Assistant's own agent does."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers.intent import IntentResponseTargetType, IntentResponseType
from tests.helpers.agent import async_agent
from tests.helpers.turns import LIGHT, ON
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


async def test_a_command_is_a_done_action(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The response has the entity as a target, and its state after the command."""
    agent = await async_agent(hass, model_server)
    model_server.script([tool_calls([ON]), text("The light is on.")])

    response = (await agent.say("Turn on the kitchen ceiling")).response

    assert response.response_type is IntentResponseType.ACTION_DONE
    assert [(target.type, target.id) for target in response.success_results] == [
        (IntentResponseTargetType.ENTITY, LIGHT)
    ]
    assert [(state.entity_id, state.state) for state in response.matched_states] == [(LIGHT, "on")]
    assert response.as_dict()["data"]["success"][0]["id"] == LIGHT


async def test_an_area_is_a_target_too(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A command for an area names the area before its entities."""
    agent = await async_agent(hass, model_server)
    call = ("ha_control", {"action": "turn_on", "area": "Kitchen", "domain": ["light"]})
    model_server.script([tool_calls([call]), text("The lights are on.")])

    response = (await agent.say("Turn on the lights in the kitchen")).response

    kinds = [target.type for target in response.success_results]
    assert kinds == [
        IntentResponseTargetType.AREA,
        IntentResponseTargetType.ENTITY,
        IntentResponseTargetType.ENTITY,
    ]
    assert response.success_results[0].name == "Kitchen"
    assert len(response.matched_states) == 2


async def test_a_question_is_an_answer(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Where nothing changed there is no target."""
    agent = await async_agent(hass, model_server)
    query = ("ha_query", {"entity_id": "sensor.kitchen_temperature"})
    model_server.script([tool_calls([query]), text("It is 21.5 degrees.")])

    response = (await agent.say("How warm is it in the kitchen?")).response

    assert response.response_type is IntentResponseType.QUERY_ANSWER
    assert response.success_results == []
    assert response.matched_states == []


async def test_a_question_of_ours_is_an_answer(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A call that waits for a confirmation has done nothing; the confirmed one has."""
    agent = await async_agent(hass, model_server)
    unlock = ("ha_control", {"action": "unlock", "entity_id": ["lock.front_door"]})
    model_server.script([tool_calls([unlock])])

    asked = await agent.at_satellite().say("Unlock the front door")
    done = await agent.at_satellite().say("Yes", conversation_id=asked.conversation_id)

    assert asked.response.response_type is IntentResponseType.QUERY_ANSWER
    assert done.response.response_type is IntentResponseType.ACTION_DONE
    assert [state.entity_id for state in done.response.matched_states] == ["lock.front_door"]


async def test_own_sentences_keep_their_targets(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What Home Assistant's own sentences did is passed on."""
    agent = await async_agent(hass, model_server, {"local_first_enabled": True})

    response = (await agent.say("Turn on the kitchen ceiling")).response

    assert model_server.chats == []
    assert response.response_type is IntentResponseType.ACTION_DONE
    assert [state.entity_id for state in response.matched_states] == [LIGHT]
    assert [target.id for target in response.success_results] == [LIGHT]
