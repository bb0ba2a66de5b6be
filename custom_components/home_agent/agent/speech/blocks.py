"""Takes thoughts, tool calls and special tokens out of a reply that arrives in pieces."""

from collections.abc import Collection
from typing import Final

from ...regex import lazy
from . import dialects
from .calls import MAX_CALLS, CallText, call_names, stands_alone
from .openers import MAX_BLOCK, Block, Openers, Position, thought

REMOVED: Final = ""
"""Stands in the text for something that was taken out."""

_WORD: Final = lazy(r"\w+")


class BlockFilter:
    """Splits a reply into text, thoughts and calls."""

    def __init__(self, *, voice: bool, tool_names: Collection[str], thinking: bool) -> None:
        """Start before the first character; `thinking` if the reply begins inside a thought."""
        self._names = call_names(frozenset(tool_names))
        self._openers = Openers(self._names, voice=voice)
        self._block: Block | None = thought(dialects.THINK_CLOSE) if thinking else None
        self._buffer = ""
        self._previous = "\n"
        self._line_start = True
        self._fresh = True
        self._eat_tick = False
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[CallText] = []
        self._on_line: list[CallText] = []
        """Calls that ended on this line."""
        self._alone = True
        """Nothing was said on this line that would make a sentence of a call."""
        self.unopened = False
        """A thought ended that never began: this model starts its replies inside a thought."""

    def feed(self, piece: str, *, final: bool = False) -> None:
        """Read on; what is decided goes to `text`, `thinking` and `calls`."""
        buffer = self._buffer + piece
        at = 0
        while at < len(buffer):
            read = self._read_text if self._block is None else self._read_block
            after = read(buffer, at, final)
            if after < 0:
                break
            at = after
        self._buffer = buffer[at:]
        if final and self._block is not None:
            self._block.add(self._buffer)
            self._buffer = ""
            self._end_block(self._block)

    def _read_text(self, buffer: str, at: int, final: bool) -> int:
        """Take text up to the next opening, and the opening; return where to go on, -1 for later."""
        if self._eat_tick:
            self._eat_tick = False
            if buffer[at] == "`":
                return at + 1
        if at == 0 and _WORD.match(self._previous) and (word := _WORD.match(buffer)):
            self._say(word[0])
            return word.end()
        found = self._names.trigger.search(buffer, at)
        start = found.start() if found else len(buffer) if final else self._names.pending(buffer, at)
        if start > at:
            self._say(buffer[at:start])
        if not found:
            return start if start > at else -1
        position = Position(self._previous, self._line_start, self._fresh, final)
        opening = self._openers.open(buffer, start, position)
        if opening is None:
            return start if start > at else -1
        self.unopened = self.unopened or opening.unopened
        if opening.text:
            self._say(buffer[start : opening.next])
        elif opening.block is None:
            self.text.append(REMOVED)
            self._previous = ">"
        else:
            self._block = opening.block
            self._block.add(buffer[start : opening.next])
        return opening.next

    def _read_block(self, buffer: str, at: int, final: bool) -> int:
        """Take what belongs to the block; return where to go on, -1 for later."""
        block = self._block
        assert block is not None
        step = block.scanner.scan(buffer, at, final=final)
        room = MAX_BLOCK - block.size
        if not block.certain and step.body - at > room:
            block.add(buffer[at : step.body])
            self._release(block)
            return at + room
        if block.thought:
            if step.body > at:
                self.thinking.append(buffer[at : step.body])
        else:
            block.add(buffer[at : step.next])
        if step.done:
            self._end_block(block)
            return step.next
        return step.next if step.next > at else -1

    def _end_block(self, block: Block) -> None:
        """Decide what a block was."""
        raw = "".join(block.raw)
        if not block.thought and not block.is_call(raw) and not block.is_noise(raw):
            self._release(block)
            return
        self._block = None
        self._eat_tick = block.ticked
        self._previous = " "
        self.text.append(REMOVED)
        if block.is_call(raw) and len(self.calls) < MAX_CALLS:
            self.calls.append(CallText(raw[block.ticked :].strip(), self._alone))
            self._on_line.append(self.calls[-1])

    def _release(self, block: Block) -> None:
        """Give back as text what turned out to be no call."""
        self._block = None
        self._say("".join(block.raw))

    def _say(self, text: str) -> None:
        """Let text out."""
        self.text.append(text)
        self._previous = text[-1]
        for call in self._on_line:
            call.alone = call.alone and stands_alone(text.partition("\n")[0])
        head, newline, tail = text.rpartition("\n")
        if newline:
            self._on_line.clear()
        self._alone = (bool(newline) or self._alone) and stands_alone(tail)
        blank = not tail.strip()
        self._line_start = blank if newline else blank and self._line_start
        self._fresh = self._fresh and blank and not head.strip()
