"""One turn: everything that belongs to one sentence and its answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from homeassistant.components import conversation

from ..context.fitting import FittedRequest, Prompt, RequestDraft
from ..context.manager import AssembledContext
from ..inference.models import Usage
from ..inference.router import PRIMARY
from ..tools.quality import Verdict
from ..tools.turn_calls import TurnCalls
from .trace import Trace


def nothing() -> RequestDraft:
    """Return the draft of a request that says nothing yet."""
    return RequestDraft(systems=[lambda: Prompt("")])


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
    external: list[Usage] = field(default_factory=list)
    """What each answer of the external model cost."""
    rounds: int = 0

    @property
    def elapsed_ms(self) -> float:
        """Return the time since the turn began."""
        return (monotonic() - self.started) * 1000

    @property
    def external_tokens(self) -> int:
        """Return what the external model counted."""
        return sum(usage.total for usage in self.external)

    def counts(self, verdicts: Sequence[Verdict], *, failed: bool) -> Counter[str]:
        """Return what is added to the figures of the day."""
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

    def note_first_token(self) -> None:
        """Remember when the model's first token came."""
        if self.ttft_ms is None:
            self.ttft_ms = self.elapsed_ms


@dataclass(slots=True, kw_only=True)
class Turn:
    """The state of one turn. It is never kept on the entity: two people may speak at once."""

    chat_log: conversation.ChatLog
    calls: TurnCalls
    language: str
    voice: bool
    max_tokens: int
    user_input: conversation.ConversationInput | None = None
    history_id: str | None = None
    apart: bool = False
    """Whether somebody else's words stand in the chat log too: they are not for this speaker."""
    first: int = 0
    """Where the newest user message stands in the chat log."""
    draft: RequestDraft = field(default_factory=nothing)
    """What a request is made of, before it is fitted into the model's context."""
    fitted: FittedRequest | None = None
    """The last request as it was sent."""
    asked: str = PRIMARY
    """The model that this request was made for."""
    context: AssembledContext | None = None
    reported: tuple[int, tuple[str, ...]] | None = None
    """What the last event said of the context: tokens and entities."""
    compressed: tuple[str, ...] = ()
    """What was done last to make a request fit."""
    pictures: list[str] = field(default_factory=list)
    """Pictures beside the newest user message, as data URLs; they are never stored."""
    response_schema: dict[str, Any] | None = None
    give_up_at: float | None = None
    """When no more of an answer is awaited, by the clock of the event loop."""
    asks: bool = False
    """Whether the last words are a question of ours, so that the microphone opens."""
    said: bool = False
    """Whether anything has been let out; a satellite is speaking then."""
    figures: Figures = field(default_factory=Figures)
    trace: Trace = field(default_factory=Trace)
    """What is asked, and when."""

    def __post_init__(self) -> None:
        """Let the figures follow what the calls cost elsewhere."""
        self.figures.external = self.calls.external
