"""Templates of custom tools: rendered with the tool's arguments, types kept, nothing secret in errors."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
import re
from typing import Any, Final

from jinja2 import TemplateError as SyntaxProblem, Undefined
from jinja2.meta import find_undeclared_variables

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template, TemplateEnvironment
from homeassistant.util.json import json_loads

from ...errors import ToolExecutionError
from ...regex import lazy
from .checks import YamlSection

MAX_REASON: Final = 120
SINGLE: Final = lazy(r"\s*\{\{-?((?:(?!\{\{|\}\}).)*?)-?\}\}\s*", re.DOTALL)
_LIST_OR_MAPPING = (list, Mapping)

type Variables = Mapping[str, Any]


class Text:
    """A text that may hold templates."""

    def __init__(self, hass: HomeAssistant, source: str, path: str) -> None:
        """Take a text that was checked; `path` names it in errors."""
        self.path = path
        self.source = source
        self.is_template = "{{" in source or "{%" in source or "{#" in source
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
            raise self.failed(err) from err

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

    def failed(self, err: Exception) -> ToolExecutionError:
        """Return an error that shows nothing of the template: keys may stand in it."""
        reason = str(err).replace(self.source, "…")
        return ToolExecutionError(f"The template of {self.path} failed: {reason[:MAX_REASON]}")


@dataclass(frozen=True, slots=True)
class Writer:
    """Checks templates while tools are read."""

    hass: HomeAssistant
    environment: TemplateEnvironment
    names: Collection[str]
    """The tool's arguments."""

    def text(self, section: YamlSection, key: str, source: str, extra: Iterable[str] = ()) -> Text:
        """Return a text; problems of its templates are reported."""
        known = {*self.names, *extra}
        try:
            unknown = find_undeclared_variables(self.environment.parse(source)) - known
        except (SyntaxProblem, RecursionError, ValueError, OverflowError) as err:
            reason = str(err).replace(source, "…")[:MAX_REASON]
            section.problem(key, "no_template", reason=reason)
            return Text(self.hass, "", section.at(key))
        for name in sorted(unknown - self.environment.globals.keys()):
            near = get_close_matches(name, list(known), 1)
            kind = "secrets" if name == "secrets" else "unknown_variable_near" if near else "unknown_variable"
            section.problem(key, kind, name=name, near="".join(near))
        return Text(self.hass, source, section.at(key))

    def value(self, section: YamlSection, key: str, node: Any) -> Any:
        """Return a value of any shape whose texts may be templates."""
        if isinstance(node, str):
            return self.text(section, key, node)
        if isinstance(node, list):
            return [self.value(section, key, item) for item in node]
        if isinstance(node, Mapping):
            return {name: self.value(section, key, item) for name, item in node.items()}
        return node


def variables_of(names: Iterable[str], args: Mapping[str, Any]) -> dict[str, Any]:
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
    """Yield a rendered value unless it is a template that gives nothing."""
    value = rendered(part, variables)
    if value is not None or not isinstance(part, Text):
        yield value


def texts(part: Any) -> Iterator[Text]:
    """Yield the texts of a value."""
    if isinstance(part, Text):
        yield part
    elif isinstance(part, _LIST_OR_MAPPING):
        for item in part.values() if isinstance(part, Mapping) else part:
            yield from texts(item)
