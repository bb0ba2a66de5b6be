"""What is heard of a turn while it is under way."""

import asyncio
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.agent.describe import async_phrase
from custom_components.home_agent.const import EVENT_STREAMING_ERROR
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.listening import LONG, Listener, hear, slow_light, start_turn
from tests.servers.model_server import ModelServer
from tests.servers.replies import (
    Fault,
    Reply,
    cut,
    error_in_stream,
    hang,
    html,
    reset,
    status,
    text,
    tool_calls,
)

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})
NO_FALLBACK = {"local_fallback_enabled": False}
VOICE = {"device_id": "satellite"}


@pytest.fixture
def quick_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let signs of life come at once."""
    monkeypatch.setattr("custom_components.home_agent.agent.rounds.HEARTBEAT_SECONDS", 0.001)


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custom_components.home_agent.agent.rounds.MOMENT_SECONDS", 0.001)


async def test_a_call_starts_while_the_rest_still_streams(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    """The first call has run before the second one has been written."""
    second = ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
    # The role, three events of the first call, and the head of the second one.
    reply = tool_calls([ON, second], fault=Fault.HANG, fault_at=5)
    model_server.script([reply, text("Both are on.")])
    listener = Listener()
    switched = asyncio.Event()
    hass.bus.async_listen(
        "home_agent.tool.executed", lambda _event: hass.loop.call_soon_threadsafe(switched.set)
    )
    turn = start_turn(agent, "Kitchen and bed light on", listener)
    async with asyncio.timeout(LONG):
        await switched.wait()
    assert hass.states.get(LIGHT).state == "on"
    assert not turn.done()
    assert hass.states.get("light.bed_light").state == "off"
    reply.release.set()
    assert speech(await turn) == "Both are on."
    assert hass.states.get("light.bed_light").state == "on"


async def test_a_silent_server_is_no_dead_satellite(
    hass: HomeAssistant, model_server: ModelServer, quick_heart: None, agent: Agent
) -> None:
    """While a server says nothing, signs of life come; they add nothing to the answer."""
    reply = hang(2, chunks=["Let me ", "see."])
    model_server.script([reply])
    listener = Listener()
    turn = start_turn(agent, "Tell me a story", listener, **VOICE)
    await listener.until(lambda: listener.text == "Let me" and listener.beats > 3)
    reply.release.set()
    assert speech(await turn) == listener.text == "Let me see."


async def test_a_hanging_tool_keeps_the_stream_alive(
    hass: HomeAssistant, model_server: ModelServer, quick_heart: None, short_patience: None, agent: Agent
) -> None:
    """The person is asked for one moment once in the conversation, then only signs of life come."""
    begun, release = slow_light(hass)
    model_server.script([tool_calls([ON], text="Sure."), text("The light is on.")])
    listener = Listener()
    turn = start_turn(agent, "It is dark in the kitchen", listener, **VOICE)
    await begun.wait()
    moment = await async_phrase(hass, "en", "one_moment")
    await listener.until(lambda: moment in listener.text and listener.beats > 3)
    release.set()
    assert speech(await turn) == "The light is on."
    assert listener.text.split() == f"Sure. {moment} The light is on.".split()


@pytest.mark.parametrize("place", [VOICE, {}])
async def test_patience_is_asked_of_nobody_else(
    hass: HomeAssistant,
    model_server: ModelServer,
    quick_heart: None,
    short_patience: None,
    place: dict[str, str],
) -> None:
    """Neither where the option is off, nor of somebody who reads."""
    agent = await async_agent(hass, model_server, {"one_moment": not place})
    begun, release = slow_light(hass)
    model_server.script([tool_calls([ON]), text("The light is on.")])
    listener = Listener()
    turn = start_turn(agent, "Kitchen ceiling on", listener, **place)
    await begun.wait()
    beats = listener.beats
    await listener.until(lambda: listener.beats > beats + 3)
    release.set()
    await turn
    assert listener.text == "The light is on."


async def test_a_broken_answer_is_said_once(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    """What was said before a stream broke is not said again."""
    broken = async_capture_events(hass, EVENT_STREAMING_ERROR)
    model_server.script(
        [cut(3, chunks=["The light ", "in the ", "kitchen "]), text("The light in the kitchen is on.")]
    )
    listener, result = await hear(agent, "Is the light on?", **VOICE)
    assert speech(result) == listener.text == "The light in the kitchen is on."
    assert len(broken) == 1


@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        (reset(), 3),  # a kept connection may have been closed meanwhile, which is no attempt
        (status(503, "busy"), 2),
        (status(500, "broken"), 2),
        (status(400, "no"), 1),
        (status(401, "no"), 1),
        (status(429, "slow", headers={"Retry-After": "3600"}), 1),
        (error_in_stream("upstream broke"), 2),
        (html(), 2),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
async def test_a_dead_server_costs_two_requests(
    hass: HomeAssistant, model_server: ModelServer, fault: Reply, requests: int
) -> None:
    """A second attempt at most: a person waits for it."""
    agent = await async_agent(hass, model_server, NO_FALLBACK)
    model_server.default = fault
    result = await agent.say("Tell me a story")
    assert result.response.error_code is not None
    assert len(model_server.chats) == requests


async def impatient(agent: Agent) -> None:
    """Let the agent wait for its server a moment only."""
    transport = agent.entry.runtime_data.router.primary.transport
    transport.first_byte_timeout = transport.idle_timeout = 0.05


@pytest.mark.parametrize("after", [-1, 2])
async def test_a_server_that_hangs_is_asked_once(
    hass: HomeAssistant, model_server: ModelServer, after: int
) -> None:
    """Before the headers, before the first word, or in the middle: who waited once does not wait again."""
    agent = await async_agent(hass, model_server, NO_FALLBACK)
    await impatient(agent)
    model_server.default = hang(after)
    listener, result = await hear(agent, "Tell me a story", **VOICE)
    assert speech(result) == await async_phrase(hass, "en", "llm_timeout")
    # The result is shown and spoken once, but a satellite that has begun to speak hears the stream only.
    assert (speech(result) in listener.text) is (after > 1)
    assert len(model_server.chats) == 1


async def test_a_listener_that_fails_leaves_nothing_behind(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception while a delta is handed on closes the stream and is answered in words."""
    agent = await async_agent(hass, model_server)
    reply = hang(2)
    model_server.script([reply])

    class Broken(Listener):
        def __call__(self, _chat_log: Any, delta: dict[str, Any]) -> None:
            super().__call__(_chat_log, delta)
            if delta.get("content") and not delta.get("role"):
                raise RuntimeError("listener")

    result = await start_turn(agent, "Tell me a story", Broken())
    assert speech(result) == await async_phrase(hass, "en", "unknown")
    await model_server.chats[0].gone.wait()
    assert not [task for task in asyncio.all_tasks() if "model stream" in task.get_name()]
    assert "failed unexpectedly" in caplog.text


async def test_a_model_that_begins_inside_a_thought(model_server: ModelServer, agent: Agent) -> None:
    """Its prompt opens the thought, so the reply has only its end; without a thought it is spoken."""
    reply = ("The person asks ", "for the light.", "</think>", "The light is on.")
    model_server.script([text(chunks=reply), text("Yes."), text(chunks=["Yes, ", "it is."])])
    await hear(agent, "Is the light on?", **VOICE)
    assert speech((await hear(agent, "Sure?", **VOICE))[1]) == "Yes."
    late = hang(2, chunks=["Really, ", "yes."])
    model_server._replies.clear()
    model_server.script([late])
    listener = Listener()
    turn = start_turn(agent, "Really?", listener, **VOICE)
    await listener.until(lambda: listener.text == "Really,")
    late.release.set()
    assert speech(await turn) == "Really, yes."


async def test_a_service_is_called_once_although_the_stream_breaks(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    """A connection that breaks behind a call, in the middle of more words, does not run it again."""
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    toggle = ("ha_control", {"action": "toggle", "entity_id": LIGHT})
    second = ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
    model_server.script(
        [tool_calls([toggle, second], fault=Fault.RESET, fault_at=5), text("The light is on.")]
    )
    listener, result = await hear(agent, "Toggle the kitchen ceiling", **VOICE)
    assert len([event for event in services if event.data["domain"] == "light"]) == 1
    assert speech(result) == listener.text == "The light is on."
