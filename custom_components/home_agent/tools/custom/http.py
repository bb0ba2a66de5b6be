"""One HTTP request of a custom tool: bounded in size, with redirects to the same place only."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
import re
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
)
import probatio
from yarl import URL

from homeassistant.core import HomeAssistant
from homeassistant.helpers.redact import REDACTED
from homeassistant.helpers.template import is_template_string

from ...errors import ToolExecutionError
from ...regex import lazy_regex
from ..outside.hosts import async_session, is_local_name, leads_home
from ..outside.unpacking import Packed, unpacker
from .checks import TEXT, Templates, Text, Variables

MAX_URL: Final = 8_000
_EXPRESSION = lazy_regex(r"(\{\{.*?(?:\}\}|\Z))", re.DOTALL)
_ORIGIN = lazy_regex(r"(https?)://([^/?#{}\s\\]+)(?=[/?]|$)", re.IGNORECASE)
_LITERAL = "/:?[]@!$&'()*+,;=%-._~"
_SEPARATORS = lazy_regex(r"[/\\]")
MAX_BYTES: Final = 1_000_000
MAX_REDIRECTS: Final = 5
MAX_DEPTH: Final = 100
MOVED: Final = frozenset({301, 302})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
FORBIDDEN_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"}
)
HEADER = lazy_regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
CONTROL = lazy_regex(r"[\x00-\x1f\x7f]+")
SHORTEST_SECRET: Final = 6


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """An address in parts: what was written, and templates whose values are encoded."""

    parts: tuple[str | Text, ...]
    host: str

    def build(self, variables: Variables) -> str:
        """Return the address. Raises ToolExecutionError for a value that would lead elsewhere."""
        done = ""
        for part in self.parts:
            done += part if isinstance(part, str) else self._value(part, variables, in_query="?" in done)
        if len(done) > MAX_URL:
            raise ToolExecutionError("The arguments are too long for an address")
        return done

    def _value(self, part: Text, variables: Variables, *, in_query: bool) -> str:
        value = part.render(variables)
        if not in_query:
            segments = _SEPARATORS.split(_unquoted(value))
            if not value or any(segment.strip() in (".", "..") for segment in segments):
                shown = "is empty" if not value else "may not hold . or .. as a part of a path"
                raise ToolExecutionError(f"The value for {part.path} {shown}. Change the arguments")
        return quote(value, safe="", errors="replace")


def _unquoted(value: str) -> str:
    """Return a value decoded until it no longer changes, at most five times."""
    for _ in range(5):
        if (plain := unquote(value)) == value:
            break
        value = plain
    return value


def read_url(source: str, templates: Templates, key: str = "url") -> UrlTemplate:
    """Return an address that was checked."""
    parts = tuple(
        templates.text(part, key) if index % 2 else quote(part, safe=_LITERAL)
        for index, part in enumerate(_EXPRESSION.split(source))
        if part
    )
    return UrlTemplate(parts, (URL(_EXPRESSION.sub("x", source)).host or "").casefold())


def _address(value: str) -> str:
    """Check an address whose path and query may hold templates."""
    source = value.strip()
    literals = _EXPRESSION.split(source)
    origin, written = _ORIGIN.match(literals[0]), "".join(literals[::2])
    if origin is None or (len(literals) > 1 and origin.end() == len(literals[0])):
        raise probatio.Invalid("must begin with scheme, host and / as plain text")
    if is_template_string(written) or "}}" in written:
        raise probatio.Invalid("only closed {{ }} templates are supported")
    if "@" in origin[2]:
        raise probatio.Invalid("no user name and password here: write them under auth, type basic")
    path = unquote(written).partition("?")[0]
    if "#" in written or any(segment in (".", "..") for segment in path.split("/")):
        raise probatio.Invalid("no #, and no . or .. as a part of the path")
    try:
        url = URL(_EXPRESSION.sub("x", source))
        is_complete = bool(url.host) and url.port is not None
    except ValueError:
        is_complete = False
    if not is_complete:
        raise probatio.Invalid("not an address")
    return source


def _fixed(value: str) -> str:
    if is_template_string(value):
        raise probatio.Invalid("no templates here")
    return quote(value, safe=_LITERAL)


ADDRESS: Final = probatio.All(TEXT, _address)
FIXED_ADDRESS: Final = probatio.All(ADDRESS, _fixed)


def header_name(refused: Collection[str]) -> Callable[[str], str]:
    """Return the check of a header's name."""

    def check(name: str) -> str:
        if not HEADER.fullmatch(name) or name.lower() in refused:
            raise probatio.Invalid("this header cannot be set")
        return name

    return check


@dataclass(frozen=True, slots=True)
class Connection:
    """How a tool reaches its servers."""

    timeout: float
    verify_ssl: bool
    private_network: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Connection:
        """Return the connection of a handler."""
        return cls(config["timeout"], config["verify_ssl"], config["private_network"])

    def session(self, hass: HomeAssistant, host: str) -> ClientSession:
        """Return a session; private addresses are reached only if the configuration names them."""
        local = self.private_network or is_local_name(host)
        return async_session(hass, local=local, verify_ssl=self.verify_ssl)

    @asynccontextmanager
    async def in_time(self, server: str) -> AsyncIterator[None]:
        """Do something within the time limit. Raises ToolExecutionError after it."""
        try:
            async with asyncio.timeout(self.timeout) as limit:
                yield
        except TimeoutError as err:
            if not limit.expired():
                raise
            raise ToolExecutionError(f"The {server} did not answer within {self.timeout:g} s") from err


def connection_schema(seconds: float, most: int) -> dict[probatio.Marker, Any]:
    """Return the keys of a connection; `seconds` is its usual time limit."""
    return {
        probatio.Optional("timeout", default=seconds): probatio.All(
            probatio.Coerce(float), probatio.Range(min=1, max=most)
        ),
        probatio.Optional("verify_ssl", default=True): bool,
        probatio.Optional("private_network", default=False): bool,
    }


def with_query(url: str, pairs: list[tuple[str, str]]) -> str:
    """Return an address with more parameters."""
    if not pairs:
        return url
    added = urlencode(pairs, quote_via=quote, safe="", errors="replace")
    return f"{url}{'&' if '?' in url else '?'}{added}"


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
class HttpAnswer:
    """What came back, `MAX_BYTES` of it at most."""

    status: int
    content_type: str
    text: str
    cut: bool


async def async_send(session: ClientSession, request: Request) -> HttpAnswer:
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
        raise ToolExecutionError(error_message(err)) from err
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


async def _async_read(response: ClientResponse) -> HttpAnswer:
    unpack = unpacker(response.headers)
    body = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        body += unpack(chunk, MAX_BYTES + 1 - len(body))
        if len(body) > MAX_BYTES:
            break
    charset = (response.charset or "utf-8").casefold()
    return HttpAnswer(
        status=response.status,
        content_type=response.content_type.casefold(),
        text=body[:MAX_BYTES].decode(charset if charset in _CHARSETS else "utf-8", "replace"),
        cut=len(body) > MAX_BYTES,
    )


def error_message(err: Exception) -> str:
    """Return a message for an error; the errors' own texts contain addresses, which may contain keys."""
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
