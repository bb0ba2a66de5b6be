"""How a REST tool says who it is: bearer, basic, OAuth2 client credentials."""

from abc import ABC, abstractmethod
import asyncio
from base64 import b64encode
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Final, override
from urllib.parse import quote_plus, urlencode

from aiohttp import ClientSession

from homeassistant.util.json import json_loads

from ...errors import ToolExecutionError
from .checks import Text, Variables, Writer, YamlSection
from .http import Request, UrlTemplate, async_send, read_url

EXPIRES_SECONDS: Final = 3600
EARLY_SECONDS: Final = 30
TYPES: Final = ("bearer", "basic", "oauth2")


class Auth(ABC):
    """Adds the credentials to a request."""

    renewable = False

    @abstractmethod
    async def async_header(self, session: ClientSession | None, variables: Variables) -> str:
        """Return the value of the Authorization header."""

    @abstractmethod
    def secrets(self) -> list[str]:
        """Return the secrets, which must never be shown."""

    def forget(self, _header: str) -> None:  # noqa: B027 - most have nothing to forget
        """Note that a header was refused; only what can be renewed is forgotten."""


@dataclass(slots=True)
class Bearer(Auth):
    """A token that does not change."""

    token: Text

    @override
    async def async_header(self, session: ClientSession | None, variables: Variables) -> str:
        """Return the token."""
        return f"Bearer {self.token.render(variables).strip()}"

    @override
    def secrets(self) -> list[str]:
        """Return the token."""
        return [self.token.source]


@dataclass(slots=True)
class Basic(Auth):
    """User and password."""

    username: Text
    password: Text

    @override
    async def async_header(self, session: ClientSession | None, variables: Variables) -> str:
        """Return both, encoded."""
        pair = f"{self.username.render(variables)}:{self.password.render(variables)}"
        return f"Basic {b64encode(pair.encode()).decode()}"

    @override
    def secrets(self) -> list[str]:
        """Return the password, also as it is sent."""
        pair = f"{self.username.source}:{self.password.source}"
        return [self.password.source, b64encode(pair.encode()).decode()]


@dataclass(slots=True)
class OAuth2(Auth):
    """Client credentials: a token is fetched, kept until it expires, and fetched again when it is refused."""

    url: UrlTemplate
    client_id: str
    client_secret: str
    scope: str | None
    audience: str | None
    in_body: bool
    _token: str = ""
    _expires: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    renewable = True

    @override
    async def async_header(self, session: ClientSession | None, variables: Variables) -> str:
        """Return the token, fetched by one request for all that wait for it."""
        assert session is not None
        async with self._lock:
            if not self._token or monotonic() >= self._expires:
                await self._async_fetch(session)
            return f"Bearer {self._token}"

    @override
    def forget(self, header: str) -> None:
        """Drop the token that was refused, unless there is a newer one."""
        if header == f"Bearer {self._token}":
            self._token = ""

    @override
    def secrets(self) -> list[str]:
        """Return secret and token."""
        pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
        return [self.client_secret, self._token, b64encode(pair.encode()).decode()]

    async def _async_fetch(self, session: ClientSession) -> None:
        """Ask the token server."""
        form = {"grant_type": "client_credentials"}
        form |= {"scope": self.scope} if self.scope else {}
        form |= {"audience": self.audience} if self.audience else {}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self.in_body:
            form |= {"client_id": self.client_id, "client_secret": self.client_secret}
        else:
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        request = Request(
            method="POST", url=self.url.build({}), headers=headers, body=urlencode(form).encode()
        )
        answer = await async_send(session, request)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ToolExecutionError(f"The token server answered with status {answer.status}")
        self._keep(answer.text)

    def _keep(self, text: str) -> None:
        """Keep the token of an answer."""
        try:
            found = json_loads(text)
        except ValueError:
            found = None
        token = found.get("access_token") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(token, str) or not token.isprintable():
            raise ToolExecutionError("The token server's answer holds no access_token")
        seconds = found.get("expires_in")
        valid = seconds if isinstance(seconds, (int, float)) and seconds > 0 else EXPIRES_SECONDS
        self._token = token
        self._expires = monotonic() + max(valid - EARLY_SECONDS, valid / 2)


def read_auth(section: YamlSection, writer: Writer) -> Auth | None:
    """Return the credentials that a tool writes; None without, or with problems reported."""
    if (part := section.section("auth")) is None:
        return None
    kind = part.choice("type", TYPES, required="type: bearer")
    found = {"bearer": _bearer, "basic": _basic, "oauth2": _oauth2}[kind](part, writer) if kind else None
    if kind:
        part.finish()
    return found


def _text(part: YamlSection, writer: Writer, key: str) -> Text | None:
    """Return a text that may be a template."""
    source = part.text(key, required=f"{key}: !secret my_{key}", secret=True)
    return None if source is None else writer.text(part, key, source)


def _bearer(part: YamlSection, writer: Writer) -> Auth | None:
    """Return a token."""
    token = _text(part, writer, "token")
    return None if token is None else Bearer(token)


def _basic(part: YamlSection, writer: Writer) -> Auth | None:
    """Return user and password."""
    username, password = _text(part, writer, "username"), _text(part, writer, "password")
    return None if username is None or password is None else Basic(username, password)


def _oauth2(part: YamlSection, writer: Writer) -> Auth | None:
    """Return client credentials."""
    url = read_url(part, writer, "token_url")
    names = ("client_id", "client_secret")
    client_id, secret = (part.text(key, required=f"{key}: !secret my_{key}", secret=True) for key in names)
    place = part.choice("credentials_in", ("header", "body"))
    scope, audience = part.text("scope"), part.text("audience")
    if url is not None and len(url.parts) > 1:
        part.problem("token_url", "no_templates_here")
    if url is None or client_id is None or secret is None:
        return None
    return OAuth2(url, client_id, secret, scope, audience, place == "body")
