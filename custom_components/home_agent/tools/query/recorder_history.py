"""The recorder's data: state changes, and hourly statistics for older periods."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from homeassistant.const import (
    COMPRESSED_STATE_ATTRIBUTES,
    COMPRESSED_STATE_LAST_CHANGED,
    COMPRESSED_STATE_LAST_UPDATED,
    COMPRESSED_STATE_STATE,
)
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.recorder import DATA_INSTANCE
from homeassistant.util import dt as dt_util

from ...database import DatabaseError, async_read_database
from ...errors import ToolExecutionError
from .periods import Period

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
    hours = _read_hours(hass, wanted, period)
    series = {}
    for item in wanted:
        known = hours.get(item.entity_id, [])
        rest = _after(known, period)
        samples, is_cut = _read_samples(hass, item, rest)
        if (samples or known) and rest.start < rest.end:
            _append_current(samples, current[item.entity_id], item, rest)
        series[item.entity_id] = Series(hours=known, samples=samples, is_cut=is_cut)
    return series


def _after(hours: Sequence[Hour], period: Period) -> Period:
    """Return the part of a period that statistics do not cover yet."""
    if not hours:
        return period
    return Period(dt_util.utc_from_timestamp(hours[-1].start + HOUR_SECONDS), period.end)


def _read_hours(hass: HomeAssistant, wanted: Sequence[Wanted], period: Period) -> dict[str, list[Hour]]:
    from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

    is_long = period.length > STATISTICS_FROM
    reaches_back = dt_util.utcnow() - period.start > timedelta(days=hass.data[DATA_INSTANCE].keep_days)
    ids = {item.entity_id for item in wanted if item.use_statistics and item.attribute is None}
    if not ids or not (is_long or reaches_back):
        return {}
    first = dt_util.as_utc(period.start).replace(minute=0, second=0, microsecond=0)
    rows = statistics_during_period(hass, first, period.end, ids, "hour", None, _STATISTIC_TYPES)
    return {entity_id: [hour for row in found if (hour := _hour(row))] for entity_id, found in rows.items()}


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
    newest_first: list[list[Sample]] = []
    count = 0
    end, step = period.end, _FIRST_STEP
    while end > period.start:
        start = max(period.start, end - step)
        part = _read_part(hass, item, Period(start, end), with_start=start == period.start)
        newest_first.append(part)
        count += len(part)
        end = start
        if count > MAX_ROWS and end > period.start:
            break
        if len(part) < _FEW_ROWS:
            step *= 4
    samples = [sample for part in reversed(newest_first) for sample in part]
    is_cut = end > period.start or len(samples) > MAX_ROWS
    return _without_repeats(samples[-MAX_ROWS:]), is_cut


def _read_part(hass: HomeAssistant, item: Wanted, period: Period, *, with_start: bool) -> list[Sample]:
    from homeassistant.components.recorder.history import get_significant_states  # noqa: PLC0415

    rows = get_significant_states(
        hass,
        period.start - (_INSTANT if with_start else timedelta()),
        period.end + _INSTANT,
        [item.entity_id],
        include_start_time_state=with_start,
        significant_changes_only=item.attribute is None,
        no_attributes=item.attribute is None,
        compressed_state_format=True,
    ).get(item.entity_id, [])
    return [_sample(row, item, period) for row in rows]


def _sample(row: Any, item: Wanted, period: Period) -> Sample:
    """Return one row of the recorder; the state before the period begins with it."""
    at = row.get(COMPRESSED_STATE_LAST_CHANGED) or row[COMPRESSED_STATE_LAST_UPDATED]
    if item.attribute is not None:
        at = row[COMPRESSED_STATE_LAST_UPDATED]
        return Sample(
            max(at, period.start.timestamp()),
            item.read_attribute(row[COMPRESSED_STATE_ATTRIBUTES].get(item.attribute)),
        )
    return Sample(max(at, period.start.timestamp()), row[COMPRESSED_STATE_STATE])


def _without_repeats(samples: Iterable[Sample]) -> list[Sample]:
    """Return only the samples that differ from the one before."""
    kept: list[Sample] = []
    for sample in samples:
        if not kept or kept[-1].value != sample.value:
            kept.append(sample)
    return kept


def _append_current(samples: list[Sample], state: State | None, item: Wanted, period: Period) -> None:
    """Add the state of now where the recorder has not yet written it."""
    if state is None:
        return
    moment: datetime = state.last_changed
    value = state.state
    if item.attribute is not None:
        moment, value = state.last_updated, item.read_attribute(state.attributes.get(item.attribute))
    if moment > period.end or (samples and samples[-1].value == value):
        return
    at = max(moment.timestamp(), period.start.timestamp())
    if not samples or at >= samples[-1].at:
        samples.append(Sample(at, value))
