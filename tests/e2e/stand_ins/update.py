"""Firmware that can be installed."""

from typing import Any, override

from homeassistant.components.update import UpdateDeviceClass, UpdateEntity, UpdateEntityFeature
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from . import device


class StandInUpdate(UpdateEntity):
    """An update of a lamp, which takes no time."""

    _attr_name = "Lamp firmware"
    _attr_unique_id = "lamp_firmware"
    _attr_device_class = UpdateDeviceClass.FIRMWARE
    _attr_installed_version = "1.0"
    _attr_latest_version = "1.1"
    _attr_supported_features = UpdateEntityFeature.INSTALL

    def __init__(self) -> None:
        self.entity_id = "update.lamp_firmware"
        self._attr_device_info = device("Lamp", "Office")

    @override
    async def async_install(self, version: str | None, backup: bool, **kwargs: Any) -> None:
        self._attr_installed_version = self._attr_latest_version
        self.async_write_ha_state()


async def async_setup_entry(
    _hass: HomeAssistant, _entry: ConfigEntry, add: AddConfigEntryEntitiesCallback
) -> None:
    add([StandInUpdate()])
