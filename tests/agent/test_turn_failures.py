"""What a person hears, and what does not happen twice, when the model server fails."""

import asyncio
import logging
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_ERROR, EVENT_STREAMING_ERROR
from homeassistant.components import conversation
from homeassistant.config_entries import SOURCE_REAUTH
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import async_agent, speech
from tests.servers.model_server import ModelServer
from tests.servers.replies import (
    Reply,
    cut,
    empty,
    error_in_stream,
    html,
    reset,
    status,
    text,
    too_long,
    tool_calls,
)

TOGGLE = ("ha_control", {"action": "toggle", "entity_id": "light.kitchen_ceiling"})
NO_FALLBACK = {"local_fallback_enabled": False}


def light_calls(events: list[Any]) -> int:
    """Return how often a light service was called."""
    return len([event for event in events if event.data["domain"] == "light"])


async def test_a_stream_that_breaks_after_a_call(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The tool has run; its result is used and it does not run again."""
    agent = await async_agent(hass, model_server)
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    broken = tool_calls([TOGGLE], text="One moment. ")
    model_server.script(
        [Reply(text=broken.text, calls=broken.calls, finish="tool_calls"), reset(0), text("On.")]
    )
    result = await agent.say("Toggle the kitchen ceiling")
    assert light_calls(services) == 1
    assert hass.states.get("light.kitchen_ceiling").state == "on"
    assert speech(result)


async def test_a_stream_that_breaks_early(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Nothing has run: the answer is asked for as a whole, and not said twice."""
    agent = await async_agent(hass, model_server)
    errors = async_capture_events(hass, EVENT_STREAMING_ERROR)
    model_server.script([cut(2, chunks=["The light ", "is ", "on."]), text("The light is on.")])
    result = await agent.say("Is the light on?")
    assert speech(result) == "The light is on."
    assert errors[0].data["fallback"] is True
    assert model_server.chats[0].json["stream"] is True
    assert not model_server.chats[-1].json.get("stream")


FAULTS = {
    "500": status(500, "broken"),
    "503": status(503, "busy"),
    "html": html(),
    "empty": empty(),
    "reset": reset(),
    "error in the stream": error_in_stream(),
    "429": status(429, "slow down", headers={"Retry-After": "3600"}),
    "404": status(404, "model not found"),
    "400": too_long(),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failing_server(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    """One short sentence in the person's language, no exception, and back to normal afterwards."""
    agent = await async_agent(hass, model_server, NO_FALLBACK)
    errors = async_capture_events(hass, EVENT_ERROR)
    model_server.default = FAULTS[fault]
    english = speech(await agent.say("Tell me a story"))
    german = speech(await agent.say("Erzähl mir etwas", language="de"))
    assert 0 < len(english) < 160
    assert english != german
    assert len(errors) == 2
    exceptions = [record for record in caplog.records if record.exc_info and record.levelno > logging.INFO]
    # Home Assistant's camera reports a library that the machine does not have.
    assert not [
        record for record in exceptions if not record.name.startswith("homeassistant.components.camera")
    ]

    model_server.default = text("I am back.")
    assert speech(await agent.say("Hello")) == "I am back."


async def test_own_sentences_help_out(hass: HomeAssistant, model_server: ModelServer) -> None:
    """With the model server gone, simple commands still work."""
    agent = await async_agent(hass, model_server)
    model_server.default = reset()
    result = await agent.say("turn on kitchen ceiling")
    assert hass.states.get("light.kitchen_ceiling").state == "on"
    assert speech(result)
    assert result.response.error_code is None
    unknown = await agent.say("tell me a story")
    assert unknown.response.error_code is not None


async def test_own_sentences_pass_the_guard(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A hidden entity is out of their reach too."""
    agent = await async_agent(hass, model_server)
    model_server.default = reset()
    await agent.say("turn on secret light")
    assert hass.states.get("light.secret_light").state == "off"


async def test_own_sentences_first(hass: HomeAssistant, model_server: ModelServer) -> None:
    """By option they are tried first, and the model is asked for the rest."""
    agent = await async_agent(hass, model_server, {"local_first_enabled": True})
    result = await agent.say("turn on kitchen ceiling")
    assert hass.states.get("light.kitchen_ceiling").state == "on"
    assert not model_server.chats
    assert result.conversation_id
    model_server.script([text("Once upon a time.")])
    later = await agent.say("tell me a story", conversation_id=result.conversation_id)
    assert speech(later) == "Once upon a time."
    (request,) = model_server.chats
    assert next(m["content"] for m in request.messages if m["role"] == "user") == "turn on kitchen ceiling"


async def test_the_other_server_helps_out(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    """A configured fallback model answers while the first server is down."""
    agent = await async_agent(
        hass,
        model_server,
        {"fallback_llm_base_url": other_model_server.url, "fallback_llm_model": "test-model"},
    )
    model_server.default = reset()
    other_model_server.default = text("Here I am.")
    assert speech(await agent.say("Hello")) == "Here I am."


async def test_a_refused_key(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A new key is asked for, and the key is in no event and no answer."""
    agent = await async_agent(hass, model_server, NO_FALLBACK, llm_api_key="sk-very-secret")
    errors = async_capture_events(hass, EVENT_ERROR)
    model_server.default = status(401, "Incorrect API key provided: sk-very-secret")
    result = await agent.say("Hello")
    await hass.async_block_till_done()
    assert "very-secret" not in speech(result) + str(errors[0].data)
    (flow,) = [flow for flow in hass.config_entries.flow.async_progress() if flow["handler"] == "home_agent"]
    assert flow["context"]["source"] == SOURCE_REAUTH


async def test_two_people_at_once(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Turns that overlap do not mix."""
    agent = await async_agent(hass, model_server)
    model_server.default = lambda request: text(f"You said {request.messages[-1]['content'].split()[0]}.")
    sentences = [f"number{index} please" for index in range(12)]
    results = await asyncio.gather(
        *(
            conversation.async_converse(hass, sentence, None, Context(), "en", agent.entity_id)
            for sentence in sentences
        )
    )
    assert [speech(result) for result in results] == [f"You said number{index}." for index in range(12)]
