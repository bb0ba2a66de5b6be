"""Fans with speeds."""

from typing import Any, override

from homeassistant.components.fan import FanEntity, FanEntityFeature

from .entity import HouseEntity, platform


class HouseFan(HouseEntity, FanEntity):
    """A fan; 0 % is off."""

    _attr_percentage = 0
    _attr_oscillating = False
    _attr_supported_features = (
        FanEntityFeature.SET_SPEED
        | FanEntityFeature.OSCILLATE
        | FanEntityFeature.TURN_ON
        | FanEntityFeature.TURN_OFF
    )

    @override
    async def async_set_percentage(self, percentage: int) -> None:
        """Set the speed."""
        self.change(percentage=percentage)

    @override
    async def async_turn_on(
        self, percentage: int | None = None, preset_mode: str | None = None, **kwargs: Any
    ) -> None:
        """Switch on, at half speed when none is named."""
        self.change(percentage=percentage or 50)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        """Switch off."""
        self.change(percentage=0)

    @override
    async def async_oscillate(self, oscillating: bool) -> None:
        """Swing or stand still."""
        self.change(oscillating=oscillating)


async_setup_entry = platform("fan", HouseFan)
