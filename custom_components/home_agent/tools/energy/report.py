"""What the energy tool answers: amounts with units, money with its currency, in the words of the home."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Final

from homeassistant.const import ATTR_UNIT_OF_MEASUREMENT, PERCENTAGE, UnitOfEnergy, UnitOfPower, UnitOfVolume
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType
from homeassistant.util.unit_conversion import PowerConverter

from ...texts import as_number, clean
from ...timespans import format_local
from ..base import ToolRun
from ..query.history_summary import tidy
from .counted import Counted
from .flows import Flows
from .preferences import KINDS, Device, Preferences, Source

MOST_DEVICES: Final = 10
MOST_DAYS: Final = 8
"""Days that are told one by one; of more, the highest and the lowest."""
NAME_CHARS: Final = 40
IDLE: Final = 0.01
"""Power in kW below which nothing flows."""
KWH: Final = UnitOfEnergy.KILO_WATT_HOUR
UNTIL: Final = "counted until the last full hour"
NO_PRICE: Final = "no price is set in the Energy dashboard"
HIDDEN: Final = "other devices, not exposed"
NOTHING: Final = 0.001
"""Smaller differences come from adding numbers."""
_UNITS: Final = frozenset({KWH, *UnitOfVolume})
METER: Final = {"grid": "electricity", "gas": "gas", "water": "water"}

type Told = dict[str, JsonValueType]


def report(run: ToolRun, wanted: Preferences, counted: Counted, *, is_open: bool) -> Told:
    """Return what was counted in a period, and what flows now if the period is not over."""
    hass = run.hass
    answer: Told = {"period": _period(counted)}
    if is_open:
        answer["until"] = UNTIL
    if (begins := counted.begins) is None:
        answer["error"] = "nothing is counted in this period"
        return answer
    if _begins_late(counted):
        answer["known_since"] = format_local(begins)
    answer |= _totals(hass, wanted, counted)
    if days := _days(wanted, counted):
        answer["used_each_day"] = days
    if devices := _devices(run, wanted, counted):
        answer["devices"] = devices
    if missing := _missing(wanted, counted):
        answer["nothing_counted_of"] = list(missing)
    if is_open and (now := _now(hass, wanted)):
        answer["now"] = now
    return answer


def compared(run: ToolRun, wanted: Preferences, counted: Counted, other: Counted) -> Told:
    """Return the totals of another period, and how the first one differs."""
    answer: Told = {"period": _period(other)}
    if other.begins is None:
        answer["error"] = "nothing is counted in this period"
        return answer
    if _begins_late(other):
        answer["known_since"] = format_local(other.begins)
    answer |= _totals(run.hass, wanted, other)
    if devices := _named_devices(run, wanted, other):
        answer["devices"] = {name: _kwh(amount) for name, amount in devices.items()}
    mine, others = _used(run, wanted, counted), _used(run, wanted, other)
    answer["now_compared_with_then"] = {
        kind: _difference(amount, others[kind][0], unit)
        for kind, (amount, unit) in mine.items()
        if kind in others
    }
    return answer


def usual(run: ToolRun, wanted: Preferences, counted: Counted, others: Sequence[Counted]) -> Told:
    """Return the average of earlier periods, and how the first one differs from it."""
    known = [other for other in others if other.begins is not None and not _begins_late(other)]
    if not known:
        return {"error": "no whole period is counted before this one, so what is usual is not known"}
    answer: Told = {
        "average_of": f"{len(known)} earlier periods",
        "first": _period(known[-1]),
        "last": _period(known[0]),
    }
    mine = _used(run, wanted, counted)
    others_used = [_used(run, wanted, other) for other in known]
    differences: Told = {}
    for kind, (amount, unit) in mine.items():
        amounts = [used[kind][0] for used in others_used if kind in used]
        if amounts:
            average = sum(amounts) / len(amounts)
            answer[kind] = _with_unit(average, unit)
            differences[kind] = _difference(amount, average, unit)
    answer["now_compared_with_usual"] = differences
    return answer


def _begins_late(counted: Counted) -> bool:
    """Return whether counting began only within a period."""
    if counted.begins is None:
        return False
    late = dt_util.utc_from_timestamp(counted.begins) - dt_util.as_utc(counted.period.start)
    return late >= timedelta(hours=1 if counted.step == "hour" else 24)


def _with_unit(amount: float, unit: str) -> str:
    """Return an amount; money has two digits."""
    return f"{tidy(amount)} {unit}" if unit in _UNITS or not unit else f"{amount:.2f} {unit}"


def _difference(now: float, then: float, unit: str) -> str:
    """Return how much more or less it is."""
    change = now - then
    if abs(change) < NOTHING:
        return "the same"
    share = f" ({change / then:+.0%})" if then > 0 else ""
    return f"{'+' if change >= 0 else ''}{_with_unit(change, unit)}{share}"


def _used(run: ToolRun, wanted: Preferences, counted: Counted) -> dict[str, tuple[float, str]]:
    """Return what was used of each kind and by each device, and what it cost, each with its unit."""
    used: dict[str, tuple[float, str]] = {}
    if _has_electricity(wanted, counted):
        used["electricity"] = (max(0.0, counted.flows(wanted).used), KWH)
    for kind in ("gas", "water"):
        sources = wanted.of(kind)
        if (amount := counted.total(source.taken for source in sources)) is not None:
            used[kind] = (amount, counted.units.get(sources[0].taken, ""))
    for kind, name in METER.items():
        if (cost := counted.total(source.cost for source in wanted.of(kind))) is not None:
            used[f"{name} cost"] = (cost, run.hass.config.currency)
    return used | {name: (amount, KWH) for name, amount in _named_devices(run, wanted, counted).items()}


def _named_devices(run: ToolRun, wanted: Preferences, counted: Counted) -> dict[str, float]:
    """Return what the devices used whose names may be told, those that used most."""
    amounts = {
        name: amount
        for device in wanted.devices
        if (amount := counted.total([device.statistic])) is not None
        and (name := _device_name(run, device)) is not None
    }
    return dict(sorted(amounts.items(), key=lambda pair: -pair[1])[:MOST_DEVICES])


def _has_electricity(wanted: Preferences, counted: Counted) -> bool:
    """Return whether any of the meters of electricity has counted."""
    sources = [source for kind in ("grid", "solar", "battery") for source in wanted.of(kind)]
    return any(counted.has(one) for source in sources for one in (source.taken, source.given))


def _totals(hass: HomeAssistant, wanted: Preferences, counted: Counted) -> Told:
    """Return the amounts and the costs of all kinds."""
    answer: Told = {}
    if _has_electricity(wanted, counted):
        answer["electricity"] = _electricity(hass, wanted, counted)
    for kind in ("gas", "water"):
        sources = wanted.of(kind)
        if (amount := counted.total(source.taken for source in sources)) is None:
            continue
        answer[kind] = {
            "used": f"{tidy(amount)} {counted.units.get(sources[0].taken, '')}",
            "cost": _cost(hass, sources, counted),
        }
    return answer


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
    told |= _shares(wanted, counted, flows)
    if any(source.taken for source in grid):
        told["cost"] = _cost(hass, grid, counted)
    earned = counted.total(source.earned for source in grid)
    if earned is not None:
        told["earned"] = _money(hass, earned)
        if (cost := counted.total(source.cost for source in grid)) is not None:
            told["net_cost"] = _money(hass, cost - earned)
    if len(rows := [source for source in grid if counted.has(source.taken)]) > 1:
        told["tariffs"] = {_source_name(one, i): _row(hass, one, counted) for i, one in enumerate(rows, 1)}
    return told


def _shares(wanted: Preferences, counted: Counted, flows: Flows) -> Told:
    """Return how much of the own electricity was used at home, and how much of the need it met."""
    told: Told = {}
    made = counted.total(source.taken for source in wanted.of("solar"))
    if made:
        at_home = flows.used_solar + flows.solar_to_battery
        told["solar_used_at_home"] = f"{min(1.0, at_home / made):.0%}"
    if made is not None and flows.used > 0 and wanted.of("grid"):
        told["self_sufficient"] = f"{max(0.0, 1 - flows.used_grid / flows.used):.0%}"
    return told


def _cost(hass: HomeAssistant, sources: Iterable[Source], counted: Counted) -> str:
    """Return the cost of sources; a source without a price is named as such."""
    listed = [source for source in sources if source.taken]
    cost = counted.total(source.cost for source in listed)
    if cost is None:
        return "no cost is counted in this period" if any(one.cost for one in listed) else NO_PRICE
    free = any(counted.has(one.taken) and not counted.has(one.cost) for one in listed)
    return f"{_money(hass, cost)}{', without the meters that have no price' if free else ''}"


def _row(hass: HomeAssistant, source: Source, counted: Counted) -> str:
    """Return the amount and the cost of one meter."""
    amount, cost = counted.total([source.taken]), counted.total([source.cost])
    price = f", {_money(hass, cost)}" if cost is not None else ""
    return f"{_kwh(amount or 0.0)}{price}"


def _source_name(source: Source, number: int) -> str:
    """Return the name that the dashboard has for a source."""
    return clean(source.name, NAME_CHARS) or f"meter {number}"


def _kwh(amount: float) -> str:
    return f"{tidy(amount)} {KWH}"


def _money(hass: HomeAssistant, amount: float) -> str:
    return f"{amount:.2f} {hass.config.currency}"


def _period(counted: Counted) -> str:
    """Return the ends of a period."""
    return f"{format_local(counted.period.start)} to {format_local(counted.period.end)}"


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
            told[_free_name(name, told)] = _kwh(amount)
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


def _free_name(name: str, taken: Container[str]) -> str:
    """Return a name with a number behind it if other devices have it."""
    numbered = (f"{name} {number}" for number in count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _device_name(run: ToolRun, device: Device) -> str | None:
    """Return the name of a device of which an entity is exposed; None for any other."""
    registry = er.async_get(run.hass)
    entry = registry.async_get(device.statistic)
    if run.is_exposed(device.statistic):
        own = run.house.entities.get(device.statistic)
        return clean(device.name or (own.name if own else device.statistic), NAME_CHARS)
    if entry is None or entry.device_id is None:
        return None
    others = er.async_entries_for_device(registry, entry.device_id)
    known = next((one.entity_id for one in others if run.is_exposed(one.entity_id)), None)
    record = run.house.entities.get(known) if known else None
    return clean(device.name or record.name, NAME_CHARS) if record else None


def _missing(wanted: Preferences, counted: Counted) -> Sequence[str]:
    """Return the kinds of which nothing at all is counted, although the dashboard has them."""
    return [
        METER.get(kind, kind)
        for kind in KINDS
        if (own := wanted.of(kind))
        and not any(counted.has(one) for source in own for one in (source.taken, source.given))
        and any(source.taken or source.given for source in own)
    ]


def _now(hass: HomeAssistant, wanted: Preferences) -> Told:
    """Return what flows at this moment, and how full the batteries are."""
    told: Told = {}
    words = {
        "grid": ("buying", "selling"),
        "battery": ("giving", "charging with"),
        "solar": ("making", "taking"),
    }
    for kind, (positive, negative) in words.items():
        powers = [power for one in wanted.of(kind) if (power := _power(hass, one.rate)) is not None]
        if powers:
            power = sum(powers)
            flow = positive if power > 0 else negative
            told[kind] = f"{flow} {tidy(abs(power))} kW" if abs(power) >= IDLE else "nothing flows"
    if (level := _level(hass, wanted.of("battery"))) is not None:
        told["battery"] = ", ".join(
            filter(None, (str(told.get("battery", "")), f"{level:.0f}{PERCENTAGE} full"))
        )
    return told


def _power(hass: HomeAssistant, entity_id: str) -> float | None:
    """Return a power in kW; None if it is not known."""
    state = hass.states.get(entity_id) if entity_id else None
    number = as_number(state.state) if state else None
    unit = state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) if state else None
    if number is None or unit not in PowerConverter.VALID_UNITS:
        return None
    return PowerConverter.convert(number, unit, UnitOfPower.KILO_WATT)


def _level(hass: HomeAssistant, batteries: Iterable[Source]) -> float | None:
    """Return how full the batteries are together in percent, by their capacity; None if it is not known."""
    levels: list[_Level] = []
    for battery in batteries:
        state = hass.states.get(battery.level) if battery.level else None
        number = as_number(state.state) if state else None
        if number is not None:
            levels.append(_Level(number, battery.capacity))
    if not levels:
        return None
    known = [one.capacity for one in levels if one.capacity]
    usual = sum(known) / len(known) if known else 1.0
    whole = sum(one.capacity or usual for one in levels)
    return sum(one.percent * (one.capacity or usual) for one in levels) / whole


@dataclass(frozen=True, slots=True)
class _Level:
    """The charge of one battery, and its capacity in kWh."""

    percent: float
    capacity: float | None
