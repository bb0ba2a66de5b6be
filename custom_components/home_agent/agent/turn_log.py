"""The last turns, step by step: in memory only, for people who look at them in the panel."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self, TypedDict

from homeassistant.core import callback
from homeassistant.helpers.json import json_dumps

from ..const import CONF_FALLBACK_MODEL, CONF_MODEL, CONF_PANEL
from ..context.providers.base import Slot
from ..inference.models import Message
from ..inference.router import FALLBACK, PRIMARY
from ..tools.turn_calls import CallRecord, CallVerdict
from .figures import AskedModel

MAX_TURNS: Final = 50
MAX_LINES: Final = 30
"""Lines shown of one part of a request."""
MAX_LINE: Final = 240
"""Characters of a line, and of a sentence of a list."""
MAX_TEXT: Final = 2_000
"""Characters kept of what was said, and shown of the arguments of a call."""
MAX_CALLS: Final = 50


class TurnOutcome(StrEnum):
    """What became of a turn, for a list of turns."""

    FAILED = "failed"
    """It ended with an error."""
    ASKED = "asked"
    """It asked for a confirmation."""
    REFUSED = "refused"
    """Nothing was done of what it called."""
    LOCAL = "local"
    """It was answered without a model."""
    ANSWERED = "answered"


class TurnLine(TypedDict):
    """A turn in a list, as the panel gets it."""

    id: str
    conversation: str
    at: str
    sentence: str
    answer: str
    person: str
    surface: str
    ms: float
    tokens: int
    error: str | None
    outcome: str
    tools: list[str]


class SentCall(TypedDict):
    """A call in a message that was sent."""

    name: str
    arguments: str


class SentMessage(TypedDict):
    """A message as it was sent, without codes; a picture is replaced by its kind."""

    role: str
    content: str
    calls: list[SentCall]


class PartRow(TypedDict):
    """A part of a request."""

    name: str
    tokens: int


class RequestRow(TypedDict):
    """A request to a model, with its estimated tokens before (`original`) and after it was made shorter."""

    model: str
    again: bool
    at: float
    waited_ms: float
    """Of the time until the first token: spent in the queue of the server."""
    first_ms: float | None
    ms: float
    prompt: int
    completion: int
    cached: int
    tokens: int
    original: int
    steps: list[str]
    parts: list[PartRow]
    messages: list[SentMessage]
    tools: list[str]
    """The tools as the model gets them, each as JSON."""


class CallRow(TypedDict):
    """A call of a tool."""

    tool: str
    args: str
    result: str
    success: bool
    waits: bool
    at: float
    ms: float
    fit: str
    rules: list[str]


class SlotLine(TypedDict):
    """A line of a slot, with the scores by which it was found."""

    text: str
    scores: dict[str, float]


class SlotRow(TypedDict):
    """A part of the context beside the sentence."""

    name: str
    heading: str
    tokens: int
    lines: list[SlotLine]
    left_out: int


class TurnDetails(TurnLine):
    """A turn in all its parts, as the panel gets it. Moments are milliseconds from its beginning."""

    language: str
    cause: str
    listens: bool
    tainted: bool
    kept_home: bool
    context_at: float
    context_ms: float
    requests: list[RequestRow]
    calls: list[CallRow]
    slots: list[SlotRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTurn:
    """One turn that is over; its details are formatted when they are requested."""

    id: str
    conversation: str
    at: datetime
    sentence: str
    answer: str
    person: str
    surface: str
    language: str
    begun: float
    gathered: float | None
    """When the context was asked for, like `begun` by the clock that never jumps, in seconds."""
    context_ms: float
    ms: float
    tokens: int
    error: str | None
    cause: str
    """The server's error message without keys; only administrators see it."""
    asks: bool
    """Whether it ended with a question for a confirmation."""
    listens: bool
    tainted: bool
    withheld: bool
    """Whether the requests held what an external model does not receive."""
    asked: Sequence[AskedModel]
    slots: Sequence[Slot]
    calls: Sequence[CallRecord]
    verdicts: Sequence[CallVerdict]
    """One for each call."""
    models: Mapping[str, str]
    """The names that the router's models had."""

    @property
    def outcome(self) -> TurnOutcome:
        """Return what became of it."""
        if self.error:
            return TurnOutcome.FAILED
        if self.asks or any(call.waits for call in self.calls):
            return TurnOutcome.ASKED
        changing = [call for call in self.calls if not call.read_only]
        if changing and not any(call.success for call in changing):
            return TurnOutcome.REFUSED
        return TurnOutcome.ANSWERED if self.asked else TurnOutcome.LOCAL

    def short(self) -> TurnLine:
        """Return the line of a list."""
        return {
            "id": self.id,
            "conversation": self.conversation,
            "at": self.at.isoformat(),
            "sentence": self.sentence[:MAX_LINE],
            "answer": self.answer[:MAX_LINE],
            "person": self.person,
            "surface": self.surface,
            "ms": _ms(self.ms),
            "tokens": self.tokens,
            "error": self.error,
            "outcome": self.outcome.value,
            "tools": [call.tool_name for call in self.calls[:MAX_CALLS]],
        }

    def whole(self) -> TurnDetails:
        """Return all that is kept."""
        return {
            **self.short(),
            "sentence": self.sentence,
            "answer": self.answer,
            "language": self.language,
            "cause": self.cause,
            "listens": self.listens,
            "tainted": self.tainted,
            "kept_home": self.withheld,
            "context_at": self._after(self.gathered or self.begun),
            "context_ms": _ms(self.context_ms),
            "requests": [self._request(asked) for asked in self.asked],
            "calls": list(self._calls()),
            "slots": [_slot(slot, self.asked[-1]) for slot in self.slots if slot.lines],
        }

    def _after(self, moment: float) -> float:
        """Return the milliseconds from the beginning of the turn."""
        return _ms((moment - self.begun) * 1000)

    def _request(self, asked: AskedModel) -> RequestRow:
        return {
            "model": self.models.get(asked.model, asked.model),
            "again": asked.again,
            "at": self._after(asked.started),
            "waited_ms": _ms(asked.waited * 1000),
            "first_ms": None if asked.first is None else _ms((asked.first - asked.started) * 1000),
            "ms": _ms(((asked.ended or asked.started) - asked.started) * 1000),
            "prompt": asked.prompt,
            "completion": asked.completion,
            "cached": asked.cached,
            "tokens": round(asked.tokens * asked.factor),
            "original": round(asked.original * asked.factor),
            "steps": list(asked.steps),
            "parts": [
                {"name": name, "tokens": round(tokens * asked.factor)}
                for name, tokens in asked.parts.items()
                if tokens > 0
            ],
            "messages": [_sent(message) for message in asked.messages],
            "tools": [json_dumps(tool) for tool in asked.tools],
        }

    def _calls(self) -> Iterator[CallRow]:
        for record, verdict in zip(self.calls[:MAX_CALLS], self.verdicts, strict=False):
            yield {
                "tool": record.tool_name,
                "args": json_dumps(record.args)[:MAX_TEXT],
                "result": record.said,
                "success": record.success,
                "waits": record.waits,
                "at": self._after(record.started),
                "ms": _ms(record.duration_ms),
                "fit": verdict.fit.value,
                "rules": list(verdict.rules),
            }


class TurnLog:
    """The last turns of one agent; nothing of it is ever written to disk.

    It stays while the agent is reloaded, so that turns before and after a change of options can be compared.
    """

    def __init__(self) -> None:
        self._turns: deque[LoggedTurn] = deque(maxlen=0)
        self.models: Mapping[str, str] = {}
        """The names of the router's models."""

    @callback
    def configure(self, settings: Mapping[str, Any]) -> Self:
        """Follow the options: without the panel nothing is kept. Return it."""
        self.models = {PRIMARY: settings[CONF_MODEL], FALLBACK: settings.get(CONF_FALLBACK_MODEL) or FALLBACK}
        self._turns = deque(self._turns, MAX_TURNS if settings[CONF_PANEL] else 0)
        return self

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._turns)

    @callback
    def add(self, turn: LoggedTurn) -> None:
        """Keep a turn, if the options want the panel."""
        self._turns.append(turn)

    @callback
    def short(self) -> list[TurnLine]:
        """Return the turns in short, the newest first."""
        return [kept.short() for kept in reversed(self._turns)]

    @callback
    def whole(self, turn_id: str) -> TurnDetails | None:
        """Return one turn in all its parts."""
        found = (kept.whole() for kept in self._turns if kept.id == turn_id)
        return next(found, None)

    @callback
    def clear(self, conversation: str | None = None) -> None:
        """Forget the turns of a conversation, or all."""
        others = (kept for kept in self._turns if kept.conversation != conversation)
        self._keep(() if conversation is None else others)

    @callback
    def prune(self, oldest: datetime) -> None:
        """Forget what is older."""
        self._keep(kept for kept in self._turns if kept.at >= oldest)

    def _keep(self, turns: Iterable[LoggedTurn]) -> None:
        self._turns = deque(turns, self._turns.maxlen)


def _sent(message: Message) -> SentMessage:
    content = message["content"]
    if not isinstance(content, str):
        content = "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in content)
    return {
        "role": message["role"],
        "content": content,
        "calls": [
            {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
            for call in message.get("tool_calls", ())
        ],
    }


def _slot(slot: Slot, asked: AskedModel) -> SlotRow:
    scores = slot.scores if len(slot.scores) == len(slot.lines) else ({},) * len(slot.lines)
    shown = zip(slot.lines[:MAX_LINES], scores, strict=False)
    return {
        "name": slot.name,
        "heading": slot.heading,
        "tokens": round(asked.parts.get(slot.name, 0) * asked.factor),
        "lines": [
            {"text": line[:MAX_LINE], "scores": {by: round(score, 3) for by, score in found.items()}}
            for line, found in shown
        ],
        "left_out": max(0, len(slot.lines) - MAX_LINES),
    }


def _ms(value: float) -> float:
    """Return milliseconds as they are shown."""
    return round(value, 2)
