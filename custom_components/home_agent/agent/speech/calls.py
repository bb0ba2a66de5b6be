"""Calls that a model writes into its answer: how they are known, and how they are read."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
import re
from typing import Any, Final, NamedTuple

from ...literals import ARGUMENT_KEYS, NAME_KEYS, parsed, read_arguments
from ...regex import lazy_regex

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
_BRACKETS: Final = {"{": "}", "[": "]", "(": ")"}


class ScanResult(NamedTuple):
    """The result of a scanner: the block's text extends to `body`, reading continues at `next`."""

    body: int
    next: int
    done: bool


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
        for read in (_from_tags, _from_json):
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


def _from_tags(text: str, _is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    starts = list(_INVOKE.finditer(text))
    for start, following in zip(starts, [*starts[1:], None], strict=False):
        body = text[start.end() : following.start() if following else len(text)]
        args = {pair[1]: parsed(pair[2].strip()) for pair in _XML_ARGUMENT.finditer(body)}
        opening = body.find("{")
        yield WrittenCall(start[1], args if args or opening < 0 else _arguments(body, opening)[0])
    if not starts and (args := {pair[1]: parsed(pair[2].strip()) for pair in _KEY_TAGS.finditer(text)}):
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
