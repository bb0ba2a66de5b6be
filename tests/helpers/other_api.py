"""An LLM API of somebody else's."""

from typing import Any, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm


class Told(llm.Tool):
    """A tool of somebody else's."""

    integration = "test"
    parameters = probatio.Schema({probatio.Optional("text"): str})

    def __init__(self, name: str, *, read_only: bool = False) -> None:
        self.name = name
        self.description = "Tells."
        self.annotations = llm.ToolAnnotations(read_only=read_only)
        self.calls: list[dict[str, Any]] = []

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        assert tool_input.tool_name == self.name
        self.calls.append(tool_input.tool_args)
        return llm.ToolResult(data={"told": True})


class OtherAPI(llm.API):
    """An API of somebody else's."""

    def __init__(self, hass: HomeAssistant, api_id: str, tools: list[llm.Tool], prompt: str = "") -> None:
        super().__init__(hass=hass, id=api_id, name=f"The {api_id}")
        self._tools = tools
        self._prompt = prompt

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return them, or fail as a server that is down."""
        if not self._tools:
            raise HomeAssistantError("down")
        return llm.APIInstance(self, self._prompt, llm_context, list(self._tools))

    # slots of the base class leave no room for own attributes without this
    __slots__ = ("_prompt", "_tools")
