"""Decides, at one character of a reply, whether a thought, a call or a special token begins there."""

from collections.abc import Callable
from dataclasses import dataclass, field
import re
from typing import ClassVar, Final, NamedTuple

from ...literals import parsed
from ...regex import lazy_regex
from . import blocks
from .blocks import Balanced, KeyLines, Mark, Scanner, TaggedCall, UntilClose, end_of
from .calls import EDGES, CallNames, unfenced

MAX_BLOCK: Final = 20_000
"""Characters of a suspected block that are held back, and of a call that are kept."""

_OBJECT: Final = lazy_regex(r"\{\s{0,20}(?:[\"']|[A-Za-z_]\w{0,40}\s{0,4}:)")
_OBJECT_PART: Final = lazy_regex(r"\{\s{0,20}(?:[A-Za-z_]\w{0,40}\s{0,4})?\Z")
_LIST_PART: Final = lazy_regex(r"\[\s{0,20}(?:\{\s{0,20})?\Z")
_LIST_OF_OBJECTS: Final = lazy_regex(r"\[\s{0,20}\{\s{0,20}[\"'\w]")
_LIST_OF_STRINGS: Final = lazy_regex(r"\[\s{0,20}\"")
_LIST_START: Final = lazy_regex(r"\[\s{0,20}")
_FENCE: Final = lazy_regex(r"`{3,9}[ \t]{0,8}([\w+-]{0,20})[ \t]{0,8}\n?\s{0,40}")
_TICKS: Final = lazy_regex(r"`{1,9}")
_AFTER_NAME: Final = lazy_regex(r"(\()|[ \t](\()|\s{0,3}(?:<\|[\w\u2581]{1,40}\|>|:)?\s{0,3}(\{)")
_AFTER_PART: Final = lazy_regex(r"(?::\d{0,4})?\s{0,3}(?:<[|\w\u2581]{0,42}>?)?\s{0,3}\Z")
_KEY: Final = lazy_regex(
    r"(?:[ \t]{0,4}\n[ \t]{0,4}(?:[-*][ \t]{0,2})?|[ \t]{1,4}(?:-[ \t]{1,4})?)\w{1,20}[ \t]?[:=]"
)
_KEY_PART: Final = lazy_regex(r"[ \t]{0,4}\n?[ \t]{0,4}(?:[-*][ \t]{0,4})?(?:\w{1,20}[ \t]?)?\Z")
_ARGUMENTS: Final = lazy_regex(r"""\s{0,20}(?:\w{1,40}+\s{0,4}+[=:]|["'{]|\)|\[\s{0,4}["'{\]])""")
_BARE_ARGUMENTS: Final = lazy_regex(r"(?:[ \t]+[^\s!?:;,]*[^\s.!?:;,]){1,8}[ \t]*")
_LINE: Final = lazy_regex(r"[^\n]{0,200}")
_WORD: Final = lazy_regex(r"\w+")

_FENCE_TICKS: Final = 3
_MAX_NAME: Final = 64
_MAX_LINE: Final = 200


def _is_data(raw: str) -> bool:
    """Return whether text is whole JSON."""
    return not isinstance(parsed(raw), str)


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
    is_noise: Callable[[str], bool] = lambda _: False
    """Neither a call nor to be spoken."""
    ticked: bool = False
    """Is in back-ticks; the closing one is removed with it."""
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
    line_start: bool = True
    fresh: bool = True
    """Nothing was said before."""
    alone: bool = True
    """Nothing was said on this line that would make a sentence of a call."""
    final: bool = False
    """Nothing more will come."""

    def add(self, text: str) -> None:
        """Record spoken text."""
        head, newline, tail = text.rpartition("\n")
        blank = not tail.strip()
        self.previous = text[-1]
        self.line_start = blank and (bool(newline) or self.line_start)
        self.fresh = self.fresh and blank and not head.strip()
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

    def __init__(
        self, names: CallNames, *, voice: bool, are_arguments: Callable[[str], bool] = lambda _: False
    ) -> None:
        """Remember the names and the surface, and how arguments without a name are known."""
        self._names = names
        self._voice = voice
        self._are_arguments = are_arguments

    def _in_json(self, around: Surroundings) -> Callable[[str], bool]:
        """Return a function that tells whether JSON calls a tool; alone on its lines, it may be arguments."""
        alone = around.alone
        return lambda raw: self._names.in_json(raw) or (alone and self._are_arguments(unfenced(raw)))

    def open(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Return the block that begins at `at`, or None while that is not yet clear."""
        return self._BY_CHARACTER.get(text[at], Openers._name)(self, text, at, around)

    def _tag(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take `<tag>` and `<|tag|>`."""
        if not (tag := blocks.TAG.match(text, at)):
            part = blocks.TAG_PART.match(text, at)
            if part and not around.final and (_may_be_tag(part) or self._names.cut(part["name"], 0)):
                return None
            return Opening(at + 1, text=True)
        name = tag["name"].lower().replace("\u2581", "_")
        half = tag["bar2"] and not tag["bar"]
        known = blocks.HALF_BARRED_TAGS if half else blocks.PLAIN_TAGS
        mark = blocks.BARRED_TAGS.get(name, Mark.NOISE) if tag["bar"] else known.get(name)
        if mark is None and not tag["rest"] and self._names.pattern.fullmatch(tag["name"]):
            mark = Mark.CALL
        if mark is None:
            return Opening(at + 1, text=True)
        return self._marked(text, tag, name, _ended(mark) if tag["slash"] or half else mark, around)

    def _moon(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take the tags in triangles."""
        if not (tag := blocks.MOON_TAG.match(text, at)):
            return (
                None if blocks.MOON_PART.match(text, at) and not around.final else Opening(at + 1, text=True)
            )
        mark = blocks.PLAIN_TAGS.get(tag["name"], Mark.NOISE)
        return self._marked(text, tag, tag["name"], _ended(mark) if tag["slash"] else mark, around)

    def _marked(
        self, text: str, tag: re.Match[str], name: str, mark: Mark, around: Surroundings
    ) -> Opening | None:
        """Take a known tag by its meaning."""
        end = tag.end()
        if around.previous == "`" and mark in (Mark.THINK, Mark.CALL, Mark.RESULT, Mark.THINK_END):
            if end == len(text) and not around.final:
                return None
            if text[end : end + 1] == "`":
                return Opening(end, text=not self._voice)
        if mark is Mark.HEADER:
            return _header(text, end, around)
        if mark is Mark.CHANNEL:
            return _channel(text, end, around)
        return Opening(end, _block(mark, name), unopened=mark is Mark.THINK_END)

    def _square(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take `[TAG]`, a list of JSON objects, a list of calls."""
        if (tag := blocks.SQUARE_TAG.match(text, at)) and (mark := blocks.SQUARE_TAGS.get(tag["name"])):
            return self._marked(text, tag, tag["name"], _ended(mark) if tag["slash"] else mark, around)
        if block := self._list(text, at, around):
            return Opening(at, block)
        return None if not around.final and self._may_be_list(text, at) else Opening(at + 1, text=True)

    def _list(self, text: str, at: int, around: Surroundings) -> Block | None:
        """Return the list of JSON or of calls that begins here."""
        if _LIST_OF_OBJECTS.match(text, at):
            return Block(scanner=Balanced("["), is_call=self._in_json(around), certain=self._voice)
        if self._voice and _LIST_OF_STRINGS.match(text, at):
            return Block(scanner=Balanced("["), is_call=self._in_json(around), is_noise=_is_data)
        name = self._names.pattern.match(text, end_of(_LIST_START, text, at))
        if name and text.startswith("(", name.end()):
            return Block(scanner=Balanced("["))
        return None

    def _may_be_list(self, text: str, at: int) -> bool:
        """Return whether the end of the text hides what is in the brackets."""
        inner = end_of(_LIST_START, text, at)
        part = blocks.SQUARE_PART.match(text, at)
        return bool(
            (part and (not part["name"] or part["name"] in blocks.SQUARE_PREFIXES))
            or _LIST_PART.match(text, at)
            or self._names.cut(text, inner)
        )

    def _brace(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take a JSON object."""
        if _OBJECT.match(text, at):
            block = Block(scanner=Balanced("{"), is_call=self._in_json(around), certain=self._voice)
            return Opening(at, block)
        if _OBJECT_PART.match(text, at) and not around.final:
            return None
        return Opening(at + 1, text=True)

    def _tick(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take a call in back-ticks or in a code fence."""
        ticks = end_of(_TICKS, text, at)
        if ticks == len(text) and not around.final:
            return None
        if ticks - at >= _FENCE_TICKS:
            return self._fence(text, at, ticks, around)
        if self._names.cut(text, ticks) and not around.final:
            return None
        name = self._names.pattern.match(text, ticks)
        if name and ticks - at == 1:
            if called := self._called(text, at, name, ticked=True):
                return called
            if _AFTER_PART.match(text, name.end()) and not around.final:
                return None
        return Opening(ticks, text=True)

    def _fence(self, text: str, at: int, ticks: int, around: Surroundings) -> Opening | None:
        """Take a code fence, if a call is in it."""
        fence = _FENCE.match(text, at)
        body = fence.end() if fence else ticks
        info = fence[1] if fence else ""
        names = [self._names.pattern.match(text, start) for start in (body, ticks)]
        cut = any(self._names.cut(text, start) for start in (body, ticks))
        if (cut or body == len(text)) and not around.final:
            return None
        until = UntilClose(blocks.FENCE_CLOSE)
        inline = names[1] and text.startswith("(", names[1].end())
        if info.lower() in blocks.CALL_FENCES or names[0] or inline:
            return Opening(body, Block(scanner=until, certain=True))
        if text.startswith(("{", "["), body):
            certain = self._voice and text[body] == "{"
            return Opening(body, Block(scanner=until, is_call=self._in_json(around), certain=certain))
        return Opening(ticks, text=True)

    def _called(self, text: str, at: int, name: re.Match[str], *, ticked: bool = False) -> Opening | None:
        """Return the call that follows a name directly."""
        after = _AFTER_NAME.match(text, name.end())
        if after is None:
            return None
        if after[3]:
            scanner = TaggedCall(blocks.closing("tool_call"))
            return Opening(after.start(3), Block(scanner=scanner, certain=True, ticked=ticked))
        block = Block(scanner=Balanced("("), ticked=ticked)
        if not (after[1] and _is_spelled(name[0])):
            block.is_call = _has_arguments
        return Opening(at, block)

    def _name(self, text: str, at: int, around: Surroundings) -> Opening | None:
        """Take a call that begins with the name of a tool."""
        if self._names.cut(text, at) and not around.final:
            return None
        name = self._names.pattern.match(text, at)
        if name is None:
            end = max(end_of(_WORD, text, at), at + 1)
            cut = end == len(text) and end - at < _MAX_NAME
            return None if cut and not around.final else Opening(end, text=True)
        if call := self._called(text, at, name):
            return call
        return self._listed(text, name.end(), around, name[0])

    def _listed(self, text: str, end: int, around: Surroundings, name: str) -> Opening | None:
        """Take a name at the start of a line that is followed by its arguments without brackets."""
        if around.line_start and _KEY.match(text, end):
            return Opening(end, Block(scanner=KeyLines(), certain=True))
        cut = _AFTER_PART.match(text, end) or (around.line_start and _KEY_PART.match(text, end))
        if cut and not around.final:
            return None
        if not (around.fresh and _is_spelled(name)):
            return Opening(end, text=True)
        line = end_of(_LINE, text, end)
        if line == len(text) and line - end < _MAX_LINE and not around.final:
            return None
        if _BARE_ARGUMENTS.fullmatch(text, end, line):
            return Opening(line, Block(scanner=KeyLines(), certain=True))
        return Opening(end, text=True)

    _BY_CHARACTER: ClassVar[dict[str, Callable[[Openers, str, int, Surroundings], Opening | None]]] = {
        "<": _tag,
        "\u25c1": _moon,
        "[": _square,
        "{": _brace,
        "`": _tick,
    }


def _is_spelled(name: str) -> bool:
    """Return whether a name is not an ordinary word."""
    return "_" in name or "." in name or not name.islower()


def _may_be_tag(part: re.Match[str]) -> bool:
    """Return whether the beginning of a tag at the end of the text may become a known one."""
    name = (part["name"] or "").lower().replace("\u2581", "_")
    if part["bar"] or not name:
        return True
    return name in blocks.PLAIN_TAGS if part["rest"] else name in blocks.PLAIN_PREFIXES


def _ended(mark: Mark) -> Mark:
    """Return the meaning of a closing tag without an opening one."""
    return Mark.THINK_END if mark is Mark.THINK else Mark.NOISE


def _block(mark: Mark, name: str) -> Block | None:
    """Return the block that a tag opens."""
    match mark:
        case Mark.THINK:
            return thought(blocks.THINK_CLOSE)
        case Mark.RESULT:
            return thought(blocks.closing(name))
        case Mark.ROLE:
            return thought(blocks.TURN_CLOSE)
        case Mark.CALL:
            return Block(scanner=TaggedCall(blocks.closing(name)), certain=True)
    return None


def _header(text: str, end: int, around: Surroundings) -> Opening | None:
    """Take the role behind a header token."""
    role = blocks.ROLE.match(text, end)
    if role is None or (role.end() == len(text) and not around.final):
        return Opening(end) if role is None else None
    name = role[1].lower()
    at_token = text.startswith("<", role.end())
    if "to=" in role[2] and at_token:
        return Opening(role.end(), Block(scanner=UntilClose(blocks.CALL_CLOSE), certain=True))
    if name in blocks.OWN_ROLES:
        return Opening(role.end() if at_token else role.end(1))
    if name in blocks.OTHER_ROLES:
        return Opening(role.end(), thought(blocks.TURN_CLOSE))
    return Opening(role.end(1), thought(blocks.THINK_CLOSE)) if name == "think" else Opening(end)


def _channel(text: str, end: int, around: Surroundings) -> Opening | None:
    """Take the name of a channel and the properties of its message."""
    channel = blocks.CHANNEL.match(text, end)
    if channel is None:
        return Opening(end)
    ahead = text[channel.end() : channel.end() + 13]
    if not channel[3] and not around.final and any(token.startswith(ahead) for token in blocks.CHANNEL_NEXT):
        return None
    name = channel[1].lower()
    if name in blocks.THINK_CHANNELS:
        return Opening(channel.end() if channel[3] else channel.end(1), thought(blocks.THINK_CLOSE))
    if "to=" in channel[2]:
        return Opening(channel.end(), Block(scanner=TaggedCall(blocks.HARMONY_CLOSE), certain=True))
    return Opening(channel.end() if channel[3] else channel.end(1))
