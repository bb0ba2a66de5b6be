"""One HTTP request of a custom tool: bounded in size, with redirects to the same place only."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
)
from yarl import URL

from homeassistant.helpers.redact import REDACTED

from ...errors import ToolExecutionError
from ...regex import lazy
from ..hosts import leads_home
from ..unpacking import Packed, unpacker

MAX_BYTES: Final = 1_000_000
MAX_REDIRECTS: Final = 5
MAX_DEPTH: Final = 100
MOVED: Final = frozenset({301, 302})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
FORBIDDEN_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"}
)
HEADER = lazy(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
CONTROL = lazy(r"[\x00-\x1f\x7f]+")
SHORTEST_SECRET: Final = 6
_CHARSETS: Final = frozenset(
    {"utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "latin-1", "windows-1252"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, `MAX_BYTES` of it at most."""

    status: int
    content_type: str
    text: str
    cut: bool


async def async_send(session: ClientSession, request: Request) -> Answer:
    """Send a request and read its answer.

    Raises ToolExecutionError in words that name neither keys nor addresses.
    """
    try:
        for _ in range(MAX_REDIRECTS + 1):
            async with session.request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                data=request.body,
                allow_redirects=False,
                timeout=ClientTimeout(total=None, sock_connect=10),
            ) as response:
                if (target := _redirected(request, response)) is None:
                    return await _async_read(response)
                request = target
    except (ClientError, OSError, ValueError) as err:
        raise ToolExecutionError(words_of(err)) from err
    raise ToolExecutionError("The server redirects in a circle")


def _redirected(request: Request, response: ClientResponse) -> Request | None:
    """Return the request that a redirect asks for; None for an answer.

    Raises ToolExecutionError for one that leads to another scheme, host or port.
    """
    location = response.headers.get("Location")
    if response.status not in REDIRECTS or not location:
        return None
    here = URL(request.url, encoded=True)
    target = here.join(URL(location))
    if target.scheme not in ("http", "https") or target.origin() != here.origin():
        raise ToolExecutionError("The server redirects to another place, which is not followed")
    url = str(target.with_fragment(None))
    if response.status == HTTPStatus.SEE_OTHER or (response.status in MOVED and request.method == "POST"):
        kept = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
        return Request(method="GET", url=url, headers=kept)
    return replace(request, url=url)


async def _async_read(response: ClientResponse) -> Answer:
    """Return the answer as text, cut at the limit, however small it was packed."""
    unpack = unpacker(response.headers)
    body = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        body += unpack(chunk, MAX_BYTES + 1 - len(body))
        if len(body) > MAX_BYTES:
            break
    charset = (response.charset or "utf-8").casefold()
    return Answer(
        status=response.status,
        content_type=response.content_type.casefold(),
        text=body[:MAX_BYTES].decode(charset if charset in _CHARSETS else "utf-8", "replace"),
        cut=len(body) > MAX_BYTES,
    )


def words_of(err: Exception) -> str:
    """Return what went wrong; the errors' own texts hold addresses, and addresses may hold keys."""
    if leads_home(err):
        return "The server's name leads into the private network, which is not allowed for it"
    match err:
        case Packed():
            return "The server packs its answer in a way that is not read"
        case ClientConnectorDNSError():
            return "The server's name is not known"
        case ClientConnectorCertificateError():
            return "The server's certificate is not valid"
        case ClientError() | OSError():
            return f"The server cannot be reached, or broke off its answer ({type(err).__name__})"
    return "The server's answer, or the request, is not valid HTTP"


def without_keys(value: Any, secrets: set[str], depth: int = MAX_DEPTH) -> Any:
    """Return an answer without the keys that were sent; some servers send them back.

    Raises ToolExecutionError for one that is nested too deeply.
    """
    if not depth:
        raise ToolExecutionError("The server's answer is nested too deeply")
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= SHORTEST_SECRET:
                value = value.replace(secret, REDACTED)
        return value
    if isinstance(value, list):
        return [without_keys(item, secrets, depth - 1) for item in value]
    if isinstance(value, dict):
        return {
            without_keys(key, secrets): without_keys(item, secrets, depth - 1) for key, item in value.items()
        }
    return value
