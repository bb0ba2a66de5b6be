"""The results of the calls of a turn."""

import json
from typing import Any

from homeassistant.core import Context
from tests.helpers.agent import Agent
from tests.servers.replies import text, tool_calls

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})


def tool_results(request: Any) -> list[dict[str, Any]]:
    """Return the envelopes that a request carries back to the model."""
    return [json.loads(message["content"]) for message in request.messages if message["role"] == "tool"]


async def call(
    agent: Agent, name: str, args: dict[str, Any], sentence: str = "Do it please"
) -> dict[str, Any]:
    """Have the model make a call; return the result that it reads."""
    agent.server.clear()
    agent.server.script([tool_calls([(name, args)]), text("Well.")])
    await agent.say(sentence)
    return tool_results(agent.server.chats[1])[-1]


async def control_result(
    agent: Agent, sentence: str = "Do that", language: str = "en", context: Context | None = None, **args: Any
) -> dict[str, Any]:
    """Say a sentence that a model answers with one call of ha_control, and return what it reads."""
    agent.server.clear()
    agent.server.script([tool_calls([("ha_control", args)]), text("Fine.")])
    await agent.say(sentence, language=language, context=context)
    return tool_results(agent.server.chats[-1])[-1]
