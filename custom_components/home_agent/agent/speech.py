"""Filter a model's answer: what is spoken, what are thoughts, and the calls that are written as text."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
import html
from itertools import islice
import re
from typing import Any, Final, NamedTuple

from ..languages import find, words
from ..languages.lexicon import NEVER
from ..regex import lazy_regex
from ..texts import ARGUMENT_KEYS, NAME_KEYS, EmbedFilter, is_word, parsed, read_arguments

MAX_CALLS: Final = 10
"""Calls that are read, and places where one could begin that are looked at."""
MAX_CHARS: Final = 20_000
MAX_VALUE: Final = 5_000
"""Characters of one argument in XML."""
ENDING_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u1367", "\u2047")
ANSWER_STOPS = " .!~\u2026\u3002\uff01\uff5e\"'\u201d\u2019\u300d"
"""Characters that may follow the last word of a question without a question mark."""

_NAME: Final = r"[A-Za-z_][\w.:-]{0,80}"
_QUOTE_MARKS: Final = ('<|"|>', "<escape>")
EDGES: Final = " \t`*->.;"
"""Characters that may surround a call on its line."""

_HAS_NAME: Final = lazy_regex(rf"""["']?(?:{"|".join(NAME_KEYS)})["']?\s{{0,9}}:""")
_HAS_ARGUMENTS: Final = lazy_regex(rf"""["']?(?:{"|".join(ARGUMENT_KEYS)})["']?\s{{0,9}}:""")

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
        plain = "|".join(name for name in ordered if name.isalpha() and name.islower()) or NEVER
        self.pattern = re.compile(rf"(?:{body})(?!\w)")
        self._quoted = re.compile(rf"""["'](?:{body})["']""")
        # A name that is a word of prose begins a call only right before a bracket.
        self.trigger = re.compile(rf"[<\[{{]|`{{3}}|\b(?!(?:{plain})(?![\w({{])){self.pattern.pattern}")

    def in_json(self, raw: str) -> bool:
        """Return whether JSON, or an attempt at JSON, calls a tool."""
        return bool((_HAS_NAME.search(raw) and _HAS_ARGUMENTS.search(raw)) or self._quoted.search(raw))


call_names: Final = lru_cache(maxsize=16)(CallNames)
"""The patterns of some names are the same from turn to turn."""


class WrittenCall(NamedTuple):
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
        return [WrittenCall(name, pairs or ({} if name == plain else None))]


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
    name = re.match(_NAME, text)
    return re.sub(r":\d{1,4}\Z", "", name[0].rstrip(".:-")) if name else ""


def _arguments(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """Return the arguments in the brackets that open at `at`, None if unreadable, and where they end."""
    step = Balanced(text[at]).scan(text, at, final=True)
    if not step.done:
        return None, len(text)
    inner = text[at : step.next] if text[at] == "{" else text[at + 1 : step.next - 1].strip()
    return read_arguments(inner or "{}"), step.next


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where a pattern ends that may be empty."""
    match = pattern.match(text, at)
    return match.end() if match else at


_UNSPACED: Final = "\u3000-\u30ff\u3400-\u9fff\uff00-\uff5b\uff5d-\uffef"
"""Characters of scripts that separate no words."""
_WORDS: Final = lazy_regex(rf"(?s:.*)[\s{_UNSPACED}]")


def last_boundary(text: str, at: int, end: int) -> int:
    """Return where the last word begins that may not be whole yet."""
    match = _WORDS.match(text, at, end)
    return match.end() if match else at


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
        """Return what comes between what was written and the next text."""
        if not self.last:
            return ""
        last = self.last[-1]
        if self._mark:
            is_ended = last in _ENDS or (last in _QUOTES and self.last[0] in _ENDS)
            pause = "" if is_ended else _WIDE_MARKS[self._mark] if _WIDE.match(last) else self._mark
            return pause if _WIDE_MARK.match(pause or last) else pause + " "
        space = self._space
        if self._removed:
            if following in _CLOSING:
                return ""
            space = max(space, self._gap, key=lambda text: (text.count("\n"), len(text)))
            would_stick = following.isalnum() and (last.isalnum() or last in _ENDS or last in _QUOTES)
            if not space and would_stick and not (_WIDE.match(last) and _WIDE.match(following)):
                space = " "
        return " " if space and self._collapse else space


_PICTOGRAPHS: Final = (
    "\u2190-\u2191\u2193-\u21d1\u21d3-\u21ff"
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa"
    "\u2500-\u279b\u279d-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\ue000-\uf8ff\U0001f000-\U0001faff"
)
_UNSPOKEN: Final = (
    "\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f"
    "\u00ad\u200b\u2060\ufeff\ufffd\ufffc\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
)
"""Modifiers of pictographs, and invisible characters."""
_JOINER: Final = "\u200d"
"""Part of some scripts, and of a pictograph that it follows."""
_PAUSES: Final = "\u2192\u21d2\u279c\u27f6\u2022"
"""Arrows and dots between words."""

_BULLETS: Final = "-*+\u2022\u25aa\u25e6\u2023\u00b7"
_LINE: Final = lazy_regex(
    r"(?P<blank>[ \t]{0,200}\n)"
    r"|(?P<fence>[ \t]{0,80}(?:`{3,9}|~{3,9})[ \t]{0,8}(?P<language>[^\n`]{0,60})(?:\n|\Z))"
    r"|(?P<rule>[ \t]{0,8}(?:(?:-[ \t]{0,2}){3,90}|(?:\*[ \t]{0,2}){3,90}|(?:_[ \t]{0,2}){3,90}"
    r"|=[= \t]{0,200}|\|[ \t:|]{0,20}-[ \t:|-]{0,350})(?:\n|\Z))"
    r"|(?P<row>[ \t]{0,8}\|)"
    r"|(?P<heading>[ \t]{0,3}#{1,6}[ \t]{1,9})"
    rf"|(?P<item>[ \t]{{0,200}}[{_BULLETS}][ \t]{{1,9}}(?:\[[ xX]\][ \t]{{1,9}})?)"
    r"|(?P<number>[ \t]{0,200}\d{1,3}[.)][ \t])"
    r"|(?P<quote>[ \t]{0,200}>[ \t]?)"
)
_LINE_PART: Final = lazy_regex(rf"[ \t]*+(?:[{_BULLETS}#>=_`~|]|\d{{1,3}}+[.)]?\Z|\Z)")
"""The beginning of a line that may show only at its end what the line is."""
_INDENT: Final = lazy_regex(r"[ \t]*")

_SPOKEN_FENCES: Final = frozenset(("", "text", "txt", "plaintext", "plain", "markdown", "md"))
"""Fences with prose in them; any other is code, which is left out."""
_FENCE_END: Final = lazy_regex(r"[ \t]{0,12}(?:`{3,9}|~{3,9})[ \t]{0,12}(?=\n|\Z)")

_BREAKS: Final = "blockquote br dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table td th tr ul"
_LINE_BREAKS: Final = frozenset(_BREAKS.split())
"""HTML tags that end a line."""
_VALUE: Final = r"(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\s\"'<>=]{1,300})"
_ATTRIBUTES: Final = rf"(?:\s{{1,9}}[\w:-]{{1,30}}={_VALUE}){{0,12}}"
_ADDRESS: Final = (
    r"(?:https?://|www\.)(?:[^\s<>\"`|\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]*"
    r"(?<![.,;:!?)'*_~\]}\u00bb\u201d\u2019\u2026]))?"
)
"""Without the characters at its end that end a sentence rather than an address."""

_MARK: Final = lazy_regex(
    rf"[*_~`\[\]{{}}!<&\\(\n|\u3010{_PAUSES}{_JOINER}{_UNSPOKEN}{_PICTOGRAPHS}]|\b(?i:https?://|www\.)"
)
"""Where something other than text may begin."""
_TOKEN: Final = lazy_regex(
    r"(?P<newline>\n)"
    r"|(?P<emphasis>\*{1,4}|_{1,4}|~{1,4})"
    r"|(?P<ticks>`{1,9})"
    r"|(?P<removed>\[(?:\^[^\]\s]{1,30}|\d{1,3})\](?!\()|\u3010[^\u3011\n]{0,80}\u3011"
    r"|<(?:https?://|mailto:)[^\s<>]{0,380}>)"
    r"|(?P<label>\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)?|\[[^\]\n]{0,100}\])?)"
    r"|(?P<image>!(?=\[))"
    rf"|(?P<tag></?(?P<name>[a-z][a-z0-9]{{0,12}}){_ATTRIBUTES}\s{{0,9}}/?>)"
    r"|(?P<entity>&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});)"
    r"|(?P<escaped>\\(?:[!-/:-@\[-`{-~]|(?=\n)))"
    rf"|(?P<address>\({_ADDRESS}\)?|{_ADDRESS})"
    r"|(?P<cell>\|)"
    rf"|(?P<pause>[{_PAUSES}])"
    rf"|(?P<pictograph>[{_PICTOGRAPHS}]+)"
    rf"|(?P<joiner>{_JOINER})"
    rf"|(?P<dropped>[\[{{}}{_UNSPOKEN}])",
    re.IGNORECASE,
)
_SPANNING: Final = lazy_regex(r"[<\[\]\u3010]")
"""What may go on behind white space: a tag, a link, a reference."""
_LITERAL_IN_CODE: Final = frozenset("*_~[]!<&\\|(")
_CODE_TICKS: Final = 2
"""Back-ticks of code within a line."""
_SILENT: Final = lazy_regex(f"[{_UNSPOKEN}{_PICTOGRAPHS}]+")


class MarkdownReader:
    """Converts markdown to the text that a person would read aloud.

    The words of a line are written as they come, but from a mark on that may span several words the whole
    line is waited for.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._held = ""
        self._previous = "\n"
        self._new_line = True
        self._blank = False
        self._kind = ""
        """What the line before was."""
        self._code = False
        self._pictograph = False
        """Nothing was written since a pictograph."""
        self._prose_fence = False
        self._in_fence = False
        """Within a fence whose text is left out."""

    def write(self, text: str, *, final: bool = False) -> None:
        """Take the next piece; `final` if nothing more will come, or something was taken out behind it."""
        text = self._held + text
        at = 0
        while at < len(text):
            end = text.find("\n", at) + 1 or (len(text) if final else 0)
            if self._in_fence and end:
                self._in_fence = not _FENCE_END.match(text, at)
                after = end
            elif self._in_fence or (self._new_line and not end and _LINE_PART.match(text, at)):
                break
            elif self._new_line:
                after = self._line(text, at)
            else:
                if not end:
                    spanning = _SPANNING.search(text, at)
                    end = last_boundary(text, at, spanning.start() if spanning else len(text))
                after = at + self._inline(text[at:end])
                if after == at:
                    break
            if after > at:
                self._previous = text[after - 1]
            at = after
        self._held = text[at:]

    def _say(self, text: str) -> None:
        self._pictograph = False
        self._flow.write(text)

    def _line(self, text: str, at: int) -> int:
        marker = _LINE.match(text, at)
        kind = (marker and marker.lastgroup) or "text"
        end = marker.end() if marker else end_of(_INDENT, text, at)
        char = text[end : end + 1]
        if marker and kind in ("blank", "rule", "fence"):
            self._blank = True
            if kind == "fence":
                if self._prose_fence or marker["language"].strip().lower() in _SPOKEN_FENCES:
                    self._prose_fence = not self._prose_fence
                else:
                    self._in_fence = True
        elif kind == "text" and not self._blank and (char.islower() or (end > at and self._kind == "item")):
            self._say(" ")  # goes on with the sentence before
            self._new_line = False
        elif kind != "quote":  # the line begins behind the mark of a quotation
            kind = "item" if kind == "number" else kind
            if self._kind:
                self._flow.mark("," if kind == self._kind == "item" else ".")
            self._kind = kind
            self._blank = self._new_line = False
            if marker and marker.lastgroup == "number":
                self._say(marker[0])
        return end

    def _inline(self, text: str) -> int:
        at = 0
        while at < len(text) and not self._new_line:
            mark = _MARK.search(text, at)
            start = mark.start() if mark else len(text)
            if start > at:
                self._say(text[at:start])
                self._previous = text[start - 1]
            if not mark:
                return start
            is_literal = self._code and text[start] in _LITERAL_IN_CODE
            token = None if is_literal else _TOKEN.match(text, start)
            if token is None or (said := self._spoken(token)):
                self._say(text[start] if token is None else said)
            else:
                self._note(token)
            at = start + 1 if token is None else token.end()
            self._previous = text[at - 1]
        return at

    def _spoken(self, token: re.Match[str]) -> str:
        """Return the spoken text of a token; most have none."""
        match token.lastgroup:
            case "entity":
                return _SILENT.sub("", html.unescape(token[0]))
            case "escaped":
                return token[0][1:]
            case "emphasis":
                # Stars, underscores or tildes mean something in 2*3, 3 * 4, on_hold and ~20.
                before, after = self._previous, token.string[token.end() : token.end() + 1]
                if before == token[0][0]:
                    is_said = False
                elif token[0][0] == "*":
                    is_spaced = before.isspace() and not after.strip()
                    is_said = is_spaced or (before.isdigit() and after.isdigit())
                else:
                    is_said = token[0] == "~" or ("~" not in token[0] and is_word(before) and is_word(after))
            case "image":
                is_said = is_word(self._previous)
            case "cell":
                is_said = self._kind != "row"
            case kind:
                is_said = kind == "joiner" and not self._pictograph
        return token[0] if is_said else ""

    def _note(self, token: re.Match[str]) -> None:
        """Note what a token that is not spoken means for the text behind it."""
        match token.lastgroup:
            case "newline":
                self._new_line = True
                self._code = False
            case "ticks":
                self._code = len(token[0]) <= _CODE_TICKS and not self._code
            case "cell" | "pause":
                self._flow.mark(",")
            case "removed" | "pictograph" | "address":
                self._flow.removed()
                self._pictograph = token.lastgroup == "pictograph"
            case "label" if self._previous == "[":
                self._flow.removed()
            case "tag":
                self._new_line = token["name"].lower() in _LINE_BREAKS


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
BARS: Final = ("|", "\uff5c")
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
    r"(?P<rest>[ \t=/][^<>\n]{0,200}?)?(?P<bar2>[|\uff5c])?>"
    r"|\[(?P<end>/)?(?P<square>THINK|think|TOOL_CALLS|TOOL_RESULTS|INST)\]"
)
HEADER: Final = lazy_regex(
    r"[ \t]{0,9}+([A-Za-z_]{0,20}+)((?:[^<\n]|<\|constrain\|>){0,120}+)"
    r"(?:(?P<token><\|message\|>|(?=<(?:[^|]|\|(?!(?:constrain|message)\|>)[^<>]{0,40}>)))|\n|(?=[^<\n]))"
)

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
        rf"<[|\uff5c]?/(?:{name})[|\uff5c]?>|<(?:{name})\|>|\[/(?:{name})\]"
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

_OBJECT_START: Final = lazy_regex(r"\{[ \t]{0,20}\n?[ \t]{0,20}")
_OBJECT: Final = lazy_regex(rf"{_OBJECT_START.pattern}(?:[\"']|[A-Za-z_]\w{{0,40}}:)")
_LIST_START: Final = lazy_regex(r"\[[ \t]{0,20}\n?[ \t]{0,20}")
_FENCE: Final = lazy_regex(r"`{3,9}[ \t]{0,8}([\w+-]{0,20})[ \t]{0,8}\n?[ \t]{0,40}")
_TICKS: Final = lazy_regex(r"`{1,9}")
_AFTER_NAME: Final = lazy_regex(r"\(|[: \t]{0,3}\n?\{")
_KEY: Final = lazy_regex(r"[ \t]{0,4}(?:[ \t]|\n(?:- ?)?)\w{1,20} ?[:=]")
_ARGUMENTS: Final = lazy_regex(r"""\s{0,20}(?:\w{1,40}+\s{0,4}+[=:]|["'{]|\)|\[\s{0,4}["'{\]])""")
_WORD: Final = lazy_regex(r"\w+")


class UntilClose:
    """A block that ends with a mark, or never."""

    def __init__(self, close: re.Pattern[str]) -> None:
        self._close = close

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on until the mark, or to where it may have been cut off: no mark has a space within."""
        if mark := self._close.search(text, start):
            return ScanResult(mark.start(), mark.end(), done=True)
        end = len(text) if final else last_boundary(text, start, len(text))
        end = end if final else max(start, len(text[:end].rstrip()))
        return ScanResult(end, end, done=False)


@dataclass(slots=True, kw_only=True)
class _Block:
    """A stretch of the reply whose end is not known yet."""

    scanner: UntilClose | Balanced
    is_thought: bool = False
    is_certain: bool = False
    """Whether it is taken out whatever it contains."""
    is_call: Callable[[str], bool] = lambda _: True
    raw: list[str] = field(default_factory=list)


def _thought(close: re.Pattern[str]) -> _Block:
    return _Block(scanner=UntilClose(close), is_thought=True, is_certain=True)


class Spoken(NamedTuple):
    """What a piece of a reply added."""

    text: str = ""
    """To be spoken, or shown in a chat."""
    thinking: str = ""


class SpeechFilter:
    """Filters one reply as it arrives.

    The result does not depend on how the reply was cut. A voice gets plain sentences; a chat keeps
    markdown, emoji and addresses, but no pictures, which a browser would fetch on its own. Neither gets
    thoughts, calls or special tokens. White space at the end of a reply is not given out.

    Words are given out as they come. Where a call may begin, that line and the next one are waited for. Each
    method that reads takes the text and a position, and returns where to go on, None to wait for more.
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
        self._words_end = 0
        """Where the last word of the text begins that may not be whole yet."""
        self._lines_end = -1
        """Where the last line ends that is followed by a whole one: both show whether a call begins there."""
        self._previous = "\n"
        self._alone = True
        """Nothing was said on this line that would make a sentence of a call."""
        self._final = False
        """Nothing more will come."""
        self._on_line: list[CallText] = []
        """Calls that ended on this line."""
        self._said: list[str] = []
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
        self._words_end = len(text) if self._final else last_boundary(text, 0, len(text))
        self._lines_end = len(text) if self._final else text.rfind("\n", 0, max(text.rfind("\n"), 0))
        while at < len(text):
            if (block := self._block) is not None:
                step = block.scanner.scan(text, at, final=self._final)
                if block.is_thought:
                    self._thinking.append(text[at : step.body])
                else:
                    block.raw.append(text[at : step.next])
                if step.done:
                    self._end_block(block)
                elif step.next == at:
                    break
                at = step.next
                continue
            # Whole words up to what may begin a call, or that.
            end = max(at, self._words_end)
            if _WORD.match(self._previous) and (word := _WORD.match(text, at, end)):
                at = self._say(text, at, word.end())
                continue
            trigger = self._names.trigger.search(text, at, end)
            if (start := trigger.start() if trigger else end) > at:
                at = self._say(text, at, start)
            elif trigger and (after := self._open(text, at)) is not None:
                at = after
            else:
                break
        self._held = text[at:]
        if self._final and self._block is not None:
            self._block.raw.append(self._held)
            self._held = ""
            self._end_block(self._block)
        self._pass_on(final=self._final)
        said = self._flow.take()
        shown = self._shown.feed(said, final=self._final) if said or self._final else ""
        thinking, self._thinking = "".join(self._thinking), []
        return Spoken(shown, thinking)

    def _end_block(self, block: _Block) -> None:
        self._block = None
        raw = "".join(block.raw)
        is_call = not block.is_thought and block.is_call(raw)
        if not (is_call or block.is_certain):
            self._say(raw, 0, len(raw))
            return
        self._remove(0, " ")
        if is_call and len(self.calls) < MAX_CALLS:
            text = raw.strip()
            self.calls.append(CallText(text, self._alone, self._are_arguments(unfenced(text))))
            self._on_line.append(self.calls[-1])

    def _say(self, text: str, at: int, end: int) -> int:
        text = text[at:end]
        self._said.append(text)
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
        self._pass_on(final=True)
        self._flow.removed()
        self._previous = previous
        return end

    def _pass_on(self, *, final: bool) -> None:
        text = "".join(self._said)
        self._said.clear()
        if self._markdown:
            self._markdown.write(text, final=final)
        else:
            self._flow.write(text)

    def _begin(self, block: _Block, text: str, at: int, end: int) -> int:
        self._block = block
        block.raw.append(text[at:end])
        return end

    # What may begin.

    def _open(self, text: str, at: int) -> int | None:
        is_whole = at <= self._lines_end
        match text[at]:
            case "<" | "[" if tag := TAG.match(text, at):
                return self._tag(text, tag, is_whole)
            case "<":
                after = text[at + 1 : at + 2]
                is_known = is_whole or not (after == "/" or after in BARS or is_word(after))
                return self._say(text, at, at + 1) if is_known else None
            case "[":
                inner = end_of(_LIST_START, text, at)
                return self._list(text, at, inner) if inner < self._words_end or is_whole else None
            case "{" if _OBJECT.match(text, at):
                return self._data(text, at, at, certain=self._voice)
            case "{":
                is_known = is_whole or end_of(_OBJECT_START, text, at) < self._words_end
                return self._say(text, at, at + 1) if is_known else None
            case "`":
                if not is_whole:
                    return None
                scanner, fence = UntilClose(FENCE_CLOSE), _FENCE.match(text, at)
                if fence and (
                    fence[1].lower() in CALL_FENCES or self._names.pattern.match(text, fence.end())
                ):
                    return self._begin(_Block(scanner=scanner, is_certain=True), text, at, fence.end())
                if fence and text.startswith(("{", "["), fence.end()):
                    is_certain = self._voice and text[fence.end()] == "{"
                    return self._data(text, at, fence.end(), certain=is_certain, scanner=scanner)
                return self._say(text, at, end_of(_TICKS, text, at))
        return self._name(text, at, is_whole)

    def _data(self, text: str, at: int, end: int, *, certain: bool, scanner: UntilClose | None = None) -> int:
        """Begin a block of JSON, which calls a tool; alone on its lines, it may be arguments."""
        alone = self._alone
        block = _Block(
            scanner=scanner or Balanced(text[at]),
            is_call=lambda raw: self._names.in_json(raw) or (alone and self._are_arguments(unfenced(raw))),
            is_certain=certain,
        )
        return self._begin(block, text, at, end)

    def _tag(self, text: str, tag: re.Match[str], is_whole: bool) -> int | None:
        at, end = tag.span()
        name = (tag["name"] or tag["square"]).lower().replace("\u2581", "_")
        is_barred = tag["bar"] is not None
        kind = BARRED_TAGS.get(name, "noise") if is_barred else PLAIN_TAGS.get(name)
        is_half = tag["bar2"] and not is_barred
        if kind is None and not (is_half and name in BARRED_TAGS):
            return self._say(text, at, at + 1)
        if tag["slash"] or tag["end"] or is_half:
            self.unopened_thought = self.unopened_thought or kind == "think"
            return self._remove(end)
        if kind == "header":
            # The role or the channel behind it, and what is said of its message.
            header = HEADER.match(text, end) or (HEADER.match(f"{text}\n", end) if self._final else None)
            if header is None:
                return self._remove(end) if is_whole else None
            role, after = header[1].lower(), min(header.end(), len(text))
            if "to=" in header[2]:
                block = _Block(scanner=UntilClose(HEADED_CALL_CLOSE), is_certain=True)
                return self._begin(block, text, at, end)
            if role in THINK_ROLES or role in OTHER_ROLES:
                close = THINK_CLOSE if role in THINK_ROLES else TURN_CLOSE
                return self._begin(_thought(close), text, at, after)
            if role not in OWN_ROLES:
                return self._remove(end)
            is_ended = header["token"] is not None or not header[2].strip()
            return self._remove(after if is_ended else header.end(1))
        if kind == "call":
            return self._begin(_Block(scanner=UntilClose(CALL_CLOSE), is_certain=True), text, at, end)
        return self._begin(_thought(DROPPED[kind]), text, at, end) if kind in DROPPED else self._remove(end)

    def _list(self, text: str, at: int, inner: int) -> int:
        if text.startswith("{", inner):
            return self._data(text, at, at, certain=self._voice)
        name = self._names.pattern.match(text, inner)
        if name and text.startswith("(", name.end()):
            return self._begin(_Block(scanner=Balanced("[")), text, at, at)
        return self._say(text, at, at + 1)

    def _name(self, text: str, at: int, is_whole: bool) -> int | None:
        """Take a call that begins with the name of a tool."""
        name = self._names.pattern.match(text, at)
        assert name is not None
        is_spelled = "_" in name[0] or "." in name[0] or not name[0].islower()
        if after := _AFTER_NAME.match(text, name.end()):
            block = _Block(scanner=Balanced(after[0][-1]))
            if after[0] == "(" and not is_spelled:
                block.is_call = lambda raw: _ARGUMENTS.match(raw, raw.index("(") + 1) is not None
            return self._begin(block, text, at, at)
        if not is_whole:
            return None
        if is_spelled and self._alone and _KEY.match(text, name.end()):
            lines = _Block(scanner=UntilClose(LINES_CLOSE), is_certain=True)
            return self._begin(lines, text, at, name.end())
        return self._say(text, at, name.end())


MAX_READ_OUT: Final = 10_000
"""Characters that are read aloud, some ten minutes."""


def is_question(text: str, language: str) -> bool:
    """Return whether a text ends with a question, also where its language asks without a question mark."""
    if text.endswith(ENDING_QUESTION_MARKS) or (language.startswith("el") and text.endswith(";")):
        return True
    ending = text.rstrip(ANSWER_STOPS).casefold()
    return ending.endswith(words(find(language) or language, "replies.question_ends"))


def as_spoken(text: str) -> str:
    """Return text as a voice reads it; nothing of code or data alone."""
    words = SpeechFilter(voice=True)
    return f"{words.feed(text[:MAX_READ_OUT]).text}{words.flush().text}".strip()
