"""What the YAML of custom tools is checked with, and texts that may hold templates."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
import re
from typing import Any, Final

from jinja2 import TemplateError as SyntaxProblem, Undefined
from jinja2.meta import find_undeclared_variables
import probatio

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.template import Template, TemplateEnvironment, is_template_string
from homeassistant.util.json import json_loads

from ...errors import ToolExecutionError
from ...regex import lazy_regex

MAX_REASON: Final = 120
SINGLE: Final = lazy_regex(r"\s*\{\{-?((?:(?!\{\{|\}\}).)*?)-?\}\}\s*", re.DOTALL)
TEXT: Final = probatio.All(cv.string, probatio.Length(min=1))

type Variables = Mapping[str, Any]


def by_type(schemas: Mapping[str, Any]) -> Callable[[Any], dict[str, Any]]:
    """Return the check of a mapping whose `type` names the schema of its other keys.

    `cv.key_value_schemas` would repeat what was written there, which may be a secret.
    """
    kinds = probatio.Schema(
        {probatio.Required("type"): probatio.All(str, probatio.In(list(schemas)))}, extra=probatio.ALLOW_EXTRA
    )
    compiled = {name: probatio.Schema(schema) for name, schema in schemas.items()}

    def check(value: Any) -> dict[str, Any]:
        kind = kinds(value)["type"]
        return {"type": kind, **compiled[kind]({key: value[key] for key in value if key != "type"})}

    return check


class Text:
    """A text that may hold templates."""

    def __init__(self, hass: HomeAssistant, source: str, path: str) -> None:
        self.path = path
        self.source = source
        self.is_template = is_template_string(source)
        self._template = Template(source, hass)
        single = SINGLE.fullmatch(source)
        self._typed = (
            Template(f"{{{{ ({single[1]}) | default(none) | to_json }}}}", hass)
            if single and single[1].strip()
            else None
        )

    def render(self, variables: Variables) -> str:
        """Return the text. Raises ToolExecutionError for a template that fails."""
        if not self.is_template:
            return self.source
        try:
            return str(self._template.async_render(dict(variables), parse_result=False))
        except TemplateError as err:
            # The template itself may contain secrets.
            reason = str(err).replace(self.source, "…")[:MAX_REASON]
            raise ToolExecutionError(f"The template of {self.path} failed: {reason}") from err

    def value(self, variables: Variables) -> Any:
        """Return the value of a single expression with its type, else the text.

        An expression that has nothing to give, an argument that was left out for instance, gives None.
        """
        if self._typed is None:
            return self.render(variables)
        try:
            return json_loads(self._typed.async_render(dict(variables), parse_result=False))
        except TemplateError, ValueError:
            return self.render(variables)


@dataclass(frozen=True, slots=True)
class Templates:
    """Makes the texts of one tool. All methods raise probatio.Invalid for templates that cannot work."""

    hass: HomeAssistant
    environment: TemplateEnvironment
    names: Collection[str]
    """The tool's arguments."""

    def text(self, source: str, *path: str | int, extra: Collection[str] = ()) -> Text:
        """Return a text; `extra` are variables that it has besides the arguments."""
        where = ["handler", *path]
        try:
            used = find_undeclared_variables(self.environment.parse(source))
        except (SyntaxProblem, RecursionError, ValueError, OverflowError) as err:
            reason = str(err).replace(source, "…")[:MAX_REASON]
            raise probatio.Invalid(f"invalid template ({reason})", where) from err
        if unknown := used - {*self.names, *extra} - self.environment.globals.keys():
            listed = ", ".join(sorted(unknown))
            raise probatio.Invalid(f"the template uses {listed}: not among the tool's parameters", where)
        return Text(self.hass, source, ".".join(map(str, where)))

    def value(self, node: Any, *path: str | int) -> Any:
        """Return a value of any shape with its texts."""
        if isinstance(node, str):
            return self.text(node, *path)
        if isinstance(node, list):
            return [self.value(item, *path, number) for number, item in enumerate(node)]
        if isinstance(node, dict):
            return {key: self.value(item, *path, key) for key, item in node.items()}
        return node


def variables_of(names: Collection[str], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as templates see them; those that were left out are undefined and cause no warning."""
    return {**{name: Undefined(name=name) for name in names}, **args}


def rendered(part: Any, variables: Variables) -> Any:
    """Return a value with its templates rendered; fields whose expression gives nothing are left out.

    Raises ToolExecutionError for a template that fails.
    """
    if isinstance(part, Text):
        return part.value(variables)
    if isinstance(part, list):
        return [value for item in part for value in _kept(item, variables)]
    if isinstance(part, Mapping):
        return {key: value for key, item in part.items() for value in _kept(item, variables)}
    return part


def _kept(part: Any, variables: Variables) -> Iterator[Any]:
    value = rendered(part, variables)
    if value is not None or not isinstance(part, Text):
        yield value
