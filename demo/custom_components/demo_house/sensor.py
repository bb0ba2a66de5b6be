"""Measurements that move a little, so that there is a history to ask for."""

from datetime import datetime, timedelta
import math
from typing import Any, override

from homeassistant.components.sensor import SensorEntity, SensorStateClass
from homeassistant.const import EntityCategory
from homeassistant.helpers.event import async_track_time_interval

from .entity import HouseEntity, platform

INTERVAL = timedelta(seconds=30)
PERIOD_SECONDS = 1800.0


class HouseSensor(HouseEntity, SensorEntity):
    """A measurement; `swing` is how far it goes up and down within half an hour."""

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Start at the value described; numbers with a unit are measurements."""
        self._attr_native_unit_of_measurement = spec.get("unit")
        if spec.get("unit"):
            self._attr_state_class = SensorStateClass.MEASUREMENT
        if category := spec.get("category"):
            self._attr_entity_category = EntityCategory(category)
        super().__init__(entity_id, spec)

    @override
    async def async_added_to_hass(self) -> None:
        """Begin to move."""
        await super().async_added_to_hass()
        if "swing" in self.spec:
            self.async_on_remove(async_track_time_interval(self.hass, self._move, INTERVAL))

    async def _move(self, now: datetime) -> None:
        phase = math.sin(now.timestamp() / PERIOD_SECONDS * math.tau)
        middle = self.spec["starts"]["native_value"]
        self.change(native_value=round(middle + self.spec["swing"] * phase, 1))


async_setup_entry = platform("sensor", HouseSensor)
