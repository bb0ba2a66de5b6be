"""Turns markdown that arrives in pieces into sentences for a voice."""

from collections.abc import Callable
import html
import re
from typing import Final

from ...regex import lazy_regex
from ...texts import is_word


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where a pattern ends that may be empty."""
    found = pattern.match(text, at)
    return found.end() if found else at


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

_LINE_WINDOW: Final = 400
"""Characters that decide the kind of a line; no pattern of a line reaches further."""
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
_LINE_PART: Final = lazy_regex(
    rf"[ \t]*+(?:#{{1,6}}[ \t]*|>[ \t]?|[{_BULLETS}][ \t]*(?:\[[ xX]?\]?[ \t]*)?"
    r"|\d{1,3}[.)]?|[-*_= \t]+|`{1,9}[ \t]*[^\n`]{0,60}|~{1,9}[ \t]*[^\n`]{0,60}|\|[ \t:|-]*)?\Z"
)
"""The beginning of a line that does not show yet what the line is."""
_INDENT: Final = lazy_regex(r"[ \t]*")

_SPOKEN_FENCES: Final = frozenset(("", "text", "txt", "plaintext", "plain", "markdown", "md"))
"""Fences with prose in them; any other is code, which is left out."""
_FENCE_END: Final = lazy_regex(r"[ \t]{0,12}(?:`{3,9}|~{3,9})[ \t]{0,12}(?=\n|\Z)")
_FENCE_WINDOW: Final = 40

_BREAKS: Final = "blockquote br dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table td th tr ul"
_LINE_BREAKS: Final = frozenset(_BREAKS.split())
"""HTML tags that end a line."""
_VALUE: Final = r"(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\s\"'<>=]{1,300})"
_VALUE_PART: Final = r"(?:\"[^\"\n]{0,300}\"?|'[^'\n]{0,300}'?|[^\s\"'<>=]{1,300})"
_ATTRIBUTES: Final = rf"(?:\s{{1,9}}[\w:-]{{1,30}}={_VALUE}){{0,12}}"
_ADDRESS_PART: Final = r"(?:h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?|w{1,3})"

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
    r"|(?P<label>\](?:(?P<target>\()|\[[^\]\n]{0,100}\])?)"
    r"|(?P<image>!(?=\[))"
    rf"|(?P<tag></?(?P<name>[a-z][a-z0-9]{{0,12}}){_ATTRIBUTES}\s{{0,9}}/?>)"
    r"|(?P<entity>&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});)"
    r"|(?P<escaped>\\(?:[!-/:-@\[-`{-~]|(?=\n)))"
    r"|(?P<address>\(?(?:https?://|www\.))"
    r"|(?P<cell>\|)"
    rf"|(?P<pause>[{_PAUSES}])"
    rf"|(?P<pictograph>[{_PICTOGRAPHS}]+)"
    rf"|(?P<joiner>{_JOINER})"
    rf"|(?P<dropped>[\[{{}}{_UNSPOKEN}])",
    re.IGNORECASE,
)
_TOKEN_PART: Final = lazy_regex(
    r"(?:\*{1,4}|_{1,4}|~{1,4}|`{1,8}"
    r"|\[(?:\^[^\]\s]{0,30}|\d{0,3})\]?|\u3010[^\u3011\n]{0,80}|\](?:\[[^\]\n]{0,100})?|!|\\"
    rf"|&(?:#?|#\d{{1,7}}|#x[0-9a-f]{{0,6}}|[a-z][a-z0-9]{{0,30}})|\({_ADDRESS_PART}?"
    r"|<(?:(?:https?://|mailto:)[^\s<>]{0,380}"
    r"|h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?|m(?:a(?:i(?:l(?:to?)?)?)?)?)"
    rf"|</?(?:[a-z][a-z0-9]{{0,12}}{_ATTRIBUTES}"
    rf"(?:\s{{1,9}}(?:[\w:-]{{1,30}}(?:={_VALUE_PART}?)?)?)?/?)?)\Z",
    re.IGNORECASE,
)
"""Text that may become another token with the next piece."""
_TOKEN_WINDOW: Final = 400
"""Characters within which a token ends."""
_LITERAL_IN_CODE: Final = frozenset("*_~[]!<&\\|(")
_CODE_TICKS: Final = 2
"""Back-ticks of code within a line."""
_MID_WORD: Final = lazy_regex(r"[^\W_]+")
_WORD_CHAR: Final = lazy_regex(r"\w")
_SILENT: Final = lazy_regex(f"[{_UNSPOKEN}{_PICTOGRAPHS}]+")

_ADDRESS_CUT: Final = lazy_regex(rf"\b{_ADDRESS_PART}\Z", re.IGNORECASE)
_ADDRESS_WINDOW: Final = 8
_ADDRESS: Final = lazy_regex('[^\\s<>"`|\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]*')
_ADDRESS_TAIL: Final = lazy_regex(r"[.,;:!?)'*_~\]}\u00bb\u201d\u2019\u2026]{1,16}\Z")
"""Characters that end a sentence rather than an address."""
_ADDRESS_TAIL_MAX: Final = 16
_TARGET_MARK: Final = lazy_regex(r"[()\n]")


class MarkdownReader:
    """Converts markdown to the text that a person would read aloud.

    Each method that reads takes the text, a position and whether nothing more will come, and returns where
    to go on, None while the text does not tell yet.
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
        self._emphasis = False
        self._pictograph = False
        """Nothing was written since a pictograph."""
        self._prose_fence = False
        self._skip: Callable[[str, int, bool], int | None] | None = None
        self._depth = 0
        """Open brackets of an address."""

    def write(self, text: str, *, final: bool = False) -> None:
        """Take the next piece; `final` if nothing more will come, or something was taken out behind it."""
        text = self._held + text
        at = 0
        while at < len(text):
            read = self._skip or (self._line if self._new_line else self._inline)
            after = read(text, at, final)
            if after is None:
                break
            if after > at:
                self._previous = text[after - 1]
            at = after
        self._held = text[at:]

    def _say(self, text: str) -> None:
        self._pictograph = False
        self._flow.write(text)

    def _line(self, text: str, at: int, final: bool) -> int | None:
        if not final and len(text) - at < _LINE_WINDOW and _LINE_PART.match(text, at):
            return None
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
                    self._skip = self._code_block
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

    def _inline(self, text: str, at: int, final: bool) -> int | None:
        if at == 0 and _WORD_CHAR.match(self._previous) and (word := _MID_WORD.match(text)):
            self._say(word[0])
            return word.end()
        mark = _MARK.search(text, at)
        end = mark.start() if mark else len(text)
        if not mark and not final:
            cut = _ADDRESS_CUT.search(text, max(at, end - _ADDRESS_WINDOW))
            end = cut.start() if cut else end
        if end > at:
            self._say(text[at:end])
            return end
        char = text[at]
        is_literal = self._code and char in _LITERAL_IN_CODE
        ends_sentence = char == "!" and is_word(self._previous)
        may_be_cut = not (final or is_literal or ends_sentence) and len(text) - at < _TOKEN_WINDOW
        if not mark or (may_be_cut and _TOKEN_PART.match(text, at)):
            return None
        token = None if is_literal else _TOKEN.match(text, at, at + _TOKEN_WINDOW)
        if token is None:
            self._say(char)
            return at + 1
        if said := self._spoken(token):
            self._say(said)
        else:
            self._note(token)
        return token.end()

    def _spoken(self, token: re.Match[str]) -> str:
        """Return the spoken text of a token; most have none."""
        match token.lastgroup:
            case "entity":
                return _SILENT.sub("", html.unescape(token[0]))
            case "escaped":
                return token[0][1:]
            case "emphasis":
                is_said = self._is_sign(token[0], token.string[token.end() : token.end() + 1])
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
                self._code = self._emphasis = False
            case "ticks":
                self._code = len(token[0]) <= _CODE_TICKS and not self._code
            case "cell" | "pause":
                self._flow.mark(",")
            case "removed" | "pictograph":
                self._flow.removed()
                self._pictograph = token.lastgroup == "pictograph"
            case "address":
                self._flow.removed()
                self._skip, self._depth = self._address, int(token[0][0] == "(")
            case "label":
                if self._previous == "[":
                    self._flow.removed()
                if token["target"]:
                    self._skip, self._depth = self._target, 1
            case "tag":
                self._new_line = token["name"].lower() in _LINE_BREAKS

    def _is_sign(self, run: str, after: str) -> bool:
        """Return whether stars, underscores or tildes mean something, as in 2*3, on_hold and ~20.

        Stars are also signs in 3 * 4 and before a footnote; others open or close emphasis.
        """
        before, last, is_single = self._previous, self._flow.last[-1:], len(run) == 1
        if before == run[0]:
            return False
        if run[0] != "*":
            return is_single if run[0] == "~" else is_word(before) and is_word(after)
        opens, closes = bool(after) and not after.isspace(), not before.isspace()
        if not opens and not closes:
            return is_single or last.isdigit()
        if not self._emphasis and closes and (before.isdigit() and after.isdigit() if opens else is_single):
            return True
        self._emphasis = opens and not (closes and self._emphasis)
        return False

    def _address(self, text: str, at: int, final: bool) -> int | None:
        """Skip an address, but not the punctuation behind it."""
        end = end_of(_ADDRESS, text, at)
        tail = _ADDRESS_TAIL.search(text, max(at, end - _ADDRESS_TAIL_MAX), end)
        stop = tail.start() if tail else end
        if end == len(text) and not final:
            return stop if stop > at else None
        self._skip = None
        return stop + 1 if self._depth and text.startswith(")", stop) else stop

    def _target(self, text: str, at: int, _final: bool) -> int:
        while mark := _TARGET_MARK.search(text, at):
            at = mark.end()
            self._depth += {"(": 1, ")": -1}.get(mark[0], 0)
            if mark[0] == "\n" or not self._depth:
                self._skip = None
                return mark.start() if mark[0] == "\n" else at
        return len(text)

    def _code_block(self, text: str, at: int, final: bool) -> int | None:
        end = text.find("\n", at) + 1
        if self._previous == "\n":
            if not end and not final and len(text) - at < _FENCE_WINDOW:
                return None
            if fence := _FENCE_END.match(text, at):
                self._skip = None
                self._new_line = True
                return fence.end()
        return end or len(text)
