"""What the energy tool answers: amounts with units, money with its currency, in the words of the home."""

from collections.abc import Container, Iterable, Sequence
from itertools import count
from typing import Final

from homeassistant.const import ATTR_UNIT_OF_MEASUREMENT, PERCENTAGE, UnitOfEnergy, UnitOfPower
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
METER: Final = {"grid": "electricity", "gas": "gas", "water": "water"}

type Told = dict[str, JsonValueType]


def report(run: ToolRun, wanted: Preferences, counted: Counted, *, is_open: bool) -> Told:
    """Return what was counted in a period, and what flows now if the period is not over."""
    answer = figures(run, wanted, counted)
    if is_open:
        answer["until"] = UNTIL
    if not counted.amounts:
        return answer
    if days := _days(wanted, counted):
        answer["used_each_day"] = days
    if missing := _missing(wanted, counted):
        answer["nothing_counted_of"] = list(missing)
    if is_open and (now := _now(run.hass, wanted)):
        answer["now"] = now
    return answer


def figures(run: ToolRun, wanted: Preferences, counted: Counted) -> Told:
    """Return the amounts and the costs of a period, and what the devices used."""
    period = f"{format_local(counted.period.start)} to {format_local(counted.period.end)}"
    answer: Told = {"period": period}
    if (begins := counted.begins) is None:
        answer["error"] = "nothing is counted in this period"
        return answer
    if counted.begins_late:
        answer["known_since"] = format_local(begins)
    answer |= _totals(run.hass, wanted, counted)
    if devices := _devices(run, wanted, counted):
        answer["devices"] = devices
    return answer


def _has_electricity(wanted: Preferences, counted: Counted) -> bool:
    return not wanted.electricity.isdisjoint(counted.amounts)


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
    states = [state for one in wanted.of("battery") if one.level and (state := hass.states.get(one.level))]
    levels = [f"{level:.0f}{PERCENTAGE}" for one in states if (level := as_number(one.state)) is not None]
    if levels:
        full = f"{' and '.join(levels)} full"
        told["battery"] = f"{told['battery']}, {full}" if "battery" in told else full
    return told


def _power(hass: HomeAssistant, entity_id: str) -> float | None:
    """Return a power in kW; None if it is not known."""
    state = hass.states.get(entity_id) if entity_id else None
    number = as_number(state.state) if state else None
    unit = state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) if state else None
    if number is None or unit not in PowerConverter.VALID_UNITS:
        return None
    return PowerConverter.convert(number, unit, UnitOfPower.KILO_WATT)
