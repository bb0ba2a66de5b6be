"""Tools' parameters as JSON Schema, and arguments against them: every problem is named."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple, override
from weakref import WeakKeyDictionary

import probatio

from homeassistant.helpers import llm

from ...errors import ValidationError
from ...safety.redaction import UNPARSED
from ...texts import cut, one_line
from ...timespans import TIME_CHARS
from ..resolving.resolver import listed
from ..results import plain_json

MAX_ERROR: Final = 300
MAX_SENTENCE: Final = 80
MAX_PATH: Final = 40
MAX_VALUE: Final = 40
MAX_ABOUT: Final = 80
MAX_LIST: Final = 140
"""Characters of a list of allowed values in an error."""


class JsonSchema(probatio.Schema):
    """A JSON Schema that checks arguments, and that models read as it was written."""

    def __init__(self, written: Mapping[str, Any], checks: probatio.Schema | None = None) -> None:
        """Read a schema of an object; where `checks` is given, that checks arguments in its place.

        Raises probatio.SchemaError for invalid data.
        """
        self._checks = checks or probatio.from_openapi(dict(written))
        node = _Written(self._checks.schema if isinstance(self._checks.schema, dict) else {})
        node.written = written
        super().__init__(node)
        self.written = written

    @override
    def __call__(self, data: Any, **options: Any) -> Any:
        return self._checks(data, **options)


class _Written(dict[Any, Any]):
    """The part of a schema that probatio shows to serializers, with what it was made of."""

    written: Mapping[str, Any]


class _Parameters(NamedTuple):
    written: Mapping[str, Any]
    checks: Callable[[Any], Any]


_PARAMETERS: Final[WeakKeyDictionary[llm.Tool, _Parameters]] = WeakKeyDictionary()


def serialize(node: Any) -> Any:
    """Return a node of a schema as JSON Schema; probatio.UNSUPPORTED where it knows itself how."""
    return node.written if isinstance(node, _Written) else llm.selector_serializer(node)


def json_schema(tool: llm.Tool) -> Mapping[str, Any]:
    """Return the schema of a tool's arguments; empty, so that it takes anything, if unreadable."""
    return _parameters(tool).written


def _parameters(tool: llm.Tool) -> _Parameters:
    if (known := _PARAMETERS.get(tool)) is not None:
        return known
    given: Any = tool.parameters
    written: Mapping[str, Any] = {}
    checks: Callable[[Any], Any] = given
    try:
        if isinstance(given, Mapping):
            checks = probatio.Schema(dict)
            # JSON Schema allows other keys unless it says otherwise, probatio does not.
            closed = given.get("additionalProperties") is False
            extra = probatio.PREVENT_EXTRA if closed else probatio.ALLOW_EXTRA
            checks = probatio.Schema(probatio.from_openapi(dict(given)).schema, extra=extra)
            written = given
        else:
            written = probatio.to_openapi(given, custom_serializer=serialize, openapi_version="3.1.0")
    except probatio.Error, TypeError, ValueError:
        pass
    return _PARAMETERS.setdefault(tool, _Parameters(written, checks))


def slots_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schemas of an object's keys."""
    slots = schema.get("properties")
    return slots if isinstance(slots, Mapping) else {}


def _alternatives(schema: Any) -> list[Mapping[str, Any]]:
    if not isinstance(schema, Mapping):
        return [{}]
    several = schema.get("anyOf") or schema.get("oneOf")
    return [part for part in several if isinstance(part, Mapping)] if several else [schema]


def types_of(schema: Any) -> frozenset[str]:
    """Return the JSON types that a value may have; none where it may have any."""
    given = [part.get("type") or () for part in _alternatives(schema)]
    each = [frozenset((types,) if isinstance(types, str) else types) for types in given]
    return frozenset().union(*each) if all(each) else frozenset()


def choices_of(schema: Any) -> Sequence[Any]:
    """Return the values that a value, or each item of a list, is limited to; none where it is not."""
    found: list[Any] = []
    for part in _alternatives(schema):
        items = part.get("items")
        limited = items if isinstance(items, Mapping) else part
        values = [limited["const"]] if "const" in limited else limited.get("enum")
        if not isinstance(values, Sequence):
            return ()
        found += values
    return found


def _listed(values: Sequence[Any]) -> str:
    return listed([*dict.fromkeys(map(str, values))], MAX_LIST) if values else ""


def check(tool: llm.Tool, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the tool's schema makes them.

    Raises ValidationError that names every slot that does not fit.
    """
    try:
        checked: dict[str, Any] = _parameters(tool).checks(args)
    except probatio.MultipleInvalid as err:
        problems: list[str] = []
        for each in sorted(err.errors, key=lambda one: not isinstance(one, probatio.RequiredFieldInvalid)):
            slot: Any = json_schema(tool)
            value: Any = args
            for part in each.path:
                slot = slot if isinstance(part, int) else slots_of(slot).get(str(part), {})
                with suppress(LookupError, TypeError):
                    value = value[part]
            name = cut(".".join(map(str, each.path)), MAX_PATH) or "arguments"
            shown = cut(repr(value), MAX_VALUE)
            near = getattr(each, "candidates", ())  # first what comes near
            choices = _listed([*near, *choices_of(slot)])
            if isinstance(each, probatio.RequiredFieldInvalid):
                about = str(slot.get("description") or "")[:MAX_ABOUT]
                text = f"is missing{about and f' ({about})'}{choices and f'. Allowed: {choices}'}"
            elif isinstance(each, probatio.ExtraKeysInvalid):
                text = f"is no parameter. Known: {_listed([*near, *slots_of(json_schema(tool))])}"
            elif isinstance(each, probatio.InInvalid) and choices:
                text = f"{shown} is not allowed. Allowed: {choices}"
            else:
                text = cut(f"{shown}: {each.msg}", MAX_LIST)
            problems.append(f"{name}: {text}")
        problem = "; ".join(problems)
    except probatio.Invalid as err:
        problem = str(err)
    except TypeError, ValueError, AttributeError:
        problem = "the arguments do not fit"
    else:
        return checked
    raise ValidationError(with_request(f"{tool.name}: {problem}", ""))


def with_request(error: str, sentence: str) -> str:
    """Return an error with what the person asked for, 300 characters at most."""
    request = one_line(sentence, MAX_SENTENCE)
    if not request:
        return error[:MAX_ERROR]
    tail = f". Request: {request}"
    room = MAX_ERROR - len(tail)
    if len(error) > room:
        error = f"{error[: room - 2].rpartition(';')[0] or error[: room - 2]} …"
    return f"{error.rstrip('.')}{tail}"


MAX_TOOL_NAME: Final = 128
MAX_KEY: Final = 100
MAX_VALUES: Final = 1_000
"""Values in one call, with those of nested objects and lists."""
MAX_DEPTH: Final = 20
MAX_CHARS: Final = 100_000
"""Characters of all texts in one call."""

TIMES: Final = frozenset(("start", "end", "due", "day", "duration", "transition", "date", "time"))
"""Slots that hold a time, a date or a length of time, at any depth."""

TOO_LARGE: Final = (
    f"The arguments are too large: at most {MAX_CHARS} characters in {MAX_VALUES} values. "
    "Call again with shorter ones"
)
"""Takes the place of arguments that are not read."""


def bounded(call: llm.ToolInput) -> llm.ToolInput:
    """Return a call that can be read, stored and sent; a note replaces arguments beyond the limits."""
    args: Any = call.tool_args
    values, chars, is_small, waiting = 0, 0, True, [(args, MAX_DEPTH)]
    while waiting and is_small:
        item, depth = waiting.pop()
        values += 1
        chars += len(item) if isinstance(item, str) else 0
        is_small = depth > 0 and values <= MAX_VALUES and chars <= MAX_CHARS
        if isinstance(item, Mapping):
            is_small = is_small and all(len(str(key)) <= MAX_KEY for key in item)
            waiting += ((inner, depth - 1) for inner in item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            waiting += ((inner, depth - 1) for inner in item)
    args = args if is_small else {UNPARSED: TOO_LARGE}
    name, call_id, args = plain_json((call.tool_name[:MAX_TOOL_NAME], call.id[:MAX_TOOL_NAME], args))
    return replace(call, tool_name=name, id=call_id, tool_args=args)


def check_texts(value: Any, limit: int, slot: str = "", key: str = "") -> None:
    """Raise ValidationError for a text that is longer than its slot can mean.

    `slot` is where the value is, with the slots around it, and `key` its own slot.
    """
    if isinstance(value, str):
        most = min(limit, TIME_CHARS) if key in TIMES else limit
        if len(value) > most:
            raise ValidationError(f"{slot}: at most {most} characters, this has {len(value)}")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            check_texts(item, limit, f"{slot}.{name}" if slot else name, name)
    elif isinstance(value, list):
        for item in value:
            check_texts(item, limit, slot, key)
