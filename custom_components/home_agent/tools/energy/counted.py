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
from .flows import ROLES, Flows, flows_of
from .preferences import Preferences

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

    def flows_by_time(self, wanted: Preferences) -> dict[float, Flows]:
        """Return how the electricity was used, by the beginning of each hour, day or month."""
        parts: dict[float, dict[str, float]] = {}
        for source in wanted.sources:
            for role, statistic in zip(
                ROLES.get(source.kind, ()), (source.taken, source.given), strict=False
            ):
                for at, amount in self.amounts.get(statistic, {}).items():
                    part = parts.setdefault(at, {})
                    part[role] = part.get(role, 0.0) + amount
        return {at: flows_of(part) for at, part in sorted(parts.items())}

    def flows(self, wanted: Preferences) -> Flows:
        """Return how the electricity was used."""
        return sum(self.flows_by_time(wanted).values(), Flows())

    @property
    def begins_late(self) -> bool:
        """Return whether counting began only within the period."""
        if self.begins is None:
            return False
        late = dt_util.utc_from_timestamp(self.begins) - dt_util.as_utc(self.period.start)
        return late >= timedelta(hours=1 if self.step == "hour" else 24)


def average(wanted: Preferences, counted: Counted, earlier: Sequence[Counted]) -> tuple[Counted, int]:
    """Return the average of earlier periods, the latest first, and of how many it is.

    It is of those in which all meters of electricity counted that count in the period now, and contains
    what counted in all of them.
    """
    meters = wanted.electricity & counted.amounts.keys()
    whole = [one for one in earlier if meters <= one.amounts.keys() and one.amounts and not one.begins_late]
    shared = set.intersection(*(set(one.amounts) for one in whole)) if whole else set()
    amounts = {
        key: {at: amount / len(whole) for one in whole for at, amount in one.amounts[key].items()}
        for key in shared
    }
    known = whole or earlier
    period = Period(known[-1].period.start, known[0].period.end)
    return Counted(period=period, step=known[0].step, amounts=amounts, units=counted.units), len(whole)


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
            amounts |= {key: changes for key, rows in found.items() if (changes := _changes(rows))}
    return Counted(period=period, step=step, amounts=amounts, units=units)


def _changes(rows: Iterable[Any]) -> dict[float, float]:
    """Return what each row counted, by its beginning."""
    return {row["start"]: change for row in rows if (change := row.get("change")) is not None}
