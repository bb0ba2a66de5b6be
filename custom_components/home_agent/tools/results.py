"""Results as the model gets them, `{success, result, error}`: always JSON, never too long.

And what a call did, told by its tool, so that a sentence about it needs no model.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from math import inf
from typing import Any, Final, NotRequired, TypedDict, cast

from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads

from ..const import MAX_RESULT_CHARS
from ..errors import ToolExecutionError
from ..safety.confirmation import ConfirmationRequest

MAX_ERROR_CHARS: Final = 600
MAX_DEPTH: Final = 30
MAX_NUMBER: Final = 2**53
"""Beyond it numbers lose digits, or cannot be written at all."""


class ToolEnvelope(TypedDict):
    """A result as the model gets it.

    A success with an `error` worked in part. `confirmation` is present if no one heard the question.
    """

    success: bool
    result: JsonValueType
    error: str | None
    confirmation: NotRequired[ConfirmationRequest]


class ControlResult(TypedDict, total=False):
    """The result of ha_control, without its empty parts."""

    done: dict[str, str]
    """What the entities that changed, or that were told to do something, show now."""
    unchanged: dict[str, str]
    """What the entities show in which nothing changed."""
    failed: dict[str, str]
    """Why it failed, by entity: a sentence without its subject."""
    planned: dict[str, str]
    """What happens later and when, by entity: "turn off at 18:30"."""
    id: str
    """The id of what is planned, by which it is cancelled."""
    notes: list[str]
    """What the person should hear beside it."""


def succeeded(result: Any) -> llm.ToolResult:
    """Return the envelope of a call that worked."""
    return _wrapped({"success": True, "result": to_json(result), "error": None})


def failed(error: str, result: Any = None) -> llm.ToolResult:
    """Return the envelope of a call that did not work."""
    return _wrapped({"success": False, "result": to_json(result), "error": error[:MAX_ERROR_CHARS]})


def partly(error: str, result: Any) -> llm.ToolResult:
    """Return the envelope of a call of which a part worked; the error names the rest."""
    return _wrapped({"success": True, "result": to_json(result), "error": error[:MAX_ERROR_CHARS]})


def _wrapped(content: ToolEnvelope) -> llm.ToolResult:
    return llm.ToolResult(data=cast("JsonObjectType", content), error=not content["success"])


def envelope_of(result: llm.ToolResult) -> ToolEnvelope:
    """Return the envelope that a result of this module holds."""
    return cast("ToolEnvelope", result.data)


def outcome_of(result: object) -> ControlResult:
    """Return the result of ha_control that an envelope holds, empty if it holds none."""
    keys = ControlResult.__optional_keys__
    if not isinstance(result, Mapping) or not result or not keys.issuperset(result):
        return {}
    return cast("ControlResult", result)


def together(results: Sequence[llm.ToolResult]) -> llm.ToolResult:
    """Return one envelope for the parts of a call, in their order."""
    done = [envelope_of(result)["result"] for result in results]
    errors = [str(error) for result in results if (error := envelope_of(result)["error"])]
    if not errors:
        return succeeded(done)
    wrap = failed if all(result.error for result in results) else partly
    return wrap("; ".join(errors), done)


def envelope(result: Any, *, strict: bool = False) -> llm.ToolResult:
    """Return what a tool that is not ours gave, as an envelope.

    Raises ToolExecutionError for a failure if `strict`.
    """
    if not isinstance(result, llm.ToolResult):
        result = llm.ToolResult(data=result)
    if not result.error:
        return succeeded(result.data)
    text = str(result.data.get("error_text") or result.data.get("error") or result.data)
    if strict:
        raise ToolExecutionError(text)
    return failed(text)


def to_json(value: Any) -> Any:
    """Return a value as JSON-compatible data, cut where it is longer than a model should read."""
    room = _Room(MAX_RESULT_CHARS)
    short = _shortened(value, room)
    text = json_dumps(short)
    if room.left >= 0 and len(text) <= MAX_RESULT_CHARS:
        return json_loads(text)
    return f"{text[:MAX_RESULT_CHARS]} … (cut)"


def plain_json(value: Any) -> Any:
    """Return a value as JSON-compatible data, whole."""
    return _shortened(value, _Room(inf))


@dataclass(slots=True)
class _Room:
    """How many characters may still be taken."""

    left: float

    def take(self, text: str) -> str:
        """Return the part of a text that fits."""
        taken = text if len(text) <= self.left else text[: max(0, int(self.left)) + 1]
        self.left -= len(text)
        return taken


def _shortened(value: Any, room: _Room, depth: int = MAX_DEPTH) -> Any:
    """Return a value with everything that JSON cannot hold as text; nothing behind the room's end is read."""
    room.left -= 1
    if isinstance(value, Mapping) and depth:
        return {
            room.take(_as_text(key)): _shortened(item, room, depth - 1)
            for key, item in _within(value.items(), room)
        }
    if isinstance(value, (list, tuple, set, frozenset)) and depth:
        return [_shortened(item, room, depth - 1) for item in _within(value, room)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and abs(value) <= MAX_NUMBER:
        return value + 0
    return room.take(_as_text(value) if depth else "…")


def _within[T](items: Iterable[T], room: _Room) -> Iterator[T]:
    for item in items:
        if room.left < 0:
            return
        yield item


def _as_text(value: Any) -> str:
    try:
        text = value.isoformat() if isinstance(value, (date, time)) else str(value)
    except Exception:  # noqa: BLE001 - the result of somebody else's tool
        return type(value).__name__
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class ValueKind(StrEnum):
    """What a value is, which decides how it is said."""

    PERCENT = "percent"
    DEGREES = "degrees"
    COLOR = "color"
    """The English name of a colour."""
    MODE = "mode"
    """A state of climate, as Home Assistant writes it."""
    TEXT = "text"
    """Something that is said as it is."""


@dataclass(frozen=True, slots=True)
class ToldValue:
    """One value that something was set to."""

    kind: ValueKind
    value: str | float


@dataclass(frozen=True, slots=True)
class ToldTime:
    """When something happens that was planned."""

    due: datetime
    """In UTC."""
    days: Sequence[int] = ()
    """The days of the week on which it is repeated, from 0 for Monday."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldAct:
    """One thing that a call did: the whole answer to a plain command.

    It is told in the sentence `quick_<key>` of the translations.
    """

    key: str
    names: Sequence[str] = ()
    """What it was done to, by name."""
    count: int = 0
    """How many these are, where they are too many to name."""
    kind: str = ""
    """The domain that these have in common."""
    place: str = ""
    """The area or the floor in which all of them are, if that was what the call named."""
    values: Sequence[ToldValue] = ()
    when: ToldTime | None = None
    """When it happens, or ends, if that is not now."""
    referents: int = 1
    """How many things the call named, so that half of "the light and the fan" is not taken for the whole."""
