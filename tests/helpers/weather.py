"""A weather service that is really there."""

from datetime import timedelta
from typing import override

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.weather import DOMAIN, Forecast, WeatherEntity, WeatherEntityFeature
from homeassistant.components.weather.const import DATA_COMPONENT
from homeassistant.const import UnitOfPressure, UnitOfSpeed, UnitOfTemperature
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util


class WeatherStation(WeatherEntity):
    """Is cloudy now, rainy tonight and sunny from tomorrow on."""

    _attr_name = "Home"
    _attr_unique_id = "weather"
    _attr_condition = "cloudy"
    _attr_native_temperature = 9.5
    _attr_native_temperature_unit = UnitOfTemperature.CELSIUS
    _attr_native_pressure_unit = UnitOfPressure.HPA
    _attr_native_wind_speed_unit = UnitOfSpeed.KILOMETERS_PER_HOUR
    _attr_humidity = 71
    _attr_supported_features = WeatherEntityFeature.FORECAST_DAILY | WeatherEntityFeature.FORECAST_HOURLY

    @override
    async def async_forecast_daily(self) -> list[Forecast]:
        start = dt_util.start_of_local_day()
        return [
            Forecast(
                datetime=(start + timedelta(days=day)).isoformat(),
                condition="rainy" if day == 0 else "sunny",
                native_temperature=10.0 + day,
                native_templow=3.0 + day,
                precipitation_probability=80 if day == 0 else 10,
            )
            for day in range(7)
        ]

    @override
    async def async_forecast_hourly(self) -> list[Forecast]:
        start = dt_util.now().replace(minute=0, second=0, microsecond=0)
        return [
            Forecast(
                datetime=(start + timedelta(hours=hour)).isoformat(),
                condition="rainy" if hour < 12 else "sunny",
                native_temperature=9.0,
                precipitation_probability=80 if hour < 12 else 10,
            )
            for hour in range(48)
        ]


async def async_add_weather(hass: HomeAssistant) -> str:
    """Add a weather service and return its entity id."""
    assert await async_setup_component(hass, DOMAIN, {})
    station = WeatherStation()
    await hass.data[DATA_COMPONENT].async_add_entities([station])
    async_expose_entity(hass, "conversation", station.entity_id, should_expose=True)
    await hass.async_block_till_done()
    return station.entity_id
