"""MCP servers of a kitchen."""

from collections.abc import Callable, Iterator
import json
from typing import Any

import pytest

from tests.servers.loopback import Captured
from tests.servers.mcp_server import McpServer
from tests.servers.replies import Reply
from tests.servers.rest_server import RestServer, data

TOKEN = "mcp-token-0815"
ARGUMENTS = {"events": (), "json": ("--json",), "token": ("--token", TOKEN)}


@pytest.fixture(scope="session")
def kitchens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], McpServer]]:
    """Return what starts real servers; they stay for all tests."""
    started: dict[str, McpServer] = {}

    def get(name: str) -> McpServer:
        if name not in started:
            started[name] = McpServer(tmp_path_factory.mktemp(name), *ARGUMENTS[name])
            started[name].start()
        started[name].forget()
        return started[name]

    yield get
    for server in started.values():
        server.stop()


def rpc(body: Any, result: Any, **options: Any) -> Reply:
    """Return an answer as one document."""
    return data({"jsonrpc": "2.0", "id": body["id"], "result": result}, **options)


def events(*messages: Any, **options: Any) -> Reply:
    """Return messages as events."""
    pieces = [b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages]
    return Reply(pieces=pieces, content_type="text/event-stream", **options)


READING = {"readOnlyHint": True}
NO_ARGUMENTS = {"type": "object", "properties": {}}


class Changing:
    """An MCP server whose tools are those of a list, which may change."""

    def __init__(self, server: RestServer, tools: list[dict[str, Any]]) -> None:
        self.server = server
        self.tools = tools
        self.status = 200
        server.routes["/mcp"] = self._reply

    @property
    def url(self) -> str:
        return f"{self.server.address}/mcp"

    def _reply(self, request: Captured) -> Reply:
        body = request.json
        if self.status != 200:
            return Reply(status=self.status, body=b"")
        match body.get("method"):
            case "initialize":
                return rpc(body, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}})
            case "tools/list":
                return rpc(body, {"tools": self.tools})
            case "tools/call":
                content = [{"type": "text", "text": "Hot"}]
                return events({"jsonrpc": "2.0", "id": body["id"], "result": {"content": content}})
        return Reply(status=202, body=b"")


def described(name: str, description: str = "Cooks.", **more: Any) -> dict[str, Any]:
    """Return a tool as a server lists it."""
    listed = {"name": name, "description": description, "annotations": READING, "inputSchema": NO_ARGUMENTS}
    return {**listed, **more}
