"""The robot vacuum."""

from typing import Any, override

from homeassistant.components.vacuum import Segment, StateVacuumEntity, VacuumActivity, VacuumEntityFeature
from homeassistant.helpers import area_registry as ar, entity_registry as er

from .entity import HouseEntity, platform


class HouseVacuum(HouseEntity, StateVacuumEntity):
    """A vacuum that is home the moment it is called."""

    _attr_activity = VacuumActivity.DOCKED
    _attr_fan_speed = "standard"
    _attr_supported_features = (
        VacuumEntityFeature.STATE
        | VacuumEntityFeature.START
        | VacuumEntityFeature.PAUSE
        | VacuumEntityFeature.STOP
        | VacuumEntityFeature.RETURN_HOME
        | VacuumEntityFeature.FAN_SPEED
        | VacuumEntityFeature.CLEAN_AREA
    )

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Offer three strengths."""
        self._attr_fan_speed_list = ["quiet", "standard", "strong"]
        super().__init__(entity_id, spec)

    @override
    async def async_added_to_hass(self) -> None:
        """Assign the rooms of the map to the areas of the same name."""
        await super().async_added_to_hass()
        areas = ar.async_get(self.hass)
        rooms = {room: areas.async_get_area_by_name(room) for room in self.spec["map"]}
        options = {
            "area_mapping": {area.id: [room] for room, area in rooms.items() if area},
            "last_seen_segments": [{"id": room, "name": room, "group": None} for room in rooms],
        }
        er.async_get(self.hass).async_update_entity_options(self.entity_id, "vacuum", options)

    @override
    async def async_get_segments(self) -> list[Segment]:
        """Return the rooms of the map."""
        return [Segment(id=room, name=room) for room in self.spec["map"]]

    @override
    async def async_clean_segments(self, segment_ids: list[str], **kwargs: Any) -> None:
        """Clean some rooms."""
        self.change(activity=VacuumActivity.CLEANING, extra_state_attributes={"rooms": segment_ids})

    @override
    async def async_start(self) -> None:
        """Clean."""
        self.change(activity=VacuumActivity.CLEANING)

    @override
    async def async_pause(self) -> None:
        """Pause."""
        self.change(activity=VacuumActivity.PAUSED)

    @override
    async def async_stop(self, **kwargs: Any) -> None:
        """Stop."""
        self.change(activity=VacuumActivity.IDLE)

    @override
    async def async_return_to_base(self, **kwargs: Any) -> None:
        """Go home."""
        self.change(activity=VacuumActivity.DOCKED)

    @override
    async def async_set_fan_speed(self, fan_speed: str, **kwargs: Any) -> None:
        """Set the suction."""
        self.change(fan_speed=fan_speed)


async_setup_entry = platform("vacuum", HouseVacuum)
