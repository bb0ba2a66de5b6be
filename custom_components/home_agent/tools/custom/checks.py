"""Reading the YAML of custom tools: problems with their position, and texts with templates."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
import re
from typing import Any, Final

from jinja2 import TemplateError as SyntaxProblem, Undefined
from jinja2.meta import find_undeclared_variables

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template, TemplateEnvironment
from homeassistant.util.json import json_loads

from ...errors import ToolExecutionError
from ...regex import lazy_regex

MAX_DEPTH: Final = 20
MAX_PROBLEMS: Final = 10
MAX_SHOWN: Final = 40
_MISSING: Final = object()
MAX_REASON: Final = 120
SINGLE: Final = lazy_regex(r"\s*\{\{-?((?:(?!\{\{|\}\}).)*?)-?\}\}\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class YamlPlace:
    """A position in a YAML file; empty if the configuration does not come from a file."""

    file: str = ""
    line: int | str = ""

    @classmethod
    def of(cls, node: Any) -> YamlPlace | None:
        """Return the position of a node of a YAML file."""
        file, line = getattr(node, "__config_file__", None), getattr(node, "__line__", None)
        return None if file is None or line is None else cls(str(file), line)


@dataclass(frozen=True, slots=True)
class ToolProblem:
    """One thing that is wrong. Values are never quoted: they may be secrets."""

    path: str
    kind: str
    """Key of its sentence in the translations, under `tool_problem`."""
    details: Mapping[str, str]
    """What fills the sentence."""
    place: YamlPlace


@dataclass(slots=True)
class ProblemReport:
    """The problems of one tool."""

    problems: list[ToolProblem] = field(default_factory=list)

    def add(self, path: str, kind: str, place: YamlPlace, /, **details: str) -> None:
        """Keep a problem."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(ToolProblem(path, kind, details, place))


class YamlSection:
    """A mapping as it is read. Keys that were never read are problems too, see `finish`."""

    def __init__(self, node: Mapping[Any, Any], path: str, report: ProblemReport, place: YamlPlace) -> None:
        """Take a mapping; `place` is the position of its parent."""
        self._node = node
        self._known: list[str] = []
        self.path = path
        self.report = report
        self.place = YamlPlace.of(node) or place

    def where(self, key: str) -> YamlPlace:
        """Return the position of a key, or that of the mapping."""
        for written, value in self._node.items():
            if written == key:
                return YamlPlace.of(written) or YamlPlace.of(value) or self.place
        return self.place

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def problem(self, key: str, kind: str, /, **details: str) -> None:
        """Keep a problem of a key."""
        self.report.add(self.at(key), kind, self.where(key), **details)

    def has(self, *keys: str) -> bool:
        """Return whether one of some keys is written."""
        return any(self._node.get(key) is not None for key in keys)

    def raw(self, key: str, *older: str, required: str = "") -> Any:
        """Return the value of a key or of an older spelling; `required` is an example to write."""
        self._known += (key, *older)
        found = [name for name in (key, *older) if self._node.get(name) is not None]
        if len(found) > 1:
            self.problem(found[1], "written_twice", other=found[0])
        if not found and required:
            self.problem(key, "missing", example=f"`{required}`")
        return self._node[found[0]] if found else None

    def text(self, key: str, *older: str, required: str = "", secret: bool = False) -> str | None:
        """Return a text; numbers are taken as they are written, unless they may be mistaken ones."""
        value = self.raw(key, *older, required=required)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and secret:
            value = str(value)
        if value is None or (isinstance(value, str) and value.strip()):
            return None if value is None else str(value)
        self.problem(self._written(key, older), "no_text")
        return None

    def choice(self, key: str, choices: Collection[str], *, required: str = "") -> str | None:
        """Return one of some words; their case does not matter."""
        value = self.raw(key, required=required)
        if value is None:
            return None
        by_word = {choice.casefold(): choice for choice in choices}
        if isinstance(value, str) and (found := by_word.get(value.strip().casefold())):
            return found
        self.problem(key, "no_choice", choices=", ".join(choices))
        return None

    def flag(self, key: str) -> bool | None:
        """Return a yes or no."""
        value = self.raw(key)
        if value is None or isinstance(value, bool):
            return value
        self.problem(key, "no_flag")
        return None

    def seconds(self, key: str, low: float, high: float) -> float | None:
        """Return a time within bounds."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
            return float(value)
        self.problem(key, "no_seconds", low=f"{low:g}", high=f"{high:g}")
        return None

    def section(self, key: str, *older: str, required: str = "") -> YamlSection | None:
        """Return a mapping within this one."""
        value = self.raw(key, *older, required=required)
        written = self._written(key, older)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.problem(written, "no_mapping", name=written)
            return None
        return YamlSection(value, self.at(written), self.report, self.where(written))

    def names(self) -> list[str]:
        """Return the keys of a mapping whose keys are free; one that is not a text is a problem."""
        texts = [key for key in self._node if isinstance(key, str) and key]
        if len(texts) != len(self._node):
            self.report.add(self.path, "key_is_no_text", self.place)
        self._known += texts
        return texts

    def plain(self, key: str, *older: str) -> Any:
        """Return the value of a key as JSON holds it."""
        value = self.raw(key, *older)
        found = plain(value)
        if found is _MISSING:
            written = self._written(key, older)
            self.problem(written, "not_for_json")
            return None
        return found

    def finish(self) -> None:
        """Report what is not known."""
        for key in self._node:
            if key not in self._known:
                near = get_close_matches(str(key), self._known, 1)
                known = ", ".join(dict.fromkeys(self._known))
                kind, hint = ("unknown_near", near[0]) if near else ("unknown", known)
                self.report.add(self.at(str(key)[:MAX_SHOWN]), kind, self._key_place(key), known=hint)

    def _key_place(self, key: Any) -> YamlPlace:
        return YamlPlace.of(key) or self.place

    def _written(self, key: str, older: Iterable[str]) -> str:
        return next((name for name in (key, *older) if self._node.get(name) is not None), key)


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a value without YAML's own types; a marker of its own where JSON cannot hold it."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, (int, float)):
        return _MISSING if isinstance(value, float) and not isfinite(value) else value
    if depth == 0 or not isinstance(value, (Mapping, list)):
        return _MISSING
    if isinstance(value, list):
        items = [plain(item, depth - 1) for item in value]
        return _MISSING if any(item is _MISSING for item in items) else items
    pairs = {key: plain(item, depth - 1) for key, item in value.items()}
    if any(item is _MISSING or not isinstance(key, str) for key, item in pairs.items()):
        return _MISSING
    return {str(key): item for key, item in pairs.items()}


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
        """Return an error that does not show the template, which may contain secrets."""
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
