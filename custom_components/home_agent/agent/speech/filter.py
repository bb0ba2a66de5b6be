"""Filters a model's reply for speech, and for display: without thoughts, tags, and calls written as text."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
import re
from typing import Final

from ...embeds import EmbedFilter
from ...regex import lazy_regex
from .calls import EDGES, MAX_CALLS, Balanced, CallText, ScanResult, call_names, unfenced
from .markdown import Flow, MarkdownReader, end_of

_WINDOW: Final = 48
"""Longest mark that may be cut at the end of a piece."""
_THINK: Final = "think thinking thought thoughts reason reasoning reflection seed:think"
_RESULTS: Final = "tool_response tool_responses tool_result tool_results function_response"
_CALLS: Final = (
    "tool_call tool_calls toolcall function_call function_calls function invoke minimax:tool_call "
    "seed:tool_call"
)
_THINK_ENDS: Final = "end_thinking end_of_thought"
_CALL_ENDS: Final = "tool_call_end tool_calls_end tool_calls_section_end end_action end_function_call"
_PLAIN: Final = {
    "think": _THINK,
    "result": _RESULTS,
    "call": f"{_CALLS} start_function_call",
    "noise": "s bos eos pad unk end_of_turn endoftext answer final_answer response inst",
    "header": "start_of_turn",
}
_BARRED: Final = {
    "think": "start_thinking begin_of_thought",
    "call": "tool_calls_begin tool_calls_section_begin tool_call_begin start_action python_tag",
    "header": "start im_start start_header_id start_of_role turn channel",
    "role": "user system observation tool developer ipython",
}
PLAIN_TAGS: Final = {name: kind for kind, names in _PLAIN.items() for name in names.split()}
"""What tags mean that are known by their name alone, `<name>`, `<name|>` and `[NAME]`.

Behind a `header` a role or a channel follows, as in `<|channel|>analysis<|message|>`. A `role` is that of
another participant, and a `result` was invented: both are dropped like a thought. `noise` is dropped, and
what follows is text.
"""
BARRED_TAGS: Final = PLAIN_TAGS | {name: kind for kind, names in _BARRED.items() for name in names.split()}
"""What tags in bars mean, `<|name|>`; one that is not listed is noise."""
OWN_ROLES: Final = frozenset(("assistant", "model", "ai", "bot", "answer", "final", "commentary"))
OTHER_ROLES: Final = frozenset(
    ("user", "human", "system", "tool", "developer", "ipython", "observation", "function")
)
THINK_ROLES: Final = frozenset(("analysis", "thought", "think", "thinking", "reasoning"))
CALL_FENCES: Final = frozenset(("tool_code", "tool_call", "tool_calls", "function_call"))

TAG: Final = lazy_regex(
    r"<(?P<bar>[|\uff5c])?(?P<slash>/)?(?P<name>[A-Za-z_][\w:.\u2581-]{0,40})"
    r"(?P<rest>[\s=/][^<>]{0,200}?)?(?P<bar2>[|\uff5c])?>"
    r"|\[(?P<end>/)?(?P<square>THINK|think|TOOL_CALLS|TOOL_RESULTS|INST)\]"
)
TAG_PART: Final = lazy_regex(
    r"<(?P<bar>[|\uff5c])?/?(?P<name>[A-Za-z_][\w:.\u2581-]{0,40})?(?P<rest>[\s=/][^<>]{0,200})?[|\uff5c]?\Z"
    r"|\[/?[A-Z_]{0,12}\Z|\[/?think\Z"
)
HEADER: Final = lazy_regex(
    r"[ \t]{0,9}+([A-Za-z_]{0,20}+)((?:[^<\n]|<\|constrain\|>){0,120}+)"
    r"(?:(?P<token><\|message\|>|(?=<(?:[^|]|\|(?!(?:constrain|message)\|>)[^<>]{0,40}>)))|\n|(?=[^<\n]))"
)
HEADER_CHARS: Final = 200

_END_OF_TURN: Final = (
    r"<\|(?:im_end|eot_id|eom_id|end|return|call|end_of_text|endoftext)\|>|</s>|<end_of_turn>|<turn\|>"
)
_HEADER_AHEAD: Final = (
    r"(?=<\|(?:start|im_start|start_header_id|channel|assistant)\|>|<start_of_turn>|<\|(?:turn|channel)>"
    r"|<\uff5cAssistant\uff5c>)"
)


def _closing(names: str, ends: str = "end") -> re.Pattern[str]:
    """Return the pattern of the end of a block; in a name, `_` also matches its look-alike."""
    name, end = (words.replace(" ", "|").replace("_", "[_\u2581]") for words in (names, ends))
    return lazy_regex(
        rf"<[|\uff5c]?/(?:{name})\s{{0,8}}[|\uff5c]?>|<(?:{name})\|>|\[/(?:{name})\]"
        rf"|<[|\uff5c]?(?:{end})[|\uff5c]?>|{_END_OF_TURN}|{_HEADER_AHEAD}",
        re.IGNORECASE,
    )


THINK_CLOSE: Final = _closing(f"{_THINK} channel", _THINK_ENDS)
CALL_CLOSE: Final = _closing(_CALLS, _CALL_ENDS)
HEADED_CALL_CLOSE: Final = lazy_regex(_END_OF_TURN)
TURN_CLOSE: Final = lazy_regex(_HEADER_AHEAD)
DROPPED: Final = {"think": THINK_CLOSE, "result": _closing(_RESULTS), "role": TURN_CLOSE}
"""How what is neither spoken nor called ends."""
FENCE_CLOSE: Final = lazy_regex(r"`{3}")
LINES_CLOSE: Final = lazy_regex(r"\n[ \t]{0,8}(?=\n)")
MAX_BLOCK: Final = 20_000
"""Characters of a suspected block that are held back, and of a call that are kept."""

_OBJECT: Final = lazy_regex(r"\{\s{0,20}(?:[\"']|[A-Za-z_]\w{0,40}\s{0,4}:)")
_OBJECT_PART: Final = lazy_regex(r"\{\s{0,20}(?:[A-Za-z_]\w{0,40}\s{0,4})?\Z")
_LIST_START: Final = lazy_regex(r"\[\s{0,20}")
_FENCE: Final = lazy_regex(r"`{3,9}[ \t]{0,8}([\w+-]{0,20})[ \t]{0,8}\n?\s{0,40}")
_TICKS: Final = lazy_regex(r"`{1,9}")
_FENCE_TICKS: Final = 3
_AFTER_NAME: Final = lazy_regex(r"\(|[:\s]{0,3}\{")
_AFTER_PART: Final = lazy_regex(r"[:\s]{0,3}\Z")
_KEY: Final = lazy_regex(r"[ \t]{0,4}(?:[ \t]|\n(?:- ?)?)\w{1,20} ?[:=]")
_KEY_PART: Final = lazy_regex(r"[ \t]{0,5}(?:\n(?:- ?)?)?(?:(?<!\w)\w{1,20} ?)?\Z")
_ARGUMENTS: Final = lazy_regex(r"""\s{0,20}(?:\w{1,40}+\s{0,4}+[=:]|["'{]|\)|\[\s{0,4}["'{\]])""")
_WORD: Final = lazy_regex(r"\w+")
_MAX_NAME: Final = 64


class UntilClose:
    """A block that ends with a mark, or never."""

    def __init__(self, close: re.Pattern[str], starts: str = "<[`") -> None:
        self._close = close
        self._starts = starts

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on until the mark, or to where it may have been cut off."""
        if mark := self._close.search(text, start):
            return ScanResult(mark.start(), mark.end(), done=True)
        floor = max(start, len(text) - _WINDOW)
        cuts = [cut for sign in self._starts if not final and (cut := text.find(sign, floor)) >= 0]
        end = min(cuts, default=len(text))
        return ScanResult(end, end, done=False)


@dataclass(slots=True, kw_only=True)
class _Block:
    """A stretch of the reply whose end is not known yet."""

    scanner: UntilClose | Balanced
    thought: bool = False
    certain: bool = False
    """Is taken out whatever it contains, and however long it grows."""
    is_call: Callable[[str], bool] = lambda _: True
    raw: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        """Keep raw text, within bounds."""
        if text and self.size < MAX_BLOCK:
            self.raw.append(text[: MAX_BLOCK - self.size])
            self.size += len(self.raw[-1])


def _thought(close: re.Pattern[str]) -> _Block:
    return _Block(scanner=UntilClose(close), thought=True, certain=True)


def _has_arguments(raw: str) -> bool:
    return _ARGUMENTS.match(raw, raw.index("(") + 1) is not None


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

    Each method that reads takes the text and a position, and returns where to go on, None to wait for more.
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
        self._voice = voice
        self._block: _Block | None = _thought(THINK_CLOSE) if starts_thinking else None
        self._held = ""
        self._previous = "\n"
        self._alone = True
        """Nothing was said on this line that would make a sentence of a call."""
        self._final = False
        """Nothing more will come."""
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
        return self._read(text) if text else Spoken()

    def flush(self) -> Spoken:
        """Return the text that was held back, at the end of the reply."""
        self._final = True
        return self._read("")

    def _read(self, piece: str) -> Spoken:
        text = self._held + piece
        at = 0
        while at < len(text):
            after = (
                self._read_text(text, at) if self._block is None else self._read_block(self._block, text, at)
            )
            if after is None:
                break
            at = after
        self._held = text[at:]
        if self._final:
            if self._block is not None:
                self._block.add(self._held)
                self._held = ""
                self._end_block(self._block)
            if self._markdown:
                self._markdown.write("", final=True)
        said = self._flow.take()
        shown = self._shown.feed(said, final=self._final) if said or self._final else ""
        thinking, self._thinking = "".join(self._thinking), []
        return Spoken(shown, thinking)

    def _read_text(self, text: str, at: int) -> int | None:
        """Take text up to the next opening, and the opening."""
        if at == 0 and _WORD.match(self._previous) and (word := _WORD.match(text)):
            return self._say(text, 0, word.end())
        found = self._names.trigger.search(text, at)
        end = len(text) if self._final else self._names.pending(text, at)
        start = found.start() if found else end
        if start > at:
            self._say(text, at, start)
        after = self._open(text, start) if found else None
        if after is None and found and self._final:
            return self._say(text, start, start + 1)
        return start if after is None and start > at else after

    def _read_block(self, block: _Block, text: str, at: int) -> int | None:
        step = block.scanner.scan(text, at, final=self._final)
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

    def _end_block(self, block: _Block) -> None:
        raw = "".join(block.raw)
        is_call = not block.thought and block.is_call(raw)
        if not (is_call or block.certain):
            self._release(block)
            return
        self._block = None
        self._remove(0, " ")
        if is_call and len(self.calls) < MAX_CALLS:
            text = raw.strip()
            self.calls.append(CallText(text, self._alone, self._are_arguments(unfenced(text))))
            self._on_line.append(self.calls[-1])

    def _release(self, block: _Block) -> None:
        """Return a block to the text if it is not a call."""
        self._block = None
        raw = "".join(block.raw)
        self._say(raw, 0, len(raw))

    def _say(self, text: str, at: int, end: int) -> int:
        text = text[at:end]
        (self._markdown or self._flow).write(text)
        _, broken, tail = text.rpartition("\n")
        self._previous = text[-1]
        self._alone = not tail.strip(EDGES) and (bool(broken) or self._alone)
        line, broken, _ = text.partition("\n")
        for call in self._on_line:
            call.alone = call.alone and not line.strip(EDGES)
        if broken:
            self._on_line.clear()
        return end

    def _remove(self, end: int, previous: str = ">") -> int:
        """Leave something out that ends there; `previous` represents it for the text after it."""
        if self._markdown:
            self._markdown.write("", final=True)
        self._flow.removed()
        self._previous = previous
        return end

    def _begin(self, block: _Block, text: str, at: int, end: int) -> int:
        """Begin a block with what was read of it."""
        self._block = block
        block.add(text[at:end])
        return end

    # What may begin.

    def _open(self, text: str, at: int) -> int | None:
        match text[at]:
            case "<" | "[" if tag := TAG.match(text, at):
                return self._tag(text, tag)
            case "<":
                part = TAG_PART.match(text, at)
                name = (part and part["name"]) or ""
                is_cut = part and (part["bar"] or not part["rest"] or name.lower() in BARRED_TAGS)
                return None if is_cut else self._say(text, at, at + 1)
            case "[":
                return self._list(text, at)
            case "{" if _OBJECT.match(text, at):
                return self._data(text, at, at, certain=self._voice)
            case "{":
                return None if _OBJECT_PART.match(text, at) else self._say(text, at, at + 1)
            case "`":
                return self._ticks(text, at)
        return self._name(text, at)

    def _data(self, text: str, at: int, end: int, *, certain: bool, scanner: UntilClose | None = None) -> int:
        """Begin a block of JSON, which calls a tool; alone on its lines, it may be arguments."""
        alone = self._alone
        block = _Block(
            scanner=scanner or Balanced(text[at]),
            is_call=lambda raw: self._names.in_json(raw) or (alone and self._are_arguments(unfenced(raw))),
            certain=certain,
        )
        return self._begin(block, text, at, end)

    def _tag(self, text: str, tag: re.Match[str]) -> int | None:
        at, end = tag.span()
        name = (tag["name"] or tag["square"]).lower().replace("\u2581", "_")
        is_barred = tag["bar"] is not None
        kind = BARRED_TAGS.get(name, "noise") if is_barred else PLAIN_TAGS.get(name)
        is_half = tag["bar2"] and not is_barred
        if kind is None and not (is_half and name in BARRED_TAGS):
            return self._say(text, at, at + 1)
        if self._previous == "`" and kind in ("think", "call", "result"):
            if end == len(text) and not self._final:
                return None
            if text[end : end + 1] == "`":
                return self._remove(end) if self._voice else self._say(text, at, end)
        if tag["slash"] or tag["end"] or is_half:
            self.unopened_thought = self.unopened_thought or kind == "think"
            return self._remove(end)
        if kind == "header":
            return self._header(text, at, end)
        if kind == "call":
            return self._begin(_Block(scanner=UntilClose(CALL_CLOSE), certain=True), text, at, end)
        return self._begin(_thought(DROPPED[kind]), text, at, end) if kind in DROPPED else self._remove(end)

    def _header(self, text: str, at: int, end: int) -> int | None:
        """Take the role or the channel behind a header token, and what is said of its message."""
        header = HEADER.match(text, end) or (HEADER.match(f"{text}\n", end) if self._final else None)
        if header is None:
            return None if len(text) - end < HEADER_CHARS and not self._final else self._remove(end)
        role, after = header[1].lower(), min(header.end(), len(text))
        if "to=" in header[2]:
            return self._begin(_Block(scanner=UntilClose(HEADED_CALL_CLOSE), certain=True), text, at, end)
        if role in THINK_ROLES or role in OTHER_ROLES:
            close = THINK_CLOSE if role in THINK_ROLES else TURN_CLOSE
            return self._begin(_thought(close), text, at, after)
        if role not in OWN_ROLES:
            return self._remove(end)
        return self._remove(after if header["token"] is not None or not header[2].strip() else header.end(1))

    def _list(self, text: str, at: int) -> int | None:
        inner = end_of(_LIST_START, text, at)
        if text.startswith("{", inner):
            return self._data(text, at, at, certain=self._voice)
        name = self._names.pattern.match(text, inner)
        if name and text.startswith("(", name.end()):
            return self._begin(_Block(scanner=Balanced("[")), text, at, at)
        if inner == len(text) or self._names.cut(text, inner) or TAG_PART.match(text, at):
            return None
        return self._say(text, at, at + 1)

    def _ticks(self, text: str, at: int) -> int | None:
        ticks = end_of(_TICKS, text, at)
        fence = _FENCE.match(text, at) if ticks - at >= _FENCE_TICKS else None
        body = fence.end() if fence else ticks
        if not self._final and (body == len(text) or (fence and self._names.cut(text, body))):
            return None
        if fence is None:
            return self._say(text, at, ticks)
        scanner = UntilClose(FENCE_CLOSE)
        if fence[1].lower() in CALL_FENCES or self._names.pattern.match(text, body):
            return self._begin(_Block(scanner=scanner, certain=True), text, at, body)
        if text.startswith(("{", "["), body):
            is_certain = self._voice and text[body] == "{"
            return self._data(text, at, body, certain=is_certain, scanner=scanner)
        return self._say(text, at, ticks)

    def _name(self, text: str, at: int) -> int | None:
        """Take a call that begins with the name of a tool; a quoted one stays in a chat."""
        if self._names.cut(text, at) and not self._final:
            return None
        name = self._names.pattern.match(text, at)
        if name is None or (self._previous == "`" and not self._voice):
            end = max(end_of(_WORD, text, at), at + 1)
            is_cut = end == len(text) and end - at < _MAX_NAME and not self._final
            return None if is_cut else self._say(text, at, end)
        is_spelled = "_" in name[0] or "." in name[0] or not name[0].islower()
        if after := _AFTER_NAME.match(text, name.end()):
            block = _Block(scanner=Balanced(after[0][-1]))
            if after[0] == "(" and not is_spelled:
                block.is_call = _has_arguments
            return self._begin(block, text, at, at)
        may_be_lines = is_spelled and self._alone
        if may_be_lines and _KEY.match(text, name.end()):
            lines = _Block(scanner=UntilClose(LINES_CLOSE, "\n"), certain=True)
            return self._begin(lines, text, at, name.end())
        part = _AFTER_PART.match(text, name.end()) or (may_be_lines and _KEY_PART.match(text, name.end()))
        return None if part and not self._final else self._say(text, at, name.end())
