"""What is behind a tool of another LLM API: its own name, its intent, its script."""

from collections.abc import Mapping
from typing import Any, Final, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er, llm, selector
from homeassistant.util.json import JsonObjectType

CORE = "homeassistant.components."
CALL_ANYTHING: Final = "homeassistant__call_action"
"""Home Assistant's tool that calls any action on anything, exposed or not; `ha_control` is in its place."""


class OtherTool(llm.Tool):
    """A tool of another API under a name that servers accept and that no other tool has."""

    def __init__(self, name: str, tool: llm.Tool, api_id: str) -> None:
        self.name = name
        self.api_id = api_id
        self.tool = tool
        self.title = tool.title
        self.description = tool.description
        self.parameters = tool.parameters
        self.annotations = tool.annotations
        self.integration = tool.integration

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult | JsonObjectType:
        """Call the tool by its own name."""
        call = llm.ToolInput(self.tool.name, tool_input.tool_args, id=tool_input.id)
        return await self.tool.async_call(hass, call, llm_context)


def inner_tool(tool: llm.Tool) -> llm.Tool:
    """Return a tool as its own API made it."""
    while isinstance(tool, OtherTool | llm.NamespacedTool):
        tool = tool.tool
    return tool


def tells_states(tool: llm.Tool) -> bool:
    """Return whether a tool of Home Assistant's own tells what is exposed, or more, whoever asks."""
    module = type(inner_tool(tool)).__module__
    return module.startswith(CORE) and module.endswith(".llm") and module != f"{CORE}llm.llm"


def inner_name(tool: llm.Tool) -> str:
    """Return the name that a tool's own API gave it."""
    return inner_tool(tool).name


def intent_of(tool: llm.Tool) -> str | None:
    """Return the intent behind a tool, if it is one."""
    inner = inner_tool(tool)
    return inner.intent_type if isinstance(inner, llm.IntentTool) else None


@callback
def script_of(hass: HomeAssistant, tool: llm.Tool) -> str | None:
    """Return the script behind a tool, if it is one."""
    inner = inner_tool(tool)
    if not isinstance(inner, llm.ActionTool):
        return None
    # ActionTool has no public way to tell what it calls.
    domain, action = getattr(inner, "_domain", ""), getattr(inner, "_action", "")
    if domain != "script":
        return None
    registered = er.async_get(hass).async_get_entity_id("script", "script", action)
    return registered or f"script.{action}"


def values_of(tool: llm.Tool, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a script gets as they are; core puts ids in the place of areas and floors."""
    schema = getattr(inner_tool(tool).parameters, "schema", None)
    fields = schema if isinstance(schema, Mapping) else {}
    replaced = {
        str(name)
        for name, validator in fields.items()
        if isinstance(validator, selector.AreaSelector | selector.FloorSelector)
    }
    return {name: value for name, value in args.items() if name not in replaced}
