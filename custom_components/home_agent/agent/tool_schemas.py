"""Tools as a request carries them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm

from ..context.window import Catalogue
from ..knowledge.house import HouseSnapshot
from ..tools.base import HomeAgentTool, parameters_in, useful_tools
from ..tools.calls.schema import serialize
from ..tools.handler import ToolHandler
from ..tools.outside.other_apis import (
    async_instances,
    async_prompts,
    async_report_refused,
    async_sanitize,
    is_foreign,
    named_tools,
    wire_name,
)
from ..tools.script_tool import ScriptTools


def function_tool(tool: llm.Tool, serializer: Callable[[Any], Any] | None) -> dict[str, Any]:
    """Return one tool in the format of model servers."""
    schema = probatio.to_openapi(tool.parameters, custom_serializer=serializer, openapi_version="3.1.0")
    if isinstance(tool, HomeAgentTool):
        schema = _lean(schema)
        for name in tool.unoffered:
            schema["properties"].pop(name, None)
    function: dict[str, Any] = {"name": wire_name(tool.name), "parameters": schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _lean(schema: Any) -> Any:
    """Return a schema without what it says about other keys.

    Models keep to the keys that they are shown, the guard refuses others anyway, and every word costs. A
    schema that says nothing allows any key.
    """
    if isinstance(schema, list):
        return [_lean(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _lean(value)
        for key, value in schema.items()
        if key != "additionalProperties" or not isinstance(value, bool)
    }


def function_tools(
    tools: Iterable[llm.Tool], serializer: Callable[[Any], Any] | None = serialize
) -> list[dict[str, Any]]:
    """Return tools in the format of model servers."""
    return [function_tool(tool, serializer) for tool in tools]


class OwnTools:
    """The agent's own tools as requests carry them. They change only with the home."""

    def __init__(self, hass: HomeAssistant, handler: ToolHandler, scripts: ScriptTools) -> None:
        self._hass, self._handler, self._scripts = hass, handler, scripts
        self.write(handler.tools.values())

    def renew(self, house: HouseSnapshot) -> None:
        """Offer the scripts of this home that are tools."""
        if (scripts := self._scripts.renewed(house)) is not None:
            self._handler.set_scripts(scripts)
            self.write(self._handler.tools.values())

    def write(self, tools: Iterable[llm.Tool]) -> None:
        """Build the schemas once while the tools do not change."""
        self._tools = list(tools)
        self.names = frozenset(tool.name for tool in self._tools)
        self._schemas = dict(zip(self._tools, function_tools(self._tools), strict=True))

    def beside(self, house: HouseSnapshot, catalogue: Catalogue) -> list[dict[str, Any]]:
        """Return the tools for this home and a prompt with this catalogue."""
        self.renew(house)
        return [
            self._schema_of(tool, house)
            for tool in useful_tools(self._hass, house, self._tools)
            if not (catalogue.complete and isinstance(tool, HomeAgentTool) and tool.for_large_houses)
        ]

    def _schema_of(self, tool: llm.Tool, house: HouseSnapshot) -> dict[str, Any]:
        general = self._schemas[tool]
        here = parameters_in(self._hass, house, tool)
        if here is None:
            return general
        return {**general, "function": {**general["function"], "parameters": here}}


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
    schemas = {tool.name: function_tool(tool, instance.custom_serializer) for tool, instance in named}
    foreign = {tool.name: instance for tool, instance in named if is_foreign(instance)}
    told = await async_sanitize(hass, [schemas[name]["function"] for name in foreign])
    refused: dict[str, list[str]] = {}
    for (name, instance), one in zip(foreign.items(), told, strict=True):
        if one is None:
            refused.setdefault(instance.api.id, []).append(name)
            del schemas[name]
        else:
            schemas[name]["function"] = dict(one)
    for instance in filter(is_foreign, instances):
        async_report_refused(hass, instance.api.id, instance.api.name, refused.get(instance.api.id, ()))
    tools: dict[str, llm.Tool] = {tool.name: tool for tool, _ in named if tool.name in schemas}
    return OtherTools(tools, list(schemas.values()), await async_prompts(hass, instances))
