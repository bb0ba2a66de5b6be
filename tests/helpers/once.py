"""A house in which things are waited for: a washer, a window, a porch, and persons who come and go."""

from custom_components.home_agent.planned.records import told_clause
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent
from tests.helpers.own_automations import async_add_persons
from tests.helpers.planned import planned
from tests.helpers.secure_house import SecureHouse

WASHER, WINDOW, PORCH = "binary_sensor.washer", "binary_sensor.window", "sensor.porch"
ANNA, BEN = "person.anna", "person.ben"
STATES = {
    WASHER: ("on", {"friendly_name": "Washer", "device_class": "running"}),
    WINDOW: ("off", {"friendly_name": "Window", "device_class": "window"}),
    PORCH: ("9", {"friendly_name": "Porch", "device_class": "temperature", "unit_of_measurement": "°C"}),
    "sensor.battery": ("80", {"friendly_name": "Car Battery", "unit_of_measurement": "%"}),
    "sensor.dryer": ("drying", {"friendly_name": "Dryer"}),
    "event.doorbell": ("2026-06-01T08:00:00.000+00:00", {"friendly_name": "Doorbell"}),
    "binary_sensor.hidden": ("on", {"friendly_name": "Hidden"}),
}


async def async_add_things(house: SecureHouse) -> None:
    """Add what can be waited for; `binary_sensor.hidden` is not exposed, and neither are persons."""
    for entity_id, (state, attributes) in STATES.items():
        house.hass.states.async_set(entity_id, state, attributes)
        async_expose_entity(house.hass, "conversation", entity_id, entity_id != "binary_sensor.hidden")
    zone = {"zone": [{"name": "Work", "latitude": 10, "longitude": 10, "radius": 100}]}
    assert await async_setup_component(house.hass, "zone", zone)
    await async_add_persons(house.hass, {"Anna": house.anna, "Ben": house.ben})
    for person in (ANNA, BEN):
        show(house.hass, person, "not_home")


def show(hass: HomeAssistant, entity_id: str, state: str) -> None:
    now = hass.states.get(entity_id)
    hass.states.async_set(entity_id, state, now.attributes if now else None)


def waited_for(agent: Agent) -> list[str]:
    """Return what is waited for, and what must hold then, by item."""
    return [
        " if ".join(
            [
                item.schedule.sun
                or (told_clause(item.schedule.event.clause) if item.schedule.event else f"{item.due:%H:%M}"),
                *map(told_clause, item.schedule.conditions),
            ]
        )
        for item in planned(agent).all()
    ]
