"""What of a model's reply may be spoken, and what may be shown."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ...embeds import EmbedFilter
from ...regex import lazy
from .blocks import REMOVED, BlockFilter
from .flow import Flow
from .plain import PlainText

_WORD: Final = lazy(" ?([A-Za-z]+)")


@dataclass(slots=True)
class Spoken:
    """What a piece of a reply added."""

    text: str = ""
    """To be spoken, or shown in a chat."""
    thinking: str = ""
    calls: list[str] = field(default_factory=list)
    """Tool calls that were written as text, raw."""


class SpeechFilter:
    """Filters one reply as it arrives.

    The result does not depend on how the reply was cut. A voice gets plain sentences; a chat keeps
    markdown, emoji and addresses, but no pictures, which a browser would fetch by itself. Neither gets
    thoughts, calls or special tokens. White space at the end of a reply is not given out.
    """

    def __init__(
        self, *, voice: bool, tool_names: Collection[str] = (), starts_thinking: bool = False
    ) -> None:
        """Start a reply; `starts_thinking` for models whose prompt has opened a thought already."""
        self._blocks = BlockFilter(voice=voice, tool_names=tool_names, thinking=starts_thinking)
        self._flow = Flow(collapse=voice)
        self._plain = PlainText(self._flow) if voice else None
        self._shown = EmbedFilter()

    @property
    def unopened_thought(self) -> bool:
        """Return whether a thought ended that never began; such models need `starts_thinking`."""
        return self._blocks.unopened

    def feed(self, text: str) -> Spoken:
        """Take the next piece and return what is certain by now."""
        if self._is_plain(text):
            self._flow.write(text)
            return Spoken(self._shown.feed(self._flow.take()))
        self._blocks.feed(text)
        return self._take(final=False)

    def flush(self) -> Spoken:
        """Return what was held back; the reply has ended."""
        self._blocks.feed("", final=True)
        return self._take(final=True)

    def _is_plain(self, text: str) -> bool:
        """Return whether a piece is a word that nothing can begin or end in: most pieces are."""
        word = _WORD.fullmatch(text)
        if not word or (self._plain and not self._plain.takes(word[1])) or not self._blocks.takes(word[1]):
            return False
        self._blocks.pass_word(word[1])
        if self._plain:
            self._plain.pass_word(word[1])
        return True

    def _take(self, *, final: bool) -> Spoken:
        """Move what the block filter let out through the rest."""
        blocks = self._blocks
        sink = self._plain or self._flow
        for piece in blocks.text:
            if piece == REMOVED:
                sink.removed()
            else:
                sink.write(piece)
        if final and self._plain:
            self._plain.end()
        text = self._shown.feed(self._flow.take(), final=final)
        spoken = Spoken(text, "".join(blocks.thinking), blocks.calls)
        blocks.text, blocks.thinking, blocks.calls = [], [], []
        return spoken
