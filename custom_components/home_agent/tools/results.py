"""Results as the model gets them, `{success, result, error}`: always JSON, never too long.

And what a call did, told by its tool, so that a sentence about it needs no model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from itertools import takewhile
from math import inf
from typing import Any, Final, NamedTuple, NotRequired, Self, TypedDict, cast

from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads

from ..const import MAX_RESULT_CHARS
from ..errors import ToolExecutionError
from ..planned.records import Schedule
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


def succeeded(result: Any, error: str | None = None) -> llm.ToolResult:
    """Return the envelope of a call that worked, or of which a part worked; the error names the rest."""
    content = ToolEnvelope(success=True, result=to_json(result), error=error and error[:MAX_ERROR_CHARS])
    return llm.ToolResult(data=cast("JsonObjectType", content))


def failed(error: str, result: Any = None) -> llm.ToolResult:
    """Return the envelope of a call that did not work."""
    content = ToolEnvelope(success=False, result=to_json(result), error=error[:MAX_ERROR_CHARS])
    return llm.ToolResult(data=cast("JsonObjectType", content), error=True)


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
    problem = "; ".join(errors)
    if errors and all(result.error for result in results):
        return failed(problem, done)
    return succeeded(done, problem or None)


def envelope(result: llm.ToolResult, *, strict: bool = False) -> llm.ToolResult:
    """Return what a tool that is not ours gave, as an envelope.

    Raises ToolExecutionError for a failure if `strict`.
    """
    if not result.error:
        return succeeded(result.data)
    text = str(result.data.get("error_text") or result.data.get("error") or result.data)
    if strict:
        raise ToolExecutionError(text)
    return failed(text)


def to_json(value: Any) -> Any:
    """Return a value as JSON-compatible data, cut where it is longer than a model should read."""
    room = _Room(MAX_RESULT_CHARS)
    text = json_dumps(_shortened(value, room))
    if room.left >= 0 and len(text) <= MAX_RESULT_CHARS:
        return json_loads(text)
    return f"{text[:MAX_RESULT_CHARS]} … (cut)"


def plain_json(value: Any) -> Any:
    """Return a value as JSON-compatible data, whole."""
    return _shortened(value, _Room(inf))


@dataclass(slots=True)
class _Room:
    left: float


def _shortened(value: Any, room: _Room, depth: int = MAX_DEPTH) -> Any:
    """Return a value with everything that JSON cannot hold as text; nothing behind the room's end is read."""
    room.left -= 1
    if isinstance(value, Mapping) and depth:
        pairs = takewhile(lambda _pair: room.left >= 0, value.items())
        return {_text(key, room): _shortened(item, room, depth - 1) for key, item in pairs}
    if isinstance(value, (list, tuple, set, frozenset)) and depth:
        return [_shortened(item, room, depth - 1) for item in takewhile(lambda _item: room.left >= 0, value)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and abs(value) <= MAX_NUMBER:
        return value + 0
    return _text(value if depth else "…", room)


def _text(value: Any, room: _Room) -> str:
    try:
        text = value.isoformat() if isinstance(value, (date, time)) else str(value)
    except Exception:  # noqa: BLE001 - the result of somebody else's tool
        text = type(value).__name__
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    room.left, left = room.left - len(text), room.left
    return text if len(text) <= left else text[: max(0, int(left)) + 1]


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


class ToldValue(NamedTuple):
    """One value that something was set to."""

    kind: ValueKind
    value: str | float


class ToldTime(NamedTuple):
    """When something happens that was planned."""

    due: datetime
    """In UTC."""
    days: Sequence[int] = ()
    """The days of the week on which it is repeated, from 0 for Monday."""
    event: Mapping[str, Any] | None = None
    """What it waits for, as Home Assistant writes a trigger."""
    conditions: Sequence[Mapping[str, Any]] = ()
    """What must hold then."""

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        """Return when something happens that is planned."""
        event = schedule.event.clause if schedule.event else None
        return cls(schedule.due, schedule.days, event, schedule.conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldAct:
    """One thing that a call did: the whole answer to a plain command.

    The translations word it as the clause `do_<key>` of a sentence, or as the sentence `done_<key>`.
    """

    key: str
    entity_ids: Sequence[str] = ()
    """What it was done to, if that is few enough to be named."""
    names: Sequence[str] = ()
    """What else it was done to, by name."""
    count: int = 0
    """How many these are, where they are too many to name."""
    kind: str = ""
    """The domain that these have in common."""
    place: str = ""
    """The area or the floor in which all of them are, if that was what the call named."""
    values: Sequence[ToldValue] = ()
    already: bool = False
    """Whether all of it was so before."""
    undone: bool = False
    """Whether it only took back what had been done before."""
    when: ToldTime | None = None
    """When it happens, if that is not now."""
    until: datetime | None = None
    """When it ends, in UTC; None for an end that nobody has said."""
    referents: int = 1
    """How many things the call named, so that half of "the light and the fan" is not taken for the whole."""
