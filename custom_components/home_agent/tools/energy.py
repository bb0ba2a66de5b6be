"""energy: consumption, production and cost as the Energy dashboard counts them."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final, Literal, Self, override

import probatio

from homeassistant.const import ATTR_UNIT_OF_MEASUREMENT, PERCENTAGE, UnitOfEnergy, UnitOfPower, UnitOfVolume
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType
from homeassistant.util.unit_conversion import PowerConverter
from homeassistant.util.unit_system import METRIC_SYSTEM

from ..database import DatabaseError, async_read_database
from ..errors import PermissionDenied, ToolExecutionError, ValidationError
from ..knowledge.house import HouseSnapshot
from ..texts import as_number, clean
from ..timespans import format_local
from ..when import Period, forms, read_period
from .base import HomeAgentTool, ToolRun
from .query.past import tidy
from .resolving.resolver import texts

ENERGY: Final = "energy"
MANAGER: Final = "energy_manager"
"""Where Home Assistant keeps the manager of the preferences."""
KINDS: Final = ("grid", "solar", "battery", "gas", "water")
MAX_SOURCES: Final = 40
MAX_DEVICES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source with the ids of its statistics; empty where it has none."""

    kind: str
    name: str = ""
    taken: str = ""
    """From the grid, the sun, the battery, the gas or the water meter."""
    given: str = ""
    """To the grid or the battery."""
    cost: str = ""
    earned: str = ""
    rate: str = ""
    """The power now; positive if it is taken."""
    level: str = ""
    """The charge of a battery in percent."""

    @property
    def meters(self) -> list[str]:
        """Return the ids of the statistics of its amounts."""
        return [meter for meter in (self.taken, self.given) if meter]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that the dashboard counts alone."""

    statistic: str
    name: str = ""
    within: str = ""
    """The device whose consumption contains that of this one."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """All that the dashboard counts."""

    sources: Sequence[Source] = ()
    devices: Sequence[Device] = ()

    def of(self, kind: str) -> list[Source]:
        """Return the sources of a kind."""
        return [source for source in self.sources if source.kind == kind]

    def meters(self, kinds: Collection[str] = KINDS) -> set[str]:
        """Return the ids of the statistics of what the home takes and gives, of some kinds of sources."""
        return {meter for source in self.sources if source.kind in kinds for meter in source.meters}

    @property
    def statistics(self) -> set[str]:
        """Return the ids of all statistics that are needed."""
        money = {each for source in self.sources for each in (source.cost, source.earned) if each}
        return self.meters() | money | {device.statistic for device in self.devices}


async def async_load(hass: HomeAssistant) -> None:
    """Have Home Assistant load the preferences, if the energy integration is there."""
    if ENERGY in hass.config.components:
        from homeassistant.components.energy.data import async_get_manager  # noqa: PLC0415

        await async_get_manager(hass)


@callback
def preferences(hass: HomeAssistant) -> Preferences:
    """Return what the dashboard counts, empty where it is not configured or not loaded."""
    data = getattr(hass.data.get(MANAGER), "data", None)
    if not isinstance(data, Mapping) or ENERGY not in hass.config.components:
        return Preferences()
    costs: Mapping[str, str] = (hass.data.get(ENERGY) or {}).get("cost_sensors", {})
    sources: list[Source] = []
    for each in (data.get("energy_sources") or ())[:MAX_SOURCES]:
        taken, given = each.get("stat_energy_from") or "", each.get("stat_energy_to") or ""
        if each.get("type") in KINDS:
            # Home Assistant calculates a cost itself where there is a price and no statistic.
            source = Source(
                kind=each["type"],
                name=each.get("name") or "",
                taken=taken,
                given=given,
                cost=each.get("stat_cost") or costs.get(taken, ""),
                earned=each.get("stat_compensation") or (costs.get(given, "") if given else ""),
                rate=each.get("stat_rate") or "",
                level=each.get("stat_soc") or "",
            )
            sources.append(source)
    devices = [
        Device(
            statistic=each["stat_consumption"],
            name=each.get("name") or "",
            within=each.get("included_in_stat") or "",
        )
        for each in (data.get("device_consumption") or ())[:MAX_DEVICES]
    ]
    return Preferences(sources, devices)


ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "grid": ("from_grid", "to_grid"),
    "battery": ("from_battery", "to_battery"),
    "solar": ("solar",),
}
"""What a source of each kind takes and gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """How electricity was used, in kWh."""

    used: float = 0.0
    used_solar: float = 0.0
    used_grid: float = 0.0
    solar_to_battery: float = 0.0

    def __add__(self, other: Self) -> Flows:
        """Return both together."""
        return Flows(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


def flows_of(counted: Mapping[str, float]) -> Flows:
    """Return the flows of what was counted in one period, by the names of `ROLES`.

    The order is the dashboard's: solar goes to the battery, to the grid, and then to the home; the battery
    goes to the grid, then to the home; the grid to the battery, then to the home.
    """
    left = {name: max(0.0, counted.get(name, 0.0)) for names in ROLES.values() for name in names}
    used = left["from_grid"] + left["solar"] + left["from_battery"] - left["to_grid"] - left["to_battery"]
    needed = max(0.0, used)
    _move(left, "from_grid", "to_battery", limit=max(0.0, left["from_grid"] - needed))
    solar_to_battery = _move(left, "solar", "to_battery")
    _move(left, "solar", "to_grid")
    _move(left, "from_battery", "to_grid")
    _move(left, "from_grid", "to_battery")
    left["home"] = needed
    used_solar = _move(left, "solar", "home")
    _move(left, "from_battery", "home")
    return Flows(
        used=used,
        used_solar=used_solar,
        used_grid=_move(left, "from_grid", "home"),
        solar_to_battery=solar_to_battery,
    )


def _move(left: dict[str, float], source: str, target: str, *, limit: float = float("inf")) -> float:
    """Move as much as both have, and return it."""
    amount = min(left[source], left[target], limit)
    left[source] -= amount
    left[target] -= amount
    return amount


NOW: Final = timedelta(seconds=5)
"""A period that ends so shortly before now is not over."""
_PREVIOUS: Final = frozenset({"previous", "before", "prior", "preceding", "earlier"})
"""Words with which models ask for the period before."""
_LAST: Final = frozenset({"last", "true", "yes", "last period"})
"""Whole texts that mean the same; as words they are part of a name such as last week."""
WEEK: Final = timedelta(days=7)


def read_periods(text: str, compare: str, now: datetime, language: str) -> list[tuple[Period, Step]]:
    """Return a period, and the one to compare it with, as much of it as has passed of the first one.

    What names no period means the days before, of which each is told. Raises ValidationError.
    """
    period, closes = _read(text, now, language)
    periods = [(period, step_of(period, closes))]
    if not compare:
        return periods
    asked = [*forms(compare, language, past=True)]
    if _LAST.isdisjoint(asked) and _PREVIOUS.isdisjoint(word for form in asked for word in form.split()):
        try:
            other, other_closes = _read(compare, now, language)
        except ValidationError:  # "usual", in any language
            day = dt_util.start_of_local_day(dt_util.as_local(period.start))
            return [*periods, (Period(day - WEEK, day), "day")]
    else:
        other, other_closes = period, closes
    if (other.start, other.end) == (period.start, period.end):
        start, other_closes = _before(period.start, dt_util.as_local(closes))
        other = Period(start, other_closes)
    if now - period.end < NOW:
        # On the clock, not in hours that have passed: noon is noon, also when clocks are changed.
        start, end = (dt_util.as_local(each).replace(tzinfo=None) for each in (period.start, period.end))
        until = dt_util.as_local(other.start) + (end - start)
        other = Period(other.start, min(other.end, until.replace(minute=0, second=0, microsecond=0)))
    if other.end <= other.start:
        raise ValidationError("compare: no full hour has passed to compare; give an earlier period")
    ends_within_day = dt_util.as_local(other.end) != dt_util.start_of_local_day(other.end)
    return [*periods, (other, "hour" if ends_within_day else step_of(other, other_closes))]


def _read(text: str, now: datetime, language: str) -> tuple[Period, datetime]:
    """Return a period of whole hours or days, and its end, or that of the day, week or month that it is.

    The dashboard shows all of a month that has begun.
    """
    period = read_period(text, language, now, "period")
    start = dt_util.as_local(period.start)
    if period.length >= timedelta(days=2):
        start = dt_util.start_of_local_day(start)
    else:
        start = start.replace(minute=0, second=0, microsecond=0)
    return Period(start, period.end), period.closes or period.end


def _before(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """Return the ends of the month before a month, of the same hours of an earlier day, and so on."""
    days = max(end.date() - start.date(), timedelta(days=1))
    if start != dt_util.start_of_local_day(start):
        return start - days, end - days
    day = start.date()
    if day.day == end.day == 1 and end.date() > day:
        months = (end.year - day.year) * 12 + end.month - day.month
        year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
        before = day.replace(year=year, month=month + 1)
    else:
        before = day - days
    return dt_util.start_of_local_day(before), start


READ_SECONDS: Final = 20.0
FEW_DAYS: Final = timedelta(days=3)
"""Periods below this length are read by the hour, as the dashboard does."""
LONG: Final = timedelta(days=36)
"""Whole months from this length on are read by the month."""
TINY: Final = timedelta(microseconds=1)

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


def step_of(period: Period, end: datetime) -> Step:
    """Return the steps in which the dashboard reads a period; `end` is that of the day, week or month."""
    start, length = dt_util.as_local(period.start), end - period.start
    is_months = all(
        local == dt_util.start_of_local_day(local.replace(day=1)) for local in (start, dt_util.as_local(end))
    )
    if length >= LONG and is_months:
        return "month"
    return "day" if length >= FEW_DAYS else "hour"


async def async_counted(
    hass: HomeAssistant, wanted: Preferences, periods: Sequence[tuple[Period, Step]]
) -> list[Counted]:
    """Return what was counted in some periods.

    Raises ToolExecutionError if there are no statistics to read.
    """
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await async_read_database(hass, _read_statistics, hass, wanted, tuple(periods))
    except TimeoutError as err:
        raise ToolExecutionError("The recorder's database did not answer in time") from err
    except DatabaseError as err:
        raise ToolExecutionError(str(err)) from err


def _read_statistics(
    hass: HomeAssistant, wanted: Preferences, periods: Sequence[tuple[Period, Step]]
) -> list[Counted]:
    """Return what was counted in some periods; runs in the recorder's executor."""
    from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

    units = _units(hass, wanted)
    counted: list[Counted] = []
    for period, step in periods:
        amounts: dict[str, dict[float, float]] = {}
        for unit in dict.fromkeys(("", *units.values())):
            ids = {one for one in wanted.statistics if units.get(one, "") == unit}
            convert = {"energy": str(UnitOfEnergy.KILO_WATT_HOUR)}
            if unit and unit != UnitOfEnergy.KILO_WATT_HOUR:
                convert["volume"] = unit
            # The end of a day would be taken for the beginning of the next one.
            start, end = dt_util.as_utc(period.start), dt_util.as_utc(period.end) - TINY
            rows = statistics_during_period(hass, start, end, ids, step, convert, {"change"}) if ids else {}
            for statistic, changes in rows.items():
                known = {row["start"]: change for row in changes if (change := row.get("change")) is not None}
                if known:
                    amounts[statistic] = known
        counted.append(Counted(period=period, amounts=amounts, units=units, step=step))
    return counted


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
        metas = [found[key] for key in own if key in found]
        stored = {str(meta.get("unit_of_measurement")) for meta in metas}
        unit = str(metric if is_metric else other)
        if any(meta.get("unit_class") == ENERGY for meta in metas):
            unit = UnitOfEnergy.KILO_WATT_HOUR
        elif len(stored) == 1 and stored <= set(UnitOfVolume):
            unit = stored.pop()
        units |= dict.fromkeys(own, unit)
    return units


MOST_DEVICES: Final = 10
MOST_DAYS: Final = 8
"""Days that are told one by one; of more, the highest and the lowest."""
NAME_CHARS: Final = 40
KWH: Final = UnitOfEnergy.KILO_WATT_HOUR
UNTIL: Final = "counted until the last full hour"
NO_PRICE: Final = "no price is set in the Energy dashboard"
HIDDEN: Final = "other devices, not exposed"
METER: Final = {"grid": "electricity", "gas": "gas", "water": "water"}

type Told = dict[str, JsonValueType]


def figures(run: ToolRun, wanted: Preferences, counted: Counted) -> Told:
    """Return the amounts and the costs of a period, and what the devices used."""
    answer: Told = {"period": f"{format_local(counted.period.start)} to {format_local(counted.period.end)}"}
    begins = min((at for rows in counted.amounts.values() for at in rows), default=None)
    if begins is None:
        answer["error"] = "nothing is counted in this period"
        return answer
    late = dt_util.utc_from_timestamp(begins) - dt_util.as_utc(counted.period.start)
    if late >= timedelta(hours=1 if counted.step == "hour" else 24):
        answer["known_since"] = format_local(begins)
    if _has_electricity(wanted, counted):
        answer["electricity"] = _electricity(run.hass, wanted, counted)
    for kind in ("gas", "water"):
        sources = wanted.of(kind)
        if (amount := counted.total(source.taken for source in sources)) is not None:
            unit = counted.units.get(sources[0].taken, "")
            answer[kind] = {"used": f"{tidy(amount)} {unit}", "cost": _cost(run.hass, sources, counted)}
    if devices := _devices(run, wanted, counted):
        answer["devices"] = devices
    return answer


def _has_electricity(wanted: Preferences, counted: Counted) -> bool:
    return not wanted.meters(ROLES).isdisjoint(counted.amounts)


def _electricity(hass: HomeAssistant, wanted: Preferences, counted: Counted) -> Told:
    """Return where the electricity came from and went to, and what it cost."""
    flows = counted.flows(wanted)
    grid, solar, battery = wanted.of("grid"), wanted.of("solar"), wanted.of("battery")
    told: Told = {"used": _kwh(max(0.0, flows.used))}
    parts = (
        ("from_grid", [source.taken for source in grid]),
        ("sold_to_grid", [source.given for source in grid]),
        ("solar_made", [source.taken for source in solar]),
        ("battery_charged", [source.given for source in battery]),
        ("battery_gave", [source.taken for source in battery]),
    )
    for name, statistics in parts:
        if (amount := counted.total(statistics)) is not None:
            told[name] = _kwh(amount)
    made = counted.total(source.taken for source in solar)
    if made:
        at_home = flows.used_solar + flows.solar_to_battery
        told["solar_used_at_home"] = f"{min(1.0, at_home / made):.0%}"
    if made is not None and flows.used > 0 and grid:
        told["self_sufficient"] = f"{max(0.0, 1 - flows.used_grid / flows.used):.0%}"
    if any(source.taken for source in grid):
        told["cost"] = _cost(hass, grid, counted)
    earned = counted.total(source.earned for source in grid)
    if earned is not None:
        told["earned"] = _money(hass, earned)
        if (cost := counted.total(source.cost for source in grid)) is not None:
            told["net_cost"] = _money(hass, cost - earned)
    if len(tariffs := [source for source in grid if counted.has(source.taken)]) > 1:
        rows: Told = {}
        for number, source in enumerate(tariffs, 1):
            amount, price = counted.total([source.taken]), counted.total([source.cost])
            name = clean(source.name, NAME_CHARS) or f"meter {number}"
            rows[name] = _kwh(amount or 0.0) + (f", {_money(hass, price)}" if price is not None else "")
        told["tariffs"] = rows
    return told


def _cost(hass: HomeAssistant, sources: Iterable[Source], counted: Counted) -> str:
    """Return the cost of sources; a source without a price is named as such."""
    listed = [source for source in sources if source.taken]
    cost = counted.total(source.cost for source in listed)
    if cost is None:
        return "no cost is counted in this period" if any(one.cost for one in listed) else NO_PRICE
    free = any(counted.has(one.taken) and not counted.has(one.cost) for one in listed)
    return f"{_money(hass, cost)}{', without the meters that have no price' if free else ''}"


def _kwh(amount: float) -> str:
    return f"{tidy(amount)} {KWH}"


def _money(hass: HomeAssistant, amount: float) -> str:
    return f"{amount:.2f} {hass.config.currency}"


def _days(wanted: Preferences, counted: Counted) -> JsonValueType:
    """Return what was used on each of a few days; of many, the highest and the lowest day."""
    if counted.step != "day" or not _has_electricity(wanted, counted):
        return None
    used = {
        dt_util.as_local(dt_util.utc_from_timestamp(at)).date().isoformat(): max(0.0, each.used)
        for at, each in counted.flows_by_time(wanted).items()
    }
    if len(used) <= MOST_DAYS:
        return {day: _kwh(amount) for day, amount in used.items()}
    highest, lowest = max(used, key=lambda day: used[day]), min(used, key=lambda day: used[day])
    return {
        "average": _kwh(sum(used.values()) / len(used)),
        "highest": f"{highest}: {_kwh(used[highest])}",
        "lowest": f"{lowest}: {_kwh(used[lowest])}",
    }


def _devices(run: ToolRun, wanted: Preferences, counted: Counted) -> Told:
    """Return the devices that used most, and what no device accounts for."""
    totals = [
        (device, amount)
        for device in wanted.devices
        if (amount := counted.total([device.statistic])) is not None
    ]
    if not totals:
        return {}
    told: Told = {}
    hidden, further = 0.0, 0.0
    own = {device.statistic for device, _amount in totals}
    for device, amount in sorted(totals, key=lambda pair: -pair[1]):
        name = _device_name(run, device)
        # The consumption of any other device is part of another one's.
        apart = amount if device.within not in own else 0.0
        if name is None:
            hidden += apart
        elif len(told) < MOST_DEVICES:
            numbered = (f"{name} {number}" if number > 1 else name for number in count(1))
            told[next(each for each in numbered if each not in told)] = _kwh(amount)
        else:
            further += apart
    if further:
        told["further devices"] = _kwh(further)
    if hidden:
        told[HIDDEN] = _kwh(hidden)
    if _has_electricity(wanted, counted):
        measured = sum(amount for device, amount in totals if device.within not in own)
        told["not measured by device"] = _kwh(max(0.0, counted.flows(wanted).used - measured))
    return told


def _device_name(run: ToolRun, device: Device) -> str | None:
    """Return the name of a device of which an entity is exposed; None for any other."""
    registry = er.async_get(run.hass)
    entry = registry.async_get(device.statistic)
    if run.reader.sees(device.statistic):
        own = run.house.entities.get(device.statistic)
        return clean(device.name or (own.name if own else device.statistic), NAME_CHARS)
    if entry is None or entry.device_id is None:
        return None
    others = er.async_entries_for_device(registry, entry.device_id)
    known = next((one.entity_id for one in others if run.reader.sees(one.entity_id)), None)
    record = run.house.entities.get(known) if known else None
    return clean(device.name or record.name, NAME_CHARS) if record else None


def _now(hass: HomeAssistant, wanted: Preferences) -> Told:
    """Return the power at this moment by where it comes from or goes to, and how full the batteries are."""
    told: Told = {}
    for kind, names in ROLES.items():
        powers: list[float] = []
        for source in wanted.of(kind):
            state = hass.states.get(source.rate) if source.rate else None
            number = as_number(state.state) if state else None
            unit = state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) if state else None
            if number is not None and unit in PowerConverter.VALID_UNITS:
                powers.append(PowerConverter.convert(number, unit, UnitOfPower.KILO_WATT))
        if powers:
            power = sum(powers)
            told[names[-1] if power < 0 else names[0]] = f"{tidy(abs(power))} {UnitOfPower.KILO_WATT}"
    states = [hass.states.get(source.level) for source in wanted.of("battery") if source.level]
    levels = [level for state in states if state and (level := as_number(state.state)) is not None]
    if levels:
        told["battery_level"] = " and ".join(f"{level:.0f}{PERCENTAGE}" for level in levels)
    return told


SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("duration", "date", "day", "time", "timeframe", "range", "month", "when"), "period"),
    "history": "period",
    **dict.fromkeys(("compare_to", "compare_with", "comparison", "versus"), "compare"),
}
DEFAULT: Final = "today"


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
        """Return the period and what it is compared with; what models add beside it is not needed."""
        given = {slot: args.get(slot) for slot in ("period", "compare")}
        words = {slot: "previous" if value is True else value or "" for slot, value in given.items()}
        return {slot: said[0] for slot, value in words.items() if (said := texts(value))}

    @override
    async def async_prepare(self, hass: HomeAssistant, house: HouseSnapshot) -> None:
        """Have the preferences loaded."""
        await async_load(hass)

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether the Energy dashboard counts anything."""
        wanted = preferences(hass)
        return bool(wanted.sources or wanted.devices)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Return the amounts of a period. Raises ValidationError and ToolExecutionError."""
        await async_load(run.hass)
        wanted = preferences(run.hass)
        lists = run.guard.policy.view.lists
        if not all(lists(meter) and run.reader.permits(meter) for meter in wanted.meters()):
            raise PermissionDenied("The person may not read all meters of the home here, so say that")
        if not wanted.statistics:
            raise ValidationError("The Energy dashboard is not configured, so nothing is counted")
        now = dt_util.utcnow()
        periods = read_periods(
            args.get("period") or DEFAULT, args.get("compare", ""), now, run.speaker.language
        )
        counted, *others = await async_counted(run.hass, wanted, periods)
        is_open = now - counted.period.end < NOW
        answer = figures(run, wanted, counted)
        if is_open:
            answer["until"] = UNTIL
        if counted.amounts:
            if days := _days(wanted, counted):
                answer["used_each_day"] = days
            missing: list[JsonValueType] = [
                METER.get(kind, kind)
                for kind in KINDS
                if (meters := wanted.meters((kind,))) and not any(map(counted.has, meters))
            ]
            if missing:
                answer["nothing_counted_of"] = missing
            if is_open and (flowing := _now(run.hass, wanted)):
                answer["now"] = flowing
        for other in others:
            answer["compared"] = compared = figures(run, wanted, other)
            if days := _days(wanted, other):
                compared["used_each_day"] = days
        return answer
