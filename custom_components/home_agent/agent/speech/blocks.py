"""Blocks of a reply that are not spoken: the tags around them, and scanners that find their end.

A scanner decides the same however the text was cut.
"""

from enum import Enum, auto
import re
from typing import Final, NamedTuple, Protocol

from ...regex import lazy_regex

_WINDOW: Final = 48
"""Longest mark that may be cut at the end of a piece."""
_BRACKETS: Final = {"{": "}", "[": "]", "(": ")"}


class Mark(Enum):
    """What a tag means."""

    THINK = auto()
    RESULT = auto()
    """An invented tool result: dropped like a thought."""
    CALL = auto()
    HEADER = auto()
    """A role or a channel follows: `<|im_start|>assistant`, `<|channel|>analysis<|message|>`."""
    ROLE = auto()
    """The role of another participant: `<|user|>`."""
    NOISE = auto()
    """Dropped, what follows is text."""


_THINK: Final = "think thinking thought thoughts reason reasoning reflection seed:think"
_RESULTS: Final = "tool_response tool_responses tool_result tool_results function_response"
_CALLS: Final = (
    "tool_call tool_calls toolcall function_call function_calls function invoke minimax:tool_call "
    "seed:tool_call"
)
_THINK_ENDS: Final = "end_thinking end_of_thought"
_CALL_ENDS: Final = "tool_call_end tool_calls_end tool_calls_section_end end_action end_function_call"


def _meaning(mark: Mark, names: str) -> dict[str, Mark]:
    return dict.fromkeys(names.split(), mark)


PLAIN_TAGS: Final[dict[str, Mark]] = {
    **_meaning(Mark.THINK, _THINK),
    **_meaning(Mark.RESULT, _RESULTS),
    **_meaning(Mark.CALL, f"{_CALLS} start_function_call"),
    **_meaning(Mark.NOISE, "s bos eos pad unk end_of_turn endoftext answer final_answer response inst"),
    "start_of_turn": Mark.HEADER,
}
"""Tags known by their name alone, `<name>`, `<name|>` and `[NAME]`."""
BARRED_TAGS: Final[dict[str, Mark]] = {
    **PLAIN_TAGS,
    **_meaning(Mark.THINK, "start_thinking begin_of_thought"),
    **_meaning(
        Mark.CALL, "tool_calls_begin tool_calls_section_begin tool_call_begin start_action python_tag"
    ),
    **_meaning(Mark.HEADER, "start im_start start_header_id start_of_role turn channel"),
    **_meaning(Mark.ROLE, "user system observation tool developer ipython"),
}
"""Tags in bars, `<|name|>`; one that is not listed is noise."""
OWN_ROLES: Final = frozenset(["assistant", "model", "ai", "bot", "answer", "final", "commentary"])
OTHER_ROLES: Final = frozenset(
    ["user", "human", "system", "tool", "developer", "ipython", "observation", "function"]
)
THINK_ROLES: Final = frozenset(["analysis", "thought", "think", "thinking", "reasoning"])
CALL_FENCES: Final = frozenset(["tool_code", "tool_call", "tool_calls", "function_call"])

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
DROPPED: Final = {Mark.THINK: THINK_CLOSE, Mark.RESULT: _closing(_RESULTS), Mark.ROLE: TURN_CLOSE}
"""How what is neither spoken nor called ends."""
FENCE_CLOSE: Final = lazy_regex(r"`{3}")
LINES_CLOSE: Final = lazy_regex(r"\n[ \t]{0,8}(?=\n)")


class ScanResult(NamedTuple):
    """The result of a scanner: the block's text extends to `body`, reading continues at `next`."""

    body: int
    next: int
    done: bool


class Scanner(Protocol):
    """Finds the end of a block."""

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Continue at `start`; `final` says that the text is complete."""


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where a pattern ends that may be empty."""
    found = pattern.match(text, at)
    return found.end() if found else at


class UntilClose:
    """A block that ends with a mark, or never."""

    def __init__(self, close: re.Pattern[str], starts: str = "<[`") -> None:
        """Remember the mark, and the signs that it may begin with."""
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


class Balanced:
    """A block in brackets; brackets in quotes do not count."""

    def __init__(self, bracket: str) -> None:
        """Start before the opening bracket."""
        self._open = bracket
        self._outside = re.compile(rf"[\"'{re.escape(bracket + _BRACKETS[bracket])}]")
        self._depth = 0
        self._quote = ""
        self._before = ""

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:  # noqa: ARG002 - a bracket is never cut
        """Read on until the last bracket closes."""
        at = start
        while mark := (_QUOTED[self._quote] if self._quote else self._outside).search(text, at):
            before = text[mark.start() - 1] if mark.start() > start else self._before
            at = mark.end()
            if mark[0] == "\\":
                if at == len(text):
                    return ScanResult(at - 1, at - 1, done=False)
                at += 1
            elif self._quote:
                self._quote = ""
            elif mark[0] == '"' or (mark[0] == "'" and not before.isalnum()):
                self._quote = mark[0]
            elif mark[0] != "'":
                self._depth += 1 if mark[0] == self._open else -1
                if not self._depth:
                    return ScanResult(at, at, done=True)
        self._before = text[-1]
        return ScanResult(len(text), len(text), done=False)


_QUOTED: Final = {'"': lazy_regex(r'["\\]'), "'": lazy_regex(r"['\\\n]")}
