"""Tools' parameters as JSON Schema, and arguments against them: every problem is named."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final, override
from weakref import WeakKeyDictionary

import probatio

from homeassistant.helpers import llm

from ...errors import ValidationError
from ...texts import cut, one_line

MAX_ERROR: Final = 300
MAX_SENTENCE: Final = 80
MAX_VALUE: Final = 40
MAX_ABOUT: Final = 80
MAX_LIST: Final = 140
"""Characters of a list of allowed values in an error."""
MAX_DEPTH: Final = 4
MAX_SCHEMA_DEPTH: Final = 10
"""Schemas in schemas, alternatives included, that are read."""
MAX_ITEMS: Final = 100
CLOSE: Final = 0.5

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one slot."""

    slot: str
    text: str

    def __str__(self) -> str:
        """Return it as the model reads it."""
        return f"{self.slot}: {self.text}"


@dataclass(frozen=True, slots=True)
class SlotSchema:
    """What one argument may be, or all arguments of a tool as one object."""

    types: frozenset[str] = frozenset()
    """JSON types; none where it takes any."""
    allowed: Sequence[Any] = ()
    """Values that it is limited to; none where it is not."""
    items: SlotSchema | None = None
    """What a list of it holds."""
    slots: Mapping[str, SlotSchema] = field(default_factory=dict)
    """What an object of it holds."""
    required: Sequence[str] = ()
    closed: bool = False
    """Whether an object takes no other slots."""
    minimum: float | None = None
    maximum: float | None = None
    about: str = ""
    """What it is, in the words of the schema."""

    @property
    def choices(self) -> Sequence[Any]:
        """Return the values that it, or each item of a list of it, is limited to."""
        return self.allowed or (self.items.allowed if self.items else ())


ANYTHING: Final = SlotSchema()
_SCHEMAS: WeakKeyDictionary[llm.Tool, SlotSchema] = WeakKeyDictionary()


def schema_of(tool: llm.Tool) -> SlotSchema:
    """Return the schema of a tool's arguments; any value if it is not known."""
    if (schema := _SCHEMAS.get(tool)) is None:
        written: Any = tool.parameters
        if not isinstance(written, Mapping):
            try:
                written = probatio.to_openapi(written, custom_serializer=serialize, openapi_version="3.1.0")
            except probatio.Error, TypeError, ValueError:
                written = {}
        schema = _read(written)
        if beside := getattr(tool, "value_words", ()):
            schema = replace(schema, slots={**dict.fromkeys(beside, ANYTHING), **schema.slots})
        _SCHEMAS[tool] = schema
    return schema


def _read(written: Any, depth: int = 0) -> SlotSchema:
    """Return a JSON Schema as a slot schema; its alternatives are joined."""
    if depth > MAX_SCHEMA_DEPTH or not isinstance(written, Mapping):
        return ANYTHING
    parts = [_read(part, depth + 1) for part in written.get("anyOf") or written.get("oneOf") or ()]
    own = written.get("type") or ()
    if "const" in written:
        allowed = [written["const"]]
    elif isinstance(written.get("enum"), Sequence):
        allowed = list(written["enum"])
    else:
        limited = all(part.allowed for part in parts)
        allowed = [value for part in parts for value in part.allowed] if limited else []
    items = _read(written["items"], depth + 1) if isinstance(written.get("items"), Mapping) else None
    slots = written.get("properties")
    slots = slots if isinstance(slots, Mapping) else {}
    return SlotSchema(
        types=frozenset((own,) if isinstance(own, str) else own).union(*(part.types for part in parts)),
        allowed=allowed,
        items=items or next((part.items for part in parts if part.items), None),
        slots={key: _read(slot, depth + 1) for key, slot in slots.items()},
        required=written.get("required") or (),
        closed=written.get("additionalProperties") is False,
        minimum=written.get("minimum"),
        maximum=written.get("maximum"),
        about=str(written.get("description") or "")[:MAX_ABOUT],
    )


class _Written(dict[Any, Any]):
    """The part of a schema that probatio shows to serializers, with what it was made of."""

    written: Mapping[str, Any]


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
        """Return the arguments with defaults filled in."""
        return self._checks(data, **options)


def serialize(node: Any) -> Any:
    """Return a node of a schema as JSON Schema; probatio.UNSUPPORTED where it knows itself how."""
    return node.written if isinstance(node, _Written) else llm.selector_serializer(node)


def nearest(value: Any, values: Iterable[Any]) -> str:
    """Return the allowed values that come nearest, or else as many as fit."""
    texts = [str(item) for item in values if item is not None]
    return listed(get_close_matches(str(value).casefold(), texts, 3, CLOSE) or texts)


def listed(texts: Sequence[str], room: int = MAX_LIST) -> str:
    """Return texts with commas, as many as fit into so many characters, with a mark if some are missing."""
    shown: list[str] = []
    for text in dict.fromkeys(texts):
        if shown and len(", ".join((*shown, text))) > room:
            return f"{', '.join(shown)}, …"
        shown.append(text)
    return ", ".join(shown)


def problems(schema: SlotSchema, args: Any, slot: str = "", depth: int = 0) -> Iterator[Problem]:
    """Yield everything that does not fit."""
    name = slot or "arguments"
    if depth > MAX_DEPTH:
        return
    if schema.allowed and args not in schema.allowed:
        yield Problem(name, f"{_shown(args)} is not allowed. Allowed: {nearest(args, schema.allowed)}")
        return
    if schema.types and not any(_is(args, name) for name in schema.types):
        yield Problem(name, f"{_shown(args)} must be of type {' or '.join(sorted(schema.types))}")
        return
    if isinstance(args, Mapping):
        yield from _of_object(schema, args, slot, depth)
    elif isinstance(args, (list, tuple)) and schema.items:
        for index, item in enumerate(args[:MAX_ITEMS]):
            yield from problems(schema.items, item, f"{name}.{index}", depth + 1)
    elif isinstance(args, (int, float)) and not isinstance(args, bool):
        yield from _of_number(schema, args, name)


def _of_object(schema: SlotSchema, args: Mapping[Any, Any], slot: str, depth: int) -> Iterator[Problem]:
    """Yield the missing, unknown and invalid keys of an object."""
    known = schema.slots
    prefix = f"{slot}." if slot else ""
    for key in schema.required:
        if key not in args:
            values = nearest("", known[key].allowed) if key in known else ""
            about = f" ({known[key].about})" if key in known and known[key].about else ""
            yield Problem(f"{prefix}{key}", f"is missing{about}{f'. Allowed: {values}' if values else ''}")
    for key, value in args.items():
        if key in known:
            yield from problems(known[key], value, f"{prefix}{key}", depth + 1)
        elif schema.closed:
            near = nearest(key, known)
            yield Problem(f"{prefix}{str(key)[:MAX_VALUE]}", f"is no parameter. Known: {near}")


def _of_number(schema: SlotSchema, value: float, slot: str) -> Iterator[Problem]:
    low, high = schema.minimum, schema.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        span = f"{'' if low is None else low} to {'' if high is None else high}".strip()
        yield Problem(slot, f"{value:g} is out of range. Allowed: {span}")


def _is(value: Any, name: str) -> bool:
    """Return whether a value is of a JSON type."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, (object,)))


def _shown(value: Any) -> str:
    """Return a value as an error shows it."""
    return cut(repr(value), MAX_VALUE)


def check(tool: llm.Tool, args: dict[str, Any], sentence: str = "") -> dict[str, Any]:
    """Return the arguments as the tool's schema makes them.

    Raises ValidationError that names every slot that does not fit.
    """
    if isinstance(tool.parameters, Mapping):
        if found := list(problems(schema_of(tool), args)):
            raise ValidationError(explain(tool.name, found, sentence))
        return args
    try:
        checked: dict[str, Any] = tool.parameters(args)
    except probatio.MultipleInvalid as err:
        found = list(problems(schema_of(tool), args)) or [
            Problem(".".join(map(str, part.path)) or "arguments", str(part.msg)) for part in err.errors
        ]
        raise ValidationError(explain(tool.name, found, sentence)) from err
    except probatio.Invalid as err:
        raise ValidationError(with_request(f"{tool.name}: {err}", sentence)) from err
    except (TypeError, ValueError, AttributeError) as err:
        raise ValidationError(with_request(f"{tool.name}: the arguments do not fit", sentence)) from err
    return checked


def explain(name: str, found: Sequence[Problem], sentence: str) -> str:
    """Return the problems as one error for the model."""
    return with_request(f"{name}: {'; '.join(map(str, found))}", sentence)


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
