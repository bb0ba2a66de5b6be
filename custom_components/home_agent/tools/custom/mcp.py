"""`type: mcp`: a tool of an MCP server, called by its own name, or all of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import partial
from http import HTTPStatus
from itertools import count
from time import monotonic
from typing import Any, Final, NamedTuple, override

from aiohttp import ClientResponse
from jinja2 import Undefined
import probatio
from yarl import URL

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import config_validation as cv, llm
from homeassistant.helpers.json import json_bytes
from homeassistant.helpers.update_coordinator import DataUpdateCoordinator, UpdateFailed
from homeassistant.util.json import JsonValueType

from ...const import CONF_MCP_WRITES, DOMAIN, LOGGER
from ...errors import PermissionDenied, ToolExecutionError
from ...inference.transport import JSONReader
from ...issues import report, withdraw
from ..base import ToolRun
from ..calls.schema import JsonSchema
from ..outside.fetch import Request, read_pieces
from ..outside.other_apis import async_report_refused, async_sanitize, imitates, wire_name
from .base import (
    CONTROL,
    FIXED_ADDRESS,
    FORBIDDEN_HEADERS,
    TEXT,
    AskAgain,
    Connection,
    Recipe,
    RefusedByServer,
    ServerTool,
    Templates,
    Text,
    connection_schema,
    header_name,
    without_keys,
)

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that are spoken, the one that is asked for first."""
LISTED_SECONDS: Final = 1800
"""How long a server's list of tools is taken for true."""
MAX_TOOLS: Final = 500
MAX_PAGES: Final = 20
MAX_BYTES: Final = 1_000_000
MAX_WORDS: Final = 300

SESSION_ID: Final = "Mcp-Session-Id"

type Object = dict[str, Any]
type Session = dict[str, str]
"""The headers that a server wants to see in each request after the first."""


class RemoteTool(NamedTuple):
    """A tool as its server describes it."""

    name: str
    only_reads: bool
    """The server's claim; it is not verified."""
    description: str
    schema: Object


@dataclass(slots=True, kw_only=True)
class McpServer:
    """A server, who we say we are, and a session that is started again if the server has lost it."""

    hass: HomeAssistant
    url: str
    headers: Mapping[str, Text]
    connection: Connection
    """Where the household does not say whether its tools only read, the server does."""
    include: Sequence[str]
    exclude: Sequence[str]
    """Names of tools with wildcards."""
    _session: Session | None = None
    _tools: dict[str, RemoteTool] = field(default_factory=dict)
    _listed: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _ids: Any = field(default_factory=lambda: count(1))

    @property
    def host(self) -> str:
        """Return the host as it was written."""
        return URL(self.url).host or ""

    def handler(self, tool: RemoteTool) -> McpHandler | None:
        """Return how a tool is called; None for one that changes something and was not let in."""
        if tool.only_reads:
            return McpHandler(self, tool.name, None)
        read_only = self.connection.read_only
        return None if read_only is None else McpHandler(self, tool.name, read_only)

    async def async_tools(self) -> Mapping[str, RemoteTool]:
        """Return the server's tools, asked for now. Raises ToolExecutionError without keys in its text."""
        self._listed = float("-inf")
        return await self._in_time(self._current)

    async def async_call(self, handler: McpHandler, args: Mapping[str, Any]) -> Object:
        """Return the answer of a tool. Raises ToolExecutionError and PermissionDenied without keys."""

        async def ask() -> Object:
            tools = await self._current()
            if (tool := tools.get(handler.tool)) is None:
                known = ", ".join(sorted(tools))[:MAX_FAILURE] or "none"
                raise ToolExecutionError(f"The MCP server has no tool {handler.tool}. It has: {known}")
            if handler.read_only is None and not tool.only_reads:
                raise PermissionDenied(
                    "The MCP server does not say that this tool only reads. The person has to write "
                    "read_only: true, or false with the option mcp_allow_writes"
                )
            return await self._ask("tools/call", {"name": handler.tool, "arguments": dict(args)})

        answer: Object = without_keys(await self._in_time(ask), self._secrets())
        return answer

    async def _in_time[T](self, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self.connection.async_ask("MCP server", ask)
        except ToolExecutionError as err:
            raise ToolExecutionError(without_keys(str(err), self._secrets())) from err

    def _secrets(self) -> set[str]:
        of_auth = self.connection.auth.secrets() if self.connection.auth is not None else []
        return {*of_auth, *(text.source for text in self.headers.values())}

    async def _current(self) -> Mapping[str, RemoteTool]:
        async with self._lock:
            if monotonic() - self._listed > LISTED_SECONDS:
                self._tools = await self._list()
                self._listed = monotonic()
        return self._tools

    async def _list(self) -> dict[str, RemoteTool]:
        found: dict[str, RemoteTool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", {"cursor": cursor} if cursor else {})
            listed = page.get("tools")
            for tool in listed if isinstance(listed, list) else ():
                if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
                    hints = tool.get("annotations")
                    reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
                    schema = tool.get("inputSchema")
                    found[name] = RemoteTool(
                        name=name,
                        only_reads=reads,
                        description=str(tool.get("description") or ""),
                        schema=schema if isinstance(schema, dict) else {},
                    )
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor or len(found) >= MAX_TOOLS:
                break
            cursor = following
        return found

    async def _ask(self, method: str, params: Object) -> Object:
        if (session := self._session) is None:
            session = {}
            about = {
                "protocolVersion": VERSIONS[0],
                "capabilities": {},
                "clientInfo": {"name": "home_agent", "version": "1"},
            }
            version = (await self._request("initialize", about, session)).get("protocolVersion")
            if version not in VERSIONS:
                raise ToolExecutionError("The MCP server speaks a version of the protocol that is not known")
            session["MCP-Protocol-Version"] = str(version)
            async with self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session):
                self._session = session
        return await self._request(method, params, session)

    async def _request(self, method: str, params: Object, session: Session) -> Object:
        number = next(self._ids)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        async with self._post(body, session) as response:
            if method == "initialize" and (session_id := response.headers.get(SESSION_ID)):
                session[SESSION_ID] = session_id
            async for message in _messages(response):
                if message.get("id") == number and "method" not in message:
                    return _result(message)
        raise ToolExecutionError("The MCP server ended its answer without a result")

    @asynccontextmanager
    async def _post(self, body: Object, session: Session) -> AsyncIterator[ClientResponse]:
        headers = {name: CONTROL.sub(" ", text.render({})) for name, text in self.headers.items()}
        headers |= {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **session,
        }
        request = Request(method="POST", url=self.url, headers=headers, body=json_bytes(body))
        connect = partial(self.connection.session, self.hass)
        try:
            async with self.connection.async_open("MCP server", request, connect, {}) as response:
                yield response
        except RefusedByServer as err:
            if err.status != HTTPStatus.NOT_FOUND or SESSION_ID not in session:
                raise
            self._session = None
            raise AskAgain("The MCP server loses its sessions") from err


async def _messages(response: ClientResponse) -> AsyncIterator[Object]:
    reader, pieces = JSONReader(line_bytes=MAX_BYTES, body_bytes=MAX_BYTES), read_pieces(response, MAX_BYTES)
    while True:
        piece = await anext(pieces, None)
        for found in reader.close() if piece is None else reader.feed(piece):
            for message in found if isinstance(found, list) else [found]:
                if isinstance(message, dict):
                    yield message
        if reader.failure is not None:
            raise ToolExecutionError(
                "The MCP server's answer is longer than is read, or is no JSON: ask for less"
            )
        if piece is None:
            return


def _result(message: Object) -> Object:
    if isinstance(error := message.get("error"), dict):
        said = " ".join(str(error.get("message") or "no explanation").split())
        raise ToolExecutionError(f"The MCP server refuses: {said[:MAX_WORDS]}")
    result = message.get("result")
    if not isinstance(result, dict):
        raise ToolExecutionError("The MCP server's answer holds no result")
    return result


DEFAULT_SECONDS: Final = 15.0
MAX_SECONDS: Final = 120
RESERVED_HEADERS: Final = FORBIDDEN_HEADERS | {"mcp-session-id", "mcp-protocol-version", "accept"}
MAX_NAME: Final = 128
MAX_FAILURE: Final = 300
MAX_PATTERNS: Final = 100
OTHER_KINDS: Final = {"image": "an image", "audio": "a sound", "resource_link": "a link"}
"""What else servers answer with, and models at this end of the wire do not read."""
RAW_METHODS: Final = ("tools/call", "tools/list")


class McpHandler(NamedTuple):
    """One tool of a server."""

    server: McpServer
    tool: str
    read_only: bool | None
    """Whether it changes nothing; None if that is for the server to say."""


_PATTERNS: Final = probatio.All(cv.ensure_list, [str], probatio.Length(max=MAX_PATTERNS))
"""Names of tools with wildcards."""


class McpTool(ServerTool):
    """Calls a tool of an MCP server."""

    schema = probatio.Schema(
        {
            probatio.Required("server_url"): FIXED_ADDRESS,
            probatio.Alias("tool", "method"): probatio.All(
                TEXT, probatio.Length(max=MAX_NAME), probatio.NotIn(RAW_METHODS)
            ),
            probatio.Optional("headers", default=dict): {header_name(RESERVED_HEADERS): TEXT},
            probatio.Optional("include", default=lambda: ["*"]): _PATTERNS,
            probatio.Optional("exclude", default=list): _PATTERNS,
            **connection_schema(DEFAULT_SECONDS, MAX_SECONDS),
        }
    )
    handler: McpHandler

    @override
    @classmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> McpHandler | McpServer:
        if "tool" in config and (config["include"] != ["*"] or config["exclude"]):
            problem = "tool and include or exclude are for different things"
            raise probatio.Invalid(problem, ["handler", "tool"])
        fixed = templates._replace(names=())
        server = McpServer(
            hass=templates.hass,
            url=config["server_url"],
            headers=fixed.value(config["headers"], "headers"),
            connection=Connection.of(config, fixed),
            include=config["include"],
            exclude=config["exclude"],
        )
        return McpHandler(server, config["tool"], config.get("read_only")) if "tool" in config else server

    def __init__(self, recipe: Recipe, settings: Mapping[str, Any]) -> None:
        super().__init__(recipe, settings)
        self.host, self.connection = self.handler.server.host, self.handler.server.connection
        # A call that is refused in any case needs no confirmation first.
        reads = self.handler.read_only is not False or not settings[CONF_MCP_WRITES]
        self.annotations = llm.ToolAnnotations(
            read_only=reads, destructive=not reads, idempotent=False, open_world=True
        )

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        handler = self.handler
        if handler.read_only is False and not self.settings[CONF_MCP_WRITES]:
            raise PermissionDenied("This tool changes something, which the options forbid (mcp_allow_writes)")
        self.check_host(self.host)
        args = {name: value for name, value in variables.items() if not isinstance(value, Undefined)}
        result = await handler.server.async_call(handler, args)
        content: JsonValueType = result.get("structuredContent")
        if isinstance(content, dict) and content:  # else its texts
            # One value that is not an object is wrapped by servers under this name.
            content = content["result"] if set(content) == {"result"} else content
        else:
            texts: list[str] = []
            items = result.get("content")
            for item in items if isinstance(items, list) else ():
                if isinstance(item, dict):
                    inner = item.get("resource") if item.get("type") == "resource" else item
                    text = inner.get("text") if isinstance(inner, dict) else None
                    other = f"({OTHER_KINDS.get(str(item.get('type')), 'something else')} that is not shown)"
                    texts.append(text if isinstance(text, str) else other)
            content = "\n".join(filter(None, texts))
        if result.get("isError") is True:
            raise ToolExecutionError(f"The tool of the MCP server failed: {str(content)[:MAX_FAILURE]}")
        return content


MAX_IMPORTED: Final = 50
RETRY_SECONDS: Final = 60
"""Until a server that cannot be reached is asked again."""
UNREACHABLE: Final = "mcp_unreachable"


class McpImport(DataUpdateCoordinator[Sequence[Any]]):
    """The tools of one server; its listeners are called when they change."""

    def __init__(
        self, hass: HomeAssistant, name: str, about: str, server: McpServer, reserved: Collection[str]
    ) -> None:
        """Take what the names of the tools begin with, and what the household says `about` the server.

        `reserved` are the names of our own tools.
        """
        super().__init__(
            hass,
            LOGGER,
            config_entry=None,
            name=name,
            update_interval=timedelta(seconds=LISTED_SECONDS),
            always_update=False,
        )
        self.recipes: tuple[Recipe, ...] = ()
        self._about, self._server, self._reserved = about, server, reserved

    @override
    async def _async_update_data(self) -> Sequence[Any]:
        """Ask what the server offers. One that is away keeps its tools."""
        server = self._server
        try:
            tools = await server.async_tools()
        except ToolExecutionError as err:
            self._report(str(err))
            raise UpdateFailed(str(err), retry_after=RETRY_SECONDS) from err
        self._report("")
        wanted = [
            tool
            for tool in tools.values()
            if any(fnmatchcase(tool.name, pattern) for pattern in server.include)
            and not any(fnmatchcase(tool.name, pattern) for pattern in server.exclude)
            and server.handler(tool) is not None
        ]
        functions = [
            {
                "name": tool.name,
                "description": f"{self._about} {tool.description}".strip() or tool.name,
                "parameters": {"type": "object", "properties": {}, **tool.schema},
            }
            for tool in wanted
        ]
        sanitized = await async_sanitize(self.hass, functions)
        recipes: dict[str, Recipe] = {}
        refused: list[str] = []
        for tool, function in zip(wanted, sanitized, strict=True):
            name, handler = wire_name(f"{self.name}_{tool.name}"), server.handler(tool)
            is_taken = name in recipes or imitates(name, self._reserved)
            if function is None or handler is None or is_taken or len(recipes) >= MAX_IMPORTED:
                refused.append(tool.name)
                continue
            try:
                schema = JsonSchema(function["parameters"])
            except (probatio.Error, ValueError, TypeError, RecursionError) as err:
                problem = type(err).__name__
                LOGGER.info("The arguments of the MCP tool %s are no JSON Schema: %s", name, problem)
                refused.append(tool.name)
                continue
            recipes[name] = Recipe(
                name=name,
                description=str(function["description"]),
                parameters=schema,
                kind=McpTool,
                handler=handler,
                optional=handler.read_only is False,
            )
        async_report_refused(self.hass, f"mcp_{self.name}", self.name, refused)
        self.recipes = tuple(recipes.values())
        return [
            (recipe.name, recipe.description, str(recipe.parameters.written), recipe.handler)
            for recipe in self.recipes
        ]

    @callback
    def async_follow(self, on_change: Callable[[], None]) -> CALLBACK_TYPE:
        """Update the tools now and regularly; return how to stop it."""
        self.hass.async_create_background_task(self.async_refresh(), f"{DOMAIN} mcp {self.name}")
        return self.async_add_listener(on_change)

    @callback
    def async_forget(self) -> None:
        """Take back what was reported."""
        self._report("")
        async_report_refused(self.hass, f"mcp_{self.name}", self.name, ())

    def _report(self, error: str) -> None:
        issue_id = f"{UNREACHABLE}_{self.name}"
        if error:
            report(self.hass, issue_id, UNREACHABLE, name=self.name, error=error)
        else:
            withdraw(self.hass, issue_id)
