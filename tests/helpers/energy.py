"""An Energy dashboard with preferences and statistics."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from homeassistant.components.energy.data import async_get_manager
from homeassistant.components.recorder import get_instance
from homeassistant.components.recorder.models import StatisticMeanType
from homeassistant.components.recorder.statistics import (
    async_add_external_statistics,
    async_import_statistics,
)
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util

GRID = {
    "type": "grid",
    "stat_energy_from": "sensor.grid_in",
    "stat_energy_to": "sensor.grid_out",
    "stat_cost": "sensor.grid_cost",
    "entity_energy_price": None,
    "number_energy_price": None,
    "stat_compensation": "sensor.grid_earned",
    "entity_energy_price_export": None,
    "number_energy_price_export": None,
    "cost_adjustment_day": 0.0,
}
SOLAR = {"type": "solar", "stat_energy_from": "sensor.roof", "config_entry_solar_forecast": None}
BATTERY = {
    "type": "battery",
    "stat_energy_from": "sensor.battery_out",
    "stat_energy_to": "sensor.battery_in",
}
CLASSES = {"kWh": "energy", "Wh": "energy", "m³": "volume"}
NOON = 12


async def configure(hass: HomeAssistant, sources: Iterable[Mapping[str, Any]], *devices: Any) -> None:
    """Configure the dashboard as its page does."""
    manager = await async_get_manager(hass)
    update: Any = {"energy_sources": [*sources], "device_consumption": [*devices]}
    await manager.async_update(update)
    await hass.async_block_till_done()


def count(
    hass: HomeAssistant, statistic: str, hours: Iterable[tuple[datetime, float]], unit: str = "kWh"
) -> None:
    """Have a meter count by the hour: the beginnings of hours with what is counted in each."""
    total, rows = 0.0, []
    for at, amount in hours:
        if not rows:
            rows.append({"start": at - timedelta(hours=1), "state": 0.0, "sum": 0.0})
        total += amount
        rows.append({"start": at, "state": total, "sum": total})
    is_external = ":" in statistic
    metadata: Any = {
        "has_sum": True,
        "mean_type": StatisticMeanType.NONE,
        "name": None,
        "source": statistic.partition(":")[0] if is_external else "recorder",
        "statistic_id": statistic,
        "unit_of_measurement": unit,
        "unit_class": CLASSES.get(unit),
    }
    imported: Any = async_add_external_statistics if is_external else async_import_statistics
    imported(hass, metadata, rows)


async def async_energy(hass: HomeAssistant, told: Mapping[str, Mapping[int, float]]) -> None:
    """Set up a dashboard with a grid meter and solar panels, and what was counted some days ago.

    Amounts are by statistic, without its domain, and by days ago; they are counted at noon.
    """
    assert await async_setup_component(hass, "energy", {})
    devices = [
        {"stat_consumption": f"sensor.{name}", "name": name.removesuffix("_energy").title()}
        for name in told
        if name.endswith("_energy")
    ]
    await configure(hass, [GRID, SOLAR], *devices)
    today = dt_util.start_of_local_day()
    for name, days in told.items():
        unit = "EUR" if name in ("grid_cost", "grid_earned") else "kWh"
        first = dt_util.start_of_local_day(today.date() - timedelta(days=max(days) + 1))
        end = dt_util.utcnow().replace(minute=0, second=0, microsecond=0)
        hours = []
        at = dt_util.as_utc(first)
        while at < end:
            local = dt_util.as_local(at)
            ago = (today.date() - local.date()).days
            hours.append((at, days.get(ago, 0.0) if local.hour == NOON else 0.0))
            at += timedelta(hours=1)
        count(hass, f"sensor.{name}", hours, unit)
    await get_instance(hass).async_block_till_done()
