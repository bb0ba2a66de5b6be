"""A family's house without hardware: house.yaml describes rooms and devices, which obey their services."""

from pathlib import Path
from typing import Any

from homeassistant.config_entries import SOURCE_IMPORT, ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, config_validation as cv, floor_registry as fr
from homeassistant.helpers.typing import ConfigType
from homeassistant.util.yaml import load_yaml_dict

DOMAIN = "demo_house"
CONFIG_SCHEMA = cv.empty_config_schema(DOMAIN)
PLATFORMS = (
    Platform.BINARY_SENSOR,
    Platform.CLIMATE,
    Platform.COVER,
    Platform.FAN,
    Platform.LIGHT,
    Platform.LOCK,
    Platform.MEDIA_PLAYER,
    Platform.SENSOR,
    Platform.SWITCH,
    Platform.VACUUM,
)

type HouseConfigEntry = ConfigEntry[dict[str, dict[str, Any]]]


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Set the house up when configuration.yaml names it."""
    if DOMAIN in config:
        hass.async_create_task(
            hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_IMPORT}, data={})
        )
    return True


async def async_setup_entry(hass: HomeAssistant, entry: HouseConfigEntry) -> bool:
    """Build the rooms, then fill them."""
    plan = await hass.async_add_executor_job(load_yaml_dict, str(Path(__file__).with_name("house.yaml")))
    rooms = build_rooms(hass, plan["floors"])
    entry.runtime_data = {
        entity_id: {**spec, "area_id": rooms.get(room)}
        for room, entities in plan["rooms"].items()
        for entity_id, spec in entities.items()
    }
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: HouseConfigEntry) -> bool:
    """Empty the house."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)


def build_rooms(hass: HomeAssistant, plan: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Create the floors and areas that onboarding has not made; return the area id of each room."""
    floors, areas = fr.async_get(hass), ar.async_get(hass)
    rooms: dict[str, str] = {}
    for floor_name, floor in plan.items():
        entry = floors.async_get_floor_by_name(floor_name) or floors.async_create(
            floor_name, level=floor["level"], aliases=set(floor.get("aliases", ()))
        )
        for name, aliases in floor["rooms"].items():
            area = areas.async_get_area_by_name(name) or areas.async_create(name)
            if area.floor_id is None:
                areas.async_update(area.id, floor_id=entry.floor_id, aliases=area.aliases | set(aliases))
            rooms[name] = area.id
    return rooms
