"""A house with a satellite in the hall, and phones of Anna and Ben, whom Home Agent asks."""

from collections.abc import AsyncIterator

import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.asking_satellite import AskingSatellite, async_add_asking
from tests.helpers.phones import Phones, push_service
from tests.helpers.secure_house import SecureHouse


@pytest.fixture
async def hall(hass: HomeAssistant, secure: SecureHouse) -> AskingSatellite:
    return await async_add_asking(hass, "Hall")


@pytest.fixture
async def phones(
    hass: HomeAssistant,
    secure: SecureHouse,
    hall: AskingSatellite,
    hass_client_no_auth: ClientSessionGenerator,
) -> AsyncIterator[Phones]:
    """Return the phones of Anna and Ben."""
    assert await async_setup_component(hass, "http", {})
    async with push_service(hass, hass_client_no_auth) as found:
        await found.async_register("anna", secure.anna)
        await found.async_register("ben", secure.ben)
        yield found
