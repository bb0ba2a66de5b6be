"""A client of the Model Context Protocol over streamable HTTP, as much of it as calling tools needs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from time import monotonic
from typing import Any, Final

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout

from ...errors import ToolExecutionError
from ...inference.sse import JSONReader
from .http import error_message

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that are spoken, the one that is asked for first."""
LISTED_SECONDS: Final = 1800
"""How long a server's list of tools is taken for true."""
MAX_TOOLS: Final = 500
MAX_PAGES: Final = 20
MAX_BYTES: Final = 1_000_000
MAX_MESSAGES: Final = 1000
MAX_ANSWERED: Final = 5
"""Requests of a server that are answered within one of ours."""
MAX_WORDS: Final = 300
CLOSE_TIMEOUT: Final = 5
MAX_SESSION_ID: Final = 512

LIST_CHANGED: Final = "notifications/tools/list_changed"
_METHOD_NOT_FOUND: Final = -32601

type Object = dict[str, Any]


class _SessionLost(Exception):
    """The server does not know our session any more; what was asked was not done."""


class Unauthorized(Exception):
    """The server refuses who we say we are; what was asked was not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTool:
    """A tool as its server describes it."""

    name: str
    only_reads: bool
    """The server's claim; it is not verified."""
    description: str = ""
    schema: Object = field(default_factory=dict)


@dataclass(slots=True)
class _Session:
    """What a server wants to see in each request after the first."""

    version: str
    id: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that belong to the session."""
        known = {"MCP-Protocol-Version": self.version}
        return known | ({"Mcp-Session-Id": self.id} if self.id else {})


@dataclass(slots=True)
class McpClient:
    """Talks to one server, in a session that is started again if the server has lost it."""

    http: ClientSession
    url: str
    headers: Callable[[], Awaitable[Mapping[str, str]]]
    """Makes the headers of a request; they are the only place that contains secrets."""
    spawn: Callable[[Coroutine[Any, Any, None]], object]
    """Runs what need not be waited for."""
    on_change: Callable[[], None] | None = None
    """Called when the server says that its tools have changed."""
    _session: _Session | None = None
    _tools: dict[str, RemoteTool] = field(default_factory=dict)
    _listed: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _ids: Any = field(default_factory=lambda: count(1))

    async def tools(self) -> Mapping[str, RemoteTool]:
        """Return the server's tools, asked for once in a while. Raises ToolExecutionError."""
        async with self._lock:
            if not self.listed:
                self._tools = await self._list()
                self._listed = monotonic()
        return self._tools

    @property
    def listed(self) -> bool:
        """Return whether the list of tools is taken for true."""
        return monotonic() - self._listed <= LISTED_SECONDS

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Object:
        """Return the result of a call. Raises ToolExecutionError with words the model can act on."""
        return await self._ask("tools/call", {"name": tool, "arguments": dict(arguments)})

    def forget(self) -> None:
        """Begin with a new session and a new list."""
        self._session, self._listed = None, float("-inf")

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
        """Return the result of a request within a session; a lost session is started again once."""
        for _ in range(2):
            try:
                return await self._request(method, params, await self._begun())
            except _SessionLost:
                self._session = None
        raise ToolExecutionError("The MCP server loses its sessions")

    async def _begun(self) -> _Session:
        if self._session is None:
            fresh = _Session(VERSIONS[0])
            params = {
                "protocolVersion": VERSIONS[0],
                "capabilities": {},
                "clientInfo": {"name": "home_agent", "version": "1"},
            }
            result = await self._request("initialize", params, fresh)
            version = result.get("protocolVersion")
            if version not in VERSIONS:
                raise ToolExecutionError("The MCP server speaks a version of the protocol that is not known")
            fresh.version = str(version)
            await self._tell({"jsonrpc": "2.0", "method": "notifications/initialized"}, fresh)
            self._session = fresh
        return self._session

    async def _request(self, method: str, params: Object, session: _Session) -> Object:
        """Send a request and return its result; one that is broken off is cancelled on the server too."""
        number = next(self._ids)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            return await self._exchange(body, session)
        except asyncio.CancelledError:
            if method != "initialize":
                self.spawn(self._cancel(number, session))
            raise

    async def _exchange(self, body: Object, session: _Session) -> Object:
        answered = 0
        response = await self._post(body, session)
        try:
            if body["method"] == "initialize":
                session.id = _session_id(response)
            async for message in _messages(response):
                if message.get("method") == LIST_CHANGED:
                    self._listed = float("-inf")
                    if self.on_change is not None:
                        self.on_change()
                if message.get("id") == body["id"] and "method" not in message:
                    return _result(message)
                if "method" in message and "id" in message and answered < MAX_ANSWERED:
                    answered += 1
                    await self._tell(_reply(message), session)
        except (ClientError, OSError, ValueError) as err:
            raise ToolExecutionError(error_message(err)) from err
        finally:
            response.close()
        raise ToolExecutionError("The MCP server ended its answer without a result")

    async def _tell(self, body: Object, session: _Session) -> None:
        (await self._post(body, session)).close()

    async def _cancel(self, number: int, session: _Session) -> None:
        params = {"requestId": number, "reason": "no longer needed"}
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        with suppress(ToolExecutionError, TimeoutError, _SessionLost, Unauthorized):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._tell(body, session)

    async def _post(self, body: Object, session: _Session) -> ClientResponse:
        """Send a message and return the answer. Raises ToolExecutionError for a refusal."""
        headers = {
            **await self.headers(),
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            **(session.headers if body.get("method") != "initialize" else {}),
        }
        try:
            response = await self.http.post(
                self.url,
                json=body,
                headers=headers,
                allow_redirects=False,
                timeout=ClientTimeout(total=None, sock_connect=10),
            )
        except (ClientError, OSError, ValueError) as err:
            raise ToolExecutionError(error_message(err)) from err
        packed = response.headers.get("Content-Encoding", "identity").strip().casefold() != "identity"
        if response.status < HTTPStatus.MULTIPLE_CHOICES and not packed:
            return response
        response.close()
        if packed:
            raise ToolExecutionError("The MCP server packs its answer, which was not asked for")
        if response.status == HTTPStatus.NOT_FOUND and session.id:
            raise _SessionLost
        if response.status == HTTPStatus.UNAUTHORIZED:
            raise Unauthorized
        raise ToolExecutionError(_refusal(response.status))


async def _messages(response: ClientResponse) -> AsyncIterator[Object]:
    """Yield a server's documents, one or a stream. Raises ToolExecutionError if they are too long."""
    reader = JSONReader(line_bytes=MAX_BYTES, body_bytes=MAX_BYTES)
    seen, ended = 0, False
    while not ended:
        chunk = await response.content.readany()
        ended = not chunk
        for found in reader.feed(chunk) if chunk else reader.close():
            for message in found if isinstance(found, list) else [found]:
                seen += 1
                if isinstance(message, dict) and seen <= MAX_MESSAGES:
                    yield message
        if reader.failure is not None:
            raise ToolExecutionError(
                "The MCP server's answer is longer than is read, or is no JSON: ask for less"
            )
        if seen > MAX_MESSAGES:
            raise ToolExecutionError("The MCP server says too much and gives no result")


def _result(message: Object) -> Object:
    if isinstance(error := message.get("error"), dict):
        said = " ".join(str(error.get("message") or "no explanation").split())
        raise ToolExecutionError(f"The MCP server refuses: {said[:MAX_WORDS]}")
    result = message.get("result")
    if not isinstance(result, dict):
        raise ToolExecutionError("The MCP server's answer holds no result")
    return result


def _reply(message: Object) -> Object:
    """Return the answer to a request of the server: it may ask whether we are there, and nothing else."""
    answer: Object = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return answer | {"result": {}}
    return answer | {"error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}}


def _session_id(response: ClientResponse) -> str:
    found = str(response.headers.get("Mcp-Session-Id", ""))
    if len(found) > MAX_SESSION_ID or not (found.isascii() and (not found or found.isprintable())):
        raise ToolExecutionError("The MCP server gives a session that cannot be used")
    return found


def _refusal(status: int) -> str:
    if status < HTTPStatus.BAD_REQUEST:
        return "The MCP server redirects, which is not followed. The person has to correct its address"
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        return "There is no MCP server with streamable HTTP at this address. The person has to correct it"
    if status == HTTPStatus.FORBIDDEN:
        return "The MCP server refuses the credentials of this tool. The person has to correct them"
    return f"The MCP server answered with status {status}"
