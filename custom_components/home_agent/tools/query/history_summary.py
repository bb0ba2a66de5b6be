"""What a series of states comes to: averages weighted by time, time per state, changes.

Unavailable and unknown stretches are gaps: they have no weight, and returning to the same state is not a
change.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import atan2, cos, degrees, radians, sin

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.util.json import JsonValueType

from ...texts import as_number, one_line
from ...timespans import format_local, format_span
from .periods import Period
from .recorder_history import HOUR_SECONDS, Sample, Series

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


def is_numeric(series: Series) -> bool:
    """Return whether all that is known are numbers."""
    values = [sample.value for sample in series.samples if sample.value not in _GAPS]
    return bool(values or series.hours) and all(as_number(value) is not None for value in values)


def summarize(
    series: Series, period: Period, aggregate: str | None, kind: HistoryKind, *, max_changes: int
) -> dict[str, JsonValueType]:
    """Return the answer to one question about one entity.

    Without an aggregate the newest changes are listed, of numbers only where `max_changes` holds them all.
    """
    if not series.samples and not series.hours:
        return {"error": "no history recorded for this period"}
    numeric = is_numeric(series)
    answer: dict[str, JsonValueType]
    if numeric and aggregate is None:
        answer = _overview(series, period, kind, max_changes)
    elif numeric:
        answer = _NUMERIC[str(aggregate)](series, period, kind)
    elif all(sample.value in _GAPS for sample in series.samples):
        answer = {"error": "unavailable the whole time"}
    else:
        answer = _states(series, period, kind, max_changes=0 if aggregate else max_changes)
        if aggregate not in (None, "count"):
            answer["note"] = f"not a number, so there is no {aggregate}"
    return answer | _coverage(series, period)


def value_at(series: Series, kind: HistoryKind) -> dict[str, JsonValueType]:
    """Return the state at the beginning of a series, or the average of its hour from statistics."""
    if series.samples and (not series.hours or series.samples[0].at <= series.hours[0].start):
        value = series.samples[0].value
        shown = _value(value) if as_number(value) is not None else kind.say(value)
        return {"value": shown}
    if series.hours:
        return {"value": tidy(series.hours[-1].mean), "of": "average of that hour"}
    return {"error": "no history recorded for this moment"}


def _coverage(series: Series, period: Period) -> dict[str, JsonValueType]:
    """Return from when on something is known, where that is later than asked."""
    first = series.hours[0].start if series.hours else series.samples[0].at
    if not series.is_cut and first <= period.start.timestamp() + _TOLERANCE_SECONDS:
        return {}
    return {"known_since": format_local(first)}


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


def _avg(series: Series, period: Period, kind: HistoryKind) -> dict[str, JsonValueType]:
    return {"avg": tidy(_average(_spans(series, period), kind))}


def _min(series: Series, period: Period, _kind: HistoryKind) -> dict[str, JsonValueType]:
    span = min(_spans(series, period), key=lambda span: span.low)
    return {"min": tidy(span.low), "min_at": format_local(span.start)}


def _max(series: Series, period: Period, _kind: HistoryKind) -> dict[str, JsonValueType]:
    span = max(_spans(series, period), key=lambda span: span.high)
    return {"max": tidy(span.high), "max_at": format_local(span.start)}


def _sum(series: Series, period: Period, kind: HistoryKind) -> dict[str, JsonValueType]:
    if kind.is_meter:
        return {"sum": tidy(_counted(series, kind)), "of": "what the meter counted in the period"}
    return {"sum": tidy(sum(span.value for span in _spans(series, period))), "of": "all readings"}


def _count(series: Series, _period: Period, _kind: HistoryKind) -> dict[str, JsonValueType]:
    return {"count": max(0, len([sample for sample in series.samples if sample.value not in _GAPS]) - 1)}


def _overview(
    series: Series, period: Period, kind: HistoryKind, max_changes: int
) -> dict[str, JsonValueType]:
    """Return the changes where they are few, else the figures that describe them."""
    if not series.hours and len(series.samples) <= max_changes and not series.is_cut:
        changes: list[JsonValueType] = [
            [format_local(sample.at), _value(sample.value)] for sample in series.samples
        ]
        answer: dict[str, JsonValueType] = {"changes": changes}
    else:
        spans = _spans(series, period)
        answer = {"first": tidy(spans[0].value), "last": tidy(spans[-1].value)}
        answer |= _avg(series, period, kind) | _min(series, period, kind) | _max(series, period, kind)
    if kind.is_meter:
        answer["counted"] = tidy(_counted(series, kind))
    return answer


_NUMERIC: dict[str, Callable[[Series, Period, HistoryKind], dict[str, JsonValueType]]] = {
    "avg": _avg,
    "min": _min,
    "max": _max,
    "sum": _sum,
    "count": _count,
}


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
    answer: dict[str, JsonValueType] = {
        "count": became if kind.active else len(changes),
        "counted": f"became {kind.say(kind.active)}" if kind.active else "changes",
        "time": {
            kind.say(state): _stay(seconds[state], entered.get(state, 0), state)
            for state in longest[:MAX_STATES]
        },
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


def _stay(seconds: float, times: int, state: str) -> str:
    """Return how long and how often: "3 h 12 min, 5 times"."""
    if state in _GAPS:
        return format_span(seconds)
    return f"{format_span(seconds)}, {times} time{'' if times == 1 else 's'}"


def _value(text: str) -> JsonValueType:
    number = as_number(text)
    return one_line(text) if number is None else tidy(number)


def tidy(number: float) -> float | int:
    """Return a number with as many digits as can be spoken."""
    rounded = float(f"{number:.3g}") if abs(number) < 1 else round(number, 2)
    return int(rounded) if rounded.is_integer() else rounded
