"""Which hosts a tool may reach: those that it names, public ones unless it names a local one itself."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
import socket
from typing import Final, override

from aiohttp import ClientSession, DummyCookieJar, TCPConnector, ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from homeassistant.const import EVENT_HOMEASSISTANT_CLOSE
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_create_clientsession
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.ssl import client_context, client_context_no_verify

from ...const import DOMAIN

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
    found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    elif found in TRANSLATED:
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
        """Release what was used."""
        await self._inner.close()


@callback
def async_session(hass: HomeAssistant, *, local: bool, verify_ssl: bool) -> ClientSession:
    """Return a session without cookies; `local` ones may reach the private network."""
    sessions = hass.data.setdefault(_SESSIONS, {})
    if (session := sessions.get((local, verify_ssl))) is None:
        session = _local_session(hass, verify_ssl) if local else _public_session(hass, verify_ssl)
        sessions[local, verify_ssl] = session
    return session


def _local_session(hass: HomeAssistant, verify_ssl: bool) -> ClientSession:
    """Return a session over Home Assistant's own connections, which know local names."""
    session = async_create_clientsession(
        hass, verify_ssl, auto_cleanup=False, cookie_jar=DummyCookieJar(), auto_decompress=False
    )

    @callback
    def close(_event: Event) -> None:
        session.detach()

    hass.bus.async_listen_once(EVENT_HOMEASSISTANT_CLOSE, close)
    return session


def _public_session(hass: HomeAssistant, verify_ssl: bool) -> ClientSession:
    """Return a session that reaches public addresses only."""
    connector = TCPConnector(
        resolver=PublicResolver(),
        ssl=client_context() if verify_ssl else client_context_no_verify(),
        limit=20,
    )
    session = ClientSession(connector=connector, cookie_jar=DummyCookieJar(), auto_decompress=False)

    async def close(_event: Event) -> None:
        await session.close()

    hass.bus.async_listen_once(EVENT_HOMEASSISTANT_CLOSE, close)
    return session
