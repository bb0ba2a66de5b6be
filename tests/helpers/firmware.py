"""Updates that can be installed."""

import asyncio
from collections.abc import Mapping
from typing import Any, override

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.update import UpdateEntity, UpdateEntityFeature as Feature
from homeassistant.components.update.const import DATA_COMPONENT
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component


class Firmware(UpdateEntity):
    """An update that can be installed, and remembers how."""

    _attr_should_poll = False
    _attr_installed_version = "1.0"
    _attr_latest_version = "1.1"

    def __init__(self, name: str, features: Feature) -> None:
        self._attr_name = self._attr_unique_id = name
        self._attr_supported_features = features
        self.installed: list[bool] = []
        self.hold: asyncio.Event | None = None

    def change(self, **attributes: Any) -> None:
        """Show other attributes, such as `latest_version`."""
        for name, value in attributes.items():
            setattr(self, f"_attr_{name}", value)
        self.async_write_ha_state()

    @override
    async def async_install(self, version: str | None, backup: bool, **kwargs: Any) -> None:
        self.installed.append(backup)
        if self.hold is not None:
            self._attr_in_progress = True
            self.async_write_ha_state()
            await self.hold.wait()
        self._attr_in_progress = False
        self._attr_installed_version = self._attr_latest_version
        self.async_write_ha_state()


async def async_add_updates(hass: HomeAssistant, described: Mapping[str, Mapping[str, Any]]) -> None:
    """Add updates and expose them: a name, and attributes of the entity such as `latest_version`."""
    if described:
        assert await async_setup_component(hass, "update", {})
    for entity_id, attributes in described.items():
        firmware = Firmware(attributes["name"], Feature.INSTALL | Feature.BACKUP)
        firmware.entity_id = entity_id
        for name, value in attributes.items():
            setattr(firmware, f"_attr_{name}", value)
        await hass.data[DATA_COMPONENT].async_add_entities([firmware])
        async_expose_entity(hass, "conversation", entity_id, should_expose=True)
    await hass.async_block_till_done()
