"""MCP servers of a kitchen."""

from collections.abc import Callable, Iterator
import json
from typing import Any

import pytest

from tests.servers.mcp_server import McpServer
from tests.servers.replies import Reply
from tests.servers.rest_server import data

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
