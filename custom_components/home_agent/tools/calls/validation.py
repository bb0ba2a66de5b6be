"""Arguments against a tool's schema: every problem named, with the nearest values that are allowed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final
from weakref import WeakKeyDictionary

import probatio

from homeassistant.helpers import llm

from ...errors import ValidationError
from ...texts import cut, one_line
from .json_schema import serialize

MAX_ERROR: Final = 300
MAX_SENTENCE: Final = 80
MAX_VALUE: Final = 40
MAX_LISTED: Final = 6
MAX_DEPTH: Final = 4
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

type View = Mapping[str, Any]
"""A tool's parameters, or one of them, as JSON Schema."""

_VIEWS: WeakKeyDictionary[llm.Tool, View] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one slot."""

    slot: str
    text: str

    def __str__(self) -> str:
        """Return it as the model reads it."""
        return f"{self.slot}: {self.text}"


def view_of(tool: llm.Tool) -> View:
    """Return a tool's parameters as JSON Schema; an empty one where they cannot be told."""
    if isinstance(tool.parameters, Mapping):
        return tool.parameters
    if (view := _VIEWS.get(tool)) is None:
        try:
            view = probatio.to_openapi(tool.parameters, custom_serializer=serialize, openapi_version="3.1.0")
        except probatio.Error, TypeError, ValueError:
            view = {}
        _VIEWS[tool] = view
    return view


def properties(view: View) -> Mapping[str, View]:
    """Return the slots of an object."""
    found = view.get("properties")
    return found if isinstance(found, Mapping) else {}


def required(view: View) -> Sequence[str]:
    """Return the slots that must be there."""
    return view.get("required") or ()


def types(view: View) -> frozenset[str]:
    """Return the JSON types that a slot takes; none where it takes any."""
    found = view.get("type")
    own = [found] if isinstance(found, str) else list(found or ())
    return frozenset((*own, *(name for part in _parts(view) for name in types(part))))


def allowed(view: View) -> list[Any]:
    """Return the values that a slot is limited to; none where it is not."""
    if "const" in view:
        return [view["const"]]
    if isinstance(view.get("enum"), Sequence):
        return list(view["enum"])
    parts = [allowed(part) for part in _parts(view)]
    return [value for part in parts for value in part] if all(parts) else []


def items(view: View) -> View:
    """Return what a list of this slot holds."""
    if isinstance(view.get("items"), Mapping):
        return view["items"]  # type: ignore[no-any-return]
    return next((found for part in _parts(view) if (found := items(part))), {})


def _parts(view: View) -> Sequence[View]:
    """Return the alternatives of a slot."""
    return view.get("anyOf") or view.get("oneOf") or ()


def nearest(value: Any, values: Iterable[Any]) -> list[str]:
    """Return the allowed values that come nearest, or the first ones."""
    texts = [str(item) for item in values if item is not None]
    return (get_close_matches(str(value).casefold(), texts, 3, CLOSE) or texts)[:MAX_LISTED]


def problems(view: View, args: Any, slot: str = "", depth: int = 0) -> Iterator[Problem]:
    """Yield everything that does not fit."""
    name = slot or "arguments"
    if depth > MAX_DEPTH:
        return
    if (values := allowed(view)) and args not in values:
        yield Problem(name, f"{_shown(args)} is not allowed. Allowed: {', '.join(nearest(args, values))}")
        return
    if (wanted := types(view)) and not any(_is(args, name) for name in wanted):
        yield Problem(name, f"{_shown(args)} must be of type {' or '.join(sorted(wanted))}")
        return
    if isinstance(args, Mapping):
        yield from _of_object(view, args, slot, depth)
    elif isinstance(args, (list, tuple)):
        for index, item in enumerate(args[:MAX_ITEMS]):
            yield from problems(items(view), item, f"{name}.{index}", depth + 1)
    elif isinstance(args, (int, float)) and not isinstance(args, bool):
        yield from _of_number(view, args, name)


def _of_object(view: View, args: Mapping[Any, Any], slot: str, depth: int) -> Iterator[Problem]:
    """Yield what is missing, unknown or wrong in an object."""
    known = properties(view)
    prefix = f"{slot}." if slot else ""
    for key in required(view):
        if key not in args:
            values = nearest("", allowed(known.get(key, {})))
            yield Problem(
                f"{prefix}{key}", f"is missing{f'. Allowed: {", ".join(values)}' if values else ''}"
            )
    for key, value in args.items():
        if key in known:
            yield from problems(known[key], value, f"{prefix}{key}", depth + 1)
        elif view.get("additionalProperties") is False:
            near = nearest(key, known)
            yield Problem(f"{prefix}{str(key)[:MAX_VALUE]}", f"is no parameter. Known: {', '.join(near)}")


def _of_number(view: View, value: float, slot: str) -> Iterator[Problem]:
    """Yield what is wrong with a number."""
    low, high = view.get("minimum"), view.get("maximum")
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
        if found := list(problems(tool.parameters, args)):
            raise ValidationError(explain(tool.name, found, sentence))
        return args
    try:
        checked: dict[str, Any] = tool.parameters(args)
    except probatio.MultipleInvalid as err:
        found = list(problems(view_of(tool), args)) or [
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
