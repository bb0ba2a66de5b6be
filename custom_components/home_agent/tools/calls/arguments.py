"""One reader of arguments: what a model wrote, under the slots and in the types that a tool declares.

Only the form changes: which entity is meant, and what is done to it, stays what the model wrote.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
import re
from typing import Any, Final

import probatio

from homeassistant.helpers import llm

from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.names import squash
from ...regex import lazy_regex
from ...texts import ARGUMENT_KEYS, opened
from ..base import HomeAgentTool
from ..control.arguments import value_words
from ..resolving.resolver import NO_VALUE, SLOT_WORDS, SLOTS, texts
from .names import CONTROL, QUERY, is_service_form
from .schema import MAX_ERROR, check, check_texts, choices_of, json_schema, slots_of, types_of

BESIDE: Final = frozenset(("name", "function", "tool", "tool_name", "type", "id"))
"""Keys that are allowed beside an object that holds all arguments."""
OBJECTS: Final = frozenset(("target", "history"))
"""Keys of objects that may hold arguments."""
READING: Final = "reading"
"""The tool itself read a value in another form than it declares."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}
_NUMBER: Final = lazy_regex(
    r"\s*(-?\d{1,12}(?:[.,]\d{1,6})?)\s*+(?:%|°[CF]?|percent|degrees?)?\s*", re.IGNORECASE
)
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Fitted:
    """Arguments that fit, for a tool of our own as its schema makes them."""

    args: dict[str, Any]
    rules: tuple[str, ...] = ()
    """What was put in order, each kind of repair once."""


def fit(tool: llm.Tool, args: Mapping[str, Any]) -> Fitted:
    """Return arguments that fit the tool, repaired if need be; what fits is left as it is.

    Raises ValidationError naming every slot that does not fit.
    """
    rules: dict[str, None] = {}
    written = dict(args)
    if isinstance(tool, HomeAgentTool):
        found = _read(written, json_schema(tool), {**SLOT_WORDS, **tool.slot_words}, rules, tool.name)
        try:
            ordered = tool.in_order(found)
        except probatio.Invalid as err:
            raise ValidationError(f"{tool.name}: {err}"[:MAX_ERROR]) from err
        if any(ordered.get(slot, value) not in (value, [value]) for slot, value in found.items()):
            rules[READING] = None
        check_texts(ordered, tool.max_text)
        return Fitted(check(tool, ordered), tuple(rules))
    try:
        check(tool, written)
    except ValidationError:
        written = _read(written, json_schema(tool), SLOT_WORDS, rules, tool.name, only_needed=True)
        check(tool, written)
    return Fitted(written, tuple(rules))


def _read(
    args: dict[str, Any],
    schema: Mapping[str, Any],
    words: Mapping[str, str],
    rules: dict[str, None],
    name: str = "",
    *,
    only_needed: bool = False,
) -> dict[str, Any]:
    """Return an object under the slots of its schema; `only_needed` leaves out every optional empty text."""
    slots, required = slots_of(schema), schema.get("required") or ()
    if name and (inside := _inside(args, slots, required, words)) is not None:
        beside = {key: args[key] for key in BESIDE & args.keys() & slots.keys() if args[key] != name}
        args = {**beside, **inside}
        rules["unwrapped"] = None
    flat: list[tuple[str, Any]] = []
    for key, value in args.items():
        # An object for a target or a time that is no slot; a second target stays where it is, and is refused.
        if key in OBJECTS - slots.keys() and isinstance(value, Mapping) and args.keys().isdisjoint(value):
            flat += ((str(name), item) for name, item in value.items())
        else:
            flat.append((str(key), value))
    named: dict[str, Any] = {}
    for key, value in flat:
        slot = _slot_of(key, slots, words)
        if slot != key:
            rules["slot_renamed"] = None
        if not named.get(slot) or (slot == key and value):
            named[slot] = value
    found: dict[str, Any] = {}
    for slot, value in named.items():
        if slot not in slots:
            found[slot] = value
            continue
        read = _value(value, slots[slot], rules)
        fits = _is(read, types_of(slots[slot])) and not only_needed
        if slot in required or fits or not _is_nothing(read, slots[slot]):
            found[slot] = read
        else:
            rules["empty_dropped"] = None
    return found


def _inside(
    args: Mapping[str, Any], slots: Mapping[str, Any], required: Any, words: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the arguments that the only argument holds; None if it is a slot that may hold an object."""
    holders = args.keys() - BESIDE
    if len(holders) != 1:
        return None
    key = holders.pop()
    inner = opened(args[key])
    is_slot = key in slots and (key not in ARGUMENT_KEYS or set(required) <= args.keys())
    if not isinstance(inner, Mapping) or is_slot:
        return None
    shared = {_slot_of(str(name), slots, words) for name in inner} & slots.keys()
    return dict(inner) if shared or (not inner and key in ARGUMENT_KEYS) else None


def _slot_of(key: str, slots: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Return the slot that a key means: itself, a synonym, or one that is written with other separators."""
    if key in slots:
        return key
    if (slot := words.get(key, key)) in slots:
        return slot
    same = [slot for slot in slots if squash(slot) == squash(key)]
    return same[0] if len(same) == 1 else key


def _is(value: Any, types: frozenset[str]) -> bool:
    """Return whether a value has one of these JSON types; any is right where there are none."""
    if isinstance(value, bool):
        return not types or "boolean" in types
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return True
    return not types or any(isinstance(value, _TYPES.get(name, (object,))) for name in types)


def _is_nothing(value: Any, schema: Any) -> bool:
    if isinstance(value, str):
        choices = choices_of(schema)
        word = value.strip().casefold()
        return word in ("", "null", "undefined") or (
            bool(choices) and word in NO_VALUE and value not in choices
        )
    return value in (None, {}) or (isinstance(value, list) and all(item in ("", None) for item in value))


def _value(value: Any, schema: Any, rules: dict[str, None]) -> Any:
    """Return a value in a type that its slot takes, and choices as they are spelled there."""
    wanted = types_of(schema)
    if not _is(value, wanted):
        value, rule = _in_type(value, wanted, schema)
        rules.update({rule: None} if rule else {})
    if isinstance(value, Mapping) and slots_of(schema):
        return _read(dict(value), schema, SLOT_WORDS, rules)
    choices = choices_of(schema)
    several = value if isinstance(value, list) else [value]
    spelled = []
    for item in several:
        same = []
        if isinstance(item, str) and item not in choices:  # it may differ in case and separators
            same = [choice for choice in choices if squash(str(choice)) == squash(item)]
        spelled.append(same[0] if len(same) == 1 else item)
    if spelled == several:
        return value
    rules["choice_spelled"] = None
    return spelled if isinstance(value, list) else spelled[0]


def _in_type(value: Any, wanted: frozenset[str], schema: Any) -> tuple[Any, str]:
    """Return a value as one of the wanted types with the name of the repair, or as it is without one."""
    text = value.strip() if isinstance(value, str) else ""
    word, is_number = text.casefold(), isinstance(value, int | float) and not isinstance(value, bool)
    read, rule = value, ""
    if text and (inner := opened(text)) is not text and _is(inner, wanted):
        read, rule = inner, "json_text_read"
    elif isinstance(value, list) and len(value) == 1 and _is(value[0], wanted):
        read, rule = value[0], "list_unwrapped"
    elif "string" in wanted and value and isinstance(value, list) and {*map(type, value)} == {str}:
        read, rule = ", ".join(value), "list_joined"
    elif "array" in wanted and (is_number or (text and not _is_nothing(text, {}))):
        parts, choices = [part.strip() for part in text.split(",")], choices_of(schema)
        read, rule = (parts if all(part in choices for part in parts) else [value]), "list_wrapped"
    elif "boolean" in wanted and word in _TRUTHS:
        read, rule = _TRUTHS[word], "number_read"
    elif wanted & {"number", "integer"} and (number := _NUMBER.fullmatch(text)):
        size = float(number[1].replace(",", "."))
        read, rule = int(size) if size.is_integer() else size, "number_read"
    elif is_number and "string" in wanted:
        read, rule = str(int(value) if float(value).is_integer() else value), "text_written"
    return read, rule


def are_arguments(text: str, tools: Mapping[str, llm.Tool]) -> bool:
    """Return whether a text in JSON or Python notation holds the arguments of calls, without their tools."""
    value = opened(text.strip())
    several = value if isinstance(value, list) else [value]
    return bool(several) and all(isinstance(args, dict) and tool_of(args, tools) for args in several)


def tool_of(args: Mapping[str, Any], tools: Mapping[str, llm.Tool]) -> str | None:
    """Return the only tool that takes these arguments; None if none does, or several do."""
    if CONTROL in tools and is_service_form(args):
        return CONTROL
    ids = texts(args.get("entity_id"))
    names_entities = bool(ids) and all("." in text and text.partition(".")[0] in DOMAINS for text in ids)
    if QUERY in tools and names_entities and args.keys() <= slots_of(json_schema(tools[QUERY])).keys():
        return QUERY
    found = [name for name, tool in tools.items() if _takes(tool, args)]
    return found[0] if len(found) == 1 else None


def _takes(tool: llm.Tool, args: Mapping[str, Any]) -> bool:
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
    with suppress(ValidationError):
        return bool(fit(tool, args).args)
    return False
