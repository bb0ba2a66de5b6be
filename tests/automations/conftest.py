"""What tests of automations by talking share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.helpers.own_automations import OwnHome, async_own_home
from tests.servers.model_server import ModelServer


@pytest.fixture
async def home(hass: HomeAssistant, model_server: ModelServer, tmp_path: Path) -> AsyncIterator[OwnHome]:
    """Return the demo house with an agent, and a phone of Anna's."""
    found = await async_own_home(hass, model_server, tmp_path)
    yield found
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)
