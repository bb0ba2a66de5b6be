"""What all tests share: a real `hass` that finds the integration."""

import asyncio
from collections.abc import Callable
from functools import wraps
import logging
from typing import Any

import pytest

import custom_components.home_agent  # noqa: F401 - before the plugin's own package of that name
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component

from .agent import IDLE_SECONDS

SECONDS = {
    "inference.client.PAUSE": 0,  # a second attempt follows the first one at once
    "idle.PAUSE": IDLE_SECONDS,  # its request would take a reply that was meant for the next turn
    "agent.streaming.HEARTBEAT_SECONDS": 60,
    "context.manager.PROVIDER_SECONDS": 60,
    "context.index_cache.PATIENCE": 60,
    "knowledge.semantic.SEARCH_SECONDS": 60,
}

pytest_plugins = ("tests.servers.plugin",)

logging.getLogger("sqlalchemy.engine").setLevel(logging.WARNING)  # the plugin has each statement written down


@pytest.fixture(autouse=True)
def _custom_integrations(enable_custom_integrations: None) -> None:
    """Let Home Assistant load the integration."""


@pytest.fixture
async def house(hass: HomeAssistant) -> HomeAssistant:
    """Return a Home Assistant whose exposure settings and services are there."""
    assert await async_setup_component(hass, "homeassistant", {})
    return hass


@pytest.fixture(autouse=True)
def _seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing begin or end because the machine is slow."""
    for name, seconds in SECONDS.items():
        monkeypatch.setattr(f"custom_components.home_agent.{name}", seconds)


@pytest.fixture(autouse=True)
async def enable_event_loop_debug() -> None:
    """Check threads as asyncio's debug mode does, without its traces: they take half of a test's time.

    With PYTHONASYNCIODEBUG=1 it is the debug mode itself. The name is the plugin's, which this replaces.
    """
    loop = asyncio.get_running_loop()
    if loop.get_debug():
        return

    def checked(schedule: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(schedule)
        def call(*args: Any, **kwargs: Any) -> Any:
            loop._check_thread()
            return schedule(*args, **kwargs)

        return call

    for name in ("call_soon", "call_at"):
        setattr(loop, name, checked(getattr(loop, name)))
