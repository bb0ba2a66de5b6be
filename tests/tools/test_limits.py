"""Tools that hang, fail, or return what nobody can read: the turn goes on, and no call is made twice."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
import json
import logging
from typing import Any, override

from hypothesis import given, settings, strategies as st
import probatio
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_TOOL_EXECUTED, MAX_RESULT_CHARS
from custom_components.home_agent.errors import ToolExecutionError
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.tools.base import HomeAgentTool, ToolRun
from custom_components.home_agent.tools.results import plain_json, succeeded
from custom_components.home_agent.tools.turn_calls import TurnCalls
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError, ServiceNotFound, Unauthorized
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.helpers.json import json_dumps
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.examples import many
from tests.servers.model_server import ModelServer
from tests.servers.replies import many_calls, text, tool_calls

LIGHT = "light.kitchen_ceiling"
PROBE = ("probe", {"what": "it"})
LONGEST = MAX_RESULT_CHARS + 200

type ProbeAction = Callable[[], Coroutine[Any, Any, Any]]


class Probe(HomeAgentTool):
    """A tool that does what a test tells it."""

    name = "probe"
    description = "Does something"
    parameters = probatio.Schema({probatio.Optional("what"): object})

    def __init__(self, action: ProbeAction) -> None:
        self.action = action
        self.runs = 0

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> Any:
        self.runs += 1
        return await self.action()


def give(agent: Agent, action: ProbeAction) -> Probe:
    probe = Probe(action)
    handler = agent.entry.runtime_data.handler
    handler.tools["probe"] = probe
    return probe


def returning(value: Any) -> ProbeAction:
    async def action() -> Any:
        return value

    return action


def raising(error: BaseException) -> ProbeAction:
    async def action() -> Any:
        raise error

    return action


async def run_probe(agent: Agent, call: tuple[str, Any] = PROBE) -> tuple[str, dict[str, Any]]:
    """Let the model call the tool; return what is said then, and the envelope."""
    agent.server.script([tool_calls([call]), text("That is that.")])
    async with asyncio.timeout(30):
        result = await agent.say("Do it")
    envelopes = [m["content"] for m in agent.server.chats[-1].messages if m["role"] == "tool"]
    assert len(envelopes[-1]) <= 2 * LONGEST
    return speech(result), json.loads(envelopes[-1])


class Colour(Enum):
    """Something that JSON has no word for."""

    RED = "red"


class Rude:
    """Something that cannot even be named."""

    @override
    def __str__(self) -> str:
        raise RuntimeError("no")


CYCLE: list[Any] = ["a"]
CYCLE += [CYCLE, CYCLE]
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]

STRANGE = {
    "30 MB of text": "x" * 30_000_000,
    "30 MB of things": [{"name": f"thing {index}"} for index in range(1_000_000)],
    "30 MB of keys": {f"key {index}": index for index in range(500_000)},
    "not a number": {"a": float("nan"), "b": float("inf"), "c": 1.5},
    "times": [datetime(2026, 11, 21, tzinfo=UTC), date(2026, 11, 21), timedelta(minutes=5)],
    "sets": {"a": {1, 2}, "b": frozenset("x"), "c": (1, 2)},
    "cyclic": CYCLE,
    "deep": DEEP,
    "bytes": b"\xff\x00",
    "half a character": {"\ud800": "\udfff"},
    "a huge number": [10**400, -(2**70), Decimal("1.10")],
    "keys that are no text": {1: "a", (1, 2): "b", None: "c", Colour.RED: "d"},
    "objects": [object(), Colour.RED, Rude(), Rude],
    "nothing": None,
}


async def test_what_no_json_can_hold(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """It reaches the model as text, shortened, and the event too."""
    agent = await async_agent(hass, model_server)
    executed = async_capture_events(hass, EVENT_TOOL_EXECUTED)
    for what, value in STRANGE.items():
        give(agent, returning(value))
        said, envelope = await run_probe(agent)
        assert said.startswith("That is that.")
        assert envelope["success"] is True
        assert envelope["error"] is None
        assert ("(cut)" in str(envelope["result"])) is (what.startswith("30 MB") or what == "cyclic"), what
        assert len(str(executed[-1].data)) < 2000
    assert not [record for record in caplog.records if record.exc_info and "camera" not in record.name]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
    max_leaves=50,
)


@settings(deadline=None, max_examples=many(150))
@given(JSON)
def test_any_result_is_json(value: Any) -> None:
    """And what JSON can hold arrives as it was."""
    envelope = succeeded(value).data
    assert json.loads(json_dumps(envelope)) == envelope
    assert plain_json(plain_json(value)) == plain_json(value)


RAISED: list[BaseException] = [
    ToolExecutionError("the lamp is broken"),
    HomeAssistantError("no"),
    ServiceNotFound("light", "dance"),
    Unauthorized(),
    probatio.Invalid("no"),
    ValueError("secret stack"),
    KeyError("secret stack"),
    RuntimeError("secret stack"),
    RecursionError("secret stack"),
    MemoryError("secret stack"),
    TimeoutError("secret stack"),
    StopAsyncIteration("secret stack"),
    asyncio.CancelledError("secret stack"),
]


async def test_whatever_a_tool_raises(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The model is told that it failed, the log why; the turn goes on and the next one works."""
    agent = await async_agent(hass, model_server)
    known = (HomeAssistantError, probatio.Invalid, TimeoutError, asyncio.CancelledError)
    for error in RAISED:
        caplog.clear()
        probe = give(agent, raising(error))
        said, envelope = await run_probe(agent)
        assert said.startswith("That is that.")
        assert envelope["success"] is False
        assert envelope["error"]
        assert "secret stack" not in envelope["error"]
        assert probe.runs == 1
        logged = [r for r in caplog.records if r.exc_info and r.name.startswith("custom_components")]
        assert [r.levelno for r in logged] == [logging.ERROR] * (not isinstance(error, known)), error
    give(agent, returning("fine"))
    assert (await run_probe(agent))[1]["result"] == "fine"


async def test_a_tool_that_hangs(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """It is given up after its time, which the model is told; nothing of it goes on."""
    agent = await async_agent(hass, model_server)
    agent.entry.runtime_data.handler.timeout = 0.01
    ended = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    probe = give(agent, hang)
    said, envelope = await run_probe(agent)
    assert said.startswith("That is that.")
    assert "within 0.01 s" in envelope["error"]
    assert "unknown" in envelope["error"]
    assert ended.is_set()
    assert probe.runs == 1
    assert not [record for record in caplog.records if record.exc_info and "camera" not in record.name]


async def test_an_entity_that_goes_between_resolving_and_calling(hass: HomeAssistant, agent: Agent) -> None:
    """The first light takes the second one away."""

    async def turn_on(call: ServiceCall) -> None:
        er.async_get(hass).async_remove("light.kitchen_counter")
        await asyncio.sleep(0)
        hass.states.async_set(LIGHT, "on")

    hass.services.async_register("light", "turn_on", turn_on)
    both = {"action": "turn_on", "entity_id": [LIGHT, "light.kitchen_counter"]}
    said, envelope = await run_probe(agent, ("ha_control", both))
    assert said.startswith("That is that.")
    assert envelope["success"] is True
    assert "Kitchen Counter is gone" in envelope["error"]
    assert set(envelope["result"]["done"]) == {LIGHT}
    assert envelope["result"]["failed"] == {"light.kitchen_counter": "is gone"}


async def test_the_same_call_while_it_still_runs(agent: Agent) -> None:
    """All get the one result, failed or not."""
    handler = agent.entry.runtime_data.handler
    for fails in (False, True):
        begun, release = asyncio.Event(), asyncio.Event()

        async def action(
            begun: asyncio.Event = begun, release: asyncio.Event = release, *, fails: bool = fails
        ) -> str:
            begun.set()
            await release.wait()
            if fails:
                raise ToolExecutionError("no")
            return "fine"

        probe = give(agent, action)
        turn = TurnCalls(
            speaker=Speaker(context=Context(), language="en"),
            sentence="Do it",
            conversation_id="test",
            tools=handler.tools,
            llm_context=llm.LLMContext("home_agent", Context(), "en", "conversation", None),
            max_calls=5,
        )
        calls = [asyncio.create_task(handler.async_execute(llm.ToolInput(*PROBE), turn)) for _ in range(3)]
        await begun.wait()
        release.set()
        assert [result.error for result in await asyncio.gather(*calls)] == [fails] * 3
        assert (probe.runs, turn.started) == (1, 1)


async def test_a_thousand_calls(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """As many as allowed are run, each of the others is answered, and the person is too."""
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    executed = async_capture_events(hass, EVENT_TOOL_EXECUTED)
    model_server.script([many_calls(1000), text("Too much.")])
    assert speech(await agent.say("Everything")).startswith("Too much.")
    messages = model_server.chats[1].messages
    called = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert called == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert len(called) == len(set(called))
    assert len(executed) == 5
    assert not services
