"""The results of the calls of a turn."""

import json
from typing import Any

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})


def tool_results(request: Any) -> list[dict[str, Any]]:
    """Return the envelopes that a request carries back to the model."""
    return [json.loads(message["content"]) for message in request.messages if message["role"] == "tool"]
