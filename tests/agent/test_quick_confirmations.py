"""A plain command that worked is confirmed by Home Agent itself, and the model is asked once."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_CONVERSATION_FINISHED
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.intent import IntentResponseType
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.remembering import anna  # noqa: F401 - a fixture
from tests.helpers.tables import tables
from tests.helpers.turns import LIGHT, ON
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

TABLES = tables(__file__)

QUICK = {"quick_confirmations": True}
SPOKEN = "Words of the model."
LIGHTS = [LIGHT, "light.kitchen_counter", "light.reading_lamp"]


async def async_say(agent: Agent, sentence: str, anna: Context, *replies: Reply, **options: Any) -> str:
    agent.server.clear()
    agent.server.script([*replies, text(SPOKEN)])
    return speech(await agent.say(sentence, context=anna, **options))


async def test_a_plain_command_takes_one_request(
    hass: HomeAssistant, model_server: ModelServer, anna: Context, subtests: pytest.Subtests
) -> None:
    """What was done is said in the person's language, without the model."""
    agent = await async_agent(hass, model_server, QUICK)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    for sentence, language, call, spoken in TABLES["a_plain_command_takes_one_request"]:
        with subtests.test(sentence=sentence, language=language):
            await hass.services.async_call("light", "turn_off", {"entity_id": LIGHTS}, blocking=True)
            finished.clear()
            assert await async_say(agent, sentence, anna, tool_calls([call]), language=language) == spoken
            assert len(model_server.chats) == 1
            assert [event.data["tool_calls"] for event in finished] == [1]


async def test_the_model_speaks_where_more_was_said(
    hass: HomeAssistant, model_server: ModelServer, anna: Context, subtests: pytest.Subtests
) -> None:
    """Two things to do, a question beside the command, or a language that is not read: the model speaks."""
    agent = await async_agent(hass, model_server, QUICK)

    for sentence, language in TABLES["the_model_speaks_where_more_was_said"]:
        with subtests.test(sentence=sentence, language=language):
            assert await async_say(agent, sentence, anna, tool_calls([ON]), language=language) == SPOKEN
            assert len(model_server.chats) == 2


async def test_the_model_speaks_where_something_failed(
    hass: HomeAssistant, model_server: ModelServer, anna: Context
) -> None:
    """What failed, or was done only in part, needs the model's words."""
    agent = await async_agent(hass, model_server, QUICK)
    both = {"action": "turn_on", "entity_id": [LIGHT, "light.secret_light"]}

    said = await async_say(agent, "Turn on the lights", anna, tool_calls([("ha_control", both)]))

    assert said.startswith(SPOKEN)
    assert len(model_server.chats) == 2


async def test_the_next_turn_reads_a_conversation(
    hass: HomeAssistant, model_server: ModelServer, anna: Context
) -> None:
    """The sentence is in the history as the assistant's words, behind the result of the call."""
    agent = await async_agent(hass, model_server, QUICK)
    await async_say(agent, "Turn on the kitchen ceiling", anna, tool_calls([ON]))
    await async_say(agent, "Is it on?", anna)

    (request,) = model_server.chats
    roles = [message["role"] for message in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    call, result, words = request.messages[2:5]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert words["content"] == "I turned on the Kitchen Ceiling."


@pytest.mark.parametrize(
    ("options", "spoken"),
    [
        ({"quick_confirmations": False}, SPOKEN),
        (
            {"quick_confirmations": True, "persona": "You talk like a pirate."},
            "I turned on the Kitchen Ceiling.",
        ),
    ],
)
async def test_the_option_decides(
    hass: HomeAssistant, model_server: ModelServer, anna: Context, options: dict[str, Any], spoken: str
) -> None:
    """The option turns it off, and on also with a persona."""
    agent = await async_agent(hass, model_server, options)

    assert await async_say(agent, "Turn on the kitchen ceiling", anna, tool_calls([ON])) == spoken


@pytest.mark.parametrize(
    ("area", "spoken"), [("kitchen", ""), ("bedroom", "I turned on the Kitchen Ceiling.")]
)
@pytest.mark.parametrize("quick", [True, False])
async def test_silence_in_the_same_room(
    hass: HomeAssistant, model_server: ModelServer, area: str, spoken: str, *, quick: bool
) -> None:
    """By option nothing is spoken where everything happened in the room of the satellite."""
    agent = await async_agent(hass, model_server, {"quick_confirmations": quick, "silent_in_room": True})
    satellite = dr.async_get(hass).async_get_or_create(
        config_entry_id=agent.entry.entry_id, identifiers={("test", "satellite")}
    )
    dr.async_get(hass).async_update_device(satellite.id, area_id=area)
    model_server.script([tool_calls([ON]), text(SPOKEN)])

    result = await agent.say("Turn on the kitchen ceiling", device_id=satellite.id)

    assert speech(result) == (spoken if quick or not spoken else SPOKEN)
    assert result.response.response_type is IntentResponseType.ACTION_DONE
    assert len(model_server.chats) == (1 if quick or not spoken else 2)
    model_server.clear()
    model_server.script([text(SPOKEN)])
    await agent.say("Is it on?", device_id=satellite.id)
    said = [
        message["content"] for message in model_server.chats[0].messages if message["role"] == "assistant"
    ]
    assert said[-1] == ("I turned on the Kitchen Ceiling." if quick or not spoken else SPOKEN)
