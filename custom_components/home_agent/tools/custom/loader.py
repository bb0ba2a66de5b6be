"""From YAML to tools: each one is read on its own, and what is wrong becomes a repair issue."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import probatio

from homeassistant.config import format_schema_error
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.json import json_bytes
from homeassistant.helpers.template import TemplateEnvironment
from homeassistant.util.json import json_loads

from ...const import DOMAIN, LOGGER
from ...texts import cut
from ..calls.schema import JsonSchema
from . import DATA_CUSTOM_TOOLS, CustomTools, InvalidTool, RawConfig
from .base import MAX_REASON, TEXT, CustomTool, Recipe, Templates, by_type
from .mcp import McpImport, McpServer, McpTool
from .rest import RestTool
from .service import ServiceTool, TemplateTool

CONF_CUSTOM_TOOLS: Final = "custom_tools"
CONF_OLDER: Final = "tools_custom"
HANDLERS: Final[Mapping[str, type[CustomTool]]] = {
    "mcp": McpTool,
    "rest": RestTool,
    "service": ServiceTool,
    "template": TemplateTool,
}
"""What a handler's `type` may be."""

MAX_TOOLS: Final = 100
MAX_DESCRIPTION: Final = 1_000
MAX_SCHEMA: Final = 8_000
MAX_PROBLEMS: Final = 10
MAX_PROBLEM: Final = 400


def _parameters(value: Any) -> JsonSchema:
    written = {"type": "object", "additionalProperties": False, **_PARAMETERS(value)}
    for name in written["properties"]:
        if not name.isidentifier():
            problem = "use letters, digits and _, so that templates can use the name"
            raise probatio.Invalid(problem, ["properties", name])
    if not set(written.get("required", ())) <= set(written["properties"]):
        raise probatio.Invalid("required names come from properties", ["required"])
    if len(str(written)) > MAX_SCHEMA:
        raise probatio.Invalid("too long: parameters are part of every request")
    try:
        return JsonSchema(written)
    except (probatio.Error, ValueError, TypeError, RecursionError) as err:
        raise probatio.Invalid(f"not a valid JSON Schema ({str(err)[:MAX_REASON]})") from err


_TOOLS: Final = probatio.All(cv.ensure_list, probatio.Length(max=MAX_TOOLS))
_CONFIG: Final = probatio.Schema(
    {probatio.Optional(CONF_CUSTOM_TOOLS): _TOOLS, probatio.Optional(CONF_OLDER): _TOOLS}
)
_PARAMETERS: Final = probatio.Schema(
    {
        probatio.Optional("type"): "object",
        probatio.Required("properties"): {str: dict},
        probatio.Optional("required"): [str],
    },
    extra=probatio.ALLOW_EXTRA,
)
_TOOL: Final = probatio.Schema(
    {
        probatio.Required("name"): probatio.All(
            str,
            probatio.Match(
                r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}\Z",
                msg="must begin with a letter and contain only letters, digits, _ and -, at most 64",
            ),
        ),
        probatio.Optional("description"): probatio.All(TEXT, probatio.Length(max=MAX_DESCRIPTION)),
        probatio.Optional("parameters"): _parameters,
        probatio.Required("handler"): by_type({name: kind.schema for name, kind in HANDLERS.items()}),
    }
)


@callback
def async_load(hass: HomeAssistant, config: Any, reserved: Collection[str]) -> CustomTools:
    """Read the configuration of `home_agent:`: the valid tools, and the problems of the others."""
    if isinstance(config, RawConfig):
        config = config.node
    tools = hass.data.setdefault(DATA_CUSTOM_TOOLS, CustomTools())
    recipes: dict[str, Recipe | McpImport] = {}
    wrong: dict[str, InvalidTool] = {}
    section = config if isinstance(config, Mapping) else {}
    try:
        _CONFIG(config or {})
    except probatio.Invalid as err:
        wrong["custom_tools"] = InvalidTool(CONF_CUSTOM_TOOLS, _problems(hass, err, config))
    nodes = [node for key in (CONF_CUSTOM_TOOLS, CONF_OLDER) for node in cv.ensure_list(section.get(key))]
    environment = TemplateEnvironment(hass)
    for number, node in enumerate(nodes[:MAX_TOOLS], 1):
        recipe, problems = _read(hass, environment, node, {*reserved, *recipes})
        if recipe is None:
            name = node.get("name") if isinstance(node, Mapping) else None
            shown = name[:64] if isinstance(name, str) and name.strip() else f"#{number}"
            wrong[f"custom_tool_{number}"] = InvalidTool(shown, problems)
        else:
            recipes[recipe.name] = recipe
    for server in tools.imports:
        server.async_forget()
    tools.recipes = tuple(recipe for recipe in recipes.values() if isinstance(recipe, Recipe))
    tools.imports = tuple(recipe for recipe in recipes.values() if isinstance(recipe, McpImport))
    tools.wrong = wrong
    return tools


@callback
def async_problems(hass: HomeAssistant, node: Any, taken: Collection[str]) -> list[str]:
    """Return the problems of a tool that is not in use yet."""
    return _read(hass, TemplateEnvironment(hass), node, taken)[1]


def _read(
    hass: HomeAssistant, environment: TemplateEnvironment, node: Any, taken: Collection[str]
) -> tuple[Recipe | McpImport | None, list[str]]:
    """Return one tool, or the tools of a server, or the problems; whatever was written."""
    try:
        try:
            written = json_loads(json_bytes(node))  # dates become texts
        except (TypeError, ValueError) as err:
            raise probatio.Invalid("a value cannot be written as JSON") from err
        if isinstance(written, dict):  # keys without a value do not count
            written = {key: value for key, value in written.items() if value is not None}
            if isinstance(handler := written.get("handler"), dict):
                written["handler"] = {key: value for key, value in handler.items() if value is not None}
        tool = _TOOL(written)
        name, description, handler = tool["name"], tool.get("description", ""), tool["handler"]
        is_server = handler["type"] == "mcp" and "tool" not in handler
        wrong: probatio.Invalid | None = None
        if name in taken:
            wrong = probatio.Invalid("another tool has this name", ["name"])
        elif is_server and "parameters" in tool:
            wrong = probatio.Invalid("the server names the parameters of its tools", ["parameters"])
        elif not is_server and not description:
            wrong = probatio.RequiredFieldInvalid("required key not provided", ["description"])
        if wrong is not None:
            return None, _problems(hass, wrong, node)
        parameters = tool.get("parameters") or _parameters({"properties": {}})
        kind = HANDLERS[handler["type"]]
        read = kind.read(handler, Templates(hass, environment, parameters.written["properties"].keys()))
    except probatio.Invalid as err:
        return None, _problems(hass, err, node)
    except Exception as err:  # noqa: BLE001 - one tool must not stop the others
        LOGGER.exception("A custom tool could not be read")
        return None, [f"It cannot be read ({type(err).__name__})"]
    if isinstance(read, McpServer):
        return McpImport(hass, name, description, read, taken), []
    return Recipe(name, description, parameters, kind, read), []


def _problems(hass: HomeAssistant, err: probatio.Invalid, node: Any) -> list[str]:
    """Return what is wrong in Home Assistant's words; values are not shown, since they may be secrets."""
    for each in err.errors if isinstance(err, probatio.MultipleInvalid) else [err]:
        each.secret = True
    lines = format_schema_error(hass, err, DOMAIN, node).splitlines()
    return [cut(line, MAX_PROBLEM) for line in lines[:MAX_PROBLEMS]]
