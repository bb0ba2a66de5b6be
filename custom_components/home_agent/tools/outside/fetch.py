"""One HTTP request to a server outside: its answer is bounded, and redirects stay on the same server."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final
import zlib

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
)
from multidict import CIMultiDict
from yarl import URL

from ...errors import ToolExecutionError
from .hosts import leads_home

CONNECT: Final = ClientTimeout(total=None, sock_connect=10)
"""Whoever asks limits the time of the whole request."""
MAX_REDIRECTS: Final = 5
MOVED: Final = frozenset({301, 302})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
CHARSETS: Final = frozenset(
    {"utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "latin-1", "windows-1252"}
)


class FetchError(ToolExecutionError):
    """A server gave no answer that can be read; the text names neither keys nor addresses."""

    def __init__(self, text: str, *, is_unreachable: bool = False) -> None:
        super().__init__(text)
        self.is_unreachable = is_unreachable


class Packed(ValueError):
    """An answer is packed in a way that is not read, or is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent."""

    method: str
    url: str
    """Encoded already."""
    headers: dict[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What came back, decompressed."""

    status: int
    headers: Mapping[str, str]
    content_type: str
    charset: str
    content: bytes
    cut: bool
    """Whether there was more than the limit."""

    @property
    def text(self) -> str:
        """Return the content as text."""
        return self.content.decode(self.charset if self.charset in CHARSETS else "utf-8", "replace")


async def async_fetch(session: ClientSession, request: Request, max_bytes: int) -> HttpAnswer:
    """Send a request and read at most `max_bytes` of its answer. Raises FetchError.

    The session decides which addresses are reached: see `hosts.async_session`.
    """
    with plain_errors():
        for _ in range(MAX_REDIRECTS + 1):
            headers = CIMultiDict({"Accept-Encoding": "identity"})
            headers.update(request.headers)
            async with session.request(
                request.method,
                URL(request.url, encoded=True),
                headers=headers,
                data=request.body,
                allow_redirects=False,
                timeout=CONNECT,
            ) as response:
                if (target := _redirected(request, response)) is None:
                    return await _async_read(response, max_bytes)
                request = target
    raise FetchError("The server redirects in a circle")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors of a connection into FetchError; their own texts hold addresses, which may hold keys."""
    try:
        yield
    except (ClientError, OSError, ValueError) as err:
        if leads_home(err):
            text = "The server's name leads into the private network, which is not allowed for it"
            raise FetchError(text) from err
        match err:
            case Packed():
                text = "The server packs its answer in a way that is not read"
            case ClientConnectorDNSError():
                text = "The server's name is not known"
            case ClientConnectorCertificateError():
                text = "The server's certificate is not valid"
            case ClientError() | OSError():
                text = f"The server cannot be reached, or broke off its answer ({type(err).__name__})"
            case _:
                text = "The server's answer, or the request, is not valid HTTP"
        raise FetchError(text, is_unreachable=isinstance(err, ClientError | OSError)) from err


def _redirected(request: Request, response: ClientResponse) -> Request | None:
    """Return the request that a redirect asks for; None for an answer.

    Raises FetchError for one that leads to another server.
    """
    location = response.headers.get("Location")
    if response.status not in REDIRECTS or not location:
        return None
    here = URL(request.url, encoded=True)
    target = here.join(URL(location))
    is_upgrade = (
        target.host == here.host
        and (here.scheme, target.scheme) == ("http", "https")
        and here.is_default_port()
        and target.is_default_port()
    )
    if target.scheme not in ("http", "https") or not (is_upgrade or target.origin() == here.origin()):
        raise FetchError("The server redirects to another place, which is not followed")
    url = str(target.with_fragment(None))
    if response.status == HTTPStatus.SEE_OTHER or (response.status in MOVED and request.method == "POST"):
        kept = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
        return Request(method="GET", url=url, headers=kept)
    return replace(request, url=url)


async def _async_read(response: ClientResponse, max_bytes: int) -> HttpAnswer:
    unpack = _unpacker(response.headers)
    body = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        body += unpack(chunk, max_bytes + 1 - len(body))
        if len(body) > max_bytes:
            break
    return HttpAnswer(
        status=response.status,
        headers=response.headers,
        content_type=response.content_type.casefold(),
        charset=(response.charset or "utf-8").casefold(),
        content=bytes(body[:max_bytes]),
        cut=len(body) > max_bytes,
    )


def _unpacker(headers: Mapping[str, str]) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses a chunk up to a limit; servers pack what nobody asked them to."""
    encoding = headers.get("Content-Encoding", "identity").strip().casefold()
    if encoding == "identity":
        return lambda chunk, _most: chunk
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise Packed(encoding)
    inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    def unpack(chunk: bytes, most: int) -> bytes:
        try:
            return inner.decompress(chunk, most)
        except zlib.error as err:
            raise Packed(encoding) from err

    return unpack
