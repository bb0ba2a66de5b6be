"""What a turn asks, and when: noted while it runs."""

from dataclasses import dataclass, field
from time import monotonic

from ..context.compression import Fitted
from ..inference.models import Delta


@dataclass(slots=True, kw_only=True)
class Asked:
    """One request to a model. Moments are of the clock that never jumps, in seconds."""

    model: str
    fitted: Fitted
    factor: float
    """What makes the model's tokens of estimated ones."""
    again: bool
    """Whether it was asked again because it claimed what was not done."""
    started: float = field(default_factory=monotonic)
    first: float | None = None
    ended: float | None = None
    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(slots=True)
class Trace:
    """The steps of a turn, noted while it runs."""

    gathered: float | None = None
    """When the context was asked for."""
    asked: list[Asked] = field(default_factory=list)

    def ask(self, model: str, fitted: Fitted, factor: float, *, again: bool) -> None:
        """Note a request that goes out."""
        self.end()
        self.asked.append(Asked(model=model, fitted=fitted, factor=factor, again=again))

    def hear(self, delta: Delta) -> None:
        """Note what a model begins or ends with."""
        if not self.asked:
            return
        asked = self.asked[-1]
        if asked.first is None and (delta.content or delta.thinking or delta.tool_calls):
            asked.first = monotonic()
        if delta.usage:
            asked.prompt += delta.usage.prompt
            asked.completion += delta.usage.completion
            asked.cached += delta.usage.cached
        if delta.usage or delta.finish_reason:
            asked.ended = monotonic()

    def end(self) -> None:
        """Note that nothing more comes of the last request."""
        if self.asked and self.asked[-1].ended is None:
            self.asked[-1].ended = monotonic()
