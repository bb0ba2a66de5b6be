"""Turns markdown that arrives in pieces into sentences for a voice."""

from collections.abc import Callable
import html
import re
from typing import ClassVar, Final

from ...regex import lazy
from . import markup
from .emphasis import Emphasis, is_word
from .flow import Flow
from .scan import end_of

_HOLD: Final = -1
"""The text does not tell yet."""
_ITEM: Final = "item"
_TEXT: Final = "text"
_ROW: Final = "row"
_HEADING: Final = "heading"
_LINK_END: Final = lazy(r"[()\n]")
_WORD_CHAR: Final = lazy(r"\w")
_BRACKET_END: Final = lazy(r"[\]\n]")


_LITERAL_IN_CODE: Final = frozenset("*_~[]!<&\\|(")

type _Take = Callable[[PlainText, str, re.Match[str]], int]
type _Read = Callable[[PlainText, str, int, bool], int]


class PlainText:
    """Reads markdown, writes what a person would read aloud."""

    def __init__(self, flow: Flow) -> None:
        """Start at the beginning of a line."""
        self._flow = flow
        self._buffer = ""
        self._previous = "\n"
        self._new_line = True
        self._blank = False
        self._kind = ""
        """What the line before was."""
        self._code = False
        self._emphasis = Emphasis()
        self._pictograph = False
        self._fenced = False
        self._skip: Callable[[str, int, bool], int] | None = None
        self._depth = 0

    def write(self, text: str) -> None:
        """Take the next piece."""
        self._read(text, final=False)

    def removed(self) -> None:
        """Note that something was taken out of the text here."""
        self._read("", final=True)
        self._flow.removed()

    def end(self) -> None:
        """Take what was held back."""
        self._read("", final=True)

    def _read(self, piece: str, *, final: bool) -> None:
        """Read on as far as the text tells."""
        text = self._buffer + piece
        at = 0
        while at < len(text):
            read = self._skip or (self._line if self._new_line else self._inline)
            after = read(text, at, final)
            if after == _HOLD:
                break
            if after > at:
                self._previous = text[after - 1]
            at = after
        self._buffer = text[at:]

    def takes(self, word: str) -> bool:
        """Return whether a word is text, whatever follows."""
        idle = not (self._buffer or self._skip or self._new_line)
        return idle and not markup.ADDRESS_CUT.match(word)

    def pass_word(self, word: str) -> None:
        """Note a word that was written at once."""
        self._previous = word[-1]
        self._pictograph = False

    def _say(self, text: str) -> None:
        """Write text."""
        self._pictograph = False
        self._flow.write(text)

    def _line(self, text: str, at: int, final: bool) -> int:
        """Take the marker at the beginning of a line."""
        if not final and len(text) - at < markup.LINE_WINDOW and markup.LINE_PART.match(text, at):
            return _HOLD
        for pattern, take in self._LINES:
            if marker := pattern.match(text, at):
                return take(self, text, marker)
        return self._plain_line(text, at)

    def _break(self, _text: str, marker: re.Match[str]) -> int:
        """Take a line that only parts others."""
        self._blank = True
        return marker.end()

    def _fence(self, _text: str, marker: re.Match[str]) -> int:
        """Take a code fence: prose is read, code is left out."""
        self._blank = True
        language = marker[1].strip().lower()
        if self._fenced or language in markup.SPOKEN_FENCES:
            self._fenced = not self._fenced
        else:
            self._skip = self._code_block
        return marker.end()

    def _quote(self, _text: str, marker: re.Match[str]) -> int:
        """Take the mark of a quotation; the line begins behind it."""
        return marker.end()

    def _heading(self, _text: str, marker: re.Match[str]) -> int:
        """Take the mark of a heading."""
        return self._begin(_HEADING, marker.end())

    def _bullet(self, _text: str, marker: re.Match[str]) -> int:
        """Take a list mark."""
        return self._begin(_ITEM, marker.end())

    def _number(self, _text: str, marker: re.Match[str]) -> int:
        """Take the number of a list item, which is read."""
        self._begin(_ITEM, marker.end())
        self._say(marker[0])
        return marker.end()

    def _row(self, _text: str, marker: re.Match[str]) -> int:
        """Take the first border of a table row."""
        return self._begin(_ROW, marker.end())

    def _plain_line(self, text: str, at: int) -> int:
        """Begin a line that has no marker: a new sentence, unless it goes on in lower case."""
        start = end_of(markup.INDENT, text, at)
        indented = start > at and self._kind == _ITEM
        if self._blank or not (text[start : start + 1].islower() or indented):
            return self._begin(_TEXT, start)
        self._say(" ")
        self._new_line = False
        return start

    def _begin(self, kind: str, end: int) -> int:
        """Put a pause between the line before and this one."""
        if self._kind:
            self._flow.mark("," if kind == self._kind == _ITEM else ".")
        self._kind = kind
        self._blank = self._new_line = False
        return end

    def _inline(self, text: str, at: int, final: bool) -> int:
        """Take text up to the next mark, or the mark."""
        if at == 0 and _WORD_CHAR.match(self._previous) and (word := markup.MID_WORD.match(text)):
            self._say(word[0])
            return word.end()
        mark = markup.INLINE.search(text, at)
        end = mark.start() if mark else len(text)
        if not mark and not final:
            cut = markup.ADDRESS_CUT.search(text, max(at, end - markup.ADDRESS_WINDOW))
            end = cut.start() if cut else end
        if end > at:
            self._say(text[at:end])
            return end
        if not mark:
            return _HOLD
        char = text[at]
        if self._code and char in _LITERAL_IN_CODE:
            self._say(char)
            return at + 1
        return self._MARKS.get(char, PlainText._other)(self, text, at, final)

    def _newline(self, _text: str, at: int, _final: bool) -> int:
        """End a line."""
        self._new_line = True
        self._code = self._emphasis.open = False
        return at + 1

    def _emphasize(self, text: str, at: int, final: bool) -> int:
        """Take stars, underscores and tildes."""
        end = end_of(markup.EMPHASIS, text, at)
        if end == len(text) and not final:
            return _HOLD
        run = text[at:end]
        if self._emphasis.keeps(run, self._previous, text[end : end + 1], self._flow.last[-1:]):
            self._say(run)
        return end

    def _ticks(self, text: str, at: int, final: bool) -> int:
        """Take back-ticks."""
        end = end_of(markup.TICKS, text, at)
        if end == len(text) and end - at < markup.MAX_TICKS and not final:
            return _HOLD
        self._code = end - at <= markup.CODE_TICKS and not self._code
        return end

    def _bracket(self, text: str, at: int, final: bool) -> int:
        """Take an opening bracket: of a source, which is left out, or of a link."""
        if not final and markup.CITATION_PART.match(text, at):
            return _HOLD
        source = markup.CITATION.match(text, at)
        if source and not text.startswith("(", source.end()):
            self._flow.removed()
            return source.end()
        return at + 1

    def _bracket_end(self, text: str, at: int, final: bool) -> int:
        """Take a closing bracket, and where the link leads."""
        if at + 1 == len(text) and not final:
            return _HOLD
        if self._previous == "[":
            self._flow.removed()
        if text.startswith("(", at + 1):
            self._skip, self._depth = self._target, 1
        elif text.startswith("[", at + 1):
            self._skip = self._reference
        else:
            return at + 1
        return at + 2

    def _exclamation(self, text: str, at: int, final: bool) -> int:
        """Take the mark of an image, or of a sentence."""
        if not is_word(self._previous):
            if at + 1 == len(text) and not final:
                return _HOLD
            if text.startswith("[", at + 1):
                return at + 1
        self._say("!")
        return at + 1

    def _angle(self, text: str, at: int, final: bool) -> int:
        """Take an HTML tag, a comment or an address in angle brackets."""
        end = at + markup.HTML_WINDOW
        if text[at + 1 : at + 2] in ("<", " "):  # neither begins a tag nor an address
            self._say("<")
            return at + 1
        if text.startswith(markup.COMMENT, at):
            self._skip = self._comment
            return at + len(markup.COMMENT)
        if address := markup.AUTOLINK.match(text, at, end):
            self._flow.removed()
            return address.end()
        tag = markup.HTML_TAG.match(text, at, end)
        if tag and (name := tag["name"].lower()) in markup.HTML_NAMES:
            self._new_line = name in markup.HTML_BREAKS
            return tag.end()
        if not final and len(text) < end and self._may_be_angle(text, at):
            return _HOLD
        self._say("<")
        return at + 1

    def _may_be_angle(self, text: str, at: int) -> bool:
        """Return whether the end of the text hides a tag."""
        if markup.COMMENT.startswith(text[at:]) or markup.AUTOLINK_PART.match(text, at):
            return True
        part = markup.HTML_PART.match(text, at)
        name = (part["name"] or "").lower() if part else ""
        names = markup.HTML_NAMES if part and part["rest"] else markup.HTML_PREFIXES
        return part is not None and (not name or name in names)

    def _ampersand(self, text: str, at: int, final: bool) -> int:
        """Take an HTML entity."""
        if entity := markup.ENTITY.match(text, at):
            self._say(markup.UNSPOKEN.sub("", html.unescape(entity[0])))
            return entity.end()
        if not final and markup.ENTITY_PART.match(text, at):
            return _HOLD
        self._say("&")
        return at + 1

    def _escape(self, text: str, at: int, final: bool) -> int:
        """Take a backslash and the character it protects."""
        if at + 1 == len(text) and not final:
            return _HOLD
        following = text[at + 1 : at + 2]
        if following in markup.ESCAPED:
            self._say(following)
            return at + 2
        if following != "\n":
            self._say("\\")
        return at + 1

    def _cell(self, _text: str, at: int, _final: bool) -> int:
        """Take the border between two cells."""
        if self._kind == _ROW:
            self._flow.mark(",")
        else:
            self._say("|")
        return at + 1

    def _lens(self, text: str, at: int, final: bool) -> int:
        """Take a source in lens-shaped brackets."""
        if source := markup.LENS.match(text, at):
            self._flow.removed()
            return source.end()
        if not final and markup.LENS_PART.match(text, at):
            return _HOLD
        self._say(text[at])
        return at + 1

    def _other(self, text: str, at: int, final: bool) -> int:
        """Take pictographs, arrows and addresses."""
        char = text[at]
        if address := markup.ADDRESS_START.match(text, at):
            self._flow.removed()
            self._depth = char == "("
            self._skip = self._address
            return address.end()
        if char == "(":
            if not final and markup.ADDRESS_BRACKET_CUT.match(text, at):
                return _HOLD
            self._say(char)
        elif char in markup.PAUSES:
            self._flow.mark(",")
        elif run := markup.PICTOGRAPH.match(text, at):
            self._flow.removed()
            self._pictograph = True
            return run.end()
        elif char == markup.JOINER and not self._pictograph:
            self._say(char)
        return at + 1

    def _address(self, text: str, at: int, final: bool) -> int:
        """Skip an address, but not the punctuation behind it."""
        stop = end = end_of(markup.ADDRESS, text, at)
        while stop > max(at, end - markup.ADDRESS_TAIL_MAX) and text[stop - 1] in markup.ADDRESS_TAIL:
            stop -= 1
        if end == len(text) and not final:
            return stop if stop > at else _HOLD
        self._skip = None
        return stop + 1 if self._depth and text.startswith(")", stop) else stop

    def _target(self, text: str, at: int, _final: bool) -> int:
        """Skip where a link leads."""
        while mark := _LINK_END.search(text, at):
            at = mark.end()
            self._depth += {"(": 1, ")": -1}.get(mark[0], 0)
            if mark[0] == "\n" or not self._depth:
                self._skip = None
                return mark.start() if mark[0] == "\n" else at
        return len(text)

    def _reference(self, text: str, at: int, _final: bool) -> int:
        """Skip the name of a link's target."""
        if mark := _BRACKET_END.search(text, at):
            self._skip = None
            return mark.end() if mark[0] == "]" else mark.start()
        return len(text)

    def _comment(self, text: str, at: int, final: bool) -> int:
        """Skip a comment."""
        if mark := markup.COMMENT_END.search(text, at):
            self._skip = None
            return mark.end()
        return len(text) if final else max(at, len(text) - 2) if len(text) - 2 > at else _HOLD

    def _code_block(self, text: str, at: int, final: bool) -> int:
        """Skip code up to the closing fence."""
        end = text.find("\n", at) + 1
        if self._previous == "\n":
            if not end and not final and len(text) - at < markup.FENCE_WINDOW:
                return _HOLD
            if fence := markup.FENCE_END.match(text, at):
                self._skip = None
                self._new_line = True
                return fence.end()
        return end or len(text)

    _LINES: ClassVar[tuple[tuple[re.Pattern[str], _Take], ...]] = (
        (markup.BLANK, _break),
        (markup.FENCE, _fence),
        (markup.RULE, _break),
        (markup.TABLE_RULE, _break),
        (markup.TABLE_ROW, _row),
        (markup.HEADING, _heading),
        (markup.BULLET, _bullet),
        (markup.NUMBER, _number),
        (markup.QUOTE, _quote),
    )
    _MARKS: ClassVar[dict[str, _Read]] = {
        "\n": _newline,
        "*": _emphasize,
        "_": _emphasize,
        "~": _emphasize,
        "`": _ticks,
        "[": _bracket,
        "]": _bracket_end,
        "!": _exclamation,
        "<": _angle,
        "&": _ampersand,
        "\\": _escape,
        "|": _cell,
        "\u3010": _lens,
    }
