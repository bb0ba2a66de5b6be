"""Repairs of arguments that keep their meaning: a table of small rules, each with a name and a counter.

A rule is tried only on arguments that do not fit, and only the form changes: which entity is meant, and
what is done to it, stays what the model wrote.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
import re
from typing import Any, Final

from homeassistant.helpers import llm

from ...domains import DOMAINS
from ...errors import ValidationError
from ...literals import ARGUMENT_KEYS, MAX_CHARS, parsed
from ...regex import lazy_regex
from ...texts import fold
from ..base import HomeAgentTool
from ..control.time_words import is_about_time
from ..resolving.targets import NO_VALUE
from .bounds import check_texts
from .validation import ANYTHING, SlotSchema, check, problems, schema_of

WRAPPERS: Final = frozenset((*ARGUMENT_KEYS, "properties"))
"""Names under which models put all arguments one level too deep."""
BESIDE_WRAPPERS: Final = frozenset(("name", "function", "tool", "tool_name", "type", "id"))
CLOSE: Final = 0.8
MARGIN: Final = 0.1
OPPOSITES: Final = frozenset(
    ("open", "close", "lock", "unlock", "arm", "disarm", "on", "off", "turn", "toggle")
)
"""First words of values that are never guessed from what resembles them."""
READING: Final = "reading"
"""The tool's own reader put the arguments in order."""

_NUMBER: Final = lazy_regex(
    r"\s*(-?\d{1,12}(?:[.,]\d{1,6})?)\s*+(?:%|°[CF]?|percent|degrees?)?\s*", re.IGNORECASE
)
_EMPTY: Final = frozenset(("", "null", "undefined"))
_TRUE: Final = frozenset(("true", "yes", "1"))
_FALSE: Final = frozenset(("false", "no", "0"))

type Args = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Arguments that fit."""

    args: Args
    """As they would have been written without mistakes."""
    checked: Args
    """As the tool's schema makes them."""
    rules: tuple[str, ...] = ()
    """The repairs that were needed."""


def fit(tool: llm.Tool, args: Args, sentence: str = "") -> Fitted:
    """Return arguments that fit the tool, repaired if need be.

    Raises ValidationError naming every slot that does not fit.
    """
    check_texts(tool, args, MAX_CHARS)
    schema = schema_of(tool)
    rules: list[str] = []
    fits = _fits(tool, schema, args)
    for name, repair in RULES.items():
        if fits:
            break
        changed = repair(args, schema)
        if changed is not None and changed != args:
            args = changed
            rules.append(name)
            fits = _fits(tool, schema, args)
    check_texts(tool, args)
    checked = check(tool, args, sentence)
    return Fitted(args, checked, tuple(rules if fits else [*rules, READING]))


def _fits(tool: llm.Tool, schema: SlotSchema, args: Args) -> bool:
    """Return whether arguments fit as they are; the agent's own tools would read more than they ask for."""
    if isinstance(tool, HomeAgentTool):
        return next(problems(schema, args), None) is None
    try:
        check(tool, args)
    except ValidationError:
        return False
    return True


def _each_slot(read: Callable[[Any, SlotSchema], Any]) -> Callable[[Args, SlotSchema], Args]:
    """Return a repair that reads the value of each known slot on its own."""

    def apply(args: Args, schema: SlotSchema) -> Args:
        known = schema.slots
        return {key: read(value, known[key]) if key in known else value for key, value in args.items()}

    return apply


def _unwrapped(args: Args, schema: SlotSchema) -> Args | None:
    """Take arguments out of an object that holds them all."""
    known = schema.slots
    inside = [key for key in args if key in WRAPPERS]
    beside = args.keys() - WRAPPERS
    if len(inside) != 1 or not beside <= BESIDE_WRAPPERS or beside & set(schema.required):
        return None
    key = inside[0]
    value = parsed(args[key]) if isinstance(args[key], str) else args[key]
    if not isinstance(value, dict) or (known and not known.keys() & value.keys() and value):
        return None
    if key in known and not set(schema.required) - args.keys():
        return None
    return value


@_each_slot
def _json_text(value: Any, slot: SlotSchema) -> Any:
    """Read a list or an object that was written as text."""
    wanted = slot.types
    if not isinstance(value, str) or value.strip()[:1] not in ("[", "{"):
        return value
    found = parsed(value)
    if isinstance(found, dict):
        return found if "object" in wanted or not wanted else value
    if isinstance(found, list):
        texts_only = all(isinstance(item, str) for item in found)
        return found if "array" in wanted or ("string" in wanted and texts_only) else value
    return value


def _empty_dropped(args: Args, schema: SlotSchema) -> Args | None:
    """Leave out optional slots that hold nothing."""
    needed = schema.required
    return {
        key: value
        for key, value in args.items()
        if key in needed or not _says_nothing(value, schema.slots.get(key, ANYTHING))
    }


def _says_nothing(value: Any, slot: SlotSchema) -> bool:
    """Return whether a value means "none"."""
    if isinstance(value, str):
        word = value.strip().casefold()
        choices = slot.choices
        return word in _EMPTY or (bool(choices) and word in NO_VALUE and value not in choices)
    return (
        value is None
        or value in ([], {})
        or (isinstance(value, list) and all(item in ("", None) for item in value))
    )


def _key_renamed(args: Args, schema: SlotSchema) -> Args | None:
    """Give an unknown key the name of the one free slot that it resembles; a time stays a time."""
    known = schema.slots
    renamed: Args = {}
    for key, value in args.items():
        renamed.setdefault(key if key in known else _slot_like(key, args, known) or key, value)
    return renamed


def _slot_like(key: str, args: Args, known: Collection[str]) -> str | None:
    """Return the free slot that an unknown key resembles."""
    is_time = is_about_time(key)
    return _like(key, [name for name in known if name not in args and is_about_time(name) == is_time])


@_each_slot
def _list_unwrapped(value: Any, slot: SlotSchema) -> Any:
    """Take the only value out of a list where one value belongs."""
    wanted = slot.types
    single = isinstance(value, list) and len(value) == 1
    return value[0] if single and wanted and "array" not in wanted else value


@_each_slot
def _list_wrapped(value: Any, slot: SlotSchema) -> Any:
    """Put a value into a list where a list belongs."""
    wanted = slot.types
    if not isinstance(value, (str, int, float)) or "array" not in wanted or "string" in wanted:
        return value
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    choices = slot.items.allowed if slot.items else ()
    return parts if len(parts) > 1 and all(part in choices for part in parts) else [value]


@_each_slot
def _number_from_text(value: Any, slot: SlotSchema) -> Any:
    """Read a number, a percentage or a truth value written as text."""
    wanted = slot.types
    if not isinstance(value, str) or not wanted or "string" in wanted:
        return value
    word = value.strip().casefold()
    if "boolean" in wanted and word in _TRUE | _FALSE:
        return word in _TRUE
    if wanted & {"number", "integer"} and (found := _NUMBER.fullmatch(value)):
        number = float(found[1].replace(",", "."))
        return int(number) if number.is_integer() else number
    return value


@_each_slot
def _text_from_number(value: Any, slot: SlotSchema) -> Any:
    """Write a number as text where text belongs."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:g}" if is_number and slot.types == {"string"} else value


def _class_is_domain(args: Args, schema: SlotSchema) -> Args | None:
    """Move a domain from the device classes to the domains."""
    known = schema.slots
    if "domain" not in known or "device_class" not in args:
        return None
    classes = _listed(args["device_class"])
    valid = set(known["device_class"].choices if "device_class" in known else ())
    moved = [text for text in classes if text in DOMAINS and text not in valid]
    domains = _listed(args.get("domain"))
    if not moved or (domains and set(moved) - set(domains)):
        return None
    kept = [text for text in classes if text not in moved]
    changed = {key: value for key, value in args.items() if key != "device_class"}
    is_list = "array" in known["domain"].types
    changed["domain"] = (domains or moved) if is_list else (domains or moved)[0]
    return {**changed, "device_class": kept} if kept else changed


def _class_unknown_dropped(args: Args, schema: SlotSchema) -> Args | None:
    """Leave out device classes that do not exist, where a name says what is meant anyway."""
    slot = schema.slots.get("device_class")
    if slot is None or not _listed(args.get("name")):
        return None
    valid = set(slot.choices)
    classes = _listed(args.get("device_class"))
    kept = [text for text in classes if text in valid]
    if not valid or len(kept) == len(classes):
        return None
    changed = {key: value for key, value in args.items() if key != "device_class"}
    return {**changed, "device_class": kept} if kept else changed


@_each_slot
def _choice_spelled(value: Any, slot: SlotSchema) -> Any:
    """Spell a value as the one allowed value that it is or resembles."""

    def choose(value: Any, choices: Sequence[Any]) -> Any:
        if not isinstance(value, str) or not choices or value in choices:
            return value
        same = [item for item in choices if _squashed(str(item)) == _squashed(value)]
        if len(same) == 1:
            return same[0]
        near = _like(value, [item for item in choices if isinstance(item, str)])
        return value if near is None or near.partition("_")[0] in OPPOSITES else near

    if isinstance(value, list):
        choices = slot.items.allowed if slot.items else ()
        return [choose(item, choices) for item in value]
    return choose(value, slot.allowed)


RULES: Final[Mapping[str, Callable[[Args, SlotSchema], Args | None]]] = {
    "arguments_unwrapped": _unwrapped,
    "json_text_read": _json_text,
    "empty_dropped": _empty_dropped,
    "key_renamed": _key_renamed,
    "list_unwrapped": _list_unwrapped,
    "number_read": _number_from_text,
    "text_written": _text_from_number,
    "list_wrapped": _list_wrapped,
    "class_is_domain": _class_is_domain,
    "choice_spelled": _choice_spelled,
    "class_unknown_dropped": _class_unknown_dropped,
}
"""Repairs by name, in the order in which they are tried; each sees what the one before left.

A repair returns None if it has nothing to do.
"""


def _listed(value: Any) -> list[str]:
    """Return the texts of a slot that holds one or several."""
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str) and item.strip().casefold() not in NO_VALUE]


def _like(text: str, names: list[str]) -> str | None:
    """Return the one name that a text is or resembles, if none comes second."""
    wanted = _squashed(text)
    scored = sorted(_scores(wanted, names), reverse=True)
    if not scored or scored[0][0] < CLOSE:
        return None
    return None if len(scored) > 1 and scored[0][0] - scored[1][0] < MARGIN else scored[0][1]


def _scores(wanted: str, names: list[str]) -> Iterator[tuple[float, str]]:
    """Yield how alike each name is, 1 for the same."""
    for name in names:
        yield SequenceMatcher(None, wanted, _squashed(name), autojunk=False).ratio(), name


def _squashed(text: str) -> str:
    """Return a name without case and separators."""
    return "".join(fold(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(text)[:100])).split())
