"""How large what a model, a person or a caller of a service sends may be."""

import json
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.tools.base import MAX_SLOT_CHARS
from custom_components.home_agent.tools.calls.schema import MAX_CHARS, MAX_VALUES
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, call_action, speech
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

LONG = 100_000


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def parameters(**values: Any) -> dict[str, Any]:
    """Return a call of ha_control with parameters."""
    return {"action": "turn_on", "entity_id": "light.kitchen_ceiling", "parameters": values}


HUGE: dict[str, tuple[str, dict[str, Any]]] = {
    "code words": ("store_memory", {"content": "code:" * (LONG // 5)}),
    "transition": ("ha_control", parameters(transition="0" * LONG)),
    "transition in spaces": ("ha_control", parameters(transition=f"1{' ' * 20_000}x")),
    "temperature": ("ha_control", parameters(temperature=f"1{' ' * LONG}x")),
    "duration of history": ("ha_query", {"history": {"duration": "1 " * (LONG // 2)}}),
    "when": ("timer", {"action": "start", "when": "in " * (LONG // 3)}),
    "start": ("calendar", {"start": "in " * (LONG // 3)}),
    "due": ("todo_list", {"action": "add", "items": ["x"], "due": "at " * (LONG // 3)}),
    "unknown keys": ("ha_control", {f"key_{number}": 1 for number in range(15_000)}),
    "long key": ("ha_control", {"k" * LONG: 1}),
    "name of brackets": ("ha_control", {"action": "turn_on", "name": "[" * LONG}),
    "name": ("ha_control", {"action": "turn_on", "name": "lamp " * (LONG // 5)}),
    "entity ids": ("ha_control", {"action": "turn_on", "entity_id": ["light.x" * 50] * 2_000}),
    "depth": ("ha_control", {"action": "turn_on", "parameters": nested(100)}),
    "wrapped": ("ha_control", {"parameters": "[" * 20_000}),
}


async def async_execute(hass: HomeAssistant, tool: str, args: dict[str, Any]) -> dict[str, Any]:
    found = await call_action(hass, "execute_tool", {"tool_name": tool, "parameters": args})
    assert found is not None
    return found


async def test_a_call_that_is_too_large(
    hass: HomeAssistant, agent: Agent, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    """It is refused at once, with a reason, and nothing happens."""
    for case, (tool, args) in HUGE.items():
        with subtests.test(case=case):
            assert tool in agent.entry.runtime_data.handler.tools
            called = []
            hass.bus.async_listen(EVENT_CALL_SERVICE, called.append)
            answer = await async_execute(hass, tool, args)
            await hass.async_block_till_done()
            assert answer["success"] is False
            assert len(answer["error"]) <= 600
            assert [event for event in called if event.data["domain"] != DOMAIN] == []
            assert "Traceback" not in caplog.text


async def test_the_refusal_names_the_slot_and_its_limit(hass: HomeAssistant, agent: Agent) -> None:
    """The model can do better the next time."""
    long = "x" * (MAX_SLOT_CHARS + 1)
    told = (await async_execute(hass, "timer", {"action": "start", "when": long}))["error"]
    assert f"when: at most {MAX_SLOT_CHARS} characters" in told
    many = await async_execute(hass, "ha_control", {"parameters": {str(n): n for n in range(MAX_VALUES)}})
    assert str(MAX_VALUES) in many["error"]


async def test_the_model_sends_a_call_that_is_too_large(
    agent: Agent, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn continues; text that was too large, or is no value, is neither sent back nor stored."""
    model_server.script(
        [
            tool_calls(
                [
                    ("x" * 200_000, {}),
                    ("ha_control", {"name": "y" * (MAX_CHARS + 1)}),
                    ("ha_query", '{"name": "\\ud800", "area": 123456789012345678901234567890}'),
                    ("ha_query", '{"name": NaN}'),
                    ("ha_query", '{"name": ' + "[" * LONG),
                    ("ha_query", '{"a": ' * 200 + "1" + "}" * 200),
                ]
            ),
            text("That did not work."),
        ]
    )
    assert speech(await agent.say("Do it")) == "That did not work."
    results = tool_results(model_server.chats[1])
    assert [result["success"] for result in results] == [False] * 6
    assert len(json.dumps(model_server.chats[1].json)) < 50_000
    assert "Traceback" not in caplog.text


async def test_a_sentence_that_is_too_long(
    agent: Agent, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """The person hears why, no model is asked, and the next sentence is answered."""
    for piece in ["turn on the lamp ", "code:", "1", "in ", "(", "\u0301", "😀"]:
        with subtests.test(piece=piece):
            model_server.clear()
            sentence = (piece * LONG)[:LONG]
            answer = speech(await agent.say(sentence, conversation_id="long"))
            assert answer == "That is too long. A sentence may have at most 8000 characters."
            assert model_server.chats == []
            model_server.script([text("Hello.")])
            assert speech(await agent.say("Hi", conversation_id="long")) == "Hello."
