"""energy: consumption, production and cost as the Energy dashboard counts them."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, override

import probatio

from homeassistant.const import UnitOfEnergy
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..database import DatabaseError, async_read_database
from ..errors import PermissionDenied, ToolExecutionError, ValidationError
from ..knowledge.house import HouseSnapshot
from ..texts import clean
from ..timespans import format_local
from ..when import Period, read_period
from .base import HomeAgentTool, ToolRun
from .query.past import tidy
from .resolving.resolver import texts

ENERGY: Final = "energy"
KINDS: Final = ("grid", "solar", "battery", "gas", "water")


class EnergySource(NamedTuple):
    """A source with the ids of its statistics; empty where it has none."""

    kind: str
    taken: str = ""
    """From the grid, the sun, the battery, the gas or the water meter."""
    given: str = ""
    """To the grid or the battery."""
    cost: str = ""
    earned: str = ""


class Preferences(NamedTuple):
    """All that the dashboard counts."""

    sources: Sequence[EnergySource] = ()
    devices: Sequence[Mapping[str, Any]] = ()
    """Devices that are counted alone, as Home Assistant keeps them."""

    def of(self, kind: str) -> list[EnergySource]:
        """Return the sources of a kind."""
        return [source for source in self.sources if source.kind == kind]

    def meters(self, kinds: Collection[str] = KINDS) -> set[str]:
        """Return the ids of the statistics of what the home takes and gives, of some kinds of sources."""
        sources = [source for source in self.sources if source.kind in kinds]
        return {meter for source in sources for meter in (source.taken, source.given) if meter}


async def async_load(hass: HomeAssistant) -> None:
    """Have Home Assistant load the preferences, if the energy integration is there."""
    if ENERGY in hass.config.components:
        from homeassistant.components.energy.data import async_get_manager  # noqa: PLC0415

        await async_get_manager(hass)


def preferences(hass: HomeAssistant) -> Preferences:
    """Return what the dashboard counts, empty where it is not configured or not loaded."""
    data = getattr(hass.data.get("energy_manager"), "data", None)
    if not isinstance(data, Mapping) or ENERGY not in hass.config.components:
        return Preferences()
    costs: Mapping[str, str] = (hass.data.get(ENERGY) or {}).get("cost_sensors", {})
    sources: list[EnergySource] = []
    for each in data.get("energy_sources") or ():
        taken, given = each.get("stat_energy_from") or "", each.get("stat_energy_to") or ""
        if each.get("type") in KINDS:
            # Home Assistant calculates a cost itself where there is a price and no statistic.
            source = EnergySource(
                kind=each["type"],
                taken=taken,
                given=given,
                cost=each.get("stat_cost") or costs.get(taken, ""),
                earned=each.get("stat_compensation") or (costs.get(given, "") if given else ""),
            )
            sources.append(source)
    return Preferences(sources, data.get("device_consumption") or ())


NOW: Final = timedelta(seconds=5)
"""A period that ends so shortly before now is not over."""
FEW_DAYS: Final = timedelta(days=3)
"""Periods below this length are read by the hour, as the dashboard does."""

type StepLength = Literal["hour", "day"]


def read_periods(text: str, compare: str, now: datetime, language: str) -> list[Period]:
    """Return a period, and the one to compare it with, as much of it as has passed of the first one.

    What names no other period means the days before, or the month. Raises ValidationError.
    """
    period, closes = _read_period(text, now, language)
    if not compare:
        return [period]
    try:
        other, _closes = _read_period(compare, now, language)
    except ValidationError:  # "previous", "usual", in any language
        other = period
    start, end = period.start, dt_util.as_local(period.end)
    if (other.start, other.end) == (start, period.end):
        days = max((dt_util.as_local(closes).date() - start.date()).days, 1)
        before = start - timedelta(days=days)
        if start.day == dt_util.as_local(closes).day == 1:
            before = (start - timedelta(days=1)).replace(day=1)
        # The end of the hours of an earlier day is not the beginning of these.
        other = Period(before, start if start == dt_util.start_of_local_day(start) else end - start + before)
    if now - period.end < NOW:
        # Both are local, so that noon is noon, also when clocks are changed.
        passed = (end - start + other.start).replace(minute=0, second=0, microsecond=0)
        other = Period(other.start, min(dt_util.as_local(other.end), passed))
    if other.end <= other.start:
        raise ValidationError("compare: no full hour has passed to compare; give an earlier period")
    return [period, other]


def _read_period(text: str, now: datetime, language: str) -> tuple[Period, datetime]:
    """Return a period from a full hour or midnight on, and the end of the day, week or month that it is."""
    period = read_period(text, language, now, "period")
    start = dt_util.as_local(period.start)
    if period.length >= timedelta(days=2):
        start = dt_util.start_of_local_day(start)
    else:
        start = start.replace(minute=0, second=0, microsecond=0)
    return Period(start, period.end), period.closes or period.end


SIGNS: Final[Mapping[str, tuple[int, int]]] = {"grid": (1, -1), "battery": (1, -1), "solar": (1, 0)}
"""What the home uses of what a source of electricity gives, and of what it takes."""


class Counted(NamedTuple):
    """What the statistics say of a period. Amounts are in kWh, in the units of `units`, or money."""

    period: Period
    step: StepLength
    amounts: Mapping[str, Mapping[float, float]]
    """By statistic, by the beginning of each hour or day; statistics without any are left out."""
    units: Mapping[str, str]
    """By statistic."""

    def total(self, statistics: Iterable[str]) -> float | None:
        """Return the sum of statistics; None if there is nothing of any of them."""
        sums = [sum(self.amounts[each].values()) for each in statistics if each in self.amounts]
        return sum(sums) if sums else None

    def used(self, wanted: Preferences) -> dict[float, float]:
        """Return the electricity that was used, by the beginning of each hour or day."""
        used: dict[float, float] = {}
        for source in wanted.sources:
            signs = SIGNS.get(source.kind, ())
            for sign, statistic in zip(signs, (source.taken, source.given), strict=False):
                for at, amount in self.amounts.get(statistic, {}).items():
                    used[at] = used.get(at, 0.0) + sign * amount
        return {at: max(0.0, amount) for at, amount in sorted(used.items())}


async def async_counted(
    hass: HomeAssistant, wanted: Preferences, periods: Sequence[Period], now: datetime
) -> list[Counted]:
    """Return what was counted in some periods.

    Raises ToolExecutionError if there are no statistics to read.
    """
    from homeassistant.components.recorder.statistics import (  # noqa: PLC0415
        async_list_statistic_ids,
        statistics_during_period,
    )

    money = {each for source in wanted.sources for each in (source.cost, source.earned) if each}
    statistics = wanted.meters() | money | {device["stat_consumption"] for device in wanted.devices}
    convert = {ENERGY: str(UnitOfEnergy.KILO_WATT_HOUR)}

    def read(units: Mapping[str, str]) -> list[Counted]:
        counted: list[Counted] = []
        for period in periods:
            is_of_days = period.end == dt_util.start_of_local_day(period.end) or now - period.end < NOW
            step: StepLength = "day" if period.length >= FEW_DAYS and is_of_days else "hour"
            # The end of a day would be taken for the beginning of the next one.
            start, end = dt_util.as_utc(period.start), dt_util.as_utc(period.end) - timedelta(microseconds=1)
            rows = statistics_during_period(hass, start, end, statistics, step, convert, {"change"})
            amounts = {
                statistic: {row["start"]: each for row in changes if (each := row.get("change")) is not None}
                for statistic, changes in rows.items()
            }
            amounts = {statistic: known for statistic, known in amounts.items() if known}
            counted.append(Counted(period, step, amounts, units))
        return counted

    try:
        async with asyncio.timeout(20.0):
            listed = await async_list_statistic_ids(hass, statistics)
            units = {
                each["statistic_id"]: convert.get(each["unit_class"], each["display_unit_of_measurement"])
                for each in listed
            }
            return await async_read_database(hass, read, units)
    except TimeoutError as err:
        raise ToolExecutionError("The recorder's database did not answer in time") from err
    except DatabaseError as err:
        raise ToolExecutionError(str(err)) from err


MOST_DAYS: Final = 8
"""Days that are told one by one; of more, the highest and the lowest."""
NAME_CHARS: Final = 40

type Figures = dict[str, JsonValueType]


def figures(run: ToolRun, wanted: Preferences, counted: Counted) -> Figures:
    """Return the amounts and the costs of a period, what the devices used, and what was used each day."""
    period = counted.period
    answer: Figures = {"period": f"{format_local(period.start)} to {format_local(period.end)}"}
    begins = min((at for rows in counted.amounts.values() for at in rows), default=None)
    if begins is None:
        answer["error"] = "nothing is counted in this period"
        return answer
    late = dt_util.utc_from_timestamp(begins) - dt_util.as_utc(period.start)
    if late >= timedelta(hours=1 if counted.step == "hour" else 24):
        answer["known_since"] = format_local(begins)
    used = counted.used(wanted) if not wanted.meters(SIGNS).isdisjoint(counted.amounts) else {}
    if used:
        total, grid = sum(used.values()), wanted.of("grid")
        told: Figures = {"used": _kwh(total)}
        amounts = {
            "from_grid": counted.total(source.taken for source in grid),
            "sold_to_grid": counted.total(source.given for source in grid),
            "solar_made": counted.total(source.taken for source in wanted.of("solar")),
            "battery_charged": counted.total(source.given for source in wanted.of("battery")),
            "battery_gave": counted.total(source.taken for source in wanted.of("battery")),
        }
        told |= {name: _kwh(amount) for name, amount in amounts.items() if amount is not None}
        if made := amounts["solar_made"]:
            told["solar_used_at_home"] = f"{max(0.0, 1 - (amounts['sold_to_grid'] or 0.0) / made):.0%}"
        if made is not None and total and grid:
            told["self_sufficient"] = f"{max(0.0, 1 - (amounts['from_grid'] or 0.0) / total):.0%}"
        if any(source.taken for source in grid):
            told["cost"] = _cost(run.hass, grid, counted)
        if (earned := counted.total(source.earned for source in grid)) is not None:
            told["earned"] = _money(run.hass, earned)
            if (cost := counted.total(source.cost for source in grid)) is not None:
                told["net_cost"] = _money(run.hass, cost - earned)
        answer["electricity"] = told
    for kind in ("gas", "water"):
        sources = [source for source in wanted.of(kind) if source.taken in counted.amounts]
        by_unit: dict[str, float] = {}
        for source in sources:
            unit = counted.units.get(source.taken, "")
            by_unit[unit] = by_unit.get(unit, 0.0) + (counted.total([source.taken]) or 0.0)
        if sources:
            read = " and ".join(f"{tidy(amount)} {unit}" for unit, amount in by_unit.items())
            answer[kind] = {"used": read, "cost": _cost(run.hass, sources, counted)}
    if devices := _devices(run, wanted, counted):
        answer["devices"] = devices
    if counted.step == "day" and used:
        by_day = {format_local(at).split()[0]: amount for at, amount in used.items()}
        days: Figures = {day: _kwh(amount) for day, amount in by_day.items()}
        if len(by_day) > MOST_DAYS:
            highest, lowest = max(by_day, key=by_day.__getitem__), min(by_day, key=by_day.__getitem__)
            days = {
                "average": _kwh(sum(by_day.values()) / len(by_day)),
                "highest": f"{highest}: {_kwh(by_day[highest])}",
                "lowest": f"{lowest}: {_kwh(by_day[lowest])}",
            }
        answer["used_each_day"] = days
    return answer


def _cost(hass: HomeAssistant, sources: Iterable[EnergySource], counted: Counted) -> str:
    if (cost := counted.total(source.cost for source in sources)) is not None:
        return _money(hass, cost)
    has_price = any(source.cost for source in sources if source.taken)
    return "no cost is counted in this period" if has_price else "no price is set in the Energy dashboard"


def _kwh(amount: float) -> str:
    return f"{tidy(amount)} {UnitOfEnergy.KILO_WATT_HOUR}"


def _money(hass: HomeAssistant, amount: float) -> str:
    return f"{amount:.2f} {hass.config.currency}"


def _devices(run: ToolRun, wanted: Preferences, counted: Counted) -> Figures:
    """Return what the devices used that count most; one is named if one of its entities is exposed."""
    registry, used, others = er.async_get(run.hass), dict[str, float](), 0.0
    rows = [(counted.total([device["stat_consumption"]]) or 0.0, device) for device in wanted.devices]
    for amount, device in sorted(rows, key=lambda row: -row[0]):
        statistic = device["stat_consumption"]
        entry, ids = registry.async_get(statistic), [statistic]
        if entry is not None and entry.device_id is not None:
            ids += [other.entity_id for other in er.async_entries_for_device(registry, entry.device_id)]
        shown = next((entity_id for entity_id in ids if run.reader.sees(entity_id)), None)
        if shown is None or len(used) == 10:
            others += 0.0 if device.get("included_in_stat") else amount  # its meter counts it already
        elif statistic in counted.amounts:
            record = run.house.entities.get(shown)
            name = clean(device.get("name") or (record.name if record else statistic), NAME_CHARS)
            used[name] = used.get(name, 0.0) + amount
    if others:
        used["other devices"] = others
    return {name: _kwh(amount) for name, amount in used.items()}


SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("duration", "date", "day", "time", "timeframe", "range", "month", "when"), "period"),
    "history": "period",
    **dict.fromkeys(("compare_to", "compare_with", "comparison", "versus"), "compare"),
}


class EnergyTool(HomeAgentTool):
    """Reads long-term statistics of what the Energy dashboard counts."""

    name = "energy"
    title = "Energy dashboard"
    description = "Electricity, gas and water used, its cost, solar, devices."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema({probatio.Optional("period"): str, probatio.Optional("compare"): str})
    slot_words = SLOT_WORDS

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        given = {slot: args.get(slot) for slot in ("period", "compare")}
        words = {slot: "previous" if value is True else value or "" for slot, value in given.items()}
        return {slot: said[0] for slot, value in words.items() if (said := texts(value))}

    @override
    async def async_prepare(self, hass: HomeAssistant, house: HouseSnapshot) -> None:
        await async_load(hass)

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        wanted = preferences(hass)
        return bool(wanted.sources or wanted.devices)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        await async_load(run.hass)
        wanted = preferences(run.hass)
        lists = run.guard.policy.view.lists
        if not all(lists(meter) and run.reader.permits(meter) for meter in wanted.meters()):
            raise PermissionDenied("The person may not read all meters of the home here, so say that")
        if not wanted.sources and not wanted.devices:
            raise ValidationError("The Energy dashboard is not configured, so nothing is counted")
        now, language = dt_util.utcnow(), run.speaker.language
        periods = read_periods(args.get("period") or "today", args.get("compare", ""), now, language)
        counted, *others = await async_counted(run.hass, wanted, periods, now)
        answer = figures(run, wanted, counted)
        if now - counted.period.end < NOW:
            answer["until"] = "counted until the last full hour"
        missing: list[JsonValueType] = [
            "electricity" if kind == "grid" else kind
            for kind in KINDS
            if (meters := wanted.meters((kind,))) and meters.isdisjoint(counted.amounts)
        ]
        if counted.amounts and missing:
            answer["nothing_counted_of"] = missing
        if others:
            answer["compared"] = figures(run, wanted, others[0])
        return answer
