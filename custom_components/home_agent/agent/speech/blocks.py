"""Blocks of a reply that are not spoken: the marks around them, and scanners that find their end.

A scanner looks at each character once or, within a short window, a few times, and decides the same
however the text was cut.
"""

from collections.abc import Iterable
from enum import Enum, auto
import re
from typing import Final, NamedTuple, Protocol

from ...regex import lazy_regex

_WINDOW: Final = 48
"""Longest mark that may be cut at the end of a piece."""
_STARTS: Final = "<[\u25c1`"
_BRACKETS: Final = {"{": "}", "[": "]", "(": ")"}
_PROSE: Final = lazy_regex(r"\n\s{0,8}[^\W\d_]{1,12},? [^\W\d_]")
"""A new line that begins with words: the text before it was JSON without its last bracket."""
_LINE_KEY: Final = lazy_regex(r"\n[ \t]{0,8}(?:[-*][ \t]{1,4})?\w{1,20}[ \t]?[:=]")

_NAME_SIGNS: Final = "_.:-"
"""Characters of a tool's name before its JSON."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


class Mark(Enum):
    """What a tag means."""

    THINK = auto()
    THINK_END = auto()
    RESULT = auto()
    """An invented tool result: dropped like a thought."""
    CALL = auto()
    HEADER = auto()
    """A role follows: `<|im_start|>assistant`."""
    CHANNEL = auto()
    """A channel follows: `<|channel|>analysis<|message|>`."""
    ROLE = auto()
    """The role of another participant: `<|user|>`."""
    NOISE = auto()
    """Dropped, what follows is text."""


THINK_NAMES: Final = _words(
    "think thinking thought thoughts reason reasoning reflection scratchpad inner_monologue "
    "seed:think antml:thinking"
)
THINK_STARTS: Final = _words(
    "begin_of_thought begin_of_thinking begin_of_reasoning start_of_thought start_thinking think_start "
    "begin_thinking thinking_start"
)
THINK_ENDS: Final = _words(
    "end_of_thought end_of_thinking end_of_reasoning end_thinking think_end thinking_end"
)
RESULT_NAMES: Final = _words(
    "tool_response tool_responses tool_result tool_results function_response function_results "
    "tool_outputs_begin tool_output_begin"
)
CALL_NAMES: Final = _words(
    "tool_call tool_calls toolcall tool_code tool_use function_call function_calls functioncall "
    "function invoke action_call minimax:tool_call seed:tool_call antml:function_calls antml:invoke "
    "tool_calls_begin tool_calls_section_begin tool_call_begin start_action action_start python_tag plugin "
    "start_function_call"
)
NOISE_NAMES: Final = _words(
    "s bos eos pad unk end_of_turn end_of_text endoftext answer final_answer final_response response "
    "begin_of_solution end_of_solution"
)

PLAIN_TAGS: Final[dict[str, Mark]] = {
    **dict.fromkeys(THINK_NAMES, Mark.THINK),
    **dict.fromkeys(RESULT_NAMES, Mark.RESULT),
    **dict.fromkeys(CALL_NAMES, Mark.CALL),
    **dict.fromkeys(NOISE_NAMES, Mark.NOISE),
    "start_of_turn": Mark.HEADER,
}
"""Tags known by their name alone, `<name>`."""

BARRED_TAGS: Final[dict[str, Mark]] = {
    **PLAIN_TAGS,
    **dict.fromkeys(THINK_STARTS, Mark.THINK),
    **dict.fromkeys(THINK_ENDS, Mark.THINK_END),
    **dict.fromkeys(_words("start im_start start_header_id start_of_role turn"), Mark.HEADER),
    **dict.fromkeys(_words("user human system observation tool developer ipython"), Mark.ROLE),
    "channel": Mark.CHANNEL,
}
"""Tags in bars, `<|name|>`; one that is not listed is noise."""

HALF_BARRED_TAGS: Final[dict[str, Mark]] = {
    **PLAIN_TAGS,
    **dict.fromkeys(("channel", "turn"), Mark.NOISE),
}
"""Tags with one bar, `<name|>`, all of which close."""

SQUARE_TAGS: Final[dict[str, Mark]] = {
    "THINK": Mark.THINK,
    "think": Mark.THINK,
    "TOOL_CALLS": Mark.CALL,
    "TOOL_CALL": Mark.CALL,
    "TOOL_RESULTS": Mark.RESULT,
    **dict.fromkeys(_words("INST CALL_ID SYSTEM_PROMPT AVAILABLE_TOOLS ARGS TOOL_CONTENT"), Mark.NOISE),
}
"""Tags in square brackets, `[NAME]`."""

OWN_ROLES: Final = frozenset(_words("assistant model ai bot answer"))
OTHER_ROLES: Final = frozenset(_words("user human system tool developer ipython observation function"))
THINK_CHANNELS: Final = frozenset(_words("analysis thought think thinking reasoning"))
CALL_FENCES: Final = frozenset(_words("tool_code tool_call tool_calls tool_use function_call"))

TAG: Final = lazy_regex(
    r"<(?P<bar>[|\uff5c])?(?P<slash>/)?(?P<name>[A-Za-z_][\w:.\u2581-]{0,40}|\")"
    r"(?P<rest>[\s=/][^<>]{0,200}?)?(?P<bar2>[|\uff5c])?>"
)
TAG_PART: Final = lazy_regex(
    r"<(?P<bar>[|\uff5c])?/?(?P<name>[A-Za-z_][\w:.\u2581-]{0,40}|\")?"
    r"(?P<rest>[\s=/][^<>]{0,200})?[|\uff5c]?\Z"
)
MOON_TAG: Final = lazy_regex(r"\u25c1(?P<slash>/)?(?P<name>[a-z_]{1,20})\u25b7")
MOON_PART: Final = lazy_regex(r"\u25c1/?[a-z_]{0,20}\Z")
SQUARE_TAG: Final = lazy_regex(r"\[(?P<slash>/)?(?P<name>[A-Za-z_]{3,20})\]")
SQUARE_PART: Final = lazy_regex(r"\[/?(?P<name>[A-Za-z_]{0,20})\Z")
ROLE: Final = lazy_regex(r"[ \t]*([A-Za-z_]{0,20})([^<\n]{0,100})")
CHANNEL: Final = lazy_regex(r"[ \t]*([A-Za-z_]{0,20})((?:[^<\n]|<\|constrain\|>){0,120})(<\|message\|>|\n)?")
CHANNEL_NEXT: Final = ("<|message|>", "<|constrain|>")

END_OF_TURN: Final = (
    r"<\|(?:im_end|eot_id|eom_id|end|return|call|end_of_text|endoftext)\|>|</s>|<end_of_turn>|<turn\|>"
)
HEADER_AHEAD: Final = (
    r"(?=<\|(?:start|im_start|start_header_id|channel|assistant)\|>|<start_of_turn>|<\|(?:turn|channel)>"
    r"|<\uff5cAssistant\uff5c>)"
)


def _names(names: Iterable[str]) -> str:
    """Return an alternation of names, in which `_` also matches its look-alike."""
    return "|".join(re.escape(name).replace("_", "[_\u2581]") for name in names)


THINK_CLOSE: Final = lazy_regex(
    rf"<[|\uff5c]?/(?:{_names(THINK_NAMES)})\s{{0,8}}[|\uff5c]?>|<(?:{_names(THINK_NAMES)}|channel)\|>"
    rf"|<[|\uff5c](?:{_names(THINK_ENDS)})[|\uff5c]>|\[/think\]|\u25c1/think\u25b7|{END_OF_TURN}|{HEADER_AHEAD}",
    re.IGNORECASE,
)
TURN_CLOSE: Final = lazy_regex(HEADER_AHEAD)
HARMONY_CLOSE: Final = lazy_regex(f"{END_OF_TURN}|{HEADER_AHEAD}")
CALL_CLOSE: Final = lazy_regex(END_OF_TURN)
FENCE_CLOSE: Final = lazy_regex(r"`{3}")


def closing(name: str) -> re.Pattern[str]:
    """Return the pattern of the end of a block that a tag of this name opened."""
    ends = {name.replace("begin", "end").replace("start", "end")} - {name}
    return re.compile(
        rf"<[|\uff5c]?/(?:{_names([name])})\s{{0,8}}[|\uff5c]?>|<(?:{_names([name])})\|>"
        + (rf"|<[|\uff5c]?(?:{_names(ends)})[|\uff5c]?>" if ends else "")
        + f"|{END_OF_TURN}|{HEADER_AHEAD}",
        re.IGNORECASE,
    )


def prefixes(names: Iterable[str]) -> frozenset[str]:
    """Return every beginning of every name, the whole name included."""
    return frozenset(name[:end] for name in names for end in range(1, len(name) + 1))


PLAIN_PREFIXES: Final = prefixes(HALF_BARRED_TAGS)
SQUARE_PREFIXES: Final = prefixes(SQUARE_TAGS)


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


def _safe_end(text: str, start: int) -> int:
    """Return up to where no mark can be cut off by the end of the text."""
    floor = max(start, len(text) - _WINDOW)
    cuts = [cut for mark in _STARTS if (cut := text.find(mark, floor)) >= 0]
    return min(cuts, default=len(text))


class UntilClose:
    """A block that ends with a mark, or never."""

    def __init__(self, close: re.Pattern[str]) -> None:
        """Remember the mark."""
        self._close = close

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on until the mark."""
        if mark := self._close.search(text, start):
            return ScanResult(mark.start(), mark.end(), done=True)
        end = len(text) if final else _safe_end(text, start)
        return ScanResult(end, end, done=False)


class Balanced:
    """A block in brackets; brackets in quotes do not count."""

    def __init__(self, bracket: str, *, prose: bool = True) -> None:
        """Start before the opening bracket; `prose` on a new line ends the block early."""
        self._prose = prose and bracket != "("
        close = _BRACKETS[bracket]
        self._open = bracket
        self._close = close
        self._outside = re.compile(rf"[\"'\n{re.escape(bracket + close)}]")
        self._depth = 0
        self._quote = ""
        self._before = ""

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on until the last bracket closes, or prose begins."""
        return self.scan_to(text, start, len(text), final=final)

    def scan_to(self, text: str, start: int, end: int, *, final: bool) -> ScanResult:
        """Read on, but not past `end`."""
        at = start
        while at < end:
            found = (_QUOTED[self._quote] if self._quote else self._outside).search(text, at, end)
            if not found:
                self._before = text[end - 1]
                return ScanResult(end, end, done=False)
            at = found.start()
            before = text[at - 1] if at > start else self._before
            step = self._inside(text, at, end) if self._quote else self._between(text, at, end, before, final)
            if step.done or step.next == at:
                return step
            at = step.next
            self._before = text[at - 1]
        return ScanResult(at, at, done=False)

    def _inside(self, text: str, at: int, end: int) -> ScanResult:
        """Take one mark inside quotes."""
        if text[at] == "\\":
            skip = at + 2 if at + 2 <= end else at
            return ScanResult(skip, skip, done=False)
        self._quote = ""
        return ScanResult(at + 1, at + 1, done=False)

    def _between(self, text: str, at: int, end: int, before: str, final: bool) -> ScanResult:
        """Take one mark outside quotes."""
        match text[at]:
            case "\n" if self._prose:
                if end - at < _WINDOW and not final:
                    return ScanResult(at, at, done=False)
                if _PROSE.match(text, at, end):
                    return ScanResult(at, at, done=True)
            case '"':
                self._quote = '"'
            case "'" if not before.isalnum():
                self._quote = "'"
            case self._open:
                self._depth += 1
            case self._close:
                self._depth -= 1
                if not self._depth:
                    return ScanResult(at + 1, at + 1, done=True)
        return ScanResult(at + 1, at + 1, done=False)


_QUOTED: Final = {'"': lazy_regex(r'["\\]'), "'": lazy_regex(r"['\\\n]")}


class TaggedCall:
    """A call behind a tag: ends with the closing tag, or where its JSON ends and prose begins."""

    def __init__(self, close: re.Pattern[str]) -> None:
        """Remember the closing tag."""
        self._close = close
        self._json: Balanced | None = None
        self._ended = False
        """At least one JSON value was read."""
        self._tag_only = False
        """The body is not JSON, so only the tag ends it."""

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on until the tag or the end of the JSON."""
        mark = self._close.search(text, start)
        limit = mark.start() if mark else len(text) if final else _safe_end(text, start)
        closed = final or mark is not None
        at = start
        while at < limit and not self._tag_only:
            if self._json is None:
                if tag := SQUARE_TAG.match(text, at, limit):
                    at = tag.end()
                    continue
                if self._at_prose(text[at]):
                    return ScanResult(at, at, done=True)
                at += self._json is None
                continue
            step = self._json.scan_to(text, at, limit, final=closed)
            if step.done:
                self._json, self._ended = None, True
            elif step.next < limit and not closed:
                return step
            at = step.next if step.done else limit
        if mark:
            return ScanResult(mark.start(), mark.end(), done=True)
        return ScanResult(limit, limit, done=False)

    def _at_prose(self, char: str) -> bool:
        """Take a character between JSON values; return whether it belongs to the prose behind them."""
        if char in "{[":
            self._json = Balanced(char, prose=False)
        elif char.isspace() or (char in ",;" if self._ended else char.isalnum() or char in _NAME_SIGNS):
            return False
        elif self._ended and char != "<":
            return True
        else:
            self._tag_only = True
        return False


class KeyLines:
    """Lines of `key: value` that follow the name of a tool."""

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on until a line without a key."""
        at = start
        while (at := text.find("\n", at)) >= 0:
            if len(text) - at < _WINDOW and not final:
                return ScanResult(at, at, done=False)
            if not _LINE_KEY.match(text, at):
                return ScanResult(at, at, done=True)
            at += 1
        return ScanResult(len(text), len(text), done=False)
