"""`type: rest`: one HTTP request to a host that the household wrote down."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, override
from urllib.parse import urlencode

from aiohttp import ClientSession
import probatio

from homeassistant.helpers import llm
from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import JsonValueType, json_loads

from ...errors import ToolExecutionError
from ...regex import lazy_regex
from ...safety.redaction import is_secret
from ..base import ToolRun
from ..outside.fetch import HttpAnswer, Request, async_read
from .base import (
    ADDRESS,
    CONTROL,
    FORBIDDEN_HEADERS,
    MAX_BYTES,
    TEXT,
    Connection,
    Recipe,
    ServerTool,
    Templates,
    Text,
    UrlTemplate,
    Variables,
    connection_schema,
    header_name,
    read_url,
    rendered,
    without_keys,
)

FORMATS: Final = ("auto", "json", "text")
EXTRA: Final = ("value", "value_json", "status")
"""What a template of the answer has besides the arguments."""
_STEP = lazy_regex(r"\.?([^.\[\]]+)|\[(-?\d{1,6}|\*)\]|\[['\"]([^'\"]+)['\"]\]")
_READABLE: Final = ("text/", *(f"application/{kind}" for kind in ("json", "xml", "yaml", "javascript")))

type PathStep = str | int | None
"""A key, an index, or None for each item."""


_NOT_JSON: Final = object()


def _path(written: str) -> tuple[str, list[PathStep]]:
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


RESPONSE: Final = {
    probatio.Alias("path", "json_path"): probatio.All(TEXT, _path),
    probatio.Alias("template", "value_template"): TEXT,
    probatio.Optional("format", default="auto"): probatio.In(FORMATS),
}


def _follow(value: Any, steps: Sequence[PathStep], written: str) -> Any:
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


class RestHandler(NamedTuple):
    """The request as it was written."""

    method: str
    url: UrlTemplate
    content: Mapping[str, Any]
    """`headers`, `query`, and what of `json`, `form` and `body` was written."""
    connection: Connection
    format: str
    path: Sequence[PathStep]
    written_path: str
    template: Text | None
    """How the answer is read: all of it, what a path leads to, or what a template makes of it."""

    def read_answer(self, answer: HttpAnswer, variables: Variables) -> Any:
        """Return the value for the model. Raises ToolExecutionError if the answer cannot be read."""
        needs_json = self.format == "json" or bool(self.path)
        value: Any = _NOT_JSON
        if self.format != "text":
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
            return _follow(value, self.path, self.written_path)
        return answer.text if value is _NOT_JSON else value


class RestTool(ServerTool):
    """Calls a web service."""

    schema = probatio.Schema(
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
            probatio.Optional("response", default=dict): RESPONSE,
            **connection_schema(DEFAULT_SECONDS, MAX_SECONDS),
        }
    )
    handler: RestHandler

    @override
    @classmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> RestHandler:
        response = config["response"]
        bodies = [key for key in ("json", "form", "body") if key in config]
        if {"path", "template"} <= response.keys():
            where = ["handler", "response", "template"]
            raise probatio.Invalid("path and template exclude each other", where)
        if len(bodies) > 1:
            raise probatio.Invalid(f"{bodies[0]} and {bodies[1]} exclude each other", ["handler", bodies[1]])
        if bodies and config["method"] in READING:
            problem = "cannot be sent with this method: use query, or method: POST"
            raise probatio.Invalid(problem, ["handler", *bodies])
        content = {key: config[key] for key in CONTENT if key in config}
        if not isinstance(content.get("body", ""), str):  # fields are sent as JSON
            content["json"] = content.pop("body")
        written_path, path = response.get("path", ("", ()))
        source = response.get("template")
        return RestHandler(
            method=config["method"],
            url=read_url(config["url"], templates),
            connection=Connection.of(config, templates),
            format=response["format"],
            path=path,
            written_path=written_path,
            template=templates.text(source, "response", "template", extra=EXTRA) if source else None,
            content=templates.value(content),
        )

    def __init__(self, recipe: Recipe, settings: Mapping[str, Any]) -> None:
        super().__init__(recipe, settings)
        self.host, self.connection = self.handler.url.host, self.handler.connection
        read_only = self.connection.read_only
        if read_only is None:
            read_only = self.handler.method in READING
        self.annotations = llm.ToolAnnotations(
            read_only=read_only,
            destructive=not read_only,
            idempotent=self.handler.method not in ("POST", "PATCH"),
            open_world=True,
        )

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        handler, connection = self.handler, self.connection
        secrets = {
            text.source
            for part in handler.content.values()
            if isinstance(part, Mapping)
            for name, text in part.items()
            if isinstance(text, Text) and not text.is_template and is_secret(name)
        }
        request = self._request(variables)

        def connect(host: str) -> ClientSession:
            self.check_host(host)
            return connection.session(run.hass, host)

        async def ask() -> HttpAnswer:
            async with connection.async_open("server", request, connect, variables) as response:
                return await async_read(response, MAX_BYTES)

        answer = await connection.async_ask("server", ask)
        secrets.update(connection.auth.secrets() if connection.auth is not None else ())
        result: JsonValueType = without_keys(handler.read_answer(answer, variables), secrets)
        return result

    def _request(self, variables: Variables) -> Request:
        handler, content = self.handler, rendered(self.handler.content, variables)
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
    return [
        (name, item if isinstance(item, str) else json_bytes(item).decode())
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]
