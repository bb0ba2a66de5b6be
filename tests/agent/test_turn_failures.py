"""What a person hears, and what does not happen twice, when the model server fails."""

from collections.abc import Sequence
from itertools import count, cycle
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.agent.turn import MAX_REQUESTS
from custom_components.home_agent.const import EVENT_ERROR
from homeassistant.config_entries import SOURCE_REAUTH
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import (
    Reply,
    cut,
    error_in_stream,
    raw,
    reset,
    status,
    text,
    too_long,
    tool_calls,
    unknown_parameter,
)

NO_FALLBACK = {"local_fallback_enabled": False}


async def test_own_sentences_help_out(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """With the model server gone, simple commands still work."""
    model_server.default = reset()
    result = await agent.say("turn on kitchen ceiling")
    assert hass.states.get("light.kitchen_ceiling").state == "on"
    assert speech(result)
    assert result.response.error_code is None
    unknown = await agent.say("tell me a story")
    assert unknown.response.error_code is not None


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


NOW = {"Retry-After": "0"}
"""The server may be asked again at once."""

DOWN = status(503, "down", headers=NOW)
BUSY = status(429, "slow down", headers=NOW)
BROKEN = cut(1, chunks=["Well, ", "this ", "goes ", "on."])
CLAIM = text("I have turned on the lamp.")
SENTENCE = "Turn on the lamp"


def failing(replies: Sequence[Reply]) -> Any:
    """Return what answers with each of these in turn; each call that it makes is another one."""
    numbers, following = count(), cycle(replies)

    def answer(_request: Captured) -> Reply:
        reply = next(following)
        return tool_calls([("nothing", {"number": next(numbers)})]) if reply is CALL else reply

    return answer


CALL = tool_calls([("nothing", {})])


FAILURES: list[list[Reply]] = [
    [DOWN],
    [BUSY, DOWN],
    [too_long()],
    [DOWN, too_long()],
    [unknown_parameter("temperature"), DOWN, unknown_parameter("top_p"), too_long()],
    [BROKEN, DOWN, too_long()],
    [error_in_stream(), BROKEN],
    [raw(b"nothing that can be read"), DOWN],
    [CLAIM, BROKEN],
    [CALL],
    [CALL, DOWN, CLAIM, DOWN, BROKEN, DOWN],
    [DOWN, CALL, too_long(), BROKEN, DOWN, CLAIM, error_in_stream()],
]


async def test_one_sentence(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """Whatever fails, the person is answered, and the servers are asked a bounded number of times."""
    fallback = {"fallback_llm_base_url": other_model_server.url, "fallback_llm_model": "other"}
    agent = await async_agent(hass, model_server, fallback)
    for number, replies in enumerate(FAILURES):
        with subtests.test(number=number):
            agent.entry.runtime_data.router._resting_until = 0
            model_server.clear()
            other_model_server.clear()
            model_server.default = failing(replies)
            other_model_server.default = failing(replies[::-1])
            assert speech(await agent.say(SENTENCE))
            assert model_server.chats
            assert len(model_server.chats) + len(other_model_server.chats) <= MAX_REQUESTS


async def test_the_limit(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is reached, nothing is asked any more and the person is told so."""
    monkeypatch.setattr("custom_components.home_agent.agent.turn.MAX_REQUESTS", 3)
    agent = await async_agent(hass, model_server)
    model_server.default = failing([CALL])
    result = await agent.say(SENTENCE)
    assert len(model_server.chats) == 3
    assert speech(result).startswith("I can't reach")
    model_server.default = text("Here I am.")
    assert speech(await agent.say("Hello")) == "Here I am."
