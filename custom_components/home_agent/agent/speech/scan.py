"""Scanners that find the end of a block of text which arrives in pieces.

A scanner looks at each character once or, within a short window, a few times, and decides the same
however the text was cut.
"""

import re
from typing import Final, NamedTuple, Protocol

from ...regex import lazy

_WINDOW: Final = 48
"""Longest mark that may be cut at the end of a piece."""
_STARTS: Final = "<[\u25c1`"
_BRACKETS: Final = {"{": "}", "[": "]", "(": ")"}
_PROSE: Final = lazy(r"\n\s{0,8}[^\W\d_]{1,12},? [^\W\d_]")
"""A new line that begins with words: what stood before was JSON without its last bracket."""
_LINE_KEY: Final = lazy(r"\n[ \t]{0,8}(?:[-*][ \t]{1,4})?\w{1,20}[ \t]?[:=]")

_NAME_SIGNS: Final = "_.:-"
"""Stand in the name of a tool before its JSON."""


class ScanResult(NamedTuple):
    """What a scanner saw: the block's text goes on to `body`, reading goes on at `next`."""

    body: int
    next: int
    done: bool


class Scanner(Protocol):
    """Finds the end of a block."""

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on from `start`; `final` says that nothing more will come."""


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


_QUOTED: Final = {'"': lazy(r'["\\]'), "'": lazy(r"['\\\n]")}


class TaggedCall:
    """A call behind a tag: ends with the closing tag, or where its JSON ends and prose begins."""

    def __init__(self, close: re.Pattern[str]) -> None:
        """Remember the closing tag."""
        self._close = close
        self._json: Balanced | None = None
        self._ended = False
        """At least one JSON value was read."""
        self._tag_only = False
        """The body is not JSON, so nothing but the tag ends it."""

    def scan(self, text: str, start: int, *, final: bool) -> ScanResult:
        """Read on until the tag or the end of the JSON."""
        mark = self._close.search(text, start)
        limit = mark.start() if mark else len(text) if final else _safe_end(text, start)
        closed = final or mark is not None
        at = start
        while at < limit and not self._tag_only:
            if self._json is None:
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
