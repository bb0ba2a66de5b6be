"""Calls, and the service that undoes them."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, call_action

LIGHT = "light.kitchen_ceiling"
BED = "light.bed_light"


def control(action: str, entity_id: str | list[str] = LIGHT, **parameters: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of ha_control."""
    return "ha_control", {"action": action, "entity_id": entity_id, "parameters": parameters}


async def undo(agent: Agent, conversation_id: str | None = None, **options: Any) -> dict[str, Any]:
    """Have the last turn put back by voice, and return what the model was told."""
    return await agent.call(
        "activity", "Put it back", action="undo", conversation_id=conversation_id, **options
    )


async def undo_service(hass: HomeAssistant, context: Context | None = None, **data: Any) -> dict[str, Any]:
    """Call the service and return its response."""
    response = await call_action(hass, "undo", data, context)
    assert isinstance(response, dict)
    return response
