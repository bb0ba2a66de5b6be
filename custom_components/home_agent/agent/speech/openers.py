"""Decides, at one character of a reply, whether a thought, a call or a special token begins there."""

from collections.abc import Callable
from dataclasses import dataclass, field
import re
from typing import Final, NamedTuple

from ...regex import lazy_regex
from . import blocks
from .blocks import Balanced, Mark, Scanner, UntilClose, end_of
from .calls import EDGES, CallNames, unfenced

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
    """Return whether what is in the brackets looks like arguments."""
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
        """Remember the names and the surface, and how arguments without a name are known."""
        self._names = names
        self._voice = voice
        self._are_arguments = are_arguments

    def open(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Return what begins at `at`, or None while that is not yet clear."""
        match text[at]:
            case "<" | "[" if tag := blocks.TAG.match(text, at):
                return self._tag(text, tag, around)
            case "<":
                part = blocks.TAG_PART.match(text, at)
                name = (part and part["name"]) or ""
                is_cut = part and (part["bar"] or not part["rest"] or name.lower() in blocks.BARRED_TAGS)
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
        """Take `<tag>`, `<|tag|>`, `<tag|>` or `[TAG]` by its meaning."""
        name = (tag["name"] or tag["square"]).lower().replace("\u2581", "_")
        barred = tag["bar"] is not None
        mark = blocks.BARRED_TAGS.get(name, Mark.NOISE) if barred else blocks.PLAIN_TAGS.get(name)
        half = tag["bar2"] and not barred
        if mark is None and not (half and name in blocks.BARRED_TAGS):
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
            return Opening(end, Block(scanner=UntilClose(blocks.CALL_CLOSE), certain=True))
        return Opening(end, thought(blocks.DROPPED[mark]) if mark in blocks.DROPPED else None)

    def _list(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take a list of JSON objects or of calls."""
        inner = end_of(_LIST_START, text, at)
        if text.startswith("{", inner):
            return Opening(at, self._data("[", around))
        name = self._names.pattern.match(text, inner)
        if name and text.startswith("(", name.end()):
            return Opening(at, Block(scanner=Balanced("[")))
        if inner == len(text) or self._names.cut(text, inner) or blocks.TAG_PART.match(text, at):
            return None
        return Opening(at + 1, text=True)

    def _ticks(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take a code fence, if a call is in it."""
        ticks = end_of(_TICKS, text, at)
        fence = _FENCE.match(text, at) if ticks - at >= _FENCE_TICKS else None
        body = fence.end() if fence else ticks
        if not around.final and (body == len(text) or (fence and self._names.cut(text, body))):
            return None
        if fence is None:
            return Opening(ticks, text=True)
        block = Block(scanner=UntilClose(blocks.FENCE_CLOSE), certain=True)
        if fence[1].lower() in blocks.CALL_FENCES or self._names.pattern.match(text, body):
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
            scanner = UntilClose(blocks.LINES_CLOSE, "\n")
            return Opening(name.end(), Block(scanner=scanner, certain=True))
        part = _AFTER_PART.match(text, name.end()) or (may_be_lines and _KEY_PART.match(text, name.end()))
        return None if part and not around.final else Opening(name.end(), text=True)


def _header(text: str, end: int, around: Surroundings) -> Opening | None:
    """Take the role or the channel behind a header token, and what is said of its message."""
    header = blocks.HEADER.match(text, end) or (
        blocks.HEADER.match(f"{text}\n", end) if around.final else None
    )
    if header is None:
        return None if len(text) - end < blocks.HEADER_CHARS and not around.final else Opening(end)
    role, after = header[1].lower(), min(header.end(), len(text))
    if "to=" in header[2]:
        return Opening(end, Block(scanner=UntilClose(blocks.HEADED_CALL_CLOSE), certain=True))
    if role in blocks.THINK_ROLES:
        return Opening(after, thought(blocks.THINK_CLOSE))
    if role in blocks.OTHER_ROLES:
        return Opening(after, thought(blocks.TURN_CLOSE))
    if role not in blocks.OWN_ROLES:
        return Opening(end)
    return Opening(after if header["token"] is not None or not header[2].strip() else header.end(1))
