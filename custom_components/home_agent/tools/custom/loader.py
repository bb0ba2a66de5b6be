"""From YAML to tools: each one is read by itself, and what is wrong becomes a repair issue."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
import os
from typing import Any, Final

import probatio

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.template import TemplateEnvironment
from homeassistant.util.hass_dict import HassKey

from ...const import CONF_TOOLS_DISABLED, DOMAIN, LOGGER
from ...regex import lazy
from ..json_schema import JsonSchema
from ..outgoing import Outgoing
from .base import CustomTool, Definition
from .checks import Place, Problem, Report, Section, Written
from .mcp import McpTool
from .rest import RestTool
from .service import ServiceTool
from .template import TemplateTool
from .templates import Writer

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
ISSUE: Final = "custom_tool_invalid"
_NAME = lazy(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_EXAMPLE_SCHEMA: Final = "`type: object` and `properties:` with one entry for each argument"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A tool that was read; each agent makes its own of it."""

    definition: Definition
    kind: type[CustomTool]
    handler: Any

    def make(self, settings: Mapping[str, Any], outgoing: Outgoing) -> CustomTool:
        """Return the tool for an agent with these options."""
        return self.kind(self.definition, self.handler, settings, outgoing)


@dataclass(slots=True)
class CustomTools:
    """The tools of the YAML, as all agents share them."""

    recipes: Sequence[Recipe] = ()
    issues: set[str] = field(default_factory=set)

    def make(self, settings: Mapping[str, Any], outgoing: Outgoing) -> list[CustomTool]:
        """Return the tools for one agent, without those that its options switch off."""
        return [
            recipe.make(settings, outgoing)
            for recipe in self.recipes
            if recipe.definition.name not in settings[CONF_TOOLS_DISABLED]
        ]


CONFIG_SCHEMA: Final = probatio.Schema({DOMAIN: Written.of}, extra=probatio.ALLOW_EXTRA)
"""Tools are checked one by one when they are read, so that a wrong one stops nothing."""

DATA_CUSTOM_TOOLS: HassKey[CustomTools] = HassKey(f"{DOMAIN}.custom_tools")


@callback
def async_load(hass: HomeAssistant, config: Any, reserved: Collection[str]) -> CustomTools:
    """Read what stands under `home_agent:`, keep the tools that are right, report the others."""
    if isinstance(config, Written):
        config = config.node
    tools = hass.data.setdefault(DATA_CUSTOM_TOOLS, CustomTools())
    general = Report()
    found: dict[str, Recipe] = {}
    issues: dict[str, tuple[str, list[Problem]]] = {}
    environment = TemplateEnvironment(hass)
    for number, node in enumerate(_nodes(config, general), 1):
        report = Report()
        name = _shown_name(node, number)
        recipe = _read_safely(hass, environment, node, report, {*reserved, *found})
        if recipe is None or report.problems:
            issues[f"custom_tool_{number}"] = name, report.problems
        else:
            found[recipe.definition.name] = recipe
    if general.problems:
        issues["custom_tools"] = CONF_CUSTOM_TOOLS, general.problems
    for issue_id in tools.issues - issues.keys():
        ir.async_delete_issue(hass, DOMAIN, issue_id)
    for issue_id, (name, problems) in issues.items():
        _report(hass, issue_id, name, problems)
    tools.recipes, tools.issues = tuple(found.values()), set(issues)
    return tools


def _nodes(config: Any, report: Report) -> list[Any]:
    """Return the tools as they are written, under the name of today or the older one."""
    if config is None:
        return []
    if not isinstance(config, Mapping):
        report.add(DOMAIN, f"must be a mapping with {CONF_CUSTOM_TOOLS}", Place.of(config) or Place())
        return []
    section = Section(config, "", report, Place())
    nodes: list[Any] = []
    for key in (CONF_CUSTOM_TOOLS, CONF_OLDER):
        written = section.raw(key)
        if isinstance(written, list):
            nodes += written
        elif written is not None:
            section.problem(key, "must be a list. Begin each tool with `- name:`")
    section.finish()
    if len(nodes) > MAX_TOOLS:
        section.problem(CONF_CUSTOM_TOOLS, f"holds more than {MAX_TOOLS} tools. The others are left out")
    return nodes[:MAX_TOOLS]


def _read_safely(
    hass: HomeAssistant, environment: TemplateEnvironment, node: Any, report: Report, taken: Collection[str]
) -> Recipe | None:
    """Return one tool; None with problems reported, whatever was written."""
    try:
        return _read(hass, environment, node, report, taken)
    except Exception as err:  # noqa: BLE001 - one tool must not stop the others
        LOGGER.exception("A custom tool could not be read")
        report.add("", f"cannot be read ({type(err).__name__})", Place.of(node) or Place())
        return None


def _read(
    hass: HomeAssistant, environment: TemplateEnvironment, node: Any, report: Report, taken: Collection[str]
) -> Recipe | None:
    """Return one tool, None if it cannot be made."""
    if not isinstance(node, Mapping):
        report.add("", "must be a mapping with name, description and handler", Place.of(node) or Place())
        return None
    section = Section(node, "", report, Place())
    name = section.text("name", required="a name such as `name: bus_times`")
    if name is not None and not _NAME.fullmatch(name):
        section.problem("name", "must begin with a letter and hold letters, digits, _ and - only, 64 at most")
    elif name in taken:
        section.problem("name", f"{name} is taken. Choose another one")
    description = section.text("description", required="what the tool does and when to use it")
    if description and len(description) > MAX_DESCRIPTION:
        section.problem(
            "description", f"is longer than {MAX_DESCRIPTION} characters: each request carries it"
        )
    schema = _schema(section)
    handler = section.section("handler", required="`type:` and what belongs to it")
    section.finish()
    names = list(schema.written["properties"]) if schema else []
    kind, read = _handler(handler, Writer(hass, environment, names))
    if name is None or description is None or schema is None or kind is None or read is None:
        return None
    definition = Definition(hass=hass, name=name, description=description, schema=schema)
    return Recipe(definition, kind, read)


def _handler(section: Section | None, writer: Writer) -> tuple[type[CustomTool] | None, Any]:
    """Return the type of a handler and what it read."""
    if section is None:
        return None, None
    name = section.choice("type", tuple(HANDLERS), required=f"one of {', '.join(HANDLERS)}")
    if name is None:
        return None, None
    kind = HANDLERS[name]
    read = kind.read(section, writer)
    section.finish()
    return kind, read


def _schema(section: Section) -> JsonSchema | None:
    """Return the parameters; none are a tool without arguments."""
    if not section.has("parameters"):
        section.raw("parameters")
        return JsonSchema({"type": "object", "properties": {}, "additionalProperties": False})
    part = section.section("parameters")
    written = section.plain("parameters")
    if part is None or not isinstance(written, dict):
        return None
    written = {"type": "object", "additionalProperties": False, **written}
    if problem := _problem_of(written):
        section.problem("parameters", problem)
        return None
    try:
        return JsonSchema(written)
    except (probatio.Error, ValueError, TypeError, RecursionError) as err:
        section.problem("parameters", f"are no JSON Schema: {str(err)[:120]}")
        return None


def _problem_of(written: Mapping[str, Any]) -> str:
    """Return what is wrong with a schema; empty if nothing is."""
    known, required = written.get("properties"), written.get("required", [])
    if written["type"] != "object" or not isinstance(known, dict):
        return f"must be a JSON Schema of an object. Write {_EXAMPLE_SCHEMA}"
    if not all(isinstance(item, dict) for item in known.values()):
        return "must say for each argument at least its type, as in `city: {type: string}`"
    if not isinstance(required, list) or not all(
        isinstance(name, str) and name in known for name in required
    ):
        return "must have under required a list of names that stand in properties"
    if wrong := [name for name in known if not name.isidentifier()]:
        return f"hold {wrong[0][:40]!r}. Use letters, digits and _, so that templates can use it"
    return "are too long: each request carries them" if len(str(written)) > MAX_SCHEMA else ""


def _shown_name(node: Any, number: int) -> str:
    """Return what a tool is called in an issue."""
    name = node.get("name") if isinstance(node, Mapping) else None
    return str(name)[:64] if isinstance(name, str) and name.strip() else f"#{number}"


@callback
def _report(hass: HomeAssistant, issue_id: str, name: str, problems: Sequence[Problem]) -> None:
    """Tell the household what is wrong with a tool, where, and what to write."""
    place = partial(_placed, hass)
    lines = [f"- {place(problem.place)}`{problem.path or name}` {problem.text}." for problem in problems]
    ir.async_create_issue(
        hass,
        DOMAIN,
        issue_id,
        is_fixable=False,
        severity=ir.IssueSeverity.WARNING,
        translation_key=ISSUE,
        translation_placeholders={"tool": name, "problems": "\n".join(lines)},
    )
    LOGGER.warning("The custom tool %s is left out: %s", name, " ".join(lines))


def _placed(hass: HomeAssistant, place: Place) -> str:
    """Return file and line of a place, the file as the person knows it."""
    if not place.file:
        return ""
    return f"{os.path.relpath(place.file, hass.config.config_dir)}, line {place.line}: "
