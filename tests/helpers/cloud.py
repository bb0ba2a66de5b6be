"""Addresses outside the house whose names lead to loopback."""

import socket
from typing import Any

from aiohttp.resolver import AsyncResolver
import pytest

from tests.servers.model_server import ModelServer


async def _resolve(_self: object, host: str, port: int = 0, family: int = socket.AF_INET) -> list[Any]:
    return [
        {
            "hostname": host,
            "host": "127.0.0.1",
            "port": port,
            "family": socket.AF_INET,
            "proto": 0,
            "flags": socket.AI_NUMERICHOST,
        }
    ]


@pytest.fixture
def names_lead_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name lead to loopback."""
    monkeypatch.setattr(AsyncResolver, "resolve", _resolve)


def outside(server: ModelServer) -> str:
    """Return an address of a server that lies outside the house by its name."""
    return f"http://models.example.com:{server.port}/v1"
