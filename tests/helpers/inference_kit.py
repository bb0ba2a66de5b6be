"""What the tests of the model client share."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

from custom_components.home_agent.inference.client import ModelClient
from custom_components.home_agent.inference.models import ChatRequest, Delta, Endpoint
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession

KEY = "sk-secret-0123456789"
TOOL = {
    "type": "function",
    "function": {"name": "ha_query", "parameters": {"type": "object", "properties": {}}},
}


class Naps:
    """Stands in for sleeping and remembers how long it would have been."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def ask(text: str = "hi", **options: Any) -> ChatRequest:
    return ChatRequest(messages=[{"role": "user", "content": text}], **options)


def client_of(hass: HomeAssistant, base_url: str, *, naps: Naps | None = None, **options: Any) -> ModelClient:
    """Return a client for a server; endpoint options and client options may be mixed."""
    endpoint = Endpoint(base_url=base_url, model="test-model", api_key=KEY, dialect="openai")
    names = ("model", "api_key", "headers", "dialect", "api_version")
    endpoint = replace(endpoint, **{name: options.pop(name) for name in names if name in options})
    return ModelClient(async_get_clientsession(hass), endpoint, sleep=naps or Naps(), **options)


async def collect(deltas: AsyncGenerator[Delta]) -> list[Delta]:
    return [delta async for delta in deltas]


def spoken(deltas: list[Delta]) -> str:
    return "".join(delta.content for delta in deltas)
