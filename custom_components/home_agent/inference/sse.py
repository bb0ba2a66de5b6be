"""Reads the JSON objects of a body as they arrive: server-sent events, JSON lines or one document.

Servers differ in where they put spaces, line ends, comments and blank lines, and several label one format as
another. The lines themselves tell which it is: `data:` is an event, everything else that is not a field of an
event is JSON. Memory is bounded by the longest line and by the whole body.
"""

import json
from typing import Any, Final

import orjson

from ..regex import lazy_regex

LINE_BYTES: Final = 2 * 1024 * 1024
BODY_BYTES: Final = 32 * 1024 * 1024
QUOTED_BYTES: Final = 80

DONE: Final = object()
"""What `feed` returns in place of an object for `[DONE]`."""

_NEWLINE: Final = 0x0A
_RETURN: Final = 0x0D
_TOO_LONG: Final = "a line of the answer is too long"
_DONE_MARK: Final = b"[DONE]"
_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = lazy_regex(rb"[\r\n]")
_FIELD: Final = lazy_regex(rb"(?:event|id|retry)\s*:|:")


class _NotJSONError(Exception):
    """The body is not an answer of a model server; contains the problem and the beginning of the body."""

    def __init__(self, problem: str, beginning: bytes = b"") -> None:
        super().__init__(problem)
        self.problem = problem
        self.quote = beginning[:QUOTED_BYTES].decode("utf-8", "replace")


def parse(data: bytes | bytearray) -> Any:
    """Return decoded JSON, tolerating invalid characters; ValueError if it is not JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError("nested too deeply") from None


class JSONReader:
    """Takes bytes in pieces of any size and returns objects as soon as they are whole.

    `failure` says why nothing can be read any more, and `quote` shows the place; what came before has been
    returned.
    """

    def __init__(self, *, line_bytes: int = LINE_BYTES, body_bytes: int = BODY_BYTES) -> None:
        self._line_bytes = line_bytes
        self._left = body_bytes
        self.failure: str | None = None
        self.quote = ""
        self._buffer = bytearray()
        self._scanned = 0
        self._pending = bytearray()
        self._is_event = False
        self._started = False
        self._skip_newline = False

    @property
    def empty(self) -> bool:
        """Tell whether there were only white space and comments so far."""
        return not self._started

    def feed(self, chunk: bytes) -> list[Any]:
        """Return the objects that are whole now."""
        found: list[Any] = []
        if self.failure is None:
            try:
                self._feed(chunk, found)
            except _NotJSONError as err:
                self.failure, self.quote = err.problem, err.quote
        return found

    def close(self) -> list[Any]:
        """Return the data of an unterminated last line."""
        found: list[Any] = []
        if self.failure is None:
            try:
                self._line(bytes(self._buffer), found)
                if self._pending:
                    self._try(found, last=True)
            except _NotJSONError as err:
                self.failure, self.quote = err.problem, err.quote
        self._buffer.clear()
        return found

    def _feed(self, chunk: bytes, found: list[Any]) -> None:
        self._left -= len(chunk)
        if self._left < 0:
            raise _NotJSONError("the answer is too large")
        buffer = self._buffer
        buffer += chunk
        start = 0
        while match := _LINE_END.search(buffer, max(self._scanned, start)):
            end = match.start()
            if not (self._skip_newline and end == start and buffer[end] == _NEWLINE):
                self._line(bytes(buffer[start:end]), found)
            self._skip_newline = buffer[end] == _RETURN
            start = end + 1
        del buffer[:start]
        self._scanned = len(buffer)
        if self._scanned > self._line_bytes:
            raise _NotJSONError(_TOO_LONG)

    def _line(self, line: bytes, found: list[Any]) -> None:
        """Take one line without its end."""
        text = line.strip()
        if not self._started:
            text = text.removeprefix(_BOM)
        if text.startswith(b"data:"):
            self._event(text[5:].removeprefix(b" "), found)
        elif not text:
            if self._is_event and self._pending:
                self._try(found, last=True)
        elif not _FIELD.match(text):
            self._json(line, text, found)

    def _event(self, data: bytes, found: list[Any]) -> None:
        """Take the data of an event: mostly a whole object on one line, often without a blank one."""
        if data == _DONE_MARK:
            self._started = True
            found.append(DONE)
        elif self._pending or data.startswith((b"{", b"[")):
            self._is_event = True
            self._take(data, found)
        elif data and not data.startswith(b":"):
            raise _NotJSONError("not JSON", data)

    def _json(self, line: bytes, text: bytes, found: list[Any]) -> None:
        """Take a line of bare JSON: a whole object, or a part of one that is written over several lines."""
        if text == _DONE_MARK:
            found.append(DONE)
        elif self._pending or text.startswith((b"{", b"[")):
            self._take(line, found)
        else:
            if text.startswith(b"<"):
                raise _NotJSONError("not JSON: a web page")
            raise _NotJSONError("not JSON", text)

    def _take(self, line: bytes, found: list[Any]) -> None:
        """Add a line to what is pending; only a line that may end an object is worth a try."""
        self._started = True
        first = not self._pending
        self._pending += line if first else b"\n" + line
        if len(self._pending) > self._line_bytes:
            raise _NotJSONError(_TOO_LONG)
        if first or line.startswith((b"}", b"]")):
            self._try(found)

    def _try(self, found: list[Any], *, last: bool = False) -> None:
        try:
            found.append(parse(self._pending))
        except ValueError:
            if not last:
                return
            start = bytes(self._pending)
            self._pending.clear()
            raise _NotJSONError("broken JSON", start) from None
        self._pending.clear()
