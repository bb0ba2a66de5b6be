"""Templates that can be rendered before a script runs, with the same result as when it runs."""

from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, TemplateError as JinjaError, nodes

from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template

MAX_CHARS: Final = 2_000
FILTERS: Final = frozenset(
    {"default", "d", "int", "float", "join", "lower", "string", "title", "trim", "upper"}
)
TESTS: Final = frozenset({"defined", "eq", "equalto", "in", "ne", "none", "number", "string", "undefined"})
NODES: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Const,
    nodes.List,
    nodes.Tuple,
    nodes.Dict,
    nodes.Pair,
    nodes.If,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Concat,
    nodes.Getitem,
    nodes.Getattr,
)
"""Parts of a template that contain only constants: no states, no clock, no loops."""

_PARSER: Final = Environment()  # noqa: S701 - it only parses, and renders nothing


class NotKnown(Exception):
    """A value depends on more than the variables that are known."""


def resolve(value: Any, variables: Mapping[str, Any]) -> Any:
    """Return a value with its templates rendered. Raises NotKnown if only the running script can."""
    if isinstance(value, Mapping):
        return {resolve(key, variables): resolve(item, variables) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [resolve(item, variables) for item in value]
    if isinstance(value, Template):
        return _rendered(value, variables)
    if isinstance(value, str) and "{" in value:
        raise NotKnown
    return value


def is_templated(value: Any) -> bool:
    """Return whether a value contains a template."""
    if isinstance(value, Mapping):
        return any(is_templated(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set):
        return any(map(is_templated, value))
    return isinstance(value, Template) or (isinstance(value, str) and "{" in value)


def _rendered(template: Template, variables: Mapping[str, Any]) -> Any:
    """Return the result of a template. Raises NotKnown."""
    if not _is_pure(template.template, variables):
        raise NotKnown
    try:
        return template.async_render(dict(variables))
    except TemplateError as err:
        raise NotKnown from err


def _is_pure(text: str, variables: Mapping[str, Any]) -> bool:
    """Return whether a template depends only on known variables."""
    if len(text) > MAX_CHARS:
        return False
    try:
        tree = _PARSER.parse(text)
    except JinjaError, RecursionError:
        return False
    return all(_depends_on(node, variables) for node in tree.find_all(nodes.Node))


def _depends_on(node: nodes.Node, variables: Mapping[str, Any]) -> bool:
    """Return whether a part of a template depends on known variables only."""
    if isinstance(node, nodes.Name):
        return node.name in variables
    if isinstance(node, nodes.Filter):
        return node.name in FILTERS
    if isinstance(node, nodes.Test):
        return node.name in TESTS
    return isinstance(node, NODES)
