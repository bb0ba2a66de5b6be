"""The robot vacuum."""

from typing import Any, override

from homeassistant.components.vacuum import StateVacuumEntity, VacuumActivity, VacuumEntityFeature

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
    )

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Offer three strengths."""
        self._attr_fan_speed_list = ["quiet", "standard", "strong"]
        super().__init__(entity_id, spec)

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
