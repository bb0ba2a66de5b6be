"""Requests to servers outside, for searches, REST and MCP: which hosts are reached, and how much is read."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Network, ip_address
import socket
from typing import Final, NamedTuple, override

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
    ThreadedResolver,
)
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict
from yarl import URL

from homeassistant.const import EVENT_HOMEASSISTANT_CLOSE
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_create_clientsession
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.ssl import client_context, client_context_no_verify

from ...const import DOMAIN
from ...errors import ToolExecutionError

LOCAL_ENDINGS: Final = (".local", ".lan", ".home", ".internal", ".localhost", ".home.arpa", ".fritz.box")
"""Names that no public server has, so that whoever writes one means a local device."""

TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that lead to the IPv4 address in their end."""

_SESSIONS: HassKey[dict[tuple[bool, bool], ClientSession]] = HassKey(f"{DOMAIN}.custom_tool_sessions")


class PrivateAddress(OSError):
    """A public name leads into the private network."""


def leads_home(err: BaseException | None) -> bool:
    """Return whether a request failed since a public name leads into the private network."""
    while err is not None:
        if isinstance(err, PrivateAddress):
            return True
        err = err.__cause__ or getattr(err, "os_error", None)
    return False


def is_private(address: str) -> bool:
    """Return whether an address is none of the internet's."""
    found = ip_address(address.partition("%")[0])
    if found in TRANSLATED:
        found = IPv4Address(int(found) & 0xFFFFFFFF)
    return not found.is_global or found.is_multicast


def is_local_name(host: str) -> bool:
    """Return whether a host as it is written can only be a device of the private network."""
    name = host.strip("[]").rstrip(".").casefold()
    try:
        return is_private(name)
    except ValueError:
        return "." not in name or name.endswith(LOCAL_ENDINGS)


def is_allowed(host: str, allowed: Iterable[str]) -> bool:
    """Return whether a list of hosts with wildcards has a host; an empty list has all."""
    patterns = [str(pattern).strip().casefold() for pattern in allowed]
    return not patterns or any(fnmatchcase(host.casefold(), pattern) for pattern in patterns)


class PublicResolver(AbstractResolver):
    """Resolves names at each connection and refuses those that lead into the private network."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses. Raises PrivateAddress if one of them is private."""
        found = await self._inner.resolve(host, port, family)
        if any(is_private(result["host"]) for result in found):
            raise PrivateAddress("a public name leads to a private address")
        return found

    @override
    async def close(self) -> None:
        await self._inner.close()


@callback
def async_session(hass: HomeAssistant, *, local: bool, verify_ssl: bool) -> ClientSession:
    """Return a session without cookies; `local` ones may reach the private network."""
    sessions = hass.data.setdefault(_SESSIONS, {})
    if (known := sessions.get((local, verify_ssl))) is not None:
        return known
    if local:
        # Over Home Assistant's own connections, which know local names.
        session = async_create_clientsession(
            hass, verify_ssl, auto_cleanup=False, cookie_jar=DummyCookieJar()
        )
    else:
        connector = TCPConnector(
            resolver=PublicResolver(),
            ssl=client_context() if verify_ssl else client_context_no_verify(),
            limit=20,
        )
        session = ClientSession(connector=connector, cookie_jar=DummyCookieJar())
    sessions[local, verify_ssl] = session

    async def close(_event: Event) -> None:
        if local:
            session.detach()
        else:
            await session.close()

    hass.bus.async_listen_once(EVENT_HOMEASSISTANT_CLOSE, close)
    return session


CONNECT: Final = ClientTimeout(total=None, sock_connect=10)
"""Whoever asks limits the time of the whole request."""
MAX_REDIRECTS: Final = 5
KEEPS_BODY: Final = frozenset({307, 308})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
CHARSETS: Final = frozenset(
    {"utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "latin-1", "windows-1252"}
)


class FetchError(ToolExecutionError):
    """A server gave no answer that can be read; the text names neither keys nor addresses."""

    def __init__(self, text: str, *, is_unreachable: bool = False) -> None:
        super().__init__(text)
        self.is_unreachable = is_unreachable


class Request(NamedTuple):
    """What is sent."""

    method: str
    url: str
    """Encoded already."""
    headers: dict[str, str]
    body: bytes | None = None


class HttpAnswer(NamedTuple):
    """What came back, decompressed."""

    status: int
    content_type: str
    charset: str
    content: bytes
    cut: bool
    """Whether there was more than the limit."""

    @property
    def text(self) -> str:
        """Return the content as text."""
        return self.content.decode(self.charset if self.charset in CHARSETS else "utf-8", "replace")


@asynccontextmanager
async def async_open(session: ClientSession, request: Request) -> AsyncIterator[ClientResponse]:
    """Send a request, again where its server redirects it, and yield the answer before it is read.

    The session decides which addresses are reached: see `async_session`. Raises FetchError, also for what
    goes wrong while the answer is read: errors of a connection hold addresses, which may hold keys.
    """
    try:
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
                location = response.headers.get("Location")
                if response.status not in REDIRECTS or not location:
                    yield response
                    return
                here = URL(request.url, encoded=True)
                target = here.join(URL(location))
                is_same = (target.scheme, target.host, target.port) == (here.scheme, here.host, here.port)
                defaults = here.is_default_port() and target.is_default_port()
                is_same |= defaults and target.host == here.host and target.scheme == "https"
                # With another status a body would have to be left out.
                if not is_same or (request.body is not None and response.status not in KEEPS_BODY):
                    raise FetchError("The server redirects to another place, which is not followed")
                request = request._replace(url=str(target.with_fragment(None)))
    except (ClientError, OSError, ValueError) as err:
        is_unreachable = isinstance(err, ClientError | OSError)
        if leads_home(err):
            text = "The server's name leads into the private network, which is not allowed for it"
        elif isinstance(err, ClientConnectorDNSError):
            text = "The server's name is not known"
        elif isinstance(err, ClientConnectorCertificateError):
            text = "The server's certificate is not valid"
        elif is_unreachable:
            text = f"The server cannot be reached, or broke off its answer ({type(err).__name__})"
        else:
            text = "The server's answer, or the request, is not valid HTTP"
        raise FetchError(text, is_unreachable=is_unreachable) from err
    raise FetchError("The server redirects in a circle")


async def read_pieces(response: ClientResponse, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield an answer in pieces; at most a little more than `max_bytes` in all."""
    left = max_bytes + 1
    async for piece in response.content.iter_chunked(65_536):
        yield piece
        left -= len(piece)
        if left <= 0:
            return


async def async_fetch(session: ClientSession, request: Request, max_bytes: int) -> HttpAnswer:
    """Send a request and read at most `max_bytes` of its answer. Raises FetchError."""
    async with async_open(session, request) as response:
        return await async_read(response, max_bytes)


async def async_read(response: ClientResponse, max_bytes: int) -> HttpAnswer:
    """Read at most `max_bytes` of an answer."""
    body = b"".join([piece async for piece in read_pieces(response, max_bytes)])
    return HttpAnswer(
        status=response.status,
        content_type=response.content_type.casefold(),
        charset=(response.charset or "utf-8").casefold(),
        content=body[:max_bytes],
        cut=len(body) > max_bytes,
    )
