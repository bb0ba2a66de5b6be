"""States of the past as a query answers them: what the recorder's data comes to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from homeassistant.components.sensor import ATTR_STATE_CLASS
from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    ATTR_UNIT_OF_MEASUREMENT,
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
from ...domains.binary_sensor import BINARY_WORDS
from ...errors import ToolExecutionError
from ...knowledge.house import EntityRecord
from ...safety.firewall.own_values import without_outside
from ...texts import as_number, one_line
from ...timespans import format_local, format_span
from ...when import Period, read_asked
from .present import MAX_CHARS, NARROW, Member, Report, StateTest, as_percent

MAX_CHANGES: Final = 20
"""Changes listed of one entity."""
MAX_STATES: Final = 8
MAX_ROWS = 20_000
"""Changes read for one entity; the newest are kept."""
STATISTICS_FROM: Final = timedelta(days=2)
"""Longer periods of sensors are read from hourly statistics where there are any."""
_INSTANT: Final = timedelta(microseconds=1)
_FIRST_STEP: Final = timedelta(hours=6)
_FEW_ROWS: Final = 2_000
_GAPS: Final = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN, "", "None"})
_METERS: Final = frozenset({"total", "total_increasing"})


class Sample(NamedTuple):
    """A state, or the value of an attribute, from a moment (a timestamp) on."""

    at: float
    value: str


class HeldValue(NamedTuple):
    """A number that held from a moment on for some seconds."""

    start: float
    seconds: float
    value: float
    low: float
    high: float


@dataclass(slots=True, kw_only=True)
class Recorded:
    """What is asked of one entity, and what the recorder has of it in a period, oldest first."""

    record: EntityRecord
    state: State
    attribute: str | None = None
    """The attribute that is asked for in place of the state, a number."""
    state_class: str | None = None
    active: str = ""
    """The state that is counted; every change is where no state is."""
    hours: list[HeldValue] = field(default_factory=list)
    """Hours of long-term statistics, before the samples."""
    metered: float = 0.0
    """What a meter counted in these hours."""
    samples: list[Sample] = field(default_factory=list)
    is_cut: bool = False
    """Whether older changes were too many to read."""

    def say(self, state: str) -> str:
        """Return a state in words, where it does not say it itself: an "on" door is open."""
        device_class = str(self.state.attributes.get(ATTR_DEVICE_CLASS) or self.record.device_class or "")
        words = BINARY_WORDS.get(device_class, ()) if self.record.domain == "binary_sensor" else ()
        return one_line(dict(zip(("on", "off"), words, strict=False)).get(state, state))

    def value_of(self, attributes: Mapping[str, Any], state: str) -> str:
        """Return what is followed of a state: itself, or its attribute, empty where it was missing."""
        if self.attribute is None:
            return state
        value = attributes.get(self.attribute)
        percent = as_percent(self.attribute, value)
        return "" if not _is_number(value) else str(value if percent is None else percent)

    def unit_in(self, hass: HomeAssistant) -> str | None:
        """Return the unit of the number that is followed."""
        attribute, unit = self.attribute or "", None
        if as_percent(attribute, 1) is not None or attribute.endswith("humidity"):
            return PERCENTAGE
        is_temperature = "temp" in attribute and "kelvin" not in attribute
        if not attribute:
            unit = self.state.attributes.get(ATTR_UNIT_OF_MEASUREMENT)
            is_temperature = self.state.domain in ("climate", "water_heater", "weather")
        if not unit and is_temperature:
            unit = hass.config.units.temperature_unit
        return one_line(str(unit), 20) if unit else None


async def async_history(
    hass: HomeAssistant,
    found: Sequence[Member],
    asked: Sequence[str],
    history: Mapping[str, str],
    counted: StateTest | None,
    language: str,
) -> Report:
    """Return the recorder's data for a period, or the states at a moment; `counted` is the state to count.

    Raises ToolExecutionError if there is no history to read.
    """
    now = dt_util.utcnow()
    aggregate = history.get("aggregate")
    period, at_once = read_asked(history.get("at", ""), history.get("duration", ""), language, now)
    head: Report = {"at": format_local(period.start)}
    if not at_once:
        head = {"period": f"{format_local(period.start)} to {format_local(period.end)}"}
    chosen: list[Recorded] = []
    for record, state in found[:20]:
        attributes, facts = state.attributes, DOMAINS[state.domain]
        state_class = attributes.get(ATTR_STATE_CLASS)
        if state_class is None and (entry := er.async_get(hass).async_get(state.entity_id)):
            state_class = (entry.capabilities or {}).get(ATTR_STATE_CLASS)  # while it is unavailable
        names = asked
        if not asked and (at_once or aggregate not in (None, "count")):
            # A thermostat shows what it measures in an attribute, which is read where numbers are asked for.
            names = tuple(facts.measures.values())
        if as_number(state.state) is not None:
            names = ()
        meant = (
            text
            for text in (facts.active, state.state, "on", "off", "open", "closed", "locked", "unlocked")
            if text and counted and counted(record, State(state.entity_id, text, attributes))
        )
        chosen.append(
            Recorded(
                record=record,
                state=state,
                attribute=next((name for name in names if _is_number(attributes.get(name))), None),
                state_class=None if state_class is None else str(state_class),
                active=next(meant, "") or facts.active,
            )
        )
    try:
        await async_read_database(hass, _read_all, hass, chosen, period, aggregate)
    except DatabaseError as err:
        raise ToolExecutionError(str(err)) from err
    max_changes = MAX_CHANGES if len(chosen) == 1 else 5
    room = MAX_CHARS - len(json_dumps(head))
    reports: Report = {}
    for each in chosen:
        own = without_outside(hass, each.state)
        report: Report = {"now": describe_state(own, each.record, aged=False)}
        if unit := each.unit_in(hass):
            report["unit"] = unit
        if not at_once:
            report |= _summary(each, period, aggregate, max_changes)
        elif each.samples and (not each.hours or each.samples[0].at <= each.hours[0].start):
            report["value"] = _shown(each.say(each.samples[0].value))
        elif each.hours:
            report |= {"value": tidy(each.hours[-1].value), "of": "average of that hour"}
        else:
            report["error"] = "no history recorded for this moment"
        if each.attribute is not None:
            report["attribute"] = each.attribute
        room -= len(json_dumps({each.record.entity_id: report}))
        if room < 0 and reports:
            break
        reports[each.record.entity_id] = report
    more: Report = {"more": NARROW.format(len(found) - len(reports))} if len(found) > len(reports) else {}
    return {**head, "history": reports, **more}


def _read_all(hass: HomeAssistant, wanted: Sequence[Recorded], period: Period, aggregate: str | None) -> None:
    """Read what the recorder has of every entity; runs in one of its threads."""
    from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

    ids = set()
    reaches_back = dt_util.utcnow() - period.start > timedelta(days=hass.data[DATA_INSTANCE].keep_days)
    if period.length > STATISTICS_FROM or reaches_back:
        # Statistics hold no single readings, so these are counted and added up from states.
        ids = {
            each.state.entity_id
            for each in wanted
            if each.attribute is None
            and each.state.domain == "sensor"
            and not (aggregate == "count" or (aggregate == "sum" and each.state_class not in _METERS))
        }
    rows: Mapping[str, Sequence[Any]] = {}
    if ids:
        first = dt_util.as_utc(period.start).replace(minute=0, second=0, microsecond=0)
        rows = statistics_during_period(
            hass, first, period.end, ids, "hour", None, {"change", "max", "mean", "min", "state"}
        )
    for each in wanted:
        rest = period
        for row in rows.get(each.state.entity_id, ()):
            # A meter has no mean, so its reading is used for all three.
            mean = row.get("state") if row.get("mean") is None else row["mean"]
            if mean is None:
                continue
            low, high = (mean if row.get(key) is None else row[key] for key in ("min", "max"))
            start, end = row["start"], row["start"] + 3600.0
            held = min(end, period.end.timestamp()) - max(start, period.start.timestamp())
            each.hours.append(
                HeldValue(max(start, period.start.timestamp()), max(0.0, held), mean, low, high)
            )
            each.metered += row.get("change") or 0.0
            rest = Period(dt_util.utc_from_timestamp(end), period.end)
        if rest.start >= rest.end:
            continue
        _read_samples(hass, each, rest)
        # The recorder may not yet have written the state of now.
        state, samples = each.state, each.samples
        moment = state.last_changed if each.attribute is None else state.last_updated
        at = max(moment.timestamp(), rest.start.timestamp())
        now = Sample(at, each.value_of(state.attributes, state.state))
        is_newer = not samples or (samples[-1].value != now.value and samples[-1].at <= now.at)
        if is_newer and (samples or each.hours) and moment <= rest.end:
            samples.append(now)


def _read_samples(hass: HomeAssistant, item: Recorded, period: Period) -> None:
    """Read the changes in a period, backwards in growing steps: a chatty sensor never fills the memory."""
    from homeassistant.components.recorder.history import get_significant_states  # noqa: PLC0415

    is_of_state = item.attribute is None
    newest_first: list[list[Sample]] = []
    end, step = period.end, _FIRST_STEP
    while end > period.start and sum(map(len, newest_first)) <= MAX_ROWS:
        start = max(period.start, end - step)
        is_first = start == period.start
        rows: Iterable[Any] = get_significant_states(
            hass,
            start - (_INSTANT if is_first else timedelta()),
            end + _INSTANT,
            [item.state.entity_id],
            include_start_time_state=is_first,
            significant_changes_only=is_of_state,
            no_attributes=is_of_state,
            compressed_state_format=True,
        ).get(item.state.entity_id, [])
        part: list[Sample] = []
        for row in rows:
            at = row[COMPRESSED_STATE_LAST_UPDATED]
            if is_of_state:
                at = row.get(COMPRESSED_STATE_LAST_CHANGED) or at
            value = item.value_of(row.get(COMPRESSED_STATE_ATTRIBUTES) or {}, row[COMPRESSED_STATE_STATE])
            # The state before the period begins with it.
            part.append(Sample(max(at, start.timestamp()), value))
        newest_first.append(part)
        end = start
        if len(part) < _FEW_ROWS:
            step *= 4
    samples = [sample for part in reversed(newest_first) for sample in part]
    item.is_cut = end > period.start or len(samples) > MAX_ROWS
    runs = groupby(samples[-MAX_ROWS:], key=lambda sample: sample.value)
    item.samples = [next(run) for _value, run in runs]


def _summary(item: Recorded, period: Period, aggregate: str | None, max_changes: int) -> Report:
    """Return the answer about one entity; changes of numbers only where `max_changes` holds them all."""
    if not item.samples and not item.hours:
        return {"error": "no history recorded for this period"}
    values = [sample.value for sample in item.samples if sample.value not in _GAPS]
    if not values and not item.hours:
        answer: Report = {"error": "unavailable the whole time"}
    elif all(as_number(value) is not None for value in values):
        answer = _numbers(item, period, aggregate, max_changes)
    else:
        answer = _states(item, period, 0 if aggregate else max_changes)
        if aggregate not in (None, "count"):
            answer["note"] = f"not a number, so there is no {aggregate}"
    first = item.hours[0].start if item.hours else item.samples[0].at
    if item.is_cut or first > period.start.timestamp() + 120.0:
        answer["known_since"] = format_local(first)
    return answer


def _held(samples: Sequence[Sample], end: float) -> Iterator[tuple[Sample, float]]:
    for sample, following in pairwise([*samples, Sample(end, "")]):
        yield sample, max(0.0, min(following.at, end) - sample.at)


def _numbers(item: Recorded, period: Period, aggregate: str | None, max_changes: int) -> Report:
    """Return one figure; without an aggregate the changes where they are few, else what describes them."""
    samples = [
        HeldValue(sample.at, seconds, number, number, number)
        for sample, seconds in _held(item.samples, period.end.timestamp())
        if (number := as_number(sample.value)) is not None
    ]
    spans = [*item.hours, *samples]
    low, high = min(spans, key=lambda span: span.low), max(spans, key=lambda span: span.high)
    has_lengths = any(span.seconds for span in spans)
    weights = [span.seconds if has_lengths else 1.0 for span in spans]
    average = sum(weight * span.value for weight, span in zip(weights, spans, strict=True)) / sum(weights)
    figures: dict[str, Report] = {
        "avg": {"avg": tidy(average)},
        "min": {"min": tidy(low.low), "min_at": format_local(low.start)},
        "max": {"max": tidy(high.high), "max_at": format_local(high.start)},
        "count": {"count": max(0, len(samples) - 1)},
        "sum": {"sum": tidy(sum(span.value for span in spans)), "of": "all readings"},
    }
    is_meter = item.state_class in _METERS
    if is_meter:
        readings = [*(hour.value for hour in item.hours[-1:] if samples), *(each.value for each in samples)]
        rises_only = item.state_class == "total_increasing"  # so that a fall is a reset to zero
        steps = [
            after if rises_only and after < before else after - before for before, after in pairwise(readings)
        ]
        counted = tidy(item.metered + sum(steps))
        figures["sum"] = {"sum": counted, "of": "what the meter counted in the period"}
    if aggregate is not None:
        return figures[aggregate]
    answer: Report
    if not item.hours and len(item.samples) <= max_changes and not item.is_cut:
        answer = {"changes": [[format_local(sample.at), _shown(sample.value)] for sample in item.samples]}
    else:
        answer = {"first": tidy(spans[0].value), "last": tidy(spans[-1].value)}
        answer |= figures["avg"] | figures["min"] | figures["max"]
    return {**answer, "counted": counted} if is_meter else answer


def _states(item: Recorded, period: Period, max_changes: int) -> Report:
    """Return how long each state held, how often it was entered, and the newest changes."""
    seconds: dict[str, float] = {}
    entered: dict[str, int] = {}
    changes: list[Sample] = []
    before: str | None = None
    settled: str | None = None
    became, active, passing = 0, item.active, DOMAINS[item.state.domain].passing
    for sample, held in _held(item.samples, period.end.timestamp()):
        value = sample.value
        seconds[value] = seconds.get(value, 0.0) + held
        if value in _GAPS or value == before:
            continue
        if before is not None:
            entered[value] = entered.get(value, 0) + 1
            changes.append(sample)
        before = value
        if value not in passing:
            became += settled not in (None, active) and value == active
            settled = value
    longest = sorted(seconds, key=lambda state: (-seconds[state], state))
    spans: Report = {}
    for state in longest[:MAX_STATES]:
        times = entered.get(state, 0)
        often = "" if state in _GAPS else f", {times} time{'' if times == 1 else 's'}"
        spans[item.say(state)] = f"{format_span(seconds[state])}{often}"
    answer: Report = {
        "count": became if active else len(changes),
        "counted": f"became {item.say(active)}" if active else "changes",
        "time": spans,
    }
    if len(longest) > MAX_STATES:
        answer["more_states"] = len(longest) - MAX_STATES
    if max_changes and changes:
        newest = changes[-max_changes:]
        answer["changes"] = [[format_local(sample.at), item.say(sample.value)] for sample in newest]
        if len(changes) > max_changes:
            answer["earlier_changes"] = len(changes) - max_changes
    return answer


def _shown(value: str) -> JsonValueType:
    number = as_number(value)
    return one_line(value) if number is None else tidy(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def tidy(number: float) -> float | int:
    """Return a number with as many digits as can be spoken."""
    rounded = float(f"{number:.3g}") if abs(number) < 1 else round(number, 2)
    return int(rounded) if rounded.is_integer() else rounded
