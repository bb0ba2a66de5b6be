"""What happened in the last 24 hours, from the recorder: how long things were on, what was measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import batched
from typing import Any, Final, NamedTuple, override

from homeassistant.components.sensor import ATTR_STATE_CLASS
from homeassistant.const import (
    ATTR_UNIT_OF_MEASUREMENT,
    COMPRESSED_STATE_LAST_CHANGED,
    COMPRESSED_STATE_LAST_UPDATED,
    COMPRESSED_STATE_STATE,
)
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, State, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from ..database import DatabaseError, RecorderOffError, async_read_database
from ..domains import DOMAINS
from ..domains.binary_sensor import BINARY_WORDS
from ..idle import in_slices
from ..texts import clean
from ..timespans import format_largest
from .documents import NAME_CHARS
from .house import EntityRecord, House
from .semantic import KnowledgeDocument, KnowledgeSource, TextSource

EVERY: Final = timedelta(hours=6)
PERIOD: Final = timedelta(hours=24)
MAX_TIMED: Final = 600
"""Entities whose changes are read; the first by entity id."""
MAX_MEASURED: Final = 600
BATCH: Final = 10
STEP: Final = timedelta(hours=6)
"""Entities and time read at once, so that chatty ones never fill the memory."""
SUMMARY_CHARS: Final = 1400


class StateFigures(NamedTuple):
    """What one entity did: seconds and times in its active state, or numbers."""

    seconds: float = 0.0
    times: int = 0
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    counted: float | None = None
    """What a meter went up by."""


class SummarySource(KnowledgeSource):
    """One document for each room, read again every six hours."""

    source = TextSource.SUMMARY

    def __init__(self, hass: HomeAssistant, house: House) -> None:
        self._hass = hass
        self._house = house
        self._figures: Mapping[str, StateFigures] = {}
        self._until: datetime | None = None
        self._listeners: list[Callable[[], None]] = []

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Read once Home Assistant has started and every six hours from then on; return how to stop that."""

        async def read(*_: Any) -> None:
            await self.async_refresh()

        async def read_first(_hass: HomeAssistant) -> None:
            if self._until is None or dt_util.utcnow() - self._until >= EVERY:
                await self.async_refresh()

        unsubscribe = [
            async_at_started(self._hass, read_first),
            async_track_time_interval(self._hass, read, EVERY, cancel_on_shutdown=True),
        ]

        @callback
        def stop() -> None:
            for each in unsubscribe:
                each()

        return stop

    async def async_refresh(self) -> None:
        """Read the last 24 hours; the result is empty without a recorder, and unchanged if it fails."""
        end = dt_util.utcnow()
        try:
            self._figures = await self._async_read(end - PERIOD, end)
        except RecorderOffError:
            self._figures = {}
            return
        except DatabaseError:
            return
        self._until = end
        for listener in self._listeners:
            listener()

    @override
    async def async_documents(self) -> list[KnowledgeDocument]:
        """Return a document for each room in which something happened, the busiest entities first."""
        until, figures = self._until, self._figures
        if until is None or not figures:
            return []
        house = await self._house.async_snapshot()
        rooms: dict[str | None, list[EntityRecord]] = {}
        for entity_id in figures:
            if record := house.entities.get(entity_id):
                rooms.setdefault(record.area_id, []).append(record)
        documents = []
        async for area_id, records in in_slices(rooms.items()):
            area = house.areas.get(area_id or "")
            title = f"{clean(area.name, NAME_CHARS) if area else 'Without a room'}, last 24 hours"
            text = f"{title}. Until {dt_util.as_local(until):%Y-%m-%d %H:%M}:"
            named: list[str] = []
            quiet = left_out = 0
            for record in sorted(records, key=lambda record: -figures[record.entity_id].seconds):
                said = in_words(record, figures[record.entity_id], self._hass.states.get(record.entity_id))
                if said is None:
                    quiet += 1
                elif len(text) + len(said) < SUMMARY_CHARS:
                    text += f" {clean(record.name, NAME_CHARS)} {said};"
                    named.append(record.entity_id)
                else:
                    left_out += 1
            if named:
                text = text.rstrip(";") + "."
                text += f" {left_out} more were in use." if left_out else ""
                text += f" Not in use: {quiet}." if quiet else ""
                key = f"summary:{area_id or 'elsewhere'}"
                documents.append(KnowledgeDocument(key, TextSource.SUMMARY, title, text, tuple(named)))
        return documents

    @override
    def async_listen(self, changed: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `changed` when the figures are new."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    async def _async_read(self, start: datetime, end: datetime) -> dict[str, StateFigures]:
        house = await self._house.async_snapshot()
        timed: list[str] = []
        measured: list[str] = []
        for entity_id, record in house.entities.items():
            state = self._hass.states.get(entity_id) if record.domain == "sensor" else None
            if record.category is not None:
                continue
            if DOMAINS[record.domain].active:
                timed.append(entity_id)
            elif state is not None and state.attributes.get(ATTR_STATE_CLASS):
                measured.append(entity_id)
        measured = measured[:MAX_MEASURED]
        found: dict[str, StateFigures] = {}
        for batch in batched(timed[:MAX_TIMED], BATCH, strict=False):
            found |= await async_read_database(self._hass, _read_timed, self._hass, batch, start, end)

        def read_measured() -> dict[str, StateFigures]:
            from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

            first = start.replace(minute=0, second=0, microsecond=0)
            kinds = {"change", "max", "mean", "min"}
            rows = statistics_during_period(self._hass, first, end, set(measured), "hour", None, kinds)  # type: ignore[arg-type]
            return {entity_id: figures for entity_id, hours in rows.items() if (figures := _measured(hours))}

        if measured:
            found |= await async_read_database(self._hass, read_measured)
        return found


def in_words(record: EntityRecord, figures: StateFigures, state: State | None) -> str | None:
    """Return the figures of one entity; None if there is nothing to tell."""
    unit = str(state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) or "") if state else ""
    if figures.counted is not None:
        return f"counted {_number(figures.counted)} {unit}".rstrip()
    if figures.low is not None and figures.high is not None:
        spread = f"{_number(figures.low)} to {_number(figures.high)}"
        mean = f", average {_number(figures.mean)}" if figures.mean is not None else ""
        return f"{spread} {unit}".rstrip() + mean
    if not figures.seconds:
        return None
    active = DOMAINS[record.domain].active
    if record.domain == "binary_sensor":
        active = BINARY_WORDS.get(record.device_class or "", ("on", "off"))[0]
    said = f"{active} {format_largest(round(figures.seconds), 2)}"
    if not figures.times:
        return said
    return f"{said}, {'once' if figures.times == 1 else f'{figures.times} times'}"


def _read_timed(
    hass: HomeAssistant, entity_ids: Sequence[str], start: datetime, end: datetime
) -> dict[str, StateFigures]:
    from homeassistant.components.recorder.history import get_significant_states  # noqa: PLC0415

    found: dict[str, StateFigures] = {}
    while start < end:
        until = min(start + STEP, end)
        rows = get_significant_states(
            hass,
            start,
            until,
            list(entity_ids),
            minimal_response=True,
            no_attributes=True,
            compressed_state_format=True,
        )
        for entity_id, changes in rows.items():
            active = DOMAINS[entity_id.partition(".")[0]].active
            seconds, times = _timed(changes, active, start.timestamp(), until.timestamp())
            known = found.get(entity_id, StateFigures())
            found[entity_id] = StateFigures(seconds=known.seconds + seconds, times=known.times + times)
        start = until
    return found


def _timed(changes: Iterable[Any], active: str, start: float, end: float) -> tuple[float, int]:
    """Return the seconds in a state, and how often it was entered."""
    seconds, times = 0.0, 0
    before: str | None = None
    since = start
    for change in changes:
        at = change.get(COMPRESSED_STATE_LAST_CHANGED) or change.get(COMPRESSED_STATE_LAST_UPDATED) or start
        state = change.get(COMPRESSED_STATE_STATE)
        if before == active:
            seconds += max(0.0, min(at, end) - since)
        if state == active and before not in (None, active):
            times += 1
        before, since = state, max(at, start)
    if before == active:
        seconds += max(0.0, end - since)
    return seconds, times


def _measured(hours: Sequence[Any]) -> StateFigures | None:
    lows = [hour["min"] for hour in hours if hour.get("min") is not None]
    highs = [hour["max"] for hour in hours if hour.get("max") is not None]
    means = [hour["mean"] for hour in hours if hour.get("mean") is not None]
    if lows and highs:
        mean = sum(means) / len(means) if means else None
        return StateFigures(low=min(lows), high=max(highs), mean=mean)
    changes = [hour["change"] for hour in hours if hour.get("change") is not None]
    return StateFigures(counted=sum(changes)) if changes else None


def _number(value: float | None) -> str:
    text = f"{value or 0:.2f}"
    return text.rstrip("0").rstrip(".")
