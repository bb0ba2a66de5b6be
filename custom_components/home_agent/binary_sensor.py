"""Platform: whether the model server answers."""

from typing import override

from homeassistant.components.binary_sensor import BinarySensorEntity
from homeassistant.components.binary_sensor.const import BinarySensorDeviceClass
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .entity import HomeAgentBaseEntity
from .runtime import HomeAgentConfigEntry, Topic

PARALLEL_UPDATES = 0


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the sensor."""
    async_add_entities([ServerSensor(entry, "server", Topic.SERVER)])


class ServerSensor(HomeAgentBaseEntity, BinarySensorEntity):
    """On while the model server answers; what turns and background requests find out is shown at once."""

    _attr_device_class = BinarySensorDeviceClass.CONNECTIVITY
    _attr_entity_category = EntityCategory.DIAGNOSTIC

    @property
    @override
    def is_on(self) -> bool | None:
        """Return whether the server answers; None until it was asked."""
        return self.data.server_reachable
