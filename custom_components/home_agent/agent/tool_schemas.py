"""Tools as a request carries them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm

from ..context.catalogue import Catalogue
from ..tools.base import HomeAgentTool
from ..tools.other_apis import async_instances, named_tools, prompts, wire_name


def function_tool(tool: llm.Tool, serializer: Callable[[Any], Any] | None) -> dict[str, Any]:
    """Return one tool in the form that model servers take."""
    schema = probatio.to_openapi(tool.parameters, custom_serializer=serializer, openapi_version="3.1.0")
    function: dict[str, Any] = {"name": wire_name(tool.name), "parameters": schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def function_tools(
    tools: Iterable[llm.Tool], serializer: Callable[[Any], Any] | None = llm.selector_serializer
) -> list[dict[str, Any]]:
    """Return tools in the form that model servers take."""
    return [function_tool(tool, serializer) for tool in tools]


class OwnTools:
    """The agent's own tools as requests carry them. They change only with the catalogue."""

    def __init__(self, tools: Iterable[llm.Tool]) -> None:
        """Write the schemas once."""
        own = list(tools)
        self.names = frozenset(tool.name for tool in own)
        large = [tool for tool in own if isinstance(tool, HomeAgentTool) and tool.for_large_houses]
        self._always = function_tools(tool for tool in own if tool not in large)
        self._all = [*self._always, *function_tools(large)]

    def beside(self, catalogue: Catalogue) -> list[dict[str, Any]]:
        """Return the tools for a prompt with this catalogue."""
        return self._always if catalogue.complete else self._all


@dataclass(frozen=True, slots=True)
class OtherTools:
    """Tools of other LLM APIs: to call, as a request carries them, and what their APIs say about them."""

    tools: dict[str, llm.Tool] = field(default_factory=dict)
    schemas: list[dict[str, Any]] = field(default_factory=list)
    prompt: str = ""


async def async_other_tools(
    hass: HomeAssistant, api_ids: Sequence[str], llm_context: llm.LLMContext, taken: Iterable[str]
) -> OtherTools:
    """Return the tools of other APIs under names that are not taken; the same on each turn."""
    if not api_ids:
        return OtherTools()
    instances = await async_instances(hass, api_ids, llm_context)
    named = named_tools(instances, taken)
    schemas = [function_tool(tool, instance.custom_serializer) for tool, instance in named]
    return OtherTools({tool.name: tool for tool, _ in named}, schemas, prompts(instances))
