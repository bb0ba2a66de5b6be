"""HTTP with deadlines on every wait, and every failure as a ModelServerError."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
import json
import ssl
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from multidict import CIMultiDict
import orjson
from yarl import URL

from ..regex import lazy_regex
from .dialects.base import ServerRequest, malformed, parse_address
from .models import Endpoint, ErrorKind, ModelServerError, from_answer, retry_seconds, shorten

LINE_BYTES: Final = 2 * 1024 * 1024
BODY_BYTES: Final = 32 * 1024 * 1024
QUOTED_BYTES: Final = 80

DONE: Final = object()
"""What `feed` returns in place of an object for `[DONE]`."""

_TOO_LONG: Final = "a line of the answer is too long"
_DONE_MARK: Final = b"[DONE]"
_BOM: Final = b"\xef\xbb\xbf"
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

    @property
    def empty(self) -> bool:
        """Tell whether there were only white space and comments so far."""
        return not self._started

    def feed(self, chunk: bytes) -> list[Any]:
        """Return the objects that are whole now."""
        objects: list[Any] = []
        if self.failure is None:
            try:
                self._feed(chunk, objects)
            except _NotJSONError as err:
                self.failure, self.quote = err.problem, err.quote
        return objects

    def close(self) -> list[Any]:
        """Return the data of an unterminated last line."""
        objects: list[Any] = []
        if self.failure is None:
            try:
                self._line(bytes(self._buffer), objects)
                if self._pending:
                    self._try(objects, last=True)
            except _NotJSONError as err:
                self.failure, self.quote = err.problem, err.quote
        self._buffer.clear()
        return objects

    def _feed(self, chunk: bytes, found: list[Any]) -> None:
        self._left -= len(chunk)
        if self._left < 0:
            raise _NotJSONError("the answer is too large")
        buffer = self._buffer
        buffer += chunk
        start = 0
        while (end := buffer.find(b"\n", max(self._scanned, start))) >= 0:
            self._line(bytes(buffer[start:end]), found)
            start = end + 1
        del buffer[:start]
        self._scanned = len(buffer)
        if self._scanned > self._line_bytes:
            raise _NotJSONError(_TOO_LONG)

    def _line(self, line: bytes, found: list[Any]) -> None:
        text = line.strip()
        if not self._started:
            text = text.removeprefix(_BOM)
        if text.startswith(b"data:"):
            self._event(text[5:].removeprefix(b" "), found)
        elif not text:
            if self._is_event and self._pending:
                self._try(found, last=True)
        elif text == _DONE_MARK:
            found.append(DONE)
        elif not _FIELD.match(text):
            # Bare JSON: a whole object, or a part of one that is written over several lines.
            if not self._pending and not text.startswith((b"{", b"[")):
                is_page = text.startswith(b"<")
                raise _NotJSONError("not JSON: a web page") if is_page else _NotJSONError("not JSON", text)
            self._take(line, found)

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


ERROR_BYTES: Final = 16 * 1024
DOCUMENT_BYTES: Final = 64 * 1024 * 1024
DOCUMENT_IDLES: Final = 5
"""How many times the limit of one pause a whole document may take."""
_PARSED_ASIDE: Final = 256 * 1024
_OURS: Final = ("content-length", "content-type", "transfer-encoding", "host", "accept-encoding")


class Transport:
    """Sends requests to one endpoint."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        endpoint: Endpoint,
        *,
        connect_timeout: float,
        first_byte_timeout: float,
        idle_timeout: float,
    ) -> None:
        self._session = session
        self._extra = dict(endpoint.headers)
        with suppress(ValueError):  # user and password of an address; a key comes before them
            url = parse_address(endpoint.base_url)
            if not endpoint.api_key.strip() and (url.user or url.password):
                pair = f"{url.user or ''}:{url.password or ''}".encode()
                self._extra = {"Authorization": f"Basic {b64encode(pair).decode()}", **self._extra}
        self.first_byte_timeout = first_byte_timeout
        self.idle_timeout = idle_timeout
        self._timeout = aiohttp.ClientTimeout(
            total=None, connect=connect_timeout, sock_connect=connect_timeout
        )
        self._may_be_kept = False
        self._keyless = not endpoint.api_key.strip() and not self._extra
        self.secrets = tuple(_secrets(endpoint))

    @asynccontextmanager
    async def open(
        self, call: ServerRequest, headers: Mapping[str, str]
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send a request and yield its answer; what is not read to its end is closed."""
        try:
            async with asyncio.timeout(self.first_byte_timeout):
                response = await self._send(call, self._headers(call, headers))
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError, AttributeError) as err:
            # Some exceptions quote address or headers.
            raise failure(err, self.secrets) from (None if isinstance(err, ValueError) else err)
        try:
            yield response
        finally:
            response.release()

    async def _send(self, call: ServerRequest, headers: CIMultiDict[str]) -> aiohttp.ClientResponse:
        """Send a request, once more if the connection was a kept one that the server has closed meanwhile."""
        data = None if call.body is None else encode(call.body)

        while True:
            try:
                response = await self._session.request(
                    "GET" if data is None else "POST",
                    call.url,
                    data=data,
                    headers=headers,
                    timeout=self._timeout,
                    allow_redirects=False,
                )
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as err:
                if not self._may_be_kept or isinstance(err, aiohttp.ClientConnectorError):
                    raise
                self._may_be_kept = False
            else:
                self._may_be_kept = True
                return response

    async def chunk(self, response: aiohttp.ClientResponse, seconds: float) -> bytes:
        """Return the next data, within so many seconds; empty at the end of the body."""
        try:
            async with asyncio.timeout(seconds):
                return await response.content.readany()
        except (aiohttp.ClientError, OSError) as err:
            raise failure(err, self.secrets) from err

    async def drain(self, response: aiohttp.ClientResponse) -> None:
        """Read the end of a body, so that the connection can be used again."""
        with suppress(aiohttp.ClientError, OSError):
            async with asyncio.timeout(0.05):
                while await response.content.readany():
                    pass

    async def json(self, call: ServerRequest, headers: Mapping[str, str]) -> Any:
        """Return the decoded answer to a request. Raises ModelServerError."""
        async with self.open(call, headers) as response:
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                error, _ = await self.explain(response)
                raise error
            body = await self._read(response, DOCUMENT_BYTES)
        try:
            if len(body) > _PARSED_ASIDE:
                return await asyncio.get_running_loop().run_in_executor(None, parse, body)
            return parse(body)
        except ValueError:
            kind = "a web page" if body.lstrip().startswith(b"<") else "no JSON"
            raise malformed(f"the server answered with {kind}") from None

    async def explain(self, response: aiohttp.ClientResponse) -> tuple[ModelServerError, Any]:
        """Return the error that a refusal means, and its decoded body."""
        if response.status < HTTPStatus.BAD_REQUEST:
            target = response.headers.get("location", "").partition("?")[0]
            detail = shorten(
                f"{response.status}: the server redirects to {target}; set that address", self.secrets
            )
            return ModelServerError(ErrorKind.BAD_REQUEST, detail, status=response.status), None
        body = b""
        with suppress(ModelServerError):
            body = await self._read(response, ERROR_BYTES, cut=True)
        answer: Any
        try:
            answer = parse(body)
        except ValueError:
            text = body.decode("utf-8", "replace")
            answer = {"error": f"a web page ({response.reason})" if text.lstrip().startswith("<") else text}
        retry_after = retry_seconds(response.headers)
        error = from_answer(response.status, answer, secrets=self.secrets, retry_after=retry_after)
        error.keyless = self._keyless
        return error, answer

    async def _read(self, response: aiohttp.ClientResponse, limit: int, *, cut: bool = False) -> bytes:
        """Return a body of bounded size, in bounded time; the rest is an error, or is cut off."""
        body = bytearray()
        now = asyncio.get_running_loop().time
        until = now() + DOCUMENT_IDLES * self.idle_timeout
        while chunk := await self.chunk(response, max(0.0, min(self.idle_timeout, until - now()))):
            body += chunk
            if now() > until:
                raise failure(TimeoutError(), self.secrets)
            if len(body) > limit:
                if cut:
                    break
                raise malformed("the answer is too large")
        return bytes(body[:limit])

    def _headers(self, call: ServerRequest, headers: Mapping[str, str]) -> CIMultiDict[str]:
        """Return the headers of a request; those the user added win over the key."""
        merged = CIMultiDict({"Accept-Encoding": "identity", **headers})
        if call.body is not None:
            merged["Content-Type"] = "application/json"
        for name, value in self._extra.items():
            if name.strip().lower() not in _OURS:
                merged[name.strip()] = value.strip()
        return merged


def encode(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON, whatever a template or an attribute put into it."""
    try:
        return orjson.dumps(body, default=_plain)
    except TypeError:  # half characters, keys that are no text, numbers of more than 64 bits
        return json.dumps(body, default=_plain, ensure_ascii=False).encode("utf-8", "replace")


def _plain(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, (set, frozenset)) else str(value)


class _TooLargeError(ValueError):
    """A body is larger than its reader takes."""


async def fetch(
    session: aiohttp.ClientSession,
    method: str,
    url: URL,
    *,
    data: bytes | None,
    headers: Mapping[str, str],
    connect_seconds: float,
    most: int,
) -> tuple[aiohttp.ClientResponse, bytes]:
    """Return the answer of a server and its body, of at most so many bytes; redirects are not followed.

    `failure` tells what the exceptions mean that this raises.
    """
    timeout = aiohttp.ClientTimeout(total=None, connect=connect_seconds)
    async with session.request(
        method, url, data=data, headers=headers, timeout=timeout, allow_redirects=False
    ) as response:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > most:
                raise _TooLargeError
        return response, bytes(body)


# In this order: the first class an exception is of decides.
_FAILURES: Final[tuple[tuple[tuple[type[Exception], ...], ErrorKind, str], ...]] = (
    (
        (aiohttp.ConnectionTimeoutError,),
        ErrorKind.TIMEOUT,
        "the server does not accept the connection in time",
    ),
    ((TimeoutError,), ErrorKind.TIMEOUT, "the server does not answer in time"),
    (
        (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError, ssl.SSLError),
        ErrorKind.UNAVAILABLE,
        "no secure connection to the server: is its certificate trusted?",
    ),
    ((aiohttp.ClientConnectorDNSError,), ErrorKind.UNAVAILABLE, "the server's name is not known"),
    ((aiohttp.ClientConnectorError,), ErrorKind.UNAVAILABLE, "cannot connect to the server"),
    ((aiohttp.InvalidURL,), ErrorKind.BAD_REQUEST, "the server's address is not valid"),
    ((aiohttp.ClientResponseError,), ErrorKind.MALFORMED, "the server does not speak HTTP"),
    ((aiohttp.ClientError, OSError), ErrorKind.UNAVAILABLE, "the connection to the server broke"),
    ((_TooLargeError,), ErrorKind.MALFORMED, "the answer is too large"),
    ((ValueError,), ErrorKind.BAD_REQUEST, "address, key or headers hold characters that cannot be sent"),
)


def failure(err: Exception, secrets: Iterable[str]) -> ModelServerError:
    """Return the error for an exception of the HTTP client."""
    kind, detail = next(
        ((kind, detail) for classes, kind, detail in _FAILURES if isinstance(err, classes)),
        (ErrorKind.UNAVAILABLE, "the connection is closed"),
    )
    if isinstance(err, aiohttp.ClientConnectorError):
        detail = f"{detail} at {err.host}:{err.port}"
    return ModelServerError(kind, shorten(detail, secrets))


def _secrets(endpoint: Endpoint) -> Iterable[str]:
    """Yield everything of an endpoint that must never be shown."""
    values = [endpoint.api_key.strip(), *endpoint.headers.values()]
    values += [part for value in values for part in value.split()]
    user_info = endpoint.base_url.partition("://")[2].rpartition("@")[0]
    values += [part for part in (user_info, *user_info.split(":")) if part]
    for value in values:
        yield value
        yield quote(value, safe="")
