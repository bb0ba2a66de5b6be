"""White space and pauses around removed parts."""

from typing import Final

from ...regex import lazy_regex

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
        """Start without any text."""
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
        """Remember white space, within bounds."""
        if len(self._space) < _MAX_SPACE:
            self._space = (self._space + space)[:_MAX_SPACE]

    def _joint(self, following: str) -> str:
        """Return the separator between the text so far and the next character."""
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
        """Return whether two words would become one."""
        last = self.last[-1]
        words = following.isalnum() and (last.isalnum() or last in _ENDS or last in _QUOTES)
        return words and not (_WIDE.match(last) and _WIDE.match(following))

    def _pause(self) -> str:
        """Return the mark in the script of the text, or nothing if a pause is already written."""
        last = self.last[-1]
        if last in _ENDS or (last in _QUOTES and self.last[0] in _ENDS):
            return ""
        return _WIDE_MARKS[self._mark] if _WIDE.match(last) else self._mark
