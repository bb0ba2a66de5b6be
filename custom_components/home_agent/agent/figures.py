"""The cost and the requests of a turn, recorded while it runs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from ..context.fitting import FittedRequest, ToolSchema
from ..context.providers.base import Slot
from ..inference.models import Delta, Message, TokenUsage
from ..inference.queue import Caller
from ..tools.turn_calls import CallVerdict


@dataclass(slots=True, kw_only=True)
class AskedModel:
    """One request to a model. Moments are of the clock that never jumps, in seconds."""

    model: str
    again: bool
    """Whether it was asked again because of an unproven claim."""
    factor: float
    """What makes the model's tokens of the estimated ones."""
    tokens: int
    original: int
    """Tokens that it would have had as a whole."""
    steps: tuple[str, ...]
    """What was done to make it fit."""
    parts: dict[str, int]
    """What it was made of, with the tokens of each part."""
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    caller: Caller
    waited_before: float
    """Seconds that earlier requests of the turn have waited."""
    waited_after: float | None = None
    """The same with this request, once the next one begins."""
    started: float = field(default_factory=monotonic)
    first: float | None = None
    ended: float | None = None
    prompt: int = 0
    completion: int = 0
    cached: int = 0

    @property
    def waited(self) -> float:
        """Return the seconds that this request waited for other requests to the same server."""
        after = self.caller.waited if self.waited_after is None else self.waited_after
        return after - self.waited_before


@dataclass(slots=True)
class Trace:
    """The steps of a turn."""

    gathered: float | None = None
    """When the context was asked for."""
    asked: list[AskedModel] = field(default_factory=list)
    slots: Sequence[Slot] = ()
    """What stood beside the sentence in the last request."""

    def ask(self, model: str, fitted: FittedRequest, factor: float, caller: Caller, *, again: bool) -> None:
        """Record the start of a request."""
        self.end()
        if self.asked:
            self.asked[-1].waited_after = caller.waited
        self.slots = fitted.slots
        self.asked.append(
            AskedModel(
                model=model,
                again=again,
                factor=factor,
                tokens=fitted.tokens,
                original=fitted.original,
                steps=fitted.steps,
                parts=fitted.parts,
                messages=fitted.messages,
                tools=fitted.tools,
                caller=caller,
                waited_before=caller.waited,
            )
        )

    def hear(self, delta: Delta) -> None:
        """Record the start or the end of a model's answer."""
        if not self.asked:
            return
        asked = self.asked[-1]
        if asked.first is None and (delta.content or delta.thinking or delta.tool_calls):
            asked.first = monotonic()
        if usage := delta.usage:
            asked.prompt += usage.prompt
            asked.completion += usage.completion
            asked.cached += usage.cached
        if usage or delta.finish_reason:
            asked.ended = monotonic()

    def end(self) -> None:
        """Record that the last request has ended."""
        if self.asked and self.asked[-1].ended is None:
            self.asked[-1].ended = monotonic()


@dataclass(slots=True)
class Figures:
    """What a turn cost. Times are in milliseconds."""

    started: float = field(default_factory=monotonic)
    llm_ms: float = 0.0
    context_ms: float = 0.0
    ttft_ms: float | None = None
    total_ms: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    external: list[TokenUsage] = field(default_factory=list)
    """What each answer of the external model cost."""
    rounds: int = 0
    trace: Trace = field(default_factory=Trace)
    """What is asked, and when."""

    @property
    def elapsed_ms(self) -> float:
        """Return the time since the turn began."""
        return (monotonic() - self.started) * 1000

    @property
    def external_tokens(self) -> int:
        """Return the token counts of the external model."""
        return sum(usage.total for usage in self.external)

    def counts(self, verdicts: Sequence[CallVerdict], *, failed: bool) -> Counter[str]:
        """Return the increments of the daily counters."""
        return Counter(
            turns=1,
            failed=int(failed),
            ms=round(self.elapsed_ms),
            prompt=self.prompt_tokens,
            completion=self.completion_tokens,
            cached=self.cached_tokens,
            external=self.external_tokens,
            calls=len(verdicts),
        ) + Counter(verdict.fit.value for verdict in verdicts)

    def hear(self, delta: Delta) -> None:
        """Record the data of a model's delta."""
        self.trace.hear(delta)
        if self.ttft_ms is None and (delta.content or delta.thinking or delta.tool_calls):
            self.ttft_ms = self.elapsed_ms
        if delta.usage:
            self.prompt_tokens += delta.usage.prompt
            self.completion_tokens += delta.usage.completion
            self.cached_tokens += delta.usage.cached
