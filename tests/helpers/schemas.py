"""Tools with schemas that calls are fitted to."""

from typing import Any, override

import probatio

from custom_components.home_agent.tools.ha_control import ControlTool
from custom_components.home_agent.tools.ha_query import QueryTool
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, llm


class OtherTool(llm.Tool):
    """A tool of another API."""

    name = "other"
    description = "Does something"

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        return llm.ToolResult(data={"args": tool_input.tool_args})


ASSIST = OtherTool(
    probatio.Schema(
        {
            probatio.Optional("name"): cv.string,
            probatio.Optional("area"): cv.string,
            probatio.Optional("floor"): probatio.All(str, probatio.Length(min=1)),
            probatio.Optional("domain"): [str],
            probatio.Optional("device_class"): [probatio.In(["garage", "curtain", "tv"])],
        }
    )
)
PLAYER = OtherTool(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "target_player": {"type": "string"},
            "volume": {"type": "integer", "minimum": 0, "maximum": 100},
            "mode": {"type": "string", "enum": ["repeat_all", "shuffle", "none"]},
            "loud": {"type": "boolean"},
            "tracks": {"type": "array", "items": {"type": "string"}},
            "options": {"type": "object"},
        },
        "required": ["target_player"],
    }
)


TOOLS: dict[str, llm.Tool] = {"ha_control": ControlTool(), "ha_query": QueryTool()}
LIGHT = "light.kitchen_ceiling"
