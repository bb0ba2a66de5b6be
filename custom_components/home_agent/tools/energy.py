"""energy: consumption, production and cost as the Energy dashboard counts them."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final, Literal, NamedTuple, override

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


class EnergySource(NamedTuple):
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


@callback
def preferences(hass: HomeAssistant) -> Preferences:
    """Return what the dashboard counts, empty where it is not configured or not loaded."""
    data = getattr(hass.data.get(MANAGER), "data", None)
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
                name=each.get("name") or "",
                taken=taken,
                given=given,
                cost=each.get("stat_cost") or costs.get(taken, ""),
                earned=each.get("stat_compensation") or (costs.get(given, "") if given else ""),
                rate=each.get("stat_rate") or "",
                level=each.get("stat_soc") or "",
            )
            sources.append(source)
    return Preferences(sources, data.get("device_consumption") or ())


NOW: Final = timedelta(seconds=5)
"""A period that ends so shortly before now is not over."""
_PREVIOUS: Final = frozenset({"previous", "before", "prior", "preceding", "earlier"})
"""Words with which models ask for the period before."""
_LAST: Final = frozenset({"last", "true", "yes", "last period"})
"""Whole texts that mean the same; as words they are part of a name such as last week."""
WEEK: Final = timedelta(days=7)
FEW_DAYS: Final = timedelta(days=3)
"""Periods below this length are read by the hour, as the dashboard does."""
LONG: Final = timedelta(days=36)
"""Whole months from this length on are read by the month."""

type StepLength = Literal["hour", "day", "month"]
"""The steps in which the dashboard reads a period."""


def read_periods(text: str, compare: str, now: datetime, language: str) -> list[tuple[Period, StepLength]]:
    """Return a period, and the one to compare it with, as much of it as has passed of the first one.

    What names no period means the days before, of which each is told. Raises ValidationError.
    """
    period, closes = _read_period(text, now, language)
    periods = [(period, _steps_of(period, closes))]
    if not compare:
        return periods
    asked = [*forms(compare, language, past=True)]
    if _LAST.isdisjoint(asked) and _PREVIOUS.isdisjoint(word for form in asked for word in form.split()):
        try:
            other, other_closes = _read_period(compare, now, language)
        except ValidationError:  # "usual", in any language
            day = dt_util.start_of_local_day(dt_util.as_local(period.start))
            return [*periods, (Period(day - WEEK, day), "day")]
    else:
        other, other_closes = period, closes
    if (other.start, other.end) == (period.start, period.end):
        start, end = period.start, dt_util.as_local(closes)
        midnight, days = dt_util.start_of_local_day(start), max(end.date() - start.date(), timedelta(days=1))
        if start != midnight:  # the same hours of an earlier day
            start, other_closes = start - days, end - days
        elif start.day == end.day == 1 and end > start:
            months = 12 * (end.year - start.year) + end.month - start.month
            year, month = divmod(12 * start.year + start.month - 1 - months, 12)
            first = start.date().replace(year=year, month=month + 1)
            start, other_closes = dt_util.start_of_local_day(first), start
        else:
            start, other_closes = dt_util.start_of_local_day(start.date() - days), start
        other = Period(start, other_closes)
    if now - period.end < NOW:
        # On the clock, not in hours that have passed: noon is noon, also when clocks are changed.
        begin, end = (dt_util.as_local(each).replace(tzinfo=None) for each in (period.start, period.end))
        until = dt_util.as_local(other.start) + (end - begin)
        other = Period(other.start, min(other.end, until.replace(minute=0, second=0, microsecond=0)))
    if other.end <= other.start:
        raise ValidationError("compare: no full hour has passed to compare; give an earlier period")
    ends_within_day = dt_util.as_local(other.end) != dt_util.start_of_local_day(other.end)
    return [*periods, (other, "hour" if ends_within_day else _steps_of(other, other_closes))]


def _read_period(text: str, now: datetime, language: str) -> tuple[Period, datetime]:
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


def _steps_of(period: Period, end: datetime) -> StepLength:
    """Return the steps in which a period is read; `end` is that of the day, week or month."""
    ends = dt_util.as_local(period.start), dt_util.as_local(end)
    is_months = all(local == dt_util.start_of_local_day(local.replace(day=1)) for local in ends)
    length = end - period.start
    if length >= LONG and is_months:
        return "month"
    return "day" if length >= FEW_DAYS else "hour"


READ_SECONDS: Final = 20.0
TINY: Final = timedelta(microseconds=1)
ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "grid": ("from_grid", "to_grid"),
    "battery": ("from_battery", "to_battery"),
    "solar": ("solar",),
}
"""What a source of each kind takes and gives."""


class Counted(NamedTuple):
    """What the statistics say of a period. Amounts are in kWh, in the units of `units`, or money."""

    period: Period
    step: StepLength
    amounts: Mapping[str, Mapping[float, float]]
    """By statistic, by the beginning of each hour, day or month; statistics without any are left out."""
    units: Mapping[str, str]
    """By statistic."""

    def total(self, statistics: Iterable[str]) -> float | None:
        """Return the sum of statistics; None if there is nothing of any of them."""
        sums = [sum(self.amounts[each].values()) for each in statistics if each in self.amounts]
        return sum(sums) if sums else None

    def flows(self, wanted: Preferences) -> dict[float, dict[str, float]]:
        """Return how the electricity was used, in kWh, by the beginning of each hour, day or month.

        The order is the dashboard's: solar goes to the battery, to the grid, and then to the home; the
        battery goes to the grid, then to the home; the grid to the battery, then to the home.
        """
        flows: dict[float, dict[str, float]] = {}
        for source in wanted.sources:
            for role, statistic in zip(
                ROLES.get(source.kind, ()), (source.taken, source.given), strict=False
            ):
                for at, amount in self.amounts.get(statistic, {}).items():
                    left = flows.setdefault(at, {each: 0.0 for roles in ROLES.values() for each in roles})
                    left[role] += amount
        return {at: _flow(left) for at, left in sorted(flows.items())}


def _flow(counted: Mapping[str, float]) -> dict[str, float]:
    left = {role: max(0.0, amount) for role, amount in counted.items()}
    used = left["from_grid"] + left["solar"] + left["from_battery"] - left["to_grid"] - left["to_battery"]
    left["home"] = max(0.0, used)
    _move(left, "from_grid", "to_battery", max(0.0, left["from_grid"] - left["home"]))
    at_home = _move(left, "solar", "to_battery")
    _move(left, "solar", "to_grid")
    _move(left, "from_battery", "to_grid")
    _move(left, "from_grid", "to_battery")
    at_home += _move(left, "solar", "home")
    _move(left, "from_battery", "home")
    return {"used": used, "solar_at_home": at_home, "used_grid": _move(left, "from_grid", "home")}


def _move(left: dict[str, float], source: str, target: str, limit: float = float("inf")) -> float:
    amount = min(left[source], left[target], limit)
    left[source] -= amount
    left[target] -= amount
    return amount


async def async_counted(
    hass: HomeAssistant, wanted: Preferences, periods: Sequence[tuple[Period, StepLength]]
) -> list[Counted]:
    """Return what was counted in some periods.

    Raises ToolExecutionError if there are no statistics to read.
    """

    def read() -> list[Counted]:
        from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

        units = _units(hass, wanted)
        money = {each for source in wanted.sources for each in (source.cost, source.earned) if each}
        statistics = wanted.meters() | money | {device["stat_consumption"] for device in wanted.devices}
        counted: list[Counted] = []
        for period, step in periods:
            amounts: dict[str, dict[float, float]] = {}
            for unit in dict.fromkeys(("", *units.values())):
                ids = {each for each in statistics if units.get(each, "") == unit}
                convert = {"energy": str(UnitOfEnergy.KILO_WATT_HOUR)}
                if unit and unit != UnitOfEnergy.KILO_WATT_HOUR:
                    convert["volume"] = unit
                # The end of a day would be taken for the beginning of the next one.
                start, end = dt_util.as_utc(period.start), dt_util.as_utc(period.end) - TINY
                if not ids:
                    continue
                rows = statistics_during_period(hass, start, end, ids, step, convert, {"change"})
                for statistic, changes in rows.items():
                    by_time = {row["start"]: row.get("change") for row in changes}
                    known = {at: each for at, each in by_time.items() if each is not None}
                    amounts |= {statistic: known} if known else {}
            counted.append(Counted(period=period, amounts=amounts, units=units, step=step))
        return counted

    try:
        async with asyncio.timeout(READ_SECONDS):
            return await async_read_database(hass, read)
    except TimeoutError as err:
        raise ToolExecutionError("The recorder's database did not answer in time") from err
    except DatabaseError as err:
        raise ToolExecutionError(str(err)) from err


def _units(hass: HomeAssistant, wanted: Preferences) -> dict[str, str]:
    """Return the units in which the dashboard shows gas and water, by statistic."""
    from homeassistant.components.recorder.statistics import get_metadata  # noqa: PLC0415

    is_metric = hass.config.units.length_unit == METRIC_SYSTEM.length_unit
    units: dict[str, str] = {}
    for kind, metric, other in (
        ("gas", UnitOfVolume.CUBIC_METERS, UnitOfVolume.CUBIC_FEET),
        ("water", UnitOfVolume.LITERS, UnitOfVolume.GALLONS),
    ):
        ids = {source.taken for source in wanted.of(kind) if source.taken}
        metas = [meta for _id, meta in get_metadata(hass, statistic_ids=ids).values()] if ids else []
        stored = {str(meta.get("unit_of_measurement")) for meta in metas}
        unit = str(metric if is_metric else other)
        if any(meta.get("unit_class") == ENERGY for meta in metas):
            unit = UnitOfEnergy.KILO_WATT_HOUR
        elif len(stored) == 1 and stored <= set(UnitOfVolume):
            unit = stored.pop()
        units |= dict.fromkeys(ids, unit)
    return units


MOST_DEVICES: Final = 10
MOST_DAYS: Final = 8
"""Days that are told one by one; of more, the highest and the lowest."""
NAME_CHARS: Final = 40
UNTIL: Final = "counted until the last full hour"
NO_PRICE: Final = "no price is set in the Energy dashboard"
HIDDEN: Final = "other devices, not exposed"
METER: Final = {"grid": "electricity"}

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
    flows: dict[float, dict[str, float]] = {}
    if not wanted.meters(ROLES).isdisjoint(counted.amounts):
        flows = counted.flows(wanted)
        names = ("used", "solar_at_home", "used_grid")
        used, at_home, bought = (sum(flow[name] for flow in flows.values()) for name in names)
        grid, solar, battery = wanted.of("grid"), wanted.of("solar"), wanted.of("battery")
        told: Figures = {"used": _kwh(max(0.0, used))}
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
            told["solar_used_at_home"] = f"{min(1.0, at_home / made):.0%}"
        if made is not None and used > 0 and grid:
            told["self_sufficient"] = f"{max(0.0, 1 - bought / used):.0%}"
        if any(source.taken for source in grid):
            told["cost"] = _cost(run.hass, grid, counted)
        if (earned := counted.total(source.earned for source in grid)) is not None:
            told["earned"] = _money(run.hass, earned)
            if (cost := counted.total(source.cost for source in grid)) is not None:
                told["net_cost"] = _money(run.hass, cost - earned)
        if len(tariffs := [source for source in grid if source.taken in counted.amounts]) > 1:
            rows: Figures = {}
            for number, source in enumerate(tariffs, 1):
                amount, price = counted.total([source.taken]), counted.total([source.cost])
                name = clean(source.name, NAME_CHARS) or f"meter {number}"
                rows[name] = _kwh(amount or 0.0) + ("" if price is None else f", {_money(run.hass, price)}")
            told["tariffs"] = rows
        answer["electricity"] = told
    for kind in ("gas", "water"):
        sources = wanted.of(kind)
        if (amount := counted.total(source.taken for source in sources)) is not None:
            unit = counted.units.get(sources[0].taken, "")
            answer[kind] = {"used": f"{tidy(amount)} {unit}", "cost": _cost(run.hass, sources, counted)}
    if devices := _devices(run, wanted, counted, flows):
        answer["devices"] = devices
    if counted.step == "day" and flows:
        by_day = {format_local(at).split()[0]: max(0.0, flow["used"]) for at, flow in flows.items()}
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
    """Return the cost of sources; a source without a price is named as such."""
    listed = [source for source in sources if source.taken]
    cost = counted.total(source.cost for source in listed)
    if cost is None:
        return "no cost is counted in this period" if any(one.cost for one in listed) else NO_PRICE
    free = any(one.taken in counted.amounts and one.cost not in counted.amounts for one in listed)
    return f"{_money(hass, cost)}{', without the meters that have no price' if free else ''}"


def _kwh(amount: float) -> str:
    return f"{tidy(amount)} {UnitOfEnergy.KILO_WATT_HOUR}"


def _money(hass: HomeAssistant, amount: float) -> str:
    return f"{amount:.2f} {hass.config.currency}"


def _devices(
    run: ToolRun, wanted: Preferences, counted: Counted, flows: Mapping[float, dict[str, float]]
) -> Figures:
    """Return the devices that used most, and what no device accounts for.

    A device is named if one of its entities is exposed.
    """
    registry, totals = er.async_get(run.hass), dict[str, float]()
    devices = {device["stat_consumption"]: device for device in wanted.devices}
    for statistic in devices:
        if (amount := counted.total([statistic])) is not None:
            totals[statistic] = amount
    told: Figures = {}
    hidden, further, measured = 0.0, 0.0, 0.0
    for statistic, amount in sorted(totals.items(), key=lambda pair: -pair[1]):
        device, entry = devices[statistic], registry.async_get(statistic)
        # The consumption of any other device is part of another one's.
        apart = amount if device.get("included_in_stat") not in totals else 0.0
        measured += apart
        ids = [statistic]
        if entry is not None and entry.device_id is not None:
            others = er.async_entries_for_device(registry, entry.device_id)
            ids += [other.entity_id for other in others]
        shown = next((entity_id for entity_id in ids if run.reader.sees(entity_id)), None)
        if shown is None:
            hidden += apart
        elif len(told) < MOST_DEVICES:
            record = run.house.entities.get(shown)
            name = clean(device.get("name") or (record.name if record else statistic), NAME_CHARS)
            numbered = (f"{name} {number}" if number > 1 else name for number in count(1))
            told[next(each for each in numbered if each not in told)] = _kwh(amount)
        else:
            further += apart
    if further:
        told["further devices"] = _kwh(further)
    if hidden:
        told[HIDDEN] = _kwh(hidden)
    if totals and flows:
        used = sum(flow["used"] for flow in flows.values())
        told["not measured by device"] = _kwh(max(0.0, used - measured))
    return told


def _now(hass: HomeAssistant, wanted: Preferences) -> Figures:
    """Return the power at this moment by where it comes from or goes to, and how full the batteries are."""
    told: Figures = {}
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
        await async_load(hass)

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
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
        if not wanted.sources and not wanted.devices:
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
        missing: list[JsonValueType] = [
            METER.get(kind, kind)
            for kind in KINDS
            if (meters := wanted.meters((kind,))) and meters.isdisjoint(counted.amounts)
        ]
        if counted.amounts and missing:
            answer["nothing_counted_of"] = missing
        if counted.amounts and is_open and (flowing := _now(run.hass, wanted)):
            answer["now"] = flowing
        if others:
            answer["compared"] = figures(run, wanted, others[0])
        return answer
