"""Tools as a request carries them."""

from collections.abc import Callable, Iterable
from typing import Any

import probatio

from homeassistant.helpers import llm

from ..context.catalogue import Catalogue
from ..tools.base import HomeAgentTool
from ..tools.other_apis import wire_name


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
        large = [tool for tool in own if isinstance(tool, HomeAgentTool) and tool.for_large_houses]
        self._always = function_tools(tool for tool in own if tool not in large)
        self._all = [*self._always, *function_tools(large)]

    def beside(self, catalogue: Catalogue) -> list[dict[str, Any]]:
        """Return the tools for a prompt with this catalogue."""
        return self._always if catalogue.complete else self._all
