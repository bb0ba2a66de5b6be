"""`type: rest`: one HTTP request to a host that the household wrote down."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, override
from urllib.parse import urlencode

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import JsonValueType

from ...const import CONF_REST_ALLOWED_HOSTS
from ...errors import PermissionDenied, ToolExecutionError
from ...safety.redaction import is_secret
from ..base import ToolRun
from ..outside.hosts import async_session, is_allowed, is_local_name
from .auth import Auth, OAuth2, read_auth
from .base import CustomTool
from .checks import Text, Variables, Writer, YamlSection, rendered
from .http import (
    CONTROL,
    FORBIDDEN_HEADERS,
    HEADER,
    HttpAnswer,
    Request,
    UrlTemplate,
    async_send,
    read_url,
    with_query,
    without_keys,
)
from .response import ResponseReader, read_response

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
READING: Final = frozenset({"GET", "HEAD"})
DEFAULT_SECONDS: Final = 10.0
MAX_SECONDS: Final = 120
MAX_BODY: Final = 200_000
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
    headers: Mapping[str, Any]
    query: Mapping[str, Any]
    json: Any
    form: Mapping[str, Any]
    body: Text | None
    auth: Auth | None
    response: ResponseReader
    seconds: float
    verify_ssl: bool
    private_network: bool
    private_words: bool
    read_only: bool


class RestTool(CustomTool):
    """Calls a web service. Its results are untrusted."""

    untrusted = True
    _handler: RestHandler
    _allowed: list[str]

    @override
    @classmethod
    def read(cls, section: YamlSection, writer: Writer) -> RestHandler | None:
        """Return the request."""
        url = read_url(section, writer)
        method = section.choice("method", METHODS) or "GET"
        read_only = section.flag("read_only")
        verify_ssl = section.flag("verify_ssl")
        handler = {
            "headers": _fields(section, writer, "headers"),
            "query": _fields(section, writer, "query", "query_params", "params"),
            **_body(section, writer, method),
            "auth": read_auth(section, writer),
            "response": read_response(section, writer),
            "seconds": section.seconds("timeout", 1, MAX_SECONDS) or DEFAULT_SECONDS,
            "private_network": section.flag("private_network") or False,
            "private_words": section.flag("private_words") or False,
        }
        for name in handler["headers"]:
            if not HEADER.fullmatch(name) or name.lower() in FORBIDDEN_HEADERS:
                section.problem("headers", "refused_header", name=name[:40])
        if url is None:
            return None
        return RestHandler(
            url=url,
            method=method,
            read_only=method in READING if read_only is None else read_only,
            verify_ssl=verify_ssl is not False,
            **handler,
        )

    @override
    def configure(self, handler: RestHandler) -> None:
        """Take the request."""
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
        """Send the request and return what of the answer is wanted."""
        handler = self._handler
        secrets = set(_secrets(handler))
        try:
            async with asyncio.timeout(handler.seconds) as limit:
                answer = await self._async_answer(run.hass, variables, secrets)
        except TimeoutError as err:
            if not limit.expired():
                raise
            raise ToolExecutionError(f"The server did not answer within {handler.seconds:g} s") from err
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ToolExecutionError(
                f"The server answered with status {answer.status}{_advice(answer.status)}"
            )
        result: JsonValueType = without_keys(handler.response.read(answer, variables), secrets)
        return result

    async def _async_answer(self, hass: HomeAssistant, variables: Variables, secrets: set[str]) -> HttpAnswer:
        """Return the answer; credentials that can be renewed get a second try."""
        handler = self._handler
        request = self._request(variables)
        session = self._session(hass, handler.url)
        if (auth := handler.auth) is None:
            return await async_send(session, request)
        own = self._session(hass, auth.url) if isinstance(auth, OAuth2) else None
        for is_last in (not auth.renewable, True):
            header = await auth.async_header(own, variables)
            secrets |= {*auth.secrets(), header, header.partition(" ")[2]}
            request.headers["Authorization"] = CONTROL.sub("", header)
            answer = await async_send(session, request)
            if answer.status != HTTPStatus.UNAUTHORIZED or is_last:
                break
            auth.forget(header)
        return answer

    def _session(self, hass: HomeAssistant, url: UrlTemplate) -> Any:
        """Return a session. Raises PermissionDenied for a host that the options do not allow."""
        if not is_allowed(url.host, self._allowed):
            raise PermissionDenied(f"The host {url.host} is not among the allowed ones (rest_allowed_hosts)")
        local = self._handler.private_network or is_local_name(url.host)
        return async_session(hass, local=local, verify_ssl=self._handler.verify_ssl)

    def _request(self, variables: Variables) -> Request:
        """Return the request with all templates rendered. Raises ToolExecutionError."""
        handler = self._handler
        headers = {"Accept": "application/json, text/*;q=0.8", "Accept-Encoding": "identity"}
        body: bytes | None = None
        if handler.json is not None:
            body = json_bytes(rendered(handler.json, variables))
            headers["Content-Type"] = "application/json"
        elif handler.form:
            body = urlencode(_pairs(rendered(handler.form, variables)), errors="replace").encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif handler.body is not None:
            body = handler.body.render(variables).encode("utf-8", "replace")
            headers["Content-Type"] = "text/plain; charset=utf-8"
        if body is not None and len(body) > MAX_BODY:
            raise ToolExecutionError("The arguments are too long to be sent")
        for name, value in _pairs(rendered(handler.headers, variables)):
            headers = {key: item for key, item in headers.items() if key.lower() != name.lower()}
            headers[name] = CONTROL.sub(" ", value)
        url = with_query(handler.url.build(variables), _pairs(rendered(handler.query, variables)))
        return Request(method=handler.method, url=url, headers=headers, body=body)


def _fields(section: YamlSection, writer: Writer, key: str, *older: str) -> dict[str, Any]:
    """Return headers, parameters or fields with their templates."""
    if (part := section.section(key, *older)) is None:
        return {}
    return {name: writer.value(part, name, part.plain(name)) for name in part.names()}


def _body(section: YamlSection, writer: Writer, method: str) -> dict[str, Any]:
    """Return the body: JSON, a form, or a text. `body` with fields means JSON."""
    written = [key for key in ("json", "form", "body", "payload") if section.has(key)]
    form = _fields(section, writer, "form")
    text = next((key for key in ("body", "payload") if isinstance(section.raw(key), str)), None)
    found = {key: section.plain(key) for key in ("json", "body", "payload")}
    source = None if text is None else found.pop(text)
    given = next(((key, value) for key, value in found.items() if value is not None), None)
    if len(written) > 1:
        section.problem(written[1], "excludes", other=written[0])
    if written and method in READING:
        section.problem(written[0], "no_body", method=method)
    return {
        "json": writer.value(section, *given) if given else None,
        "form": form,
        "body": writer.text(section, text, source) if text and source else None,
    }


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return fields as text: lists are repeated, what is null is left out."""
    return [
        (name, _as_text(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]


def _as_text(value: Any) -> str:
    """Return a value as forms and parameters hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json_bytes(value).decode()


def _advice(status: int) -> str:
    return ADVICE.get(status, ": try again later" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "")


def _secrets(handler: RestHandler) -> Iterator[str]:
    """Yield the secrets that a tool contains."""
    for part in (handler.headers, handler.query, handler.form, handler.json):
        if isinstance(part, Mapping):
            yield from (
                text.source
                for name, text in part.items()
                if isinstance(text, Text) and not text.is_template and is_secret(name)
            )
    if handler.auth is not None:
        yield from handler.auth.secrets()
