"""Platform: whether the model server answers."""

from typing import override

from homeassistant.components.binary_sensor import BinarySensorEntity
from homeassistant.components.binary_sensor.const import BinarySensorDeviceClass
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .entity import HomeAgentBaseEntity
from .runtime import HomeAgentConfigEntry, server_signal

PARALLEL_UPDATES = 0


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the sensor."""
    async_add_entities([ServerSensor(entry)])


class ServerSensor(HomeAgentBaseEntity, BinarySensorEntity):
    """On while the model server answers; what turns and background requests find out is shown at once."""

    _attr_translation_key = "server"
    _attr_device_class = BinarySensorDeviceClass.CONNECTIVITY
    _attr_entity_category = EntityCategory.DIAGNOSTIC
    _attr_should_poll = False

    def __init__(self, entry: HomeAgentConfigEntry) -> None:
        super().__init__(entry)
        self._attr_unique_id = f"{entry.entry_id}_server"

    @property
    @override
    def is_on(self) -> bool | None:
        """Return whether the server answers; None until it was asked."""
        return self.data.server_reachable

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the state of the server."""
        signal = server_signal(self.entry.entry_id)
        self.async_on_remove(async_dispatcher_connect(self.hass, signal, self.async_write_ha_state))
