"""Calls, and the service that undoes them."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, call_action
from tests.helpers.turns import tool_results
from tests.servers.replies import text, tool_calls

LIGHT = "light.kitchen_ceiling"
BED = "light.bed_light"
UNDO = ("activity", {"action": "undo"})


def control(action: str, entity_id: str | list[str] = LIGHT, **parameters: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of ha_control."""
    return "ha_control", {"action": action, "entity_id": entity_id, "parameters": parameters}


async def act(
    agent: Agent, *calls: tuple[str, dict[str, Any]], sentence: str = "Do it", **options: Any
) -> Any:
    """Let a turn make calls, and return its answer."""
    agent.server.script([tool_calls(list(calls)), text("Okay.")])
    return await agent.say(sentence, **options)


async def undo(agent: Agent, conversation_id: str | None = None, **options: Any) -> dict[str, Any]:
    """Have the last turn put back by voice, and return what the model was told."""
    agent.server.script([tool_calls([UNDO]), text("Okay.")])
    await agent.say("Put it back", conversation_id=conversation_id, **options)
    return tool_results(agent.server.chats[-1])[-1]


async def undo_service(hass: HomeAssistant, context: Context | None = None, **data: Any) -> dict[str, Any]:
    """Call the service and return its response."""
    response = await call_action(hass, "undo", data, context)
    assert isinstance(response, dict)
    return response
