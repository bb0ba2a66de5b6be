"""Amounts of a period from long-term statistics, read by the recorder's own threads."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from homeassistant.const import UnitOfEnergy, UnitOfVolume
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from homeassistant.util.unit_system import METRIC_SYSTEM

from ...database import DatabaseError, async_read_database
from ...errors import ToolExecutionError
from ..query.periods import Period
from .flows import Amounts, Flows, flows_of
from .preferences import Preferences, Source

READ_SECONDS: Final = 20.0
FEW_DAYS: Final = timedelta(days=3)
"""Periods below this length are read by the hour, as the dashboard does."""
LONG: Final = timedelta(days=36)
"""Whole months from this length on are read by the month."""
TINY: Final = timedelta(microseconds=1)
_ENERGY_CLASS: Final = "energy"

type Step = Literal["hour", "day", "month"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What the statistics say of a period. Amounts are in kWh, in the units of `units`, or money."""

    period: Period
    step: Step
    amounts: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    """By statistic, by the beginning of each hour, day or month."""
    units: Mapping[str, str] = field(default_factory=dict)
    """By statistic."""

    def has(self, statistic: str) -> bool:
        """Return whether there is anything of a statistic in the period."""
        return bool(self.amounts.get(statistic))

    def total(self, statistics: Iterable[str]) -> float | None:
        """Return the sum of statistics; None if there is nothing of any of them."""
        found = [sum(rows.values()) for one in statistics if one and (rows := self.amounts.get(one))]
        return sum(found) if found else None

    @property
    def begins(self) -> float | None:
        """Return when the first of the counted hours, days or months begins."""
        return min((at for rows in self.amounts.values() for at in rows), default=None)

    def by_time(self, wanted: Preferences) -> dict[float, Amounts]:
        """Return the amounts of electricity by the beginning of each hour, day or month."""
        parts: dict[float, dict[str, float]] = {}
        for name, statistics in _roles(wanted.sources).items():
            for statistic in statistics:
                for at, amount in self.amounts.get(statistic, {}).items():
                    part = parts.setdefault(at, {})
                    part[name] = part.get(name, 0.0) + amount
        return {at: Amounts(**part) for at, part in sorted(parts.items())}

    def flows_by_time(self, wanted: Preferences) -> dict[float, Flows]:
        """Return how the electricity was used in each hour, day or month."""
        return {at: flows_of(amounts) for at, amounts in self.by_time(wanted).items()}

    def flows(self, wanted: Preferences) -> Flows:
        """Return how the electricity was used."""
        return sum(self.flows_by_time(wanted).values(), Flows())


def _roles(sources: Iterable[Source]) -> Mapping[str, list[str]]:
    """Return the statistics of electricity by what they count."""
    roles: dict[str, list[str]] = {}
    names = {
        "grid": ("from_grid", "to_grid"),
        "battery": ("from_battery", "to_battery"),
        "solar": ("solar", ""),
    }
    for source in sources:
        taken, given = names.get(source.kind, ("", ""))
        for name, statistic in ((taken, source.taken), (given, source.given)):
            if name and statistic:
                roles.setdefault(name, []).append(statistic)
    return roles


def step_of(period: Period, end: datetime) -> Step:
    """Return the steps in which the dashboard reads a period; `end` is that of the day, week or month."""
    length = end - period.start
    if length >= LONG and _begins_month(period.start) and _begins_month(end):
        return "month"
    return "day" if length >= FEW_DAYS else "hour"


def _begins_month(moment: datetime) -> bool:
    """Return whether a month begins at a moment."""
    local = dt_util.as_local(moment)
    return local == dt_util.start_of_local_day(local.replace(day=1))


async def async_counted(
    hass: HomeAssistant, wanted: Preferences, periods: Sequence[tuple[Period, Step]]
) -> list[Counted]:
    """Return what was counted in some periods.

    Raises ToolExecutionError if there are no statistics to read.
    """
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await async_read_database(hass, _read_all, hass, wanted, tuple(periods))
    except TimeoutError as err:
        raise ToolExecutionError("The recorder's database did not answer in time") from err
    except DatabaseError as err:
        raise ToolExecutionError(str(err)) from err


def _read_all(
    hass: HomeAssistant, wanted: Preferences, periods: Sequence[tuple[Period, Step]]
) -> list[Counted]:
    """Return what was counted in some periods; runs in the recorder's executor."""
    units = _units(hass, wanted)
    return [_read(hass, wanted, period, step, units) for period, step in periods]


def _units(hass: HomeAssistant, wanted: Preferences) -> dict[str, str]:
    """Return the units in which the dashboard shows gas and water, by statistic."""
    from homeassistant.components.recorder.statistics import get_metadata  # noqa: PLC0415

    ids = {source.taken for source in wanted.sources if source.kind in ("gas", "water") and source.taken}
    found = {key: meta for key, (_id, meta) in get_metadata(hass, statistic_ids=ids).items()} if ids else {}
    is_metric = hass.config.units.length_unit == METRIC_SYSTEM.length_unit
    units: dict[str, str] = {}
    for kind, metric, other in (
        ("gas", UnitOfVolume.CUBIC_METERS, UnitOfVolume.CUBIC_FEET),
        ("water", UnitOfVolume.LITERS, UnitOfVolume.GALLONS),
    ):
        own = [source.taken for source in wanted.of(kind)]
        stored = {str(meta.get("unit_of_measurement")) for key in own if (meta := found.get(key))}
        is_energy = any(meta.get("unit_class") == _ENERGY_CLASS for key in own if (meta := found.get(key)))
        volume = str(metric if is_metric else other)
        if len(stored) == 1 and (only := next(iter(stored))) in set(UnitOfVolume):
            volume = only
        units |= dict.fromkeys(own, UnitOfEnergy.KILO_WATT_HOUR if is_energy else volume)
    return units


def _read(
    hass: HomeAssistant, wanted: Preferences, period: Period, step: Step, units: Mapping[str, str]
) -> Counted:
    """Return what was counted in one period; runs in the recorder's executor."""
    from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

    amounts: dict[str, dict[float, float]] = {}
    for unit in dict.fromkeys(("", *units.values())):
        ids = {one for one in wanted.statistics if units.get(one, "") == unit}
        convert = {"energy": str(UnitOfEnergy.KILO_WATT_HOUR)}
        if unit and unit != UnitOfEnergy.KILO_WATT_HOUR:
            convert["volume"] = unit
        if ids:
            # The end of a day would be taken for the beginning of the next one.
            found = statistics_during_period(
                hass,
                dt_util.as_utc(period.start),
                dt_util.as_utc(period.end) - TINY,
                ids,
                step,
                convert,
                {"change"},
            )
            amounts |= {key: _changes(rows) for key, rows in found.items()}
    return Counted(period=period, step=step, amounts=amounts, units=units)


def _changes(rows: Iterable[Any]) -> dict[float, float]:
    """Return what each row counted, by its beginning."""
    return {row["start"]: change for row in rows if (change := row.get("change")) is not None}
