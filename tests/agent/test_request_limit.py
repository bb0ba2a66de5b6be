"""How many requests one sentence can cost: each layer asks again, and all of them together are counted."""

from collections.abc import Sequence
from itertools import count, cycle
from typing import Any

import pytest

from custom_components.home_agent.agent.turn import MAX_REQUESTS
from homeassistant.core import HomeAssistant
from tests.helpers.agent import async_agent, speech
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import (
    Reply,
    cut,
    error_in_stream,
    raw,
    status,
    text,
    too_long,
    tool_calls,
    unknown_parameter,
)

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


@pytest.mark.parametrize(
    "replies",
    [
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
    ],
)
async def test_one_sentence(
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    replies: list[Reply],
) -> None:
    """Whatever fails, the person is answered, and the servers are asked a bounded number of times."""
    fallback = {"fallback_base_url": other_model_server.url, "fallback_model": "other"}
    agent = await async_agent(hass, model_server, fallback)
    model_server.default = failing(replies)
    other_model_server.default = failing(replies[::-1])
    result = await agent.say(SENTENCE)
    assert speech(result)
    asked = len(model_server.chats) + len(other_model_server.chats)
    assert 0 < asked <= MAX_REQUESTS


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
