"""What the demo house does not have: satellites, speakers, a voice and an update."""

from homeassistant.config_entries import SOURCE_IMPORT, ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.typing import ConfigType

DOMAIN = "stand_ins"
CONFIG_SCHEMA = cv.empty_config_schema(DOMAIN)
PLATFORMS = (Platform.ASSIST_SATELLITE, Platform.MEDIA_PLAYER, Platform.TTS, Platform.UPDATE)


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Set them up when configuration.yaml names them."""
    if DOMAIN in config:
        hass.async_create_task(
            hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_IMPORT}, data={})
        )
    return True


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Add the devices."""
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    return True


def device(name: str, room: str) -> DeviceInfo:
    """Return the device of an entity, in a room."""
    return DeviceInfo(identifiers={(DOMAIN, name)}, name=name, manufacturer="Stand-ins", suggested_area=room)
