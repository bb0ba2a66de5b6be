"""`type: rest`: one HTTP request to a host that the household wrote down."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, override
from urllib.parse import urlencode

from aiohttp import ClientSession
import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import JsonValueType

from ...const import CONF_REST_ALLOWED_HOSTS
from ...errors import PermissionDenied, ToolExecutionError
from ...safety.redaction import is_secret
from ..base import ToolRun
from ..outside.hosts import is_allowed, is_local_name
from .auth import AUTH, Auth, read_auth
from .base import CustomTool
from .checks import Templates, Text, Variables, rendered
from .http import (
    ADDRESS,
    CONTROL,
    FORBIDDEN_HEADERS,
    Connection,
    HttpAnswer,
    Request,
    UrlTemplate,
    async_send,
    connection_schema,
    header_name,
    read_url,
    with_query,
    without_keys,
)
from .response import RESPONSE, ResponseReader, read_response

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
        secrets = _secrets(handler)
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
        connect = partial(self._session, hass)
        session = connect(handler.url.host)
        if (auth := handler.auth) is None:
            return await async_send(session, request)
        for is_last in (not auth.renewable, True):
            header = await auth.async_header(connect, variables)
            secrets |= {*auth.secrets(), header, header.partition(" ")[2]}
            request.headers["Authorization"] = CONTROL.sub("", header)
            answer = await async_send(session, request)
            if answer.status != HTTPStatus.UNAUTHORIZED or is_last:
                break
            auth.forget(header)
        return answer

    def _session(self, hass: HomeAssistant, host: str) -> ClientSession:
        if not is_allowed(host, self._allowed):
            raise PermissionDenied(f"The host {host} is not among the allowed ones (rest_allowed_hosts)")
        return self._handler.connection.session(hass, host)

    def _request(self, variables: Variables) -> Request:
        handler, content = self._handler, rendered(self._handler.content, variables)
        headers = {"Accept": "application/json, text/*;q=0.8", "Accept-Encoding": "identity"}
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
        url = with_query(handler.url.build(variables), _pairs(content["query"]))
        return Request(method=handler.method, url=url, headers=headers, body=body)


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return fields as text: lists are repeated, what is null is left out."""
    return [
        (name, _as_text(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json_bytes(value).decode()


def _secrets(handler: RestHandler) -> set[str]:
    written = {
        text.source
        for part in handler.content.values()
        if isinstance(part, Mapping)
        for name, text in part.items()
        if isinstance(text, Text) and not text.is_template and is_secret(name)
    }
    return written.union(handler.auth.secrets() if handler.auth else ())
