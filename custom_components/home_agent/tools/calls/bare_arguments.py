"""Arguments that a model writes as its whole answer, without the name of the tool."""

from collections.abc import Mapping, Sequence
from typing import Any

from homeassistant.helpers import llm

from ...domains import DOMAINS
from ...errors import ValidationError
from ...literals import opened
from ..control.arguments import value_words
from ..resolving.targets import SLOTS, texts
from .arguments import fit
from .names import CONTROL, QUERY, is_service_form
from .schema import json_schema, slots_of


def are_arguments(text: str, tools: Mapping[str, llm.Tool]) -> bool:
    """Return whether a text in JSON or Python notation holds the arguments of calls."""
    value = opened(text.strip())
    several = value if isinstance(value, list) else [value]
    return bool(several) and all(isinstance(args, dict) and tool_of(args, tools) for args in several)


def tool_of(args: Mapping[str, Any], tools: Mapping[str, llm.Tool]) -> str | None:
    """Return the only tool that takes these arguments; None if none does, or several do."""
    if CONTROL in tools and is_service_form(args):
        return CONTROL
    if QUERY in tools and _names_entities(args) and args.keys() <= slots_of(json_schema(tools[QUERY])).keys():
        return QUERY
    found = [name for name, tool in tools.items() if _fits(tool, args)]
    return found[0] if len(found) == 1 else None


def _names_entities(args: Mapping[str, Any]) -> bool:
    """Return whether arguments name entities by their ids."""
    ids: Sequence[str] = texts(args.get("entity_id"))
    return bool(ids) and all("." in text and text.partition(".")[0] in DOMAINS for text in ids)


def _fits(tool: llm.Tool, args: Mapping[str, Any]) -> bool:
    """Return whether arguments have all that a tool needs, and nothing that it does not know."""
    schema = json_schema(tool)
    required = schema.get("required")
    if not required or not set(required) <= args.keys():
        return False
    if tool.name == CONTROL and not set(SLOTS) & args.keys():
        return False
    unknown = args.keys() - slots_of(schema).keys()
    if unknown and not (tool.name == CONTROL and unknown <= value_words()):
        return False
    try:
        fit(tool, dict(args))
    except ValidationError:
        return False
    return True
