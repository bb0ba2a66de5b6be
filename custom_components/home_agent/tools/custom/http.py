"""Where a custom tool sends its requests: addresses with templates, and connections."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
import re
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from aiohttp import ClientSession
import probatio
from yarl import URL

from homeassistant.core import HomeAssistant
from homeassistant.helpers.redact import REDACTED
from homeassistant.helpers.template import is_template_string

from ...errors import ToolExecutionError
from ...regex import lazy_regex
from ..outside.hosts import async_session, is_local_name
from .checks import TEXT, Templates, Text, Variables

MAX_URL: Final = 8_000
_EXPRESSION = lazy_regex(r"(\{\{.*?(?:\}\}|\Z))", re.DOTALL)
_ORIGIN = lazy_regex(r"(https?)://([^/?#{}\s\\]+)(?=[/?]|$)", re.IGNORECASE)
_LITERAL = "/:?[]@!$&'()*+,;=%-._~"
_SEPARATORS = lazy_regex(r"[/\\]")
MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 100
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
