"""Thermostats."""

from typing import Any, override

from homeassistant.components.climate import (
    ATTR_HVAC_MODE,
    ClimateEntity,
    ClimateEntityFeature,
    HVACAction,
    HVACMode,
)
from homeassistant.const import ATTR_TEMPERATURE, UnitOfTemperature

from .entity import HouseEntity, platform

# Home Assistant 2026.11 and later name what is in the device's own unit so
NATIVE = "native_" if hasattr(ClimateEntity, "native_temperature_unit") else ""
TEMPERATURES = {"temperature_unit", "current_temperature", "target_temperature"}


class HouseClimate(HouseEntity, ClimateEntity):
    """A thermostat, in degrees Celsius."""

    _attr_hvac_mode = HVACMode.HEAT
    _attr_min_temp = 7
    _attr_max_temp = 30
    _attr_target_temperature_step = 0.5
    _attr_supported_features = (
        ClimateEntityFeature.TARGET_TEMPERATURE
        | ClimateEntityFeature.PRESET_MODE
        | ClimateEntityFeature.TURN_ON
        | ClimateEntityFeature.TURN_OFF
    )
    _attr_preset_mode = "comfort"

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Offer cooling where the description has it."""
        self._attr_preset_modes = ["comfort", "eco", "away"]
        self._attr_hvac_modes = [HVACMode(mode) for mode in spec.get("modes", ("off", "heat"))]
        super().__init__(entity_id, spec)
        self._set({"temperature_unit": UnitOfTemperature.CELSIUS})

    @override
    def _set(self, attributes: dict[str, Any]) -> None:
        super()._set(
            {f"{NATIVE if name in TEMPERATURES else ''}{name}": value for name, value in attributes.items()}
        )

    def _temperature(self, name: str) -> float:
        return float(getattr(self, f"_attr_{NATIVE}{name}"))

    @property
    @override
    def hvac_action(self) -> HVACAction:
        """Return what the thermostat is doing."""
        missing = self._temperature("target_temperature") - self._temperature("current_temperature")
        if self.hvac_mode == HVACMode.OFF:
            return HVACAction.OFF
        if missing > 0 and self.hvac_mode != HVACMode.COOL:
            return HVACAction.HEATING
        if missing < 0 and self.hvac_mode != HVACMode.HEAT:
            return HVACAction.COOLING
        return HVACAction.IDLE

    @override
    async def async_set_temperature(self, **kwargs: Any) -> None:
        """Set the target, and the mode if one is named."""
        self.change(
            target_temperature=kwargs.get(ATTR_TEMPERATURE, self._temperature("target_temperature")),
            hvac_mode=kwargs.get(ATTR_HVAC_MODE, self.hvac_mode),
        )

    @override
    async def async_set_hvac_mode(self, hvac_mode: HVACMode) -> None:
        """Set the mode."""
        self.change(hvac_mode=hvac_mode)

    @override
    async def async_set_preset_mode(self, preset_mode: str) -> None:
        """Set the preset."""
        self.change(preset_mode=preset_mode)

    @override
    async def async_turn_on(self) -> None:
        """Heat again."""
        self.change(hvac_mode=HVACMode.HEAT)

    @override
    async def async_turn_off(self) -> None:
        """Switch off."""
        self.change(hvac_mode=HVACMode.OFF)


async_setup_entry = platform("climate", HouseClimate)
