"""`type: rest`: one HTTP request to a host that the household wrote down."""

from abc import ABC, abstractmethod
import asyncio
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Any, Final, override
from urllib.parse import quote_plus, urlencode

from aiohttp import ClientSession
import probatio
from yarl import URL

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import JsonValueType, json_loads

from ...const import CONF_REST_ALLOWED_HOSTS
from ...errors import PermissionDenied, ToolExecutionError
from ...regex import lazy_regex
from ...safety.redaction import is_secret
from ..base import ToolRun
from ..outside.fetch import HttpAnswer, Request, async_fetch, is_allowed, is_local_name
from .base import (
    ADDRESS,
    CONTROL,
    FIXED_ADDRESS,
    FORBIDDEN_HEADERS,
    MAX_BYTES,
    TEXT,
    Connection,
    CustomTool,
    Templates,
    Text,
    UrlTemplate,
    Variables,
    by_type,
    connection_schema,
    header_name,
    read_url,
    rendered,
    without_keys,
)

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
class Fixed(Auth):
    """A token, or a user and a password, that do not change."""

    texts: Sequence[Text]

    @override
    async def async_header(self, connect: Connect, variables: Variables) -> str:
        values = [text.render(variables) for text in self.texts]
        return f"Basic {_packed(*values)}" if len(values) > 1 else f"Bearer {values[0].strip()}"

    @override
    def secrets(self) -> list[str]:
        sources = [text.source for text in self.texts]
        return [sources[-1], _packed(*sources)] if len(sources) > 1 else sources


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
        answer = await async_fetch(
            session, Request(method="POST", url=url, headers=headers, body=body), MAX_BYTES
        )
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ToolExecutionError(f"The token server answered with status {answer.status}")
        try:
            granted = json_loads(answer.text)
        except ValueError:
            granted = None
        token = granted.get("access_token") if isinstance(granted, dict) else None
        if not isinstance(granted, dict) or not isinstance(token, str) or not token.isprintable():
            raise ToolExecutionError("The token server's answer holds no access_token")
        seconds = granted.get("expires_in")
        valid = seconds if isinstance(seconds, (int, float)) and seconds > 0 else EXPIRES_SECONDS
        self._token = token
        self._expires = monotonic() + max(valid - EARLY_SECONDS, valid / 2)


def read_auth(config: Mapping[str, Any] | None, templates: Templates) -> Auth | None:
    """Return the credentials of a handler."""
    if config is None:
        return None
    if config["type"] == "oauth2":
        return OAuth2(config)
    keys = ("username", "password") if config["type"] == "basic" else ("token",)
    return Fixed([templates.text(config[key], "auth", key) for key in keys])


FORMATS: Final = ("auto", "json", "text")
EXTRA: Final = ("value", "value_json", "status")
"""What a template of the answer has besides the arguments."""
_STEP = lazy_regex(r"\.?([^.\[\]]+)|\[(-?\d{1,6}|\*)\]|\[['\"]([^'\"]+)['\"]\]")
_READABLE: Final = (
    "text/",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/javascript",
)

type PathStep = str | int | None
"""A key, an index, or None for each item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReader:
    """How an answer is read."""

    kind: str
    path: Sequence[PathStep]
    written: str
    template: Text | None

    def read(self, answer: HttpAnswer, variables: Variables) -> Any:
        """Return the value for the model. Raises ToolExecutionError if the answer cannot be read."""
        needs_json = self.kind == "json" or bool(self.path)
        value: Any = _NOT_JSON
        if self.kind != "text":
            kind = answer.content_type
            if kind in ("text/html", "application/xhtml+xml"):
                raise ToolExecutionError("The server answered with a web page instead of data")
            is_readable = kind.startswith(_READABLE) or kind.endswith(("+json", "+xml", "+yaml"))
            # aiohttp says octet-stream where the server says nothing.
            if not is_readable and not (needs_json and kind == "application/octet-stream"):
                raise ToolExecutionError("The server answered with content that is neither JSON nor text")
            if not answer.cut:
                with suppress(ValueError):
                    value = json_loads(answer.text)
        if value is _NOT_JSON and needs_json:
            too_long = "is longer than is read" if answer.cut else "is not valid JSON"
            raise ToolExecutionError(f"The server's answer {too_long}")
        if self.template is not None:
            extra = {"value": answer.text, "status": answer.status}
            if value is not _NOT_JSON:
                extra["value_json"] = value
            return self.template.value({**variables, **extra})
        if self.path:
            return _follow(value, self.path, self.written)
        return answer.text if value is _NOT_JSON else value


_NOT_JSON: Final = object()


def _path(written: str) -> tuple[str, list[PathStep]]:
    """Return a path such as `$.items[0].name` as it is written, and its steps."""
    text = written.strip().removeprefix("$")
    steps: list[PathStep] = []
    position = 0
    while position < len(text) and (match := _STEP.match(text, position)):
        name, index, quoted = match.groups()
        steps.append((name or quoted) if index is None else (None if index == "*" else int(index)))
        position = match.end()
    if not steps or position < len(text):
        raise probatio.Invalid("not a path such as items[0].name or items[*].name")
    return written, steps


def _one_way(response: dict[str, Any]) -> dict[str, Any]:
    if {"path", "template"} <= response.keys():
        raise probatio.Invalid("path and template exclude each other", ["template"])
    return response


RESPONSE: Final = probatio.All(
    {
        probatio.Alias("path", "json_path"): probatio.All(TEXT, _path),
        probatio.Alias("template", "value_template"): TEXT,
        probatio.Optional("format", default="auto"): probatio.In(FORMATS),
    },
    _one_way,
)


def read_response(config: Mapping[str, Any], templates: Templates) -> ResponseReader:
    """Return how a tool wants its answers read."""
    written, path = config.get("path", ("", ()))
    source = config.get("template")
    template = templates.text(source, "response", "template", extra=EXTRA) if source else None
    return ResponseReader(kind=config["format"], path=path, written=written, template=template)


def _follow(value: Any, steps: Sequence[PathStep], written: str) -> Any:
    """Return the value of a path. Raises ToolExecutionError if there is none."""
    for number, step in enumerate(steps):
        if step is None and isinstance(value, list):
            rest = steps[number + 1 :]
            return [_follow(item, rest, written) for item in value]
        if isinstance(value, dict):
            value = value.get(str(step), _NOT_JSON)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            value = _NOT_JSON
        if value is _NOT_JSON:
            raise ToolExecutionError(f"The server's answer holds no {written}")
    return value


METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
READING: Final = frozenset({"GET", "HEAD"})
DEFAULT_SECONDS: Final = 10.0
MAX_SECONDS: Final = 120
MAX_BODY: Final = 200_000
CONTENT: Final = ("headers", "query", "json", "form", "body")
ADVICE: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: ": it does not accept these arguments",
    HTTPStatus.UNAUTHORIZED: ": it refused the credentials of this tool. The person has to correct them",
    HTTPStatus.FORBIDDEN: ": it refused the credentials of this tool. The person has to correct them",
    HTTPStatus.NOT_FOUND: ": there is no such thing. Change the arguments",
    HTTPStatus.UNPROCESSABLE_ENTITY: ": it does not accept these arguments",
    HTTPStatus.TOO_MANY_REQUESTS: ": try again later",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RestHandler:
    """The request as it was written."""

    method: str
    url: UrlTemplate
    content: Mapping[str, Any]
    """`headers`, `query`, and what of `json`, `form` and `body` was written."""
    auth: Auth | None
    response: ResponseReader
    connection: Connection
    private_words: bool
    read_only: bool


def _one_body(config: dict[str, Any]) -> dict[str, Any]:
    """Check that there is one body, if any, and a method for it. A `body` with fields is sent as JSON."""
    written = [key for key in ("json", "form", "body") if key in config]
    if len(written) > 1:
        raise probatio.Invalid(f"{written[0]} and {written[1]} exclude each other", [written[1]])
    if written and config["method"] in READING:
        raise probatio.Invalid("cannot be sent with this method: use query, or method: POST", written)
    if written == ["body"] and not isinstance(config["body"], str):
        config["json"] = config.pop("body")
    return config


class RestTool(CustomTool):
    """Calls a web service. Its results are untrusted."""

    schema = probatio.All(
        {
            probatio.Required("url"): ADDRESS,
            probatio.Optional("method", default="GET"): probatio.All(
                str, probatio.Upper, probatio.In(METHODS)
            ),
            probatio.Optional("headers", default=dict): {header_name(FORBIDDEN_HEADERS): object},
            probatio.Alias("query", "query_params", "params", default=dict): dict,
            probatio.Optional("json"): object,
            probatio.Optional("form"): dict,
            probatio.Alias("body", "payload"): object,
            probatio.Optional("auth"): AUTH,
            probatio.Optional("response", default=dict): RESPONSE,
            probatio.Optional("private_words", default=False): bool,
            probatio.Optional("read_only"): bool,
            **connection_schema(DEFAULT_SECONDS, MAX_SECONDS),
        },
        _one_body,
    )
    untrusted = True
    _handler: RestHandler
    _allowed: list[str]

    @override
    @classmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> RestHandler:
        """Return the request."""
        return RestHandler(
            method=config["method"],
            url=read_url(config["url"], templates),
            auth=read_auth(config.get("auth"), templates),
            response=read_response(config["response"], templates),
            connection=Connection.of(config),
            private_words=config["private_words"],
            read_only=config.get("read_only", config["method"] in READING),
            content=templates.value({key: config[key] for key in CONTENT if key in config}),
        )

    @override
    def configure(self, handler: RestHandler) -> None:
        self._handler = handler
        self.host = handler.url.host
        self.leaves = not is_local_name(self.host)
        self.private_words = handler.private_words
        self._allowed = list(self._settings.get(CONF_REST_ALLOWED_HOSTS) or ())
        self.annotations = llm.ToolAnnotations(
            read_only=handler.read_only,
            destructive=not handler.read_only,
            idempotent=handler.method not in ("POST", "PATCH"),
            open_world=True,
        )

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        handler = self._handler
        secrets = {
            text.source
            for part in handler.content.values()
            if isinstance(part, Mapping)
            for name, text in part.items()
            if isinstance(text, Text) and not text.is_template and is_secret(name)
        }
        secrets.update(handler.auth.secrets() if handler.auth else ())
        async with handler.connection.in_time("server"):
            answer = await self._async_answer(run.hass, variables, secrets)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            is_broken = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
            advice = ADVICE.get(answer.status, ": try again later" if is_broken else "")
            raise ToolExecutionError(f"The server answered with status {answer.status}{advice}")
        result: JsonValueType = without_keys(handler.response.read(answer, variables), secrets)
        return result

    async def _async_answer(self, hass: HomeAssistant, variables: Variables, secrets: set[str]) -> HttpAnswer:
        """Return the answer; credentials that can be renewed get a second try."""
        handler = self._handler
        request = self._request(variables)

        def connect(host: str) -> ClientSession:
            if not is_allowed(host, self._allowed):
                raise PermissionDenied(f"The host {host} is not among the allowed ones (rest_allowed_hosts)")
            return handler.connection.session(hass, host)

        session = connect(handler.url.host)
        if (auth := handler.auth) is None:
            return await async_fetch(session, request, MAX_BYTES)
        for is_last in (not auth.renewable, True):
            header = await auth.async_header(connect, variables)
            secrets |= {*auth.secrets(), header, header.partition(" ")[2]}
            request.headers["Authorization"] = CONTROL.sub("", header)
            answer = await async_fetch(session, request, MAX_BYTES)
            if answer.status != HTTPStatus.UNAUTHORIZED or is_last:
                break
            auth.forget(header)
        return answer

    def _request(self, variables: Variables) -> Request:
        handler, content = self._handler, rendered(self._handler.content, variables)
        headers = {"Accept": "application/json, text/*;q=0.8"}
        body: bytes | None = None
        if "json" in content:
            body = json_bytes(content["json"])
            headers["Content-Type"] = "application/json"
        elif "form" in content:
            body = urlencode(_pairs(content["form"]), errors="replace").encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif "body" in content:
            body = str(content["body"]).encode("utf-8", "replace")
            headers["Content-Type"] = "text/plain; charset=utf-8"
        if body is not None and len(body) > MAX_BODY:
            raise ToolExecutionError("The arguments are too long to be sent")
        for name, value in _pairs(content["headers"]):
            headers = {key: item for key, item in headers.items() if key.lower() != name.lower()}
            headers[name] = CONTROL.sub(" ", value)
        url = handler.url.build(variables, _pairs(content["query"]))
        return Request(method=handler.method, url=url, headers=headers, body=body)


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return fields as text: lists are repeated, what is null is left out."""
    return [
        (name, item if isinstance(item, str) else json_bytes(item).decode())
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]
