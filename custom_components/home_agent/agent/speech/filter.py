"""What of a model's reply may be spoken, and what may be shown."""

from collections.abc import Collection
from dataclasses import dataclass

from ...embeds import EmbedFilter
from .blocks import REMOVED, BlockFilter
from .calls import CallText
from .flow import Flow
from .markdown import MarkdownReader


@dataclass(slots=True)
class Spoken:
    """What a piece of a reply added."""

    text: str = ""
    """To be spoken, or shown in a chat."""
    thinking: str = ""


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
        self._markdown = MarkdownReader(self._flow) if voice else None
        self._shown = EmbedFilter()

    @property
    def unopened_thought(self) -> bool:
        """Return whether a thought ended that never began; such models need `starts_thinking`."""
        return self._blocks.unopened

    @property
    def calls(self) -> list[CallText]:
        """Return what was taken for calls."""
        return self._blocks.calls

    def feed(self, text: str) -> Spoken:
        """Take the next piece and return what is certain by now."""
        return self._read(text, final=False)

    def flush(self) -> Spoken:
        """Return what was held back; the reply has ended."""
        return self._read("", final=True)

    def _read(self, text: str, *, final: bool) -> Spoken:
        """Read on, and take what is text by now through the rest."""
        blocks = self._blocks
        blocks.feed(text, final=final)
        for piece in blocks.text:
            if piece != REMOVED:
                (self._markdown or self._flow).write(piece)
                continue
            if self._markdown:
                self._markdown.write("", final=True)
            self._flow.removed()
        if final and self._markdown:
            self._markdown.write("", final=True)
        said = self._flow.take() if blocks.text or final else ""
        shown = self._shown.feed(said, final=final) if said or final else ""
        spoken = Spoken(shown, "".join(blocks.thinking))
        blocks.text, blocks.thinking = [], []
        return spoken
