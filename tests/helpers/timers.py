"""Calls of the timer tool, and what Home Assistant shows."""

from typing import Any

from homeassistant.components import persistent_notification
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.turns import tool_results
from tests.servers.replies import text, tool_calls


async def call(agent: Agent, sentence: str = "Do it", /, **args: Any) -> dict[str, Any]:
    """Let a turn make one call of the timer tool and return what the model was told."""
    options = {key: args.pop(key) for key in ("device_id", "context", "language") if key in args}
    agent.server.script([tool_calls([("timer", args)]), text("Okay.")])
    await agent.say(sentence, **options)
    return tool_results(agent.server.chats[-1])[-1]


def shown(hass: HomeAssistant) -> list[str]:
    """Return the notifications of Home Assistant itself."""
    return [
        item["message"] for item in persistent_notification._async_get_or_create_notifications(hass).values()
    ]
