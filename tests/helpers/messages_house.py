"""A house whose clock is ours, with Anna and Ben and their phones, and what is sent there."""

from datetime import datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed, async_mock_service

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_add_agent
from tests.servers.model_server import ModelServer

GARAGE = "cover.garage"
NOON = datetime(2026, 5, 4, 12, tzinfo=dt_util.UTC)
TARGETS = [
    {"person": "person.anna", "targets": ["notify.mobile_app_anna"]},
    {"person": "person.ben", "targets": ["notify.mobile_app_ben"]},
]


class House:
    """A house whose clock is ours, and what was told in it."""

    def __init__(self, hass: HomeAssistant, clock: FrozenDateTimeFactory) -> None:
        self.hass = hass
        self.clock = clock
        self.told: dict[str, list[ServiceCall]] = {}

    def put(self, entity_id: str, state: str, *, exposed: bool = True, **attributes: Any) -> None:
        old = self.hass.states.get(entity_id)
        name = entity_id.partition(".")[2].replace("_", " ").title()
        kept = old.attributes if old and not attributes else {"friendly_name": name, **attributes}
        if old is None:
            async_expose_entity(self.hass, "conversation", entity_id, exposed)
        self.hass.states.async_set(entity_id, state, kept)

    async def wait(self, **span: float) -> None:
        """Let time pass, minute by minute near its end."""
        self.clock.tick(timedelta(**span))
        for _ in range(3):
            async_fire_time_changed(self.hass, dt_util.utcnow())
            await self.hass.async_block_till_done(wait_background_tasks=True)
            self.clock.tick(timedelta(seconds=4))
        async_fire_time_changed(self.hass, dt_util.utcnow())
        await self.hass.async_block_till_done(wait_background_tasks=True)

    def messages(self, who: str = "anna") -> list[str]:
        return [call.data["message"] for call in self.told[who]]


@pytest.fixture
async def home(hass: HomeAssistant, house: HomeAssistant, freezer: FrozenDateTimeFactory) -> House:
    """Return a house at noon, with Anna and Ben and their phones."""
    await hass.config.async_set_time_zone("UTC")
    freezer.move_to(NOON)
    assert await async_setup_component(hass, "conversation", {})
    found = House(hass, freezer)
    for who in ("anna", "ben"):
        hass.states.async_set(f"person.{who}", "home", {"user_id": who, "friendly_name": who.title()})
        found.told[who] = async_mock_service(hass, "notify", f"mobile_app_{who}")
    found.put(GARAGE, "closed", device_class="garage")
    return found


async def add(home: House, server: ModelServer, *rules: dict[str, Any], **options: Any) -> Agent:
    return await async_add_agent(
        home.hass,
        server,
        {"proactive_enabled": True, "proactive_rules": list(rules), "notify_targets": TARGETS, **options},
    )
