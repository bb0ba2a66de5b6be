"""Lights, from plain to coloured."""

from typing import Any, override

from homeassistant.components.light import ATTR_BRIGHTNESS, ATTR_COLOR_TEMP_KELVIN, ColorMode, LightEntity

from .entity import HouseEntity, platform

MODES = {
    "plain": {ColorMode.ONOFF},
    "dimmable": {ColorMode.BRIGHTNESS},
    "white": {ColorMode.COLOR_TEMP},
    "colour": {ColorMode.COLOR_TEMP, ColorMode.HS},
}
MODE_OF = {"hs_color": ColorMode.HS, ATTR_COLOR_TEMP_KELVIN: ColorMode.COLOR_TEMP}


class HouseLight(HouseEntity, LightEntity):
    """A light; `kind` says what it can do."""

    _attr_is_on = False
    _attr_min_color_temp_kelvin = 2200
    _attr_max_color_temp_kelvin = 6500

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Start with full brightness in the first mode."""
        modes = MODES[spec.get("kind", "plain")]
        self._attr_supported_color_modes = modes
        self._attr_color_mode = min(modes)
        self._attr_color_temp_kelvin = 2700 if ColorMode.COLOR_TEMP in modes else None
        self._attr_brightness = None if ColorMode.ONOFF in modes else 255
        super().__init__(entity_id, spec)

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        """Switch on, with what was asked for."""
        settings = {key: kwargs[key] for key in (ATTR_BRIGHTNESS, *MODE_OF) if key in kwargs}
        for key in MODE_OF.keys() & settings.keys():
            settings["color_mode"] = MODE_OF[key]
        self.change(is_on=True, **settings)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        """Switch off."""
        self.change(is_on=False)


async_setup_entry = platform("light", HouseLight)
