"""From YAML to tools: each one is read on its own, and what is wrong becomes a repair issue."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import probatio

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.template import TemplateEnvironment

from ...const import DOMAIN, LOGGER
from ...regex import lazy_regex
from ..calls.schema import JsonSchema
from .base import CustomTool, Definition, Recipe
from .checks import MAX_REASON, MAX_SHOWN, ProblemReport, ToolProblem, Writer, YamlPlace, YamlSection
from .mcp import McpTool, McpTools
from .mcp_import import McpImport
from .recipes import DATA_CUSTOM_TOOLS, CustomTools, InvalidTool, RawConfig
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
_NAME = lazy_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_EXAMPLE_HANDLER: Final = 'handler: {type: template, value_template: "{{ a + b }}"}'


@callback
def async_load(hass: HomeAssistant, config: Any, reserved: Collection[str]) -> CustomTools:
    """Read the configuration of `home_agent:`: the valid tools, and the problems of the others."""
    if isinstance(config, RawConfig):
        config = config.node
    tools = hass.data.setdefault(DATA_CUSTOM_TOOLS, CustomTools())
    general = ProblemReport()
    found: dict[str, Recipe | McpImport] = {}
    wrong: dict[str, InvalidTool] = {}
    environment = TemplateEnvironment(hass)
    for number, node in enumerate(_nodes(config, general), 1):
        report = ProblemReport()
        name = _shown_name(node, number)
        recipe = _read_safely(hass, environment, node, report, {*reserved, *found})
        if recipe is None or report.problems:
            wrong[f"custom_tool_{number}"] = InvalidTool(name, report.problems)
        else:
            found[recipe.name] = recipe
    if general.problems:
        wrong["custom_tools"] = InvalidTool(CONF_CUSTOM_TOOLS, general.problems)
    for one in tools.imports:
        one.async_forget()
    tools.recipes = tuple(one for one in found.values() if isinstance(one, Recipe))
    tools.imports = tuple(one for one in found.values() if isinstance(one, McpImport))
    tools.wrong = wrong
    return tools


@callback
def async_problems(hass: HomeAssistant, node: Any, taken: Collection[str]) -> list[ToolProblem]:
    """Return the problems of a tool that is not in use yet."""
    report = ProblemReport()
    _read_safely(hass, TemplateEnvironment(hass), node, report, taken)
    return report.problems


def _nodes(config: Any, report: ProblemReport) -> list[Any]:
    """Return the tools as they are written, under the name of today or the older one."""
    if config is None:
        return []
    if not isinstance(config, Mapping):
        report.add(DOMAIN, "no_tools", YamlPlace.of(config) or YamlPlace(), name=CONF_CUSTOM_TOOLS)
        return []
    section = YamlSection(config, "", report, YamlPlace())
    nodes: list[Any] = []
    for key in (CONF_CUSTOM_TOOLS, CONF_OLDER):
        written = section.raw(key)
        if isinstance(written, list):
            nodes += written
        elif written is not None:
            section.problem(key, "no_list")
    section.finish()
    if len(nodes) > MAX_TOOLS:
        section.problem(CONF_CUSTOM_TOOLS, "too_many_tools", most=str(MAX_TOOLS))
    return nodes[:MAX_TOOLS]


def _read_safely(
    hass: HomeAssistant,
    environment: TemplateEnvironment,
    node: Any,
    report: ProblemReport,
    taken: Collection[str],
) -> Recipe | McpImport | None:
    """Return one tool; None with problems reported, whatever was written."""
    try:
        return _read(hass, environment, node, report, taken)
    except Exception as err:  # noqa: BLE001 - one tool must not stop the others
        LOGGER.exception("A custom tool could not be read")
        report.add("", "unreadable", YamlPlace.of(node) or YamlPlace(), error=type(err).__name__)
        return None


def _read(
    hass: HomeAssistant,
    environment: TemplateEnvironment,
    node: Any,
    report: ProblemReport,
    taken: Collection[str],
) -> Recipe | McpImport | None:
    """Return one tool, or the tools of a server; None if it cannot be made."""
    if not isinstance(node, Mapping):
        report.add("", "no_tool", YamlPlace.of(node) or YamlPlace())
        return None
    section = YamlSection(node, "", report, YamlPlace())
    name = section.text("name", required="name: bus_times")
    if name is not None and not _NAME.fullmatch(name):
        section.problem("name", "bad_name")
    elif name is not None and name in taken:
        section.problem("name", "name_taken", name=name)
    description = section.text("description")
    if description and len(description) > MAX_DESCRIPTION:
        section.problem("description", "description_long", most=str(MAX_DESCRIPTION))
    schema = _schema(section)
    handler = section.section("handler", required=_EXAMPLE_HANDLER)
    section.finish()
    names = list(schema.written["properties"]) if schema else []
    kind, read = _handler(handler, Writer(hass, environment, names))
    if description is None and not isinstance(read, McpTools) and not section.has("description"):
        section.problem("description", "missing", example="`description: Tells when the next bus leaves`")
    if isinstance(read, McpTools):
        if section.has("parameters"):
            section.problem("parameters", "no_parameters_here")
        return McpImport(hass, name or "", description or "", read, taken)
    if name is None or description is None or schema is None or kind is None or read is None:
        return None
    definition = Definition(hass=hass, name=name, description=description, schema=schema)
    return Recipe(definition, kind, read)


def _handler(section: YamlSection | None, writer: Writer) -> tuple[type[CustomTool] | None, Any]:
    """Return the type of a handler and what it read."""
    if section is None:
        return None, None
    name = section.choice("type", tuple(HANDLERS), required="type: rest")
    if name is None:
        return None, None
    kind = HANDLERS[name]
    read = kind.read(section, writer)
    section.finish()
    return kind, read


def _schema(section: YamlSection) -> JsonSchema | None:
    """Return the parameters; none are a tool without arguments."""
    if not section.has("parameters"):
        section.raw("parameters")
        return JsonSchema({"type": "object", "properties": {}, "additionalProperties": False})
    part = section.section("parameters")
    written = section.plain("parameters")
    if part is None or not isinstance(written, dict):
        return None
    written = {"type": "object", "additionalProperties": False, **written}
    if found := _problem_of(written):
        kind, example = found
        section.problem("parameters", kind, example=example)
        return None
    try:
        return JsonSchema(written)
    except (probatio.Error, ValueError, TypeError, RecursionError) as err:
        section.problem("parameters", "no_schema", reason=str(err)[:MAX_REASON])
        return None


def _problem_of(written: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the problem of a schema, with an example or its place; None if there is none."""
    known, required = written.get("properties"), written.get("required", [])
    if written["type"] != "object" or not isinstance(known, dict):
        return "no_object", "`{type: object, properties: {city: {type: string}}}`"
    if not all(isinstance(item, dict) for item in known.values()):
        return "no_type", "`city: {type: string}`"
    if not isinstance(required, list) or not all(
        isinstance(name, str) and name in known for name in required
    ):
        return "bad_required", "`required: [city]`"
    if wrong := [name for name in known if not name.isidentifier()]:
        return "bad_argument", f"`{wrong[0][:MAX_SHOWN]}`"
    return ("parameters_long", "") if len(str(written)) > MAX_SCHEMA else None


def _shown_name(node: Any, number: int) -> str:
    """Return the name of a tool in an issue."""
    name = node.get("name") if isinstance(node, Mapping) else None
    return str(name)[:64] if isinstance(name, str) and name.strip() else f"#{number}"
