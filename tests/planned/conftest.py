"""A house whose clocks show UTC."""

from functools import partial

from freezegun.api import FrozenDateTimeFactory
import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.everyday_house import async_pass
from tests.helpers.planned import ASKS, Wait
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer


@pytest.fixture
async def secure(hass: HomeAssistant) -> SecureHouse:
    """Build the house; its clocks show UTC."""
    await hass.config.async_set_time_zone("UTC")
    house = SecureHouse(hass)
    await house.async_build()
    return house


@pytest.fixture
async def agent(secure: SecureHouse, model_server: ModelServer) -> Agent:
    """Return an agent of the house that confirms nothing quickly."""
    return await secure.async_agent(model_server, ASKS)


@pytest.fixture
def wait(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> Wait:
    """Let time pass."""
    return partial(async_pass, hass, freezer)
