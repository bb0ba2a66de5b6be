"""What all tests share: a real `hass` that finds the integration."""

import pytest

import custom_components.home_agent  # noqa: F401 - before the plugin's own package of that name
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component

pytest_plugins = ("tests.servers.plugin",)


@pytest.fixture(autouse=True)
def _custom_integrations(enable_custom_integrations: None) -> None:
    """Let Home Assistant load the integration."""


@pytest.fixture
async def house(hass: HomeAssistant) -> HomeAssistant:
    """Return a Home Assistant whose exposure settings and services are there."""
    assert await async_setup_component(hass, "homeassistant", {})
    return hass


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second attempt follow the first one at once."""
    monkeypatch.setattr("custom_components.home_agent.inference.client.PAUSE", 0)
