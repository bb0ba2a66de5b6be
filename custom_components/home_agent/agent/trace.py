"""What a turn asks, and when: noted while it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from ..context.fitting import FittedRequest
from ..context.providers.base import Slot
from ..inference.models import Delta


@dataclass(slots=True, kw_only=True)
class Asked:
    """One request to a model. Moments are of the clock that never jumps, in seconds."""

    model: str
    again: bool
    """Whether it was asked again because it claimed what was not done."""
    factor: float
    """What makes the model's tokens of the estimated ones."""
    tokens: int
    original: int
    """Tokens that it would have had as a whole."""
    steps: tuple[str, ...]
    """What was done to make it fit."""
    parts: dict[str, int]
    """What it was made of, with the tokens of each part."""
    started: float = field(default_factory=monotonic)
    first: float | None = None
    ended: float | None = None
    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(slots=True)
class Trace:
    """The steps of a turn."""

    gathered: float | None = None
    """When the context was asked for."""
    asked: list[Asked] = field(default_factory=list)
    slots: Sequence[Slot] = ()
    """What stood beside the sentence in the last request."""

    def ask(self, model: str, fitted: FittedRequest, factor: float, *, again: bool) -> None:
        """Note a request that goes out; the request itself is not kept."""
        self.end()
        self.slots = fitted.slots
        self.asked.append(
            Asked(
                model=model,
                again=again,
                factor=factor,
                tokens=fitted.tokens,
                original=fitted.original,
                steps=fitted.steps,
                parts=fitted.parts,
            )
        )

    def hear(self, delta: Delta) -> None:
        """Note what a model begins or ends with."""
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
        """Note that nothing more comes of the last request."""
        if self.asked and self.asked[-1].ended is None:
            self.asked[-1].ended = monotonic()
