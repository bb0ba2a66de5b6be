"""Calls that a model writes into its answer: read, run and never spoken; prose is left alone."""

from typing import Any

import pytest

from custom_components.home_agent.agent.llm import filter_for, written_calls
from custom_components.home_agent.safety.redaction import UNPARSED
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.schemas import LIGHT, TOOLS
from tests.helpers.turns import ON, tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

ARGS = {"action": "turn_on", "entity_id": LIGHT}
JSON = '{"action": "turn_on", "entity_id": "light.kitchen_ceiling"}'

FORMS = [
    f'<tool_call>{{"name": "ha_control", "arguments": {JSON}}}</tool_call>',
    f'<tool_call>\n{{"name": "ha_control", "arguments": {JSON}}}\n',
    f'```json\n{{"name": "ha_control", "arguments": {JSON}}}\n```',
    f'{{"name": "ha_control", "parameters": {JSON}}}',
    f'{{"type": "function", "function": {{"name": "ha_control", "parameters": {JSON}}}',
    f'{{"type":"function","function":"ha_control","parameters":{JSON}}}',
    f'[TOOL_CALLS][{{"name": "ha_control", "arguments": {JSON}}}]',
    f"[TOOL_CALLS]ha_control[ARGS]{JSON}",
    f'{{"tool_calls": [{{"name": "ha_control", "arguments": {JSON}}}]}}',
    f"ha_control({JSON})",
    'ha_control(action="turn_on", entity_id="light.kitchen_ceiling")',
    "```tool_code\nprint(default_api.ha_control(action='turn_on', entity_id='light.kitchen_ceiling'))\n```",
    "[ha_control(action='turn_on', entity_id='light.kitchen_ceiling')]",
    'ha_control{action:<|"|>turn_on<|"|>,entity_id:<|"|>light.kitchen_ceiling<|"|>}',
    (
        "<function=ha_control><parameter=action>turn_on</parameter>"
        "<parameter=entity_id>light.kitchen_ceiling</parameter></function>"
    ),
    (
        '<function_calls><invoke name="ha_control"><parameter name="action">turn_on</parameter>'
        '<parameter name="entity_id">light.kitchen_ceiling</parameter></invoke></function_calls>'
    ),
    f"<|tool_calls_section_begin|><|tool_call_begin|>functions.ha_control:0{JSON}<|tool_calls_section_end|>",
    "ha_control\naction: turn_on\nentity_id: light.kitchen_ceiling",
    'ha_control(action="turn_on", entity_id="light.kitchen_ceiling")<|im_end|>',
    '<think>It is dark.</think>ha_control(action="turn_on", entity_id="light.kitchen_ceiling")',
]


def read(reply: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls in a reply, as the agent reads them."""
    speech_filter = filter_for(TOOLS, voice=True)
    for char in reply:
        speech_filter.feed(char)
    speech_filter.flush()
    return [(call.tool_name, call.tool_args) for call in written_calls(speech_filter, TOOLS)]


def test_forms() -> None:
    """Each form gives the call that was meant."""
    for form in FORMS:
        ((name, args),) = read(form)
        assert name.rpartition(".")[2] == "ha_control"
        assert args == ARGS, form


def test_prose_is_no_call() -> None:
    """A call amid a sentence about it is not made."""
    for reply in (
        "HassTurnOn is an intent that switches things on.",
        "I could use ha_control(action='turn_on', entity_id='light.x'), but I would rather ask first.",
        "To turn it on yourself, say `HassTurnOn(name='Lamp')` in the developer tools.",
        "The kitchen {light} is on.",
        "HassTurnOff Kitchen Light",
    ):
        assert read(reply) == []


def test_what_cannot_be_read_is_not_guessed() -> None:
    """Cut off or unnamed arguments go to the guard as broken: half a call may be a bigger one."""
    for reply in (
        "HassTurnOff('Kitchen', ['light'])",
        '{"tool_calls": [{"name": "HassTurnOff", "arguments": {"domain": ["light"], ""}}]}',
        '<tool_call>{"name": "HassTurnOff", "arguments": {"domain": ["light"]',
        "HassTurnOff(domain=['light'",
    ):
        assert read(reply) == [("HassTurnOff", {UNPARSED: ""})]


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_written_call_runs(hass: HomeAssistant, model_server: ModelServer, streaming: bool) -> None:
    """It is carried out and answered like any other, and nobody hears it; by other agents' names, too."""
    agent = await async_agent(hass, model_server, {"streaming_enabled": streaming})
    for form in (*FORMS[:6], 'light.turn_on(entity_id="light.kitchen_ceiling")'):
        model_server.clear()
        await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
        model_server.script([text(chunks=[form[:9], form[9:]]), text("The light is on.")])
        assert speech(await agent.say("Kitchen ceiling on")) == "The light is on."
        assert hass.states.get(LIGHT).state == "on"
        messages = model_server.chats[1].messages
        (call,) = [call for message in messages for call in message.get("tool_calls", [])]
        assert call["function"]["name"] in ("ha_control", "light.turn_on")
        assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == [call["id"]]


async def test_a_native_call_wins(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """A model that makes a call and writes it too makes it once."""
    both = tool_calls([ON])
    both.text = 'ha_control(action="turn_on", entity_id="light.bed_light")'
    model_server.script([both, text("On.")])
    await agent.say("Kitchen ceiling on")
    assert hass.states.get(LIGHT).state == "on"
    assert hass.states.get("light.bed_light").state == "off"


async def test_a_broken_written_call_comes_back(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The model is told, and may make the call as it should."""
    agent = await async_agent(hass, model_server)
    model_server.script([text("HassTurnOn('Kitchen Ceiling')"), tool_calls([ON]), text("On.")])
    await agent.say("Kitchen ceiling on")
    assert "not valid JSON" in tool_results(model_server.chats[1])[0]["error"]
    assert hass.states.get(LIGHT).state == "on"
