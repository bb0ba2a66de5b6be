"""A small house on a real `hass`: two floors, real lights, a lock and a sensor, some of it hidden."""

from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.setup import async_setup_component

ROOMS = {"Kitchen": "Ground floor", "Living Room": "Ground floor", "Bedroom": "Upstairs"}


def _switchable(helper: str) -> dict[str, Any]:
    target = {"entity_id": f"input_boolean.{helper}"}
    return {
        "state": f"{{{{ states('input_boolean.{helper}') }}}}",
        "turn_on": {"action": "input_boolean.turn_on", "target": target},
        "turn_off": {"action": "input_boolean.turn_off", "target": target},
    }


def _light(name: str, key: str) -> dict[str, Any]:
    return {
        "name": name,
        "unique_id": key,
        **_switchable(key),
        "level": f"{{{{ states('input_number.{key}_level') | int(0) }}}}",
        "set_level": [
            {
                "action": "input_number.set_value",
                "target": {"entity_id": f"input_number.{key}_level"},
                "data": {"value": "{{ brightness }}"},
            },
            {"action": "input_boolean.turn_on", "target": {"entity_id": f"input_boolean.{key}"}},
        ],
    }


LIGHTS = {
    "kitchen_ceiling": ("Kitchen Ceiling", "Kitchen"),
    "kitchen_counter": ("Kitchen Counter", "Kitchen"),
    "living_lamp": ("Reading Lamp", "Living Room"),
    "bed_light": ("Bed Light", "Bedroom"),
    "hidden_light": ("Secret Light", "Bedroom"),
}


async def async_furnish(hass: HomeAssistant) -> None:
    """Build the house and expose all of it but `light.secret_light` and `lock.cellar_door`."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(
        hass,
        "input_boolean",
        {
            "input_boolean": {
                **dict.fromkeys(LIGHTS),
                "front_door": {"initial": True},
                "cellar_door": {"initial": True},
            }
        },
    )
    assert await async_setup_component(
        hass, "input_number", {"input_number": {f"{key}_level": {"min": 0, "max": 255} for key in LIGHTS}}
    )
    assert await async_setup_component(
        hass,
        "template",
        {
            "template": [
                {"light": [_light(name, key) for key, (name, _room) in LIGHTS.items()]},
                {"lock": [_lock("Front Door", "front_door"), _lock("Cellar Door", "cellar_door")]},
                {
                    "sensor": [
                        {
                            "name": "Kitchen Temperature",
                            "unique_id": "kitchen_temperature",
                            "state": "21.5",
                            "unit_of_measurement": "°C",
                            "device_class": "temperature",
                        }
                    ]
                },
            ]
        },
    )
    await hass.async_block_till_done()
    floors, areas, entities = fr.async_get(hass), ar.async_get(hass), er.async_get(hass)
    for name in dict.fromkeys(ROOMS.values()):
        floors.async_create(name)
    for name, floor in ROOMS.items():
        entry = floors.async_get_floor_by_name(floor)
        assert entry is not None
        areas.async_create(name, floor_id=entry.floor_id)
    places = {f"light.{name.lower().replace(' ', '_')}": room for name, room in LIGHTS.values()}
    for entity_id, room in {
        **places,
        "lock.front_door": "Living Room",
        "lock.cellar_door": "Kitchen",
        "sensor.kitchen_temperature": "Kitchen",
    }.items():
        area = areas.async_get_area_by_name(room)
        assert area is not None
        entities.async_update_entity(entity_id, area_id=area.id)
    hidden = {"light.secret_light", "lock.cellar_door"}
    for state in hass.states.async_all():
        shown = state.domain in ("light", "lock", "sensor") and state.entity_id not in hidden
        async_expose_entity(hass, "conversation", state.entity_id, shown)
    await hass.async_block_till_done()


async def async_lock_door(hass: HomeAssistant) -> None:
    """Lock the front door, so that there is something to unlock."""
    await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    await hass.async_block_till_done()


def _lock(name: str, key: str) -> dict[str, Any]:
    target = {"entity_id": f"input_boolean.{key}"}
    return {
        "name": name,
        "unique_id": key,
        "state": f"{{{{ 'locked' if is_state('input_boolean.{key}', 'on') else 'unlocked' }}}}",
        "lock": {"action": "input_boolean.turn_on", "target": target},
        "unlock": {"action": "input_boolean.turn_off", "target": target},
    }
