"""What happened in the last 24 hours, from the recorder: how long things were on, what was measured."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import batched
from typing import Any, Final, NamedTuple

from homeassistant.components.sensor import ATTR_STATE_CLASS
from homeassistant.const import (
    ATTR_UNIT_OF_MEASUREMENT,
    COMPRESSED_STATE_LAST_CHANGED,
    COMPRESSED_STATE_LAST_UPDATED,
    COMPRESSED_STATE_STATE,
)
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
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
from .house import EntityRecord, House, HouseSnapshot
from .semantic import KnowledgeDocument, TextSource

EVERY: Final = timedelta(hours=6)
PERIOD: Final = timedelta(hours=24)
MAX_TIMED: Final = 600
"""Entities whose changes are read; the first by entity id."""
MAX_MEASURED: Final = 600
BATCH: Final = 10
"""Entities read at once, so that chatty ones never fill the memory."""
SUMMARY_CHARS: Final = 1400


class Doing(NamedTuple):
    """What one entity did."""

    text: str
    """Empty if it was not in use."""
    seconds: float = 0.0
    """In its active state."""


class Summaries:
    """One document for each room, read again every six hours."""

    def __init__(self, hass: HomeAssistant, house: House) -> None:
        self._hass = hass
        self._house = house
        self._done: Mapping[str, Doing] = {}
        self._until: datetime | None = None

    def async_listen(self, changed: Callable[[], None]) -> CALLBACK_TYPE:
        """Read once Home Assistant has started and every six hours from then on, and call `changed`."""

        async def read(*_: Any) -> None:
            if await self.async_refresh():
                changed()

        async def read_first(_hass: HomeAssistant) -> None:
            if self._until is None or dt_util.utcnow() - self._until >= EVERY:
                await read()

        unsubscribe = [
            async_at_started(self._hass, read_first),
            async_track_time_interval(self._hass, read, EVERY, cancel_on_shutdown=True),
        ]

        @callback
        def stop() -> None:
            for each in unsubscribe:
                each()

        return stop

    async def async_refresh(self) -> bool:
        """Read the last 24 hours; return whether that was possible.

        Without a recorder nothing is known, and what is known stays if the recorder fails.
        """
        end = dt_util.utcnow()
        try:
            self._done = await self._async_read(end - PERIOD, end)
        except DatabaseError as err:
            if isinstance(err, RecorderOffError):
                self._done = {}
            return False
        self._until = end
        return True

    async def async_documents(self, house: HouseSnapshot) -> list[KnowledgeDocument]:
        """Return a document for each room in which something happened, the busiest entities first."""
        until, done = self._until, self._done
        if until is None or not done:
            return []
        rooms: dict[str | None, list[EntityRecord]] = {}
        for entity_id in done:
            if record := house.entities.get(entity_id):
                rooms.setdefault(record.area_id, []).append(record)
        documents = []
        async for area_id, records in in_slices(rooms.items()):
            area = house.areas.get(area_id or "")
            title = f"{clean(area.name, NAME_CHARS) if area else 'Without a room'}, last 24 hours"
            text = f"{title}. Until {dt_util.as_local(until):%Y-%m-%d %H:%M}:"
            named: list[str] = []
            left_out = 0
            in_use = [record for record in records if done[record.entity_id].text]
            for record in sorted(in_use, key=lambda record: -done[record.entity_id].seconds):
                doing = f" {clean(record.name, NAME_CHARS)} {done[record.entity_id].text};"
                if len(text) + len(doing) < SUMMARY_CHARS:
                    text += doing
                    named.append(record.entity_id)
                else:
                    left_out += 1
            if named:
                text = text.rstrip(";") + "."
                text += f" {left_out} more were in use." if left_out else ""
                quiet = len(records) - len(in_use)
                text += f" Not in use: {quiet}." if quiet else ""
                key = f"summary:{area_id or 'elsewhere'}"
                documents.append(KnowledgeDocument(key, TextSource.SUMMARY, title, text, tuple(named)))
        return documents

    async def _async_read(self, start: datetime, end: datetime) -> dict[str, Doing]:
        house = await self._house.async_snapshot()
        timed: list[EntityRecord] = []
        units: dict[str, str] = {}
        for entity_id, record in house.entities.items():
            state = self._hass.states.get(entity_id) if record.domain == "sensor" else None
            if record.category is not None:
                continue
            if DOMAINS[record.domain].active:
                timed.append(record)
            elif state is not None and state.attributes.get(ATTR_STATE_CLASS):
                units[entity_id] = str(state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) or "")
        measured = set(list(units)[:MAX_MEASURED])
        done: dict[str, Doing] = {}
        for batch in batched(timed[:MAX_TIMED], BATCH, strict=False):
            done |= await async_read_database(self._hass, _read_timed, self._hass, batch, start, end)

        def read_measured() -> dict[str, Doing]:
            from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

            first = start.replace(minute=0, second=0, microsecond=0)
            kinds = {"change", "max", "mean", "min"}
            rows = statistics_during_period(self._hass, first, end, measured, "hour", None, kinds)  # type: ignore[arg-type]
            return {key: Doing(text) for key, hours in rows.items() if (text := _measured(hours, units[key]))}

        if measured:
            done |= await async_read_database(self._hass, read_measured)
        return done


def _read_timed(
    hass: HomeAssistant, records: Iterable[EntityRecord], start: datetime, end: datetime
) -> dict[str, Doing]:
    """Return how long and how often things were in their active state."""
    from homeassistant.components.recorder.history import get_significant_states  # noqa: PLC0415

    by_id = {record.entity_id: record for record in records}
    rows: Mapping[str, list[Any]] = get_significant_states(
        hass,
        start,
        end,
        list(by_id),
        minimal_response=True,
        no_attributes=True,
        compressed_state_format=True,
    )
    done: dict[str, Doing] = {}
    for entity_id, changes in rows.items():
        record = by_id[entity_id]
        active = DOMAINS[record.domain].active
        seconds, times = 0.0, 0
        before: str | None = None
        since = start.timestamp()
        last: dict[str, Any] = {COMPRESSED_STATE_LAST_UPDATED: end.timestamp()}
        for change in (*changes, last):
            at = (
                change.get(COMPRESSED_STATE_LAST_CHANGED)
                or change.get(COMPRESSED_STATE_LAST_UPDATED)
                or since
            )
            state = change.get(COMPRESSED_STATE_STATE)
            if before == active:
                seconds += max(0.0, at - since)
            if state == active and before not in (None, active):
                times += 1
            before, since = state, max(at, since)
        if record.domain == "binary_sensor":
            active = BINARY_WORDS.get(record.device_class or "", ("on", "off"))[0]
        often = f", {'once' if times == 1 else f'{times} times'}" if times else ""
        text = f"{active} {format_largest(round(seconds), 2)}{often}" if seconds else ""
        done[entity_id] = Doing(text, seconds)
    return done


def _measured(hours: Iterable[Any], unit: str) -> str:
    def values(kind: str) -> list[float]:
        return [hour[kind] for hour in hours if hour.get(kind) is not None]

    if (lows := values("min")) and (highs := values("max")):
        means = values("mean")
        mean = f", average {_number(sum(means) / len(means))}" if means else ""
        return f"{_number(min(lows))} to {_number(max(highs))} {unit}".rstrip() + mean
    changes = values("change")
    return f"counted {_number(sum(changes))} {unit}".rstrip() if changes else ""


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
