"""What a model writes into its answer and nobody should hear: thoughts, tags, and calls written as text."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from itertools import islice
import re
from typing import Any, Final, NamedTuple, Protocol

from ...literals import ARGUMENT_KEYS, NAME_KEYS, parsed, read_arguments
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


_SPACES: Final = lazy_regex(r"\s+")
_ENDS: Final = frozenset(
    ".,;:!?\u2026\u3002\uff01\uff1f\u3001\uff0c\uff1a\uff1b\u060c\u061f\u0964\u2013\u2014"
)
_QUOTES: Final = frozenset("\"'\u201d\u2019\u00bb)")
_CLOSING: Final = frozenset(".,;:!?)\u2026\u3002\uff01\uff1f\u3001\uff0c")
_WIDE: Final = lazy_regex("[\u3040-\u30ff\u3400-\u9fff]")
_WIDE_MARKS: Final = {",": "\u3001", ".": "\u3002"}
_WIDE_MARK: Final = lazy_regex("[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]")
_MAX_SPACE: Final = 200


class Flow:
    """Joins pieces of text.

    White space waits for the text behind it, so none is left at the end. Written out as it came,
    or as one space where `collapse` is set.
    """

    def __init__(self, *, collapse: bool) -> None:
        self._collapse = collapse
        self._out: list[str] = []
        self._space = ""
        self._gap = ""
        """The white space before something that was taken out."""
        self._removed = False
        self._mark = ""
        self.last = ""
        """The last two characters that were written."""

    def write(self, text: str) -> None:
        """Add text."""
        core = text.lstrip()
        if len(core) < len(text):
            self._add_space(text[: len(text) - len(core)])
        if not core:
            return
        body = core.rstrip()
        said = _SPACES.sub(" ", body) if self._collapse else body
        if self._space or self._mark or self._removed:
            said = self._joint(said[0]) + said
            self._space = self._gap = self._mark = ""
            self._removed = False
        self._out.append(said)
        self.last = said[-2:] if len(said) > 1 else self.last[-1:] + said
        if len(body) < len(core):
            self._add_space(core[len(body) :])

    def removed(self) -> None:
        """Note that something was taken out here."""
        if not self._removed:
            self._gap, self._space = self._space, ""
            self._removed = True

    def mark(self, mark: str) -> None:
        """Put a pause, `,` or `.`, before the next text, unless there is one already."""
        if self._mark != ".":
            self._mark = mark

    def take(self) -> str:
        """Return the text that was written since the last call."""
        text = "".join(self._out)
        self._out.clear()
        return text

    def _add_space(self, space: str) -> None:
        if len(self._space) < _MAX_SPACE:
            self._space = (self._space + space)[:_MAX_SPACE]

    def _joint(self, following: str) -> str:
        if not self.last:
            return ""
        if self._mark:
            pause = self._pause()
            return pause if _WIDE_MARK.match(pause or self.last[-1]) else pause + " "
        space = self._space
        if self._removed:
            if following in _CLOSING:
                return ""
            space = max(space, self._gap, key=lambda text: (text.count("\n"), len(text)))
            if not space and self._would_stick(following):
                space = " "
        return " " if space and self._collapse else space

    def _would_stick(self, following: str) -> bool:
        last = self.last[-1]
        words = following.isalnum() and (last.isalnum() or last in _ENDS or last in _QUOTES)
        return words and not (_WIDE.match(last) and _WIDE.match(following))

    def _pause(self) -> str:
        last = self.last[-1]
        if last in _ENDS or (last in _QUOTES and self.last[0] in _ENDS):
            return ""
        return _WIDE_MARKS[self._mark] if _WIDE.match(last) else self._mark


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


def _has_arguments(raw: str) -> bool:
    return _ARGUMENTS.match(raw, raw.index("(") + 1) is not None


@dataclass(slots=True, kw_only=True)
class Block:
    """A stretch of the reply whose end is not known yet."""

    scanner: Scanner
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


@dataclass(slots=True)
class Surroundings:
    """The parts of a reply that decide which blocks may begin at its end."""

    previous: str = "\n"
    alone: bool = True
    """Nothing was said on this line that would make a sentence of a call."""
    final: bool = False
    """Nothing more will come."""

    def add(self, text: str) -> None:
        """Record spoken text."""
        _, newline, tail = text.rpartition("\n")
        self.previous = text[-1]
        self.alone = not tail.strip(EDGES) and (bool(newline) or self.alone)


class Opening(NamedTuple):
    """What begins: text up to `next`, or a block, or a token that is left out."""

    next: int
    block: Block | None = None
    text: bool = False
    unopened: bool = False


def thought(close: re.Pattern[str]) -> Block:
    """Return a block whose content is a thought."""
    return Block(scanner=UntilClose(close), thought=True, certain=True)


class Openers:
    """Knows what may begin, for one surface and one set of tools."""

    def __init__(self, names: CallNames, *, voice: bool, are_arguments: Callable[[str], bool]) -> None:
        self._names = names
        self._voice = voice
        self._are_arguments = are_arguments

    def open(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Return what begins at `at`, or None while that is not yet clear."""
        match text[at]:
            case "<" | "[" if tag := TAG.match(text, at):
                return self._tag(text, tag, around)
            case "<":
                part = TAG_PART.match(text, at)
                name = (part and part["name"]) or ""
                is_cut = part and (part["bar"] or not part["rest"] or name.lower() in BARRED_TAGS)
                opening = None if is_cut else Opening(at + 1, text=True)
            case "[":
                opening = self._list(text, at, around)
            case "{" if _OBJECT.match(text, at):
                return Opening(at, self._data("{", around))
            case "{":
                opening = None if _OBJECT_PART.match(text, at) else Opening(at + 1, text=True)
            case "`":
                opening = self._ticks(text, at, around)
            case _:
                opening = self._name(text, at, around)
        return Opening(at + 1, text=True) if opening is None and around.final else opening

    def _in_json(self, around: Surroundings) -> Callable[[str], bool]:
        """Return a function that tells whether JSON calls a tool; alone on its lines, it may be arguments."""
        alone = around.alone
        return lambda raw: self._names.in_json(raw) or (alone and self._are_arguments(unfenced(raw)))

    def _data(self, bracket: str, around: Surroundings) -> Block:
        """Return a block of JSON, which is never spoken."""
        return Block(scanner=Balanced(bracket), is_call=self._in_json(around), certain=self._voice)

    def _tag(self, text: str, tag: re.Match[str], around: Surroundings) -> Opening | None:
        name = (tag["name"] or tag["square"]).lower().replace("\u2581", "_")
        barred = tag["bar"] is not None
        mark = BARRED_TAGS.get(name, Mark.NOISE) if barred else PLAIN_TAGS.get(name)
        half = tag["bar2"] and not barred
        if mark is None and not (half and name in BARRED_TAGS):
            return Opening(tag.start() + 1, text=True)
        end = tag.end()
        if around.previous == "`" and mark in (Mark.THINK, Mark.CALL, Mark.RESULT):
            if end == len(text) and not around.final:
                return None
            if text[end : end + 1] == "`":
                return Opening(end, text=not self._voice)
        if tag["slash"] or tag["end"] or half:
            return Opening(end, unopened=mark is Mark.THINK)
        if mark is Mark.HEADER:
            return _header(text, end, around)
        if mark is Mark.CALL:
            return Opening(end, Block(scanner=UntilClose(CALL_CLOSE), certain=True))
        return Opening(end, thought(DROPPED[mark]) if mark in DROPPED else None)

    def _list(self, text: str, at: int, around: Surroundings) -> Opening | None:
        inner = end_of(_LIST_START, text, at)
        if text.startswith("{", inner):
            return Opening(at, self._data("[", around))
        name = self._names.pattern.match(text, inner)
        if name and text.startswith("(", name.end()):
            return Opening(at, Block(scanner=Balanced("[")))
        if inner == len(text) or self._names.cut(text, inner) or TAG_PART.match(text, at):
            return None
        return Opening(at + 1, text=True)

    def _ticks(self, text: str, at: int, around: Surroundings) -> Opening | None:
        ticks = end_of(_TICKS, text, at)
        fence = _FENCE.match(text, at) if ticks - at >= _FENCE_TICKS else None
        body = fence.end() if fence else ticks
        if not around.final and (body == len(text) or (fence and self._names.cut(text, body))):
            return None
        if fence is None:
            return Opening(ticks, text=True)
        block = Block(scanner=UntilClose(FENCE_CLOSE), certain=True)
        if fence[1].lower() in CALL_FENCES or self._names.pattern.match(text, body):
            return Opening(body, block)
        if text.startswith(("{", "["), body):
            block.is_call = self._in_json(around)
            block.certain = self._voice and text[body] == "{"
            return Opening(body, block)
        return Opening(ticks, text=True)

    def _name(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take a call that begins with the name of a tool; a quoted one stays in a chat."""
        if self._names.cut(text, at) and not around.final:
            return None
        name = self._names.pattern.match(text, at)
        if name is None or (around.previous == "`" and not self._voice):
            end = max(end_of(_WORD, text, at), at + 1)
            cut = end == len(text) and end - at < _MAX_NAME
            return None if cut and not around.final else Opening(end, text=True)
        is_spelled = "_" in name[0] or "." in name[0] or not name[0].islower()
        if after := _AFTER_NAME.match(text, name.end()):
            is_sure = is_spelled or after[0] != "("
            block = Block(scanner=Balanced(after[0][-1]), is_call=_has_arguments)
            if is_sure:
                block.is_call = lambda _: True
            return Opening(at, block)
        may_be_lines = is_spelled and around.alone
        if may_be_lines and _KEY.match(text, name.end()):
            scanner = UntilClose(LINES_CLOSE, "\n")
            return Opening(name.end(), Block(scanner=scanner, certain=True))
        part = _AFTER_PART.match(text, name.end()) or (may_be_lines and _KEY_PART.match(text, name.end()))
        return None if part and not around.final else Opening(name.end(), text=True)


def _header(text: str, end: int, around: Surroundings) -> Opening | None:
    """Take the role or the channel behind a header token, and what is said of its message."""
    header = HEADER.match(text, end) or (HEADER.match(f"{text}\n", end) if around.final else None)
    if header is None:
        return None if len(text) - end < HEADER_CHARS and not around.final else Opening(end)
    role, after = header[1].lower(), min(header.end(), len(text))
    if "to=" in header[2]:
        return Opening(end, Block(scanner=UntilClose(HEADED_CALL_CLOSE), certain=True))
    if role in THINK_ROLES:
        return Opening(after, thought(THINK_CLOSE))
    if role in OTHER_ROLES:
        return Opening(after, thought(TURN_CLOSE))
    if role not in OWN_ROLES:
        return Opening(end)
    return Opening(after if header["token"] is not None or not header[2].strip() else header.end(1))


MAX_CALLS: Final = 10
"""Calls that are read, and places where one could begin that are looked at."""
MAX_CHARS: Final = 20_000
MAX_VALUE: Final = 5_000
"""Characters of one argument in XML."""

_NAME: Final = r"[A-Za-z_][\w.:-]{0,80}"
_QUOTE_MARKS: Final = ('<|"|>', "<escape>")
EDGES: Final = " \t`*->.;"
"""Characters that may surround a call on its line."""

_HAS_NAME: Final = lazy_regex(rf"""["']?(?:{"|".join(NAME_KEYS)})["']?\s{{0,9}}:""")
_HAS_ARGUMENTS: Final = lazy_regex(rf"""["']?(?:{"|".join(ARGUMENT_KEYS)})["']?\s{{0,9}}:""")
_INTENT_START: Final = lazy_regex(r"Hass[A-Z]\w{0,61}")
_WORD_START: Final = lazy_regex(r"\b\w")

_TAG: Final = lazy_regex(
    r"\[CALL_ID\]\w{1,40}|<[|\uff5c/]{0,2}[A-Za-z_][\w:.\u2581-]{0,40}[|\uff5c]?>|\[/?[A-Z_]{3,20}\]"
)
_INVOKE: Final = lazy_regex(rf"<(?:\w+:)?(?:invoke\s+name=|function[= ](?:name=)?)[\"']?({_NAME})[\"']?\s*>")
_XML_ARGUMENT: Final = lazy_regex(
    rf"<(?:\w+:)?parameter(?:\s+name)?=[\"']?([\w.-]{{1,60}})[\"']?[^>]{{0,40}}>\s{{0,20}}(.{{0,{MAX_VALUE}}}?)\s{{0,20}}</(?:\w+:)?parameter>",
    re.DOTALL,
)
_KEY_TAGS: Final = lazy_regex(
    rf"<arg_key>\s{{0,5}}([\w.-]{{1,60}})\s{{0,5}}</arg_key>\s{{0,20}}<arg_value>(.{{0,{MAX_VALUE}}}?)</arg_value>",
    re.DOTALL,
)
_NAME_PAIR: Final = lazy_regex(rf"[\"'](?:{'|'.join(NAME_KEYS)})[\"']\s{{0,9}}:\s{{0,9}}[\"']({_NAME})[\"']")
_ARGUMENTS_PAIR: Final = lazy_regex(
    rf"[\"'](?:{'|'.join(ARGUMENT_KEYS)})[\"']\s{{0,9}}:\s{{0,9}}"
    r"(?:(?=(?P<object>\{))|(?P<text>\"(?:[^\"\\]|\\.)*+\"|null))"
)
_CALL: Final = lazy_regex(
    rf"(?<![\w.:-])({_NAME}?)(?:(?=\()|(?::\d{{0,4}})?(?:\s{{1,5}}(?:commentary|json|code)){{0,3}}\s{{0,5}}"
    r"(?:`{3}\w{0,10}\s{0,5})?(?=\{))"
)
_PAIR: Final = lazy_regex(
    r"(?:^|[\s,;])(?:[-*]\s*)?(\w{1,40})\s?[:=]\s*(\"[^\"]*\"|'[^']*'|\[[^\]]*\]|.+?)"
    r"(?=[\s,;]+(?:[-*]\s*)?\w{1,40}\s?[:=]|\s*$)",
    re.MULTILINE,
)


class CallNames:
    """The names by which a call written as text is known."""

    def __init__(self, names: Collection[str]) -> None:
        ordered = sorted(filter(None, names), key=len, reverse=True)
        body = "|".join([r"Hass[A-Z]\w{1,60}", *map(re.escape, ordered)])
        self.pattern = re.compile(rf"(?:{body})(?!\w)")
        self._quoted = re.compile(rf"""["'](?:{body})["']""")
        self.trigger = re.compile(rf"[<\[{{`]|\b(?:{'|'.join(['Hass[A-Z]', *map(re.escape, ordered)])})")
        self._prefixes = frozenset(
            name[:end] for name in (*ordered, "Hass") for end in range(1, len(name) + 1)
        )
        self._longest = max(map(len, self._prefixes))

    def pending(self, text: str, start: int) -> int:
        """Return where a name begins that the end of the text may be cut out of, else the end."""
        for word in _WORD_START.finditer(text, max(start, len(text) - self._longest)):
            if text[word.start() :] in self._prefixes:
                return word.start()
        return len(text)

    def cut(self, text: str, start: int) -> bool:
        """Return whether the text ends within a name that begins at `start`."""
        tail = text[start : start + max(self._longest, 66) + 1]
        return tail in self._prefixes or _INTENT_START.fullmatch(tail) is not None

    def in_json(self, raw: str) -> bool:
        """Return whether JSON, or an attempt at JSON, calls a tool."""
        return bool((_HAS_NAME.search(raw) and _HAS_ARGUMENTS.search(raw)) or self._quoted.search(raw))


@lru_cache(maxsize=16)
def call_names(names: frozenset[str]) -> CallNames:
    """Return the patterns of these names, which are the same from turn to turn."""
    return CallNames(names)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """One call; `args` is None if its arguments cannot be read, and `name` is empty if there was none."""

    name: str
    args: dict[str, Any] | None


@dataclass(slots=True)
class CallText:
    """A piece of a reply that was taken for calls."""

    raw: str
    alone: bool
    """Whether the piece has its lines for itself; amid a sentence, it may be about a call."""
    arguments: bool = False
    """Whether the piece is the arguments of calls without the names of their tools."""

    def read(self, is_tool: Callable[[str], bool]) -> list[WrittenCall]:
        """Return the calls; `is_tool` tells whether a name is a tool."""
        text = self.raw[:MAX_CHARS]
        for mark in _QUOTE_MARKS:
            text = text.replace(mark, '"')
        bare = self.alone and self.arguments
        for read in (_from_xml, _from_key_tags, _from_json):
            calls = list(islice(read(text, is_tool), MAX_CALLS))
            if calls and (not bare or all(is_tool(call.name) for call in calls)):
                return calls
        if bare:
            value = parsed(unfenced(text))
            values = value if isinstance(value, list) else [value]
            return [WrittenCall("", args) for args in values if isinstance(args, dict)][:MAX_CALLS]
        if not self.alone:
            return []
        plain = _TAG.sub(" ", text).strip().strip("`").strip()
        name = _name_in(plain)
        calls = list(islice(_from_brackets(plain, is_tool), MAX_CALLS))
        if calls or not is_tool(name):
            return calls
        pairs = {pair[1]: parsed(pair[2]) for pair in _PAIR.finditer(plain, len(name))}
        return [WrittenCall(name, pairs or None)]


def unfenced(text: str) -> str:
    """Return the text inside a code fence, or the text itself."""
    body = text.strip().strip("`").strip()
    return body if body[:1] in ("{", "[") else body.partition("\n")[2].strip() or body


def _from_xml(text: str, _is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    starts = list(_INVOKE.finditer(text))
    for start, following in zip(starts, [*starts[1:], None], strict=False):
        body = text[start.end() : following.start() if following else len(text)]
        args = {pair[1]: parsed(pair[2].strip()) for pair in _XML_ARGUMENT.finditer(body)}
        opening = body.find("{")
        yield WrittenCall(start[1], args if args or opening < 0 else _arguments(body, opening)[0])


def _from_key_tags(text: str, _is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    if args := {pair[1]: parsed(pair[2].strip()) for pair in _KEY_TAGS.finditer(text)}:
        yield WrittenCall(_name_in(_TAG.sub(" ", text.partition("<arg_key>")[0]).strip()), args)


def _from_json(text: str, is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    at = 0
    while name := _NAME_PAIR.search(text, at):
        following = _NAME_PAIR.search(text, name.end())
        at = following.start() if following else len(text)
        pair = _ARGUMENTS_PAIR.search(text, name.end(), at)
        if pair and pair["object"]:
            args, at = _arguments(text, pair.end())
            yield WrittenCall(name[1], args)
        elif pair:
            yield WrittenCall(name[1], read_arguments(parsed(pair["text"]) or "{}"))
        elif is_tool(name[1]):
            yield WrittenCall(name[1], None)


def _from_brackets(text: str, is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    at = 0
    while call := _CALL.search(text, at):
        at = call.end() + 1
        if is_tool(name := _name_in(call[1])):
            args, at = _arguments(text, call.end())
            yield WrittenCall(name, args)


def _name_in(text: str) -> str:
    """Return the name at the beginning of a text, without a number behind it."""
    name = re.match(_NAME, text)
    return re.sub(r":\d{1,4}\Z", "", name[0].rstrip(".:-")) if name else ""


def _arguments(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """Return the arguments in the brackets that open at `at`, None if unreadable, and where they end."""
    step = Balanced(text[at]).scan(text, at, final=True)
    if not step.done:
        return None, len(text)
    inner = text[at : step.next] if text[at] == "{" else text[at + 1 : step.next - 1].strip()
    return read_arguments(inner or "{}"), step.next
