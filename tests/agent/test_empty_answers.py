"""After an answer without words and calls the model is asked once more, without thinking."""

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.turns import LIGHT, ON
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, thinking, tool_calls

SILENT = {
    "empty": text(""),
    "blank": text("\n\n"),
    "thought_cut_at_the_limit": text("<think>The person wants the light, so", finish="length"),
    "thought_that_never_ends": text("<think>The person wants the light."),
    "only_reasoning": thinking("The person wants the light.", finish="length"),
}


async def test_a_command_is_carried_out_after_silence(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """The second request is the first one with twice the tokens and no thinking, whatever the options say."""
    options = {"thinking_enabled": True, "reasoning_effort": "high", "llm_max_tokens": 300}
    agent = await async_agent(hass, model_server, options)
    for name, silence in SILENT.items():
        with subtests.test(name):
            await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
            model_server.clear()
            model_server.script([silence, tool_calls([ON]), text("The light is on.")])

            result = await agent.say("Kitchen ceiling on")

            assert speech(result) == "The light is on."
            assert hass.states.get(LIGHT).state == "on"
            first, again, _ = (request.json for request in model_server.chats)
            assert again["messages"] == first["messages"]
            assert again["tools"] == first["tools"]
            assert (first["max_tokens"], again["max_tokens"]) == (300, 600)
            assert "chat_template_kwargs" not in first
            assert again["chat_template_kwargs"]["enable_thinking"] is False
            assert (first["reasoning_effort"], again.get("reasoning_effort")) == ("high", None)


async def test_silence_twice_is_told(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent, subtests: pytest.Subtests
) -> None:
    """After the second silence one honest sentence ends the turn."""
    for sentence, said in [
        ("Turn on the kitchen ceiling", "Sorry, I didn't do that. Nothing was changed."),
        ("Tell me a fairy tale", "Sorry, I don't have an answer to that."),
    ]:
        with subtests.test(sentence=sentence, said=said):
            model_server.clear()
            model_server.script([text(""), thinking("Hm.", finish="length")])
            assert speech(await agent.say(sentence)) == said
            assert len(model_server.chats) == 2
            assert hass.states.get(LIGHT).state == "off"


async def test_silence_after_success_needs_no_request(model_server: ModelServer, agent: Agent) -> None:
    """Home Agent has words of its own for what has worked."""
    model_server.script([tool_calls([ON]), text("")])
    assert speech(await agent.say("Turn on the kitchen ceiling")) == "Done."
    assert len(model_server.chats) == 2
