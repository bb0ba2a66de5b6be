"""Tools as a request carries them."""

from collections.abc import Callable, Iterable
from typing import Any

import probatio

from homeassistant.helpers import llm

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
