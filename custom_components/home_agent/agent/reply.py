"""One reply of a model as it streams: what of it is said, what is a thought."""

from collections.abc import MutableSet

from ..embeds import EmbedFilter
from ..inference.models import Delta
from .speech import SpeechFilter, Spoken
from .turn import Turn


class Reply:
    """Filters one reply, and learns whether its model begins inside a thought.

    Some models have their thought opened by the prompt, so that only its end shows in the reply.
    """

    def __init__(self, turn: Turn, thoughtful: MutableSet[str], model: str) -> None:
        """Start a reply of a model; `thoughtful` holds the models that begin inside a thought."""
        self._turn = turn
        self._thoughtful = thoughtful
        self._model = model
        self._verbatim = turn.response_schema is not None
        """Data is passed on as it is: an object with a name and parameters is no call."""
        self._filter = self._new_filter(starts_thinking=model in thoughtful)
        self._thought = EmbedFilter()
        self._unsaid: list[str] | None = [] if model in thoughtful else None
        """The reply so far, while it may be a thought as a whole."""
        self._finish_reason: str | None = None

    def take(self, delta: Delta) -> Spoken:
        """Return what a delta adds."""
        self._finish_reason = delta.finish_reason or self._finish_reason
        if self._verbatim:
            return Spoken(delta.content, delta.thinking)
        spoken = self._filter.feed(delta.content)
        if spoken.text or delta.tool_calls or delta.thinking:
            self._unsaid = None
        elif self._unsaid is not None:
            self._unsaid.append(delta.content)
        if thinking := delta.thinking + spoken.thinking:
            spoken.thinking = self._thought.feed(thinking)
        return spoken

    def end(self) -> Spoken:
        """Return what was held back; the reply has ended."""
        spoken = self._filter.flush()
        spoken.thinking = self._thought.feed(spoken.thinking, final=True)
        if self._filter.unopened_thought:
            self._thoughtful.add(self._model)
        if self._unsaid is not None and not spoken.text and self._finish_reason != "length":
            return self._as_said("".join(self._unsaid))
        return spoken

    def _as_said(self, text: str) -> Spoken:
        """Return a reply as words after all: what was taken for a thought never ended."""
        self._thoughtful.discard(self._model)
        plain = self._new_filter(starts_thinking=False)
        begun, rest = plain.feed(text), plain.flush()
        return Spoken(begun.text + rest.text, begun.thinking + rest.thinking)

    def _new_filter(self, *, starts_thinking: bool) -> SpeechFilter:
        """Return a filter for this turn's ears."""
        return SpeechFilter(
            voice=self._turn.calls.speaker.voice,
            tool_names=self._turn.calls.tools.keys(),
            starts_thinking=starts_thinking,
        )
