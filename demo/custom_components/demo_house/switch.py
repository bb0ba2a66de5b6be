"""Plugs and switches."""

from typing import Any, override

from homeassistant.components.switch import SwitchEntity

from .entity import HouseEntity, platform


class HouseSwitch(HouseEntity, SwitchEntity):
    """A switch."""

    _attr_is_on = False

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        """Switch on."""
        self.change(is_on=True)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        """Switch off."""
        self.change(is_on=False)


async_setup_entry = platform("switch", HouseSwitch)
