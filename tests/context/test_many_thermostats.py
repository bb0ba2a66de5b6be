"""A device that a sentence names has its state there in a home of many of its kind."""

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent
from tests.servers.model_server import ModelServer

ROOMS = ("Office", "Kitchen", "Bedroom", *(f"Guest {number}" for number in range(32)))
SAID = "What's the office thermostat temperature?"


def add(hass: HomeAssistant, domain: str, name: str, room: str, state: str, **attributes: object) -> str:
    """Add an exposed entity in a room, on a device that is called as the thermostat there."""
    area = ar.async_get(hass).async_get_or_create(room)
    devices = dr.async_get(hass)
    entry = next(iter(hass.config_entries.async_entries("test")), None)
    if entry is None:
        entry = MockConfigEntry(domain="test")
        entry.add_to_hass(hass)
    device = devices.async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", room)})
    devices.async_update_device(device.id, area_id=area.id)
    found = er.async_get(hass).async_get_or_create(
        domain,
        "test",
        name,
        device_id=None if domain == "light" else device.id,
        original_name=name,
        original_device_class=str(attributes.get("device_class", "")) or None,
        object_id_base=name,
    )
    er.async_get(hass).async_update_entity(found.entity_id, area_id=area.id)
    hass.states.async_set(found.entity_id, state, {"friendly_name": name, **attributes})
    async_expose_entity(hass, "conversation", found.entity_id, True)
    return found.entity_id


async def beside(
    hass: HomeAssistant, server: ModelServer, *, measured: bool, sensors: bool, lamps: int, said: str = SAID
) -> str:
    """Return the states beside a sentence in a home with a thermostat in each room."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "conversation", {})
    for room in ROOMS:
        known = {"current_temperature": 19.5} if measured else {}
        modes = {"hvac_modes": ["off", "heat"], "supported_features": 385, "temperature": 21}
        add(hass, "climate", f"{room} Thermostat", room, "heat", **modes, **known)
        if sensors:
            unit = {"device_class": "temperature", "unit_of_measurement": "°C"}
            add(hass, "sensor", f"{room} Temperature", room, "20.5", **unit)
        for number in range(lamps):
            add(hass, "light", f"{room} Lamp {number}", room, "off")
    agent = await async_add_agent(hass, server)
    await agent.say(said)
    return str(server.chats[-1].messages[-1]["content"]).partition("States")[2]


@pytest.mark.parametrize(
    ("measured", "sensors", "lamps"), [(True, False, 0), (False, True, 25), (True, True, 25)]
)
async def test_the_named_one_is_told(
    hass: HomeAssistant, model_server: ModelServer, measured: bool, sensors: bool, lamps: int
) -> None:
    """Also where the model knows no list of all entities; those of other rooms are not."""
    shown = await beside(hass, model_server, measured=measured, sensors=sensors, lamps=lamps)
    assert "climate.office_" in shown
    assert "temperatures, highest first" not in shown
    assert "Guest" not in shown


async def test_no_line_without_a_value(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Thermostats that measure nothing make no line about temperatures."""
    said = "Which room is the warmest?"
    shown = await beside(hass, model_server, measured=False, sensors=False, lamps=0, said=said)
    assert "temperatures" not in shown
