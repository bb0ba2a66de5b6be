"""What is kept of turns: the record of each one, the last ones, those under way, and their conversations."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from time import monotonic
from typing import Any, Final, Self

from homeassistant.core import Event, callback
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util

from ..const import CONF_FALLBACK_MODEL, CONF_MODEL, CONF_PANEL, EventData
from ..context.window import FittedRequest, Slot
from ..errors import TurnInterrupted
from ..inference.client import FALLBACK, PRIMARY
from ..inference.models import Caller, Delta, Message, TokenUsage
from ..tools.turn_calls import CallRecord, CallSummary, Quality

MAX_TURNS: Final = 50
MAX_LINES: Final = 30
"""Lines shown of one part of a request."""
MAX_LINE: Final = 240
"""Characters of a line, and of a sentence of a list."""
MAX_TEXT: Final = 2_000
"""Characters kept of what was said, and shown of the arguments of a call."""
MAX_CALLS: Final = 50
MAX_CONVERSATIONS: Final = 200

type Row = dict[str, Any]
"""A part of a turn as the panel gets it, in JSON. Moments are milliseconds from the beginning of the turn."""


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


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """One request to a model. Moments are of the clock that never jumps, in seconds."""

    model: str
    """Its name."""
    again: bool
    """Whether it was asked again, because an order was answered without a call or with nothing."""
    factor: float
    """What makes the model's tokens of the estimated ones."""
    fitted: FittedRequest
    """What was sent; without codes once the turn is over."""
    waited_before: float
    """Seconds that earlier requests of the turn have waited."""
    waited_after: float
    """The same with this request."""
    started: float = field(default_factory=monotonic)
    first: float | None = None
    ended: float | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)

    def row(self, begun: float) -> Row:
        """Return the request with its estimated tokens before (`original`) and after it was shortened."""
        fitted = self.fitted
        return {
            "model": self.model,
            "again": self.again,
            "at": _ms(self.started - begun),
            "waited_ms": _ms(self.waited_after - self.waited_before),
            "first_ms": None if self.first is None else _ms(self.first - self.started),
            "ms": _ms((self.ended or self.started) - self.started),
            "prompt": self.usage.prompt,
            "completion": self.usage.completion,
            "cached": self.usage.cached,
            "tokens": round(fitted.tokens * self.factor),
            "original": round(fitted.original * self.factor),
            "steps": list(fitted.steps),
            "parts": [
                {"name": name, "tokens": round(tokens * self.factor)}
                for name, tokens in fitted.parts.items()
                if tokens > 0
            ],
            "messages": [_sent(message) for message in fitted.messages],
            "tools": [json_dumps(tool) for tool in fitted.tools],
        }


@dataclass(slots=True, kw_only=True)
class TurnRecord:
    """One turn, filled in while it runs: its event, the counters, the log and the panel read it.

    Moments are of the clock that never jumps, in seconds.
    """

    calls: Sequence[CallRecord]
    external: Sequence[TokenUsage]
    """What each answer of the external model cost."""
    caller: Caller
    begun: float = field(default_factory=monotonic)
    gathered: float | None = None
    """When the context was asked for."""
    context_ms: float = 0
    rounds: int = 0
    requests: list[RequestRecord] = field(default_factory=list)
    tokens: TokenUsage = field(default_factory=TokenUsage)
    """What the agent's own models read and wrote."""

    id: str = ""
    """This and all that follows is known when the turn is over."""
    conversation: str = ""
    """The id of its history."""
    at: datetime = field(default_factory=dt_util.utcnow)
    sentence: str = ""
    answer: str = ""
    person: str = ""
    surface: str = ""
    language: str = ""
    ms: float = 0
    error: str | None = None
    cause: str = ""
    """The server's error message without keys; only administrators see it."""
    asks: bool = False
    """Whether it ended with a question for a confirmation."""
    listens: bool = False
    tainted: bool = False
    withheld: bool = False
    """Whether the requests held what an external model does not receive."""

    def ask(self, model: str, fitted: FittedRequest, factor: float, *, again: bool) -> None:
        """Record the start of a request."""
        self.end_request()
        waited = self.caller.waited
        self.requests.append(
            RequestRecord(
                model=model,
                again=again,
                factor=factor,
                fitted=fitted,
                waited_before=waited,
                waited_after=waited,
            )
        )

    def hear(self, delta: Delta) -> None:
        """Record a part of the answer to the last request."""
        request = self.requests[-1]
        if request.first is None and (delta.content or delta.thinking or delta.tool_calls):
            request.first = monotonic()
        if delta.usage:
            request.usage += delta.usage
            self.tokens += delta.usage
        if delta.usage or delta.finish_reason:
            self.end_request()

    def end_request(self) -> None:
        """Record that the last request has ended."""
        if self.requests:
            request = self.requests[-1]
            request.waited_after = self.caller.waited
            request.ended = request.ended or monotonic()

    @property
    def first_token_ms(self) -> float | None:
        """Return the time until the first token; None if there was none."""
        first = next((request.first for request in self.requests if request.first is not None), None)
        return None if first is None else (first - self.begun) * 1000

    def counts(self) -> Counter[str]:
        """Return the increments of the daily counters."""
        tokens = self.tokens
        return Counter(
            turns=1,
            failed=int(self.error is not None),
            ms=round(self.ms),
            prompt=tokens.prompt,
            completion=tokens.completion,
            cached=tokens.cached,
            external=sum(usage.total for usage in self.external),
            calls=len(self.calls),
        ) + Counter(call.fit.value for call in self.calls)

    def figures(self) -> dict[str, float | None]:
        """Return what the sensors show of the last turn; times are in seconds."""
        first = self.first_token_ms
        return {
            "tokens": self.tokens.total,
            "cached_tokens": self.tokens.cached,
            "external_tokens": sum(usage.total for usage in self.external),
            "latency": round(self.ms / 1000, 3),
            "first_token": None if first is None else round(first / 1000, 3),
        }

    def event(
        self, conversation_id: str, user_id: str | None, person_id: str | None, problem: str | None
    ) -> EventData:
        """Return the data of the event that reports the cost of the turn, and what its error was."""
        first = self.first_token_ms
        spent = sum((request.ended or request.started) - request.started for request in self.requests)
        return {
            "conversation_id": conversation_id,
            "user_id": user_id,
            "person": person_id,
            "error_type": self.error,
            "error_message": problem,
            "duration_ms": round(self.ms, 1),
            "tool_calls": len(self.calls),
            "tool_breakdown": dict(Counter(call.tool_name for call in self.calls)),
            "tokens": _counted(self.tokens),
            "tokens_used": self.tokens.total,
            "external_tokens": _counted(sum(self.external, TokenUsage())),
            "performance": {
                "llm_latency_ms": round(spent * 1000, 1),
                "tool_latency_ms": round(sum(call.duration_ms for call in self.calls), 1),
                "context_latency_ms": round(self.context_ms, 1),
                "ttft_ms": None if first is None else round(first, 1),
                "queue_ms": round(self.caller.waited * 1000, 1),
            },
            "used_external_llm": bool(self.external),
            "tool_quality": Quality().add(self.calls).as_dict(),
        }

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
        return TurnOutcome.ANSWERED if self.requests else TurnOutcome.LOCAL

    def short(self) -> Row:
        """Return the line of a list."""
        return {
            "id": self.id,
            "conversation": self.conversation,
            "at": self.at.isoformat(),
            "sentence": self.sentence[:MAX_LINE],
            "answer": self.answer[:MAX_LINE],
            "person": self.person,
            "surface": self.surface,
            "ms": round(self.ms, 2),
            "tokens": self.tokens.total,
            "error": self.error,
            "outcome": self.outcome.value,
            "tools": [call.tool_name for call in self.calls[:MAX_CALLS]],
        }

    def whole(self) -> Row:
        """Return all that is kept."""
        last = self.requests[-1] if self.requests else None
        return {
            **self.short(),
            "sentence": self.sentence,
            "answer": self.answer,
            "language": self.language,
            "cause": self.cause,
            "listens": self.listens,
            "tainted": self.tainted,
            "kept_home": self.withheld,
            "context_at": _ms((self.gathered or self.begun) - self.begun),
            "context_ms": round(self.context_ms, 2),
            "requests": [request.row(self.begun) for request in self.requests],
            "calls": [
                {
                    "tool": call.tool_name,
                    "args": json_dumps(call.args)[:MAX_TEXT],
                    "result": call.said,
                    "success": call.success,
                    "waits": call.waits,
                    "at": _ms(call.started - self.begun),
                    "ms": round(call.duration_ms, 2),
                    "fit": call.fit.value,
                    "rules": list(call.rules),
                }
                for call in self.calls[:MAX_CALLS]
            ],
            "slots": [_slot(slot, last) for slot in last.fitted.slots if slot.lines] if last else [],
        }


class TurnLog:
    """The last turns of one agent; nothing of it is ever written to disk.

    It stays while the agent is reloaded, so that turns before and after a change of options can be compared.
    """

    def __init__(self) -> None:
        self._turns: deque[TurnRecord] = deque(maxlen=0)
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
    def add(self, turn: TurnRecord) -> None:
        """Keep a turn, if the options want the panel."""
        self._turns.append(turn)

    @callback
    def short(self) -> list[Row]:
        """Return the turns in short, the newest first."""
        return [kept.short() for kept in reversed(self._turns)]

    @callback
    def whole(self, turn_id: str) -> Row | None:
        """Return one turn in all its parts."""
        return next((kept.whole() for kept in self._turns if kept.id == turn_id), None)

    @callback
    def clear(self, conversation: str | None = None) -> None:
        """Forget the turns of a conversation, or all."""
        others = (kept for kept in self._turns if kept.conversation != conversation)
        self._keep(() if conversation is None else others)

    @callback
    def prune(self, oldest: datetime) -> None:
        """Forget what is older."""
        self._keep(kept for kept in self._turns if kept.at >= oldest)

    def _keep(self, turns: Iterable[TurnRecord]) -> None:
        self._turns = deque(turns, self._turns.maxlen)


def _counted(usage: TokenUsage) -> dict[str, int]:
    return {
        "prompt": usage.prompt,
        "completion": usage.completion,
        "total": usage.total,
        "cached": usage.cached,
    }


def _sent(message: Message) -> Row:
    """Return a message as it was sent; a picture is replaced by its kind."""
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


def _slot(slot: Slot, request: RequestRecord) -> Row:
    """Return a part of the context beside the sentence, with the scores by which its lines were found."""
    scores = slot.scores if len(slot.scores) == len(slot.lines) else ({},) * len(slot.lines)
    return {
        "name": slot.name,
        "heading": slot.heading,
        "tokens": round(request.fitted.parts.get(slot.name, 0) * request.factor),
        "lines": [
            {"text": line[:MAX_LINE], "scores": {by: round(score, 3) for by, score in scored.items()}}
            for line, scored in zip(slot.lines[:MAX_LINES], scores, strict=False)
        ],
        "left_out": max(0, len(slot.lines) - MAX_LINES),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


@dataclass(slots=True)
class RecentConversation:
    """What is known of a conversation beside its history."""

    calls: list[CallSummary] = field(default_factory=list)
    """Tool calls of the last turn, for the response of `home_agent.process`."""
    history_id: str | None = None
    """The history that it continued: a person's sentences share one for a while."""
    owner: str | None = None
    """The id of its first known speaker."""
    is_shared: bool = False
    """Whether several persons have spoken."""
    at_home: bool = False
    """Whether something was said that an external model must not receive."""
    tainted: bool = False
    """Whether text was read that an outsider wrote."""
    patience: bool = False
    """Whether one moment was asked for."""
    about: tuple[str, ...] = ()
    """The entities that it was about last."""
    unclear: str | None = None
    """A name that nothing in the home has, where the person was asked what it means."""
    listening: tuple[str, datetime] | None = None
    """The answer after which a satellite still listens, without being asked anything, and when that was."""
    cleared: datetime | None = None
    """Up to when the history of this id was forgotten."""


@dataclass(slots=True)
class RecentConversations:
    """The last conversations of one agent."""

    by_id: dict[str, RecentConversation] = field(default_factory=dict)
    _all_cleared: datetime | None = None

    def of(self, conversation_id: str) -> RecentConversation:
        """Return a conversation, which becomes the newest one."""
        conversation = self.by_id.pop(conversation_id, None) or RecentConversation()
        self.by_id[conversation_id] = conversation
        if len(self.by_id) > MAX_CONVERSATIONS:
            del self.by_id[next(iter(self.by_id))]
        return conversation

    def history_id(self, conversation_id: str) -> str:
        """Return the history that a conversation belongs to."""
        conversation = self.by_id.get(conversation_id)
        return (conversation and conversation.history_id) or conversation_id

    @callback
    def note_cleared(self, conversation_id: str | None) -> None:
        """Remember that a conversation, or all, were forgotten: the chat log keeps them for a while."""
        now = dt_util.utcnow()
        if conversation_id is None:
            self._all_cleared = now
            for conversation in self.by_id.values():
                conversation.about, conversation.calls = (), []
        else:
            self.of(conversation_id).about = ()
            self.of(self.history_id(conversation_id)).cleared = now

    def cleared_at(self, conversation_id: str) -> datetime | None:
        """Return up to when a conversation is forgotten."""
        moments = (self.of(self.history_id(conversation_id)).cleared, self._all_cleared)
        return max((moment for moment in moments if moment is not None), default=None)


class RunningTurns:
    """The turns of one agent that wait for a model; a server that hangs must not outlive the agent."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()
        self.stopped = False

    @property
    def busy(self) -> bool:
        """Return whether a turn is running."""
        return bool(self._scopes)

    @asynccontextmanager
    async def interruptible(self) -> AsyncIterator[None]:
        """Run an interruptible part. Raises TurnInterrupted if it was interrupted."""
        if self.stopped:
            raise TurnInterrupted
        scope = asyncio.timeout(None)
        self._scopes.add(scope)
        try:
            async with scope:
                yield
        except TimeoutError as err:
            if scope.expired():
                raise TurnInterrupted from err
            raise
        finally:
            self._scopes.discard(scope)

    @callback
    def stop(self, _event: Event | None = None) -> None:
        """Interrupt all turns, also those that come to their model later."""
        self.stopped = True
        now = asyncio.get_running_loop().time()
        for scope in self._scopes:
            if not scope.expired():
                scope.reschedule(now)
