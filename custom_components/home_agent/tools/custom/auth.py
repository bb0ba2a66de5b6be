"""How a REST tool says who it is: bearer, basic, OAuth2 client credentials."""

from abc import ABC, abstractmethod
import asyncio
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Any, Final, override
from urllib.parse import quote_plus, urlencode

from aiohttp import ClientSession
import probatio
from yarl import URL

from homeassistant.util.json import json_loads

from ...errors import ToolExecutionError
from .checks import TEXT, Templates, Text, Variables, by_type
from .http import FIXED_ADDRESS, Request, async_send

EXPIRES_SECONDS: Final = 3600
EARLY_SECONDS: Final = 30
AUTH: Final = by_type(
    {
        "bearer": {probatio.Required("token"): TEXT},
        "basic": {probatio.Required("username"): TEXT, probatio.Required("password"): TEXT},
        "oauth2": {
            probatio.Required("token_url"): FIXED_ADDRESS,
            probatio.Required("client_id"): TEXT,
            probatio.Required("client_secret"): TEXT,
            probatio.Optional("scope"): TEXT,
            probatio.Optional("audience"): TEXT,
            probatio.Optional("credentials_in", default="header"): probatio.In(("header", "body")),
        },
    }
)

type Connect = Callable[[str], ClientSession]
"""Returns a session for a host."""


def _packed(user: str, password: str) -> str:
    return b64encode(f"{user}:{password}".encode()).decode()


class Auth(ABC):
    """Adds the credentials to a request."""

    renewable = False

    @abstractmethod
    async def async_header(self, connect: Connect, variables: Variables) -> str:
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
    async def async_header(self, connect: Connect, variables: Variables) -> str:
        return f"Bearer {self.token.render(variables).strip()}"

    @override
    def secrets(self) -> list[str]:
        return [self.token.source]


@dataclass(slots=True)
class Basic(Auth):
    """User and password."""

    username: Text
    password: Text

    @override
    async def async_header(self, connect: Connect, variables: Variables) -> str:
        return f"Basic {_packed(self.username.render(variables), self.password.render(variables))}"

    @override
    def secrets(self) -> list[str]:
        return [self.password.source, _packed(self.username.source, self.password.source)]


@dataclass(slots=True)
class OAuth2(Auth):
    """Client credentials: a token is fetched, kept until it expires, and fetched again when it is refused."""

    config: Mapping[str, Any]
    _token: str = ""
    _expires: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    renewable = True

    @override
    async def async_header(self, connect: Connect, variables: Variables) -> str:
        """Return the token, fetched by one request for all that wait for it."""
        session = connect(URL(self.config["token_url"]).host or "")
        async with self._lock:
            if not self._token or monotonic() >= self._expires:
                await self._async_fetch(session)
            return f"Bearer {self._token}"

    @override
    def forget(self, header: str) -> None:
        if header == f"Bearer {self._token}":
            self._token = ""

    @override
    def secrets(self) -> list[str]:
        return [self.config["client_secret"], self._token, self._client()]

    def _client(self) -> str:
        return _packed(*(quote_plus(self.config[key]) for key in ("client_id", "client_secret")))

    async def _async_fetch(self, session: ClientSession) -> None:
        in_body = self.config["credentials_in"] == "body"
        keys = ("scope", "audience", *(("client_id", "client_secret") if in_body else ()))
        form = {"grant_type": "client_credentials"}
        form |= {key: self.config[key] for key in keys if key in self.config}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if not in_body:
            headers["Authorization"] = f"Basic {self._client()}"
        url, body = self.config["token_url"], urlencode(form).encode()
        answer = await async_send(session, Request(method="POST", url=url, headers=headers, body=body))
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ToolExecutionError(f"The token server answered with status {answer.status}")
        self._keep(answer.text)

    def _keep(self, text: str) -> None:
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


def read_auth(config: Mapping[str, Any] | None, templates: Templates) -> Auth | None:
    """Return the credentials of a handler."""
    if config is None:
        return None
    if config["type"] == "oauth2":
        return OAuth2(config)
    if config["type"] == "basic":
        return Basic(*(templates.text(config[key], "auth", key) for key in ("username", "password")))
    return Bearer(templates.text(config["token"], "auth", "token"))
