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


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    await hass.config.async_set_time_zone("UTC")
    return secure


@pytest.fixture
async def agent(secure: SecureHouse) -> Agent:
    """Return an agent of the house that confirms nothing quickly."""
    return await secure.async_with(ASKS)


@pytest.fixture
def wait(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> Wait:
    """Let time pass."""
    return partial(async_pass, hass, freezer)
