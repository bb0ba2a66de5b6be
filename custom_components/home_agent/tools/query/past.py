"""States of the past as a query answers them: what the recorder's data comes to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import groupby, pairwise
from math import atan2, cos, degrees, radians, sin
from typing import Any, Final, Literal

from homeassistant.components.sensor import ATTR_STATE_CLASS
from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    COMPRESSED_STATE_ATTRIBUTES,
    COMPRESSED_STATE_LAST_CHANGED,
    COMPRESSED_STATE_LAST_UPDATED,
    COMPRESSED_STATE_STATE,
    PERCENTAGE,
    STATE_UNAVAILABLE,
    STATE_UNKNOWN,
)
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.helpers.recorder import DATA_INSTANCE
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.kind_lines import describe_state
from ...database import DatabaseError, async_read_database
from ...domains import DOMAINS
from ...errors import ToolExecutionError
from ...knowledge.house import EntityRecord
from ...safety.firewall.own_values import without_outside
from ...texts import as_number, one_line
from ...timespans import format_local, format_span
from ...when import Period, read_asked
from .present import MAX_CHARS, NARROW, Member, Report, StateFilter, as_percent, state_words, unit_of

MAX_ROWS = 20_000
"""Changes read for one entity; the newest are kept."""

STATISTICS_FROM = timedelta(days=2)
"""Longer periods of sensors are read from hourly statistics where there are any."""

_FIRST_STEP = timedelta(hours=6)
_FEW_ROWS = 2_000
_INSTANT = timedelta(microseconds=1)
HOUR_SECONDS = 3600.0
_STATISTIC_TYPES: set[Literal["change", "last_reset", "max", "mean", "min", "state", "sum"]] = {
    "change",
    "max",
    "mean",
    "min",
    "state",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A state, or the value of an attribute, from a moment (a timestamp) on."""

    at: float
    value: str


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of long-term statistics; `change` is what a meter counted in it."""

    start: float
    mean: float
    low: float
    high: float
    change: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All that is known of one entity in a period, oldest first.

    `hours` come before `samples`; `is_cut` says that older changes were too many to read.
    """

    hours: Sequence[Hour] = ()
    samples: Sequence[Sample] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of one entity: its state, or one attribute as a number from `read_attribute`."""

    entity_id: str
    attribute: str | None = None
    read_attribute: Callable[[Any], str] = str
    use_statistics: bool = True


async def async_read(hass: HomeAssistant, wanted: Iterable[Wanted], period: Period) -> dict[str, Series]:
    """Return the series of every entity, read by the recorder's own threads.

    Raises ToolExecutionError if there is no history to read.
    """
    asked = tuple(wanted)
    current = {item.entity_id: hass.states.get(item.entity_id) for item in asked}
    try:
        return await async_read_database(hass, _read_all, hass, asked, current, period)
    except DatabaseError as err:
        raise ToolExecutionError(str(err)) from err


def _read_all(
    hass: HomeAssistant, wanted: Sequence[Wanted], current: dict[str, State | None], period: Period
) -> dict[str, Series]:
    """Read every series; runs in the recorder's executor."""
    from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

    is_long = period.length > STATISTICS_FROM
    reaches_back = dt_util.utcnow() - period.start > timedelta(days=hass.data[DATA_INSTANCE].keep_days)
    ids = {item.entity_id for item in wanted if item.use_statistics and item.attribute is None}
    rows: Mapping[str, Sequence[Any]] = {}
    if ids and (is_long or reaches_back):
        first = dt_util.as_utc(period.start).replace(minute=0, second=0, microsecond=0)
        rows = statistics_during_period(hass, first, period.end, ids, "hour", None, _STATISTIC_TYPES)
    series = {}
    for item in wanted:
        hours = [hour for row in rows.get(item.entity_id, ()) if (hour := _hour(row))]
        rest = period
        if hours:
            rest = Period(dt_util.utc_from_timestamp(hours[-1].start + HOUR_SECONDS), period.end)
        samples, is_cut = _read_samples(hass, item, rest)
        if (samples or hours) and rest.start < rest.end:
            _append_current(samples, current[item.entity_id], item, rest)
        series[item.entity_id] = Series(hours=hours, samples=samples, is_cut=is_cut)
    return series


def _hour(row: Any) -> Hour | None:
    """Return a row of statistics; a meter has no mean, so its reading is used for all three."""
    mean = row.get("mean")
    mean = row.get("state") if mean is None else mean
    if mean is None:
        return None
    low, high = row.get("min"), row.get("max")
    return Hour(
        start=row["start"],
        mean=mean,
        low=mean if low is None else low,
        high=mean if high is None else high,
        change=row.get("change"),
    )


def _read_samples(hass: HomeAssistant, item: Wanted, period: Period) -> tuple[list[Sample], bool]:
    """Return the changes in a period and whether older ones were left out.

    Reads backwards in growing steps, so that a chatty sensor never fills the memory.
    """
    from homeassistant.components.recorder.history import get_significant_states  # noqa: PLC0415

    is_of_state = item.attribute is None
    newest_first: list[list[Sample]] = []
    count = 0
    end, step = period.end, _FIRST_STEP
    while end > period.start:
        start = max(period.start, end - step)
        is_first = start == period.start
        rows: Iterable[Any] = get_significant_states(
            hass,
            start - (_INSTANT if is_first else timedelta()),
            end + _INSTANT,
            [item.entity_id],
            include_start_time_state=is_first,
            significant_changes_only=is_of_state,
            no_attributes=is_of_state,
            compressed_state_format=True,
        ).get(item.entity_id, [])
        part: list[Sample] = []
        for row in rows:
            at, value = row[COMPRESSED_STATE_LAST_UPDATED], row[COMPRESSED_STATE_STATE]
            if is_of_state:
                at = row.get(COMPRESSED_STATE_LAST_CHANGED) or at
            else:
                value = item.read_attribute(row[COMPRESSED_STATE_ATTRIBUTES].get(item.attribute))
            # The state before the period begins with it.
            part.append(Sample(max(at, start.timestamp()), value))
        newest_first.append(part)
        count += len(part)
        end = start
        if count > MAX_ROWS and end > period.start:
            break
        if len(part) < _FEW_ROWS:
            step *= 4
    samples = [sample for part in reversed(newest_first) for sample in part]
    is_cut = end > period.start or len(samples) > MAX_ROWS
    runs = groupby(samples[-MAX_ROWS:], key=lambda sample: sample.value)
    return [next(run) for _value, run in runs], is_cut


def _append_current(samples: list[Sample], state: State | None, item: Wanted, period: Period) -> None:
    """Add the state of now where the recorder has not yet written it."""
    if state is None:
        return
    moment, value = state.last_changed, state.state
    if item.attribute is not None:
        moment, value = state.last_updated, item.read_attribute(state.attributes.get(item.attribute))
    if moment > period.end or (samples and samples[-1].value == value):
        return
    at = max(moment.timestamp(), period.start.timestamp())
    if not samples or at >= samples[-1].at:
        samples.append(Sample(at, value))


MAX_STATES = 8
_GAPS = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN, "", "None"})
_TOLERANCE_SECONDS = 120.0
_METERS = frozenset({"total", "total_increasing"})


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A value that held from a moment on for some seconds."""

    start: float
    seconds: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class HistoryKind:
    """What sort of number an entity has: its state class, and whether it is an angle."""

    state_class: str | None = None
    is_angle: bool = False
    active: str = ""
    """The state that is counted; every change is where no state is."""
    passing: frozenset[str] = frozenset()
    """States on the way to another one."""
    words: Mapping[str, str] = field(default_factory=dict)
    """States in words."""

    def say(self, state: str) -> str:
        """Return a state in words."""
        return one_line(self.words.get(state, state))

    @property
    def is_meter(self) -> bool:
        """Return whether the number counts up, like an energy meter."""
        return self.state_class in _METERS


def summarize(
    series: Series, period: Period, aggregate: str | None, kind: HistoryKind, *, max_changes: int
) -> dict[str, JsonValueType]:
    """Return the answer to one question about one entity.

    Without an aggregate the newest changes are listed, of numbers only where `max_changes` holds them all.
    """
    if not series.samples and not series.hours:
        return {"error": "no history recorded for this period"}
    values = [sample.value for sample in series.samples if sample.value not in _GAPS]
    answer: dict[str, JsonValueType]
    if not values and not series.hours:
        answer = {"error": "unavailable the whole time"}
    elif all(as_number(value) is not None for value in values):
        answer = _numbers(series, period, aggregate, kind, max_changes)
    else:
        answer = _states(series, period, kind, max_changes=0 if aggregate else max_changes)
        if aggregate not in (None, "count"):
            answer["note"] = f"not a number, so there is no {aggregate}"
    first = series.hours[0].start if series.hours else series.samples[0].at
    if series.is_cut or first > period.start.timestamp() + _TOLERANCE_SECONDS:
        answer["known_since"] = format_local(first)
    return answer


def value_at(series: Series, kind: HistoryKind) -> dict[str, JsonValueType]:
    """Return the state at the beginning of a series, or the average of its hour from statistics."""
    if series.samples and (not series.hours or series.samples[0].at <= series.hours[0].start):
        value = series.samples[0].value
        shown = _value(value) if as_number(value) is not None else kind.say(value)
        return {"value": shown}
    if series.hours:
        return {"value": tidy(series.hours[-1].mean), "of": "average of that hour"}
    return {"error": "no history recorded for this moment"}


def _spans(series: Series, period: Period) -> list[HeldValue]:
    start, end = period.start.timestamp(), period.end.timestamp()
    spans = []
    for hour in series.hours:
        begin, finish = max(hour.start, start), min(hour.start + HOUR_SECONDS, end)
        spans.append(HeldValue(begin, max(0.0, finish - begin), hour.mean, hour.low, hour.high))
    for sample, seconds in _held(series.samples, end):
        if (number := as_number(sample.value)) is not None:
            spans.append(HeldValue(sample.at, seconds, number, number, number))
    return spans


def _held(samples: Sequence[Sample], end: float) -> Iterable[tuple[Sample, float]]:
    """Return every sample with the seconds until the next one or the end."""
    for sample, following in pairwise(samples):
        yield sample, max(0.0, min(following.at, end) - sample.at)
    if samples:
        yield samples[-1], max(0.0, end - samples[-1].at)


def _average(spans: Sequence[HeldValue], kind: HistoryKind) -> float:
    """Return the average weighted by time; of angles the direction of their sum."""
    weights = [span.seconds for span in spans]
    if not any(weights):
        weights = [1.0] * len(spans)
    weighted = list(zip(weights, (span.value for span in spans), strict=True))
    if kind.is_angle:
        east = sum(weight * sin(radians(value)) for weight, value in weighted)
        north = sum(weight * cos(radians(value)) for weight, value in weighted)
        return degrees(atan2(east, north)) % 360
    return sum(weight * value for weight, value in weighted) / sum(weights)


def _counted(series: Series, kind: HistoryKind) -> float:
    """Return the consumption of a meter; if it may only rise, a fall is a reset to zero."""
    readings = [number for sample in series.samples if (number := as_number(sample.value)) is not None]
    if series.hours and readings:
        readings.insert(0, series.hours[-1].mean)
    rises_only = kind.state_class == "total_increasing"
    steps = (
        after if rises_only and after < before else after - before for before, after in pairwise(readings)
    )
    return sum(hour.change or 0.0 for hour in series.hours) + sum(steps)


def _numbers(
    series: Series, period: Period, aggregate: str | None, kind: HistoryKind, max_changes: int
) -> dict[str, JsonValueType]:
    """Return one figure; without an aggregate the changes where they are few, else what describes them."""
    spans = _spans(series, period)
    low, high = min(spans, key=lambda span: span.low), max(spans, key=lambda span: span.high)
    figures: dict[str, dict[str, JsonValueType]] = {
        "avg": {"avg": tidy(_average(spans, kind))},
        "min": {"min": tidy(low.low), "min_at": format_local(low.start)},
        "max": {"max": tidy(high.high), "max_at": format_local(high.start)},
    }
    if aggregate in figures:
        return figures[aggregate]
    if aggregate == "sum" and kind.is_meter:
        return {"sum": tidy(_counted(series, kind)), "of": "what the meter counted in the period"}
    if aggregate == "sum":
        return {"sum": tidy(sum(span.value for span in spans)), "of": "all readings"}
    if aggregate == "count":
        return {"count": max(0, len([one for one in series.samples if one.value not in _GAPS]) - 1)}
    answer: dict[str, JsonValueType]
    if not series.hours and len(series.samples) <= max_changes and not series.is_cut:
        answer = {"changes": [[format_local(sample.at), _value(sample.value)] for sample in series.samples]}
    else:
        answer = {"first": tidy(spans[0].value), "last": tidy(spans[-1].value)}
        answer |= figures["avg"] | figures["min"] | figures["max"]
    if kind.is_meter:
        answer["counted"] = tidy(_counted(series, kind))
    return answer


def _states(
    series: Series, period: Period, kind: HistoryKind, *, max_changes: int
) -> dict[str, JsonValueType]:
    seconds: dict[str, float] = {}
    entered: dict[str, int] = {}
    changes: list[Sample] = []
    before: str | None = None
    settled: str | None = None
    became = 0
    for sample, held in _held(series.samples, period.end.timestamp()):
        seconds[sample.value] = seconds.get(sample.value, 0.0) + held
        if sample.value in _GAPS or sample.value == before:
            continue
        if before is not None:
            entered[sample.value] = entered.get(sample.value, 0) + 1
            changes.append(sample)
        before = sample.value
        if sample.value not in kind.passing:
            became += settled not in (None, kind.active) and sample.value == kind.active
            settled = sample.value
    longest = sorted(seconds, key=lambda state: (-seconds[state], state))
    spans: dict[str, JsonValueType] = {}
    for state in longest[:MAX_STATES]:
        times = entered.get(state, 0)
        often = "" if state in _GAPS else f", {times} time{'' if times == 1 else 's'}"
        spans[kind.say(state)] = f"{format_span(seconds[state])}{often}"
    answer: dict[str, JsonValueType] = {
        "count": became if kind.active else len(changes),
        "counted": f"became {kind.say(kind.active)}" if kind.active else "changes",
        "time": spans,
    }
    if len(longest) > MAX_STATES:
        answer["more_states"] = len(longest) - MAX_STATES
    if max_changes and changes:
        answer["changes"] = [
            [format_local(sample.at), kind.say(sample.value)] for sample in changes[-max_changes:]
        ]
        if len(changes) > max_changes:
            answer["earlier_changes"] = len(changes) - max_changes
    return answer


def _value(text: str) -> JsonValueType:
    number = as_number(text)
    return one_line(text) if number is None else tidy(number)


def tidy(number: float) -> float | int:
    """Return a number with as many digits as can be spoken."""
    rounded = float(f"{number:.3g}") if abs(number) < 1 else round(number, 2)
    return int(rounded) if rounded.is_integer() else rounded


MAX_HISTORY_ENTITIES: Final = 20
MAX_CHANGES: Final = 20
"""Changes listed of one entity."""
MAX_CHANGES_EACH: Final = 5
"""Changes listed of each where there are several."""
_USUAL: Final = ("on", "off", "open", "closed", "locked", "unlocked")
_KIND_OF_ANGLE: Final = "wind_direction"


async def async_history(
    hass: HomeAssistant,
    found: Sequence[Member],
    asked: Sequence[str],
    history: Mapping[str, str],
    counted: StateFilter | None,
    language: str,
) -> Report:
    """Return the recorder's data for a period, or the states at a moment; `counted` is the state to count."""
    now = dt_util.utcnow()
    aggregate = history.get("aggregate")
    chosen = found[:MAX_HISTORY_ENTITIES]
    period, at_once = read_asked(history.get("at", ""), history.get("duration", ""), language, now)
    head: Report = {"at": format_local(period.start)}
    if not at_once:
        head = {"period": f"{format_local(period.start)} to {format_local(period.end)}"}
    kinds = [_kind(hass, record, state, counted) for record, state in chosen]
    wanted = [
        _wanted(state, asked, aggregate, kind, at_once=at_once)
        for (_record, state), kind in zip(chosen, kinds, strict=True)
    ]
    series = await async_read(hass, wanted, period)
    max_changes = MAX_CHANGES if len(chosen) == 1 else MAX_CHANGES_EACH
    told: Report = {}
    for (record, state), item, kind in zip(chosen, wanted, kinds, strict=True):
        if at_once:
            answer = value_at(series[item.entity_id], kind)
        else:
            answer = summarize(series[item.entity_id], period, aggregate, kind, max_changes=max_changes)
        if item.attribute is not None:
            answer["attribute"] = item.attribute
        own = without_outside(hass, state)
        report: Report = {"now": describe_state(own, record, aged=False)}
        unit = unit_of(hass, state)
        if item.attribute is not None:
            is_share = as_percent(item.attribute, 1) is not None or item.attribute.endswith("humidity")
            is_temperature = "temp" in item.attribute and "kelvin" not in item.attribute
            degrees_of = hass.config.units.temperature_unit if is_temperature else None
            unit = PERCENTAGE if is_share else degrees_of
        if unit:
            report["unit"] = unit
        told[record.entity_id] = report | answer
    room = MAX_CHARS - len(json_dumps(head))
    kept: Report = {}
    for entity_id, about in told.items():
        room -= len(json_dumps({entity_id: about}))
        if room < 0 and kept:
            break
        kept[entity_id] = about
    more: Report = {"more": NARROW.format(len(found) - len(kept))} if len(found) > len(kept) else {}
    return {**head, "history": kept, **more}


def _wanted(
    state: State, asked: Sequence[str], aggregate: str | None, kind: HistoryKind, *, at_once: bool
) -> Wanted:
    """Return what to read: an asked attribute that is a number, where the state itself is none.

    Statistics hold no single readings, so these are counted and added up from states. A thermostat shows
    what it measures in an attribute, which is read where numbers are asked for.
    """
    attribute = None
    if as_number(state.state) is None:
        numeric = aggregate not in (None, "count") or at_once
        names = asked or (tuple(DOMAINS[state.domain].measures.values()) if numeric else ())
        attribute = next((name for name in names if _is_number(state.attributes.get(name))), None)
    needs_readings = {"count"} if kind.is_meter else {"count", "sum"}
    return Wanted(
        entity_id=state.entity_id,
        attribute=attribute,
        read_attribute=partial(_attribute_text, attribute or ""),
        use_statistics=state.domain == "sensor" and aggregate not in needs_readings,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _attribute_text(name: str, value: Any) -> str:
    """Return an attribute of the past as the state of a series, empty where it was missing."""
    if not _is_number(value):
        return ""
    percent = as_percent(name, value)
    return str(value if percent is None else percent)


def _kind(
    hass: HomeAssistant, record: EntityRecord, state: State, counted: StateFilter | None
) -> HistoryKind:
    """Return the kind of number of an entity; the registry knows it while the entity is unavailable."""
    state_class = state.attributes.get(ATTR_STATE_CLASS)
    if state_class is None and (entry := er.async_get(hass).async_get(state.entity_id)):
        state_class = (entry.capabilities or {}).get(ATTR_STATE_CLASS)
    facts = DOMAINS[state.domain]
    meant = (
        text
        for text in (facts.active, state.state, *_USUAL)
        if text and counted and counted.matches(record, State(state.entity_id, text, state.attributes))
    )
    return HistoryKind(
        state_class=None if state_class is None else str(state_class),
        is_angle=state.attributes.get(ATTR_DEVICE_CLASS) == _KIND_OF_ANGLE,
        active=next(meant, "") or facts.active,
        passing=facts.passing,
        words=state_words(record, state),
    )
