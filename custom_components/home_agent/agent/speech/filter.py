"""Filters a model's reply for speech, and for display."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from ...embeds import EmbedFilter
from ...regex import lazy_regex
from .blocks import (
    EDGES,
    MAX_BLOCK,
    MAX_CALLS,
    THINK_CLOSE,
    Block,
    CallText,
    Flow,
    Openers,
    Surroundings,
    call_names,
    thought,
    unfenced,
)
from .markdown import MarkdownReader

_WORD: Final = lazy_regex(r"\w+")


@dataclass(slots=True)
class Spoken:
    """What a piece of a reply added."""

    text: str = ""
    """To be spoken, or shown in a chat."""
    thinking: str = ""


class SpeechFilter:
    """Filters one reply as it arrives.

    The result does not depend on how the reply was cut. A voice gets plain sentences; a chat keeps
    markdown, emoji and addresses, but no pictures, which a browser would fetch on its own. Neither gets
    thoughts, calls or special tokens. White space at the end of a reply is not given out.
    """

    def __init__(
        self,
        *,
        voice: bool,
        tool_names: Collection[str] = (),
        are_arguments: Callable[[str], bool] = lambda _: False,
        starts_thinking: bool = False,
    ) -> None:
        """Start a reply; `starts_thinking` for models whose prompt has opened a thought already.

        `are_arguments` tells whether an object, or a list of them, holds arguments without a tool's name.
        """
        self._names = call_names(frozenset(tool_names))
        self._are_arguments = are_arguments
        self._openers = Openers(self._names, voice=voice, are_arguments=are_arguments)
        self._around = Surroundings()
        self._block: Block | None = thought(THINK_CLOSE) if starts_thinking else None
        self._held = ""
        self._on_line: list[CallText] = []
        """Calls that ended on this line."""
        self._thinking: list[str] = []
        self._flow = Flow(collapse=voice)
        self._markdown = MarkdownReader(self._flow) if voice else None
        self._shown = EmbedFilter()
        self.calls: list[CallText] = []
        """What was taken for calls."""
        self.unopened_thought = False
        """A thought ended that never began; such models need `starts_thinking`."""

    def feed(self, text: str) -> Spoken:
        """Take the next piece and return the text that is certain by now."""
        return self._read(text, final=False) if text else Spoken()

    def flush(self) -> Spoken:
        """Return the text that was held back, at the end of the reply."""
        return self._read("", final=True)

    def _read(self, piece: str, *, final: bool) -> Spoken:
        text = self._held + piece
        self._around.final = final
        at = 0
        while at < len(text):
            after = (
                self._read_text(text, at) if self._block is None else self._read_block(self._block, text, at)
            )
            if after is None:
                break
            at = after
        self._held = text[at:]
        if final:
            self._end()
        said = self._flow.take()
        shown = self._shown.feed(said, final=final) if said or final else ""
        thinking, self._thinking = "".join(self._thinking), []
        return Spoken(shown, thinking)

    def _end(self) -> None:
        if self._block is not None:
            self._block.add(self._held)
            self._held = ""
            self._end_block(self._block)
        if self._markdown:
            self._markdown.write("", final=True)

    def _read_text(self, text: str, at: int) -> int | None:
        """Take text up to the next opening, and the opening; return where to continue, None to wait."""
        if at == 0 and _WORD.match(self._around.previous) and (word := _WORD.match(text)):
            self._say(word[0])
            return word.end()
        found = self._names.trigger.search(text, at)
        end = len(text) if self._around.final else self._names.pending(text, at)
        start = found.start() if found else end
        if start > at:
            self._say(text[at:start])
        opening = self._openers.open(text, start, self._around) if found else None
        if opening is None:
            return start if start > at else None
        self.unopened_thought = self.unopened_thought or opening.unopened
        if opening.text:
            self._say(text[start : opening.next])
        elif opening.block is None:
            self._remove(">")
        else:
            self._block = opening.block
            self._block.add(text[start : opening.next])
        return opening.next

    def _read_block(self, block: Block, text: str, at: int) -> int | None:
        """Take the text of the block; return where to continue, None to wait."""
        step = block.scanner.scan(text, at, final=self._around.final)
        room = MAX_BLOCK - block.size
        if not block.certain and step.body - at > room:
            block.add(text[at : step.body])
            self._release(block)
            return at + room
        if block.thought:
            self._thinking.append(text[at : step.body])
        else:
            block.add(text[at : step.next])
        if step.done:
            self._end_block(block)
            return step.next
        return step.next if step.next > at else None

    def _end_block(self, block: Block) -> None:
        raw = "".join(block.raw)
        is_call = not block.thought and block.is_call(raw)
        if not (is_call or block.certain):
            self._release(block)
            return
        self._block = None
        self._remove(" ")
        if is_call and len(self.calls) < MAX_CALLS:
            text = raw.strip()
            self.calls.append(CallText(text, self._around.alone, self._are_arguments(unfenced(text))))
            self._on_line.append(self.calls[-1])

    def _release(self, block: Block) -> None:
        """Return a block to the text if it is not a call."""
        self._block = None
        self._say("".join(block.raw))

    def _say(self, text: str) -> None:
        (self._markdown or self._flow).write(text)
        self._around.add(text)
        line, newline, _ = text.partition("\n")
        for call in self._on_line:
            call.alone = call.alone and not line.strip(EDGES)
        if newline:
            self._on_line.clear()

    def _remove(self, previous: str) -> None:
        """Remove something from the text; `previous` represents it for the text after it."""
        if self._markdown:
            self._markdown.write("", final=True)
        self._flow.removed()
        self._around.previous = previous
