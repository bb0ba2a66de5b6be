"""Calls that a model writes into its answer: read, run and never spoken; prose is left alone."""

from typing import Any

from custom_components.home_agent.agent.rounds import filter_for, written_calls
from custom_components.home_agent.safety.redaction import UNPARSED
from homeassistant.core import HomeAssistant
from tests.helpers.agent import async_agent
from tests.helpers.schemas import LIGHT, TOOLS
from tests.helpers.turns import ON, tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

JSON = '{"action": "turn_on", "entity_id": "light.kitchen_ceiling"}'


def read(reply: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls in a reply, as the agent reads them."""
    speech_filter = filter_for(TOOLS, voice=True)
    for char in reply:
        speech_filter.feed(char)
    speech_filter.flush()
    return [(call.tool_name, call.tool_args) for call in written_calls(speech_filter, TOOLS)]


def test_what_cannot_be_read_is_not_guessed() -> None:
    """Cut off or unnamed arguments go to the guard as broken: half a call may be a bigger one."""
    for reply in (
        "HassTurnOff('Kitchen', ['light'])",
        '{"tool_calls": [{"name": "HassTurnOff", "arguments": {"domain": ["light"], ""}}]}',
        '<tool_call>{"name": "HassTurnOff", "arguments": {"domain": ["light"]',
        "HassTurnOff(domain=['light'",
    ):
        assert read(reply) == [("HassTurnOff", {UNPARSED: ""})]


async def test_a_broken_written_call_comes_back(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The model is told, and may make the call as it should."""
    agent = await async_agent(hass, model_server)
    model_server.script([text("HassTurnOn('Kitchen Ceiling')"), tool_calls([ON]), text("On.")])
    await agent.say("Kitchen ceiling on")
    assert "not valid JSON" in tool_results(model_server.chats[1])[0]["error"]
    assert hass.states.get(LIGHT).state == "on"
