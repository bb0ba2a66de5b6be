"""Data of the recorder: who changed which state, and the power consumption."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import batched
from typing import TYPE_CHECKING, Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads_object

from ...database import DatabaseError, async_read_database
from .acts import UNKNOWN, Level, ObservedChange, SourceError

if TYPE_CHECKING:
    from sqlalchemy import Row, Select

MAX_ROWS: Final = 20_000
"""Rows of one reading; further ones, as of a chatty thermostat, are left out."""
MAX_IDS: Final = 400
"""Entities of one query, below the limit of SQLite."""
WITH_TARGET: Final = "climate."
HOUR: Final = timedelta(hours=1)
FINE: Final = timedelta(minutes=5)
MACHINES: Final = ("automation_triggered", "script_started")
"""Events that begin actions without a person."""


class RecorderSource:
    """Reads the recorder's database, in its own threads."""

    knows_who = True

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass

    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return who changed which of these entities. Raises SourceError."""
        return await self._async_run(_read_changes, sorted(entity_ids), start, end)

    async def async_levels(
        self, sensors: Mapping[str, float], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return statistics of sensors: of five minutes where there are some, else of hours."""
        if not sensors:
            return {}
        return await self._async_run(_read_levels, set(sensors), start, end, step)

    async def _async_run[T](self, read: Callable[..., T], *args: Any) -> T:
        try:
            return await async_read_database(self._hass, read, self._hass, *args)
        except DatabaseError as err:
            raise SourceError(str(err)) from err


def _read_changes(
    hass: HomeAssistant, entity_ids: Sequence[str], start: datetime, end: datetime
) -> list[ObservedChange]:
    """Return the changes of some entities; runs in the recorder's executor."""
    changes: list[ObservedChange] = []
    with session_scope(hass=hass, read_only=True) as session:
        machines = {row[0] for row in session.execute(_select_machines(start, end))}
        for with_target in (False, True):
            wanted = [key for key in entity_ids if key.startswith(WITH_TARGET) is with_target]
            for some in batched(wanted, MAX_IDS, strict=False):
                rows = session.execute(_select_states(some, start, end, with_target=with_target))
                for row in rows:
                    changes += _changes(row, machines)
    return sorted(changes, key=lambda change: change.at)


def _select_machines(start: datetime, end: datetime) -> Select[Any]:
    from sqlalchemy import select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import Events, EventTypes  # noqa: PLC0415

    begun = start - timedelta(hours=1)  # actions that began shortly before may still run
    return (
        select(Events.context_id_bin)
        .join(EventTypes, Events.event_type_id == EventTypes.event_type_id)
        .where(EventTypes.event_type.in_(MACHINES))
        .where(Events.time_fired_ts >= begun.timestamp())
        .where(Events.time_fired_ts < end.timestamp())
        .limit(MAX_ROWS)
    )


def _select_states(
    entity_ids: Sequence[str], start: datetime, end: datetime, *, with_target: bool
) -> Select[Any]:
    """Return the query for the changes of entities; attributes are read only where the target is in them."""
    from sqlalchemy import or_, select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import (  # noqa: PLC0415
        StateAttributes,
        States,
        StatesMeta,
    )

    query = (
        select(
            StatesMeta.entity_id,
            States.state,
            States.last_updated_ts,
            States.old_state_id,
            States.context_id_bin,
            States.context_user_id_bin,
            States.context_parent_id_bin,
            *((StateAttributes.shared_attrs,) if with_target else ()),
        )
        .join(StatesMeta, States.metadata_id == StatesMeta.metadata_id)
        .where(StatesMeta.entity_id.in_(entity_ids))
        .where(States.last_updated_ts >= start.timestamp())
        .where(States.last_updated_ts < end.timestamp())
        .order_by(States.last_updated_ts)
        .limit(MAX_ROWS)
    )
    if with_target:
        return query.outerjoin(StateAttributes, States.attributes_id == StateAttributes.attributes_id)
    changed = States.last_changed_ts
    return query.where(or_(changed.is_(None), changed == States.last_updated_ts))


def _changes(row: Row[Any], machines: Collection[bytes | None]) -> Iterator[ObservedChange]:
    """Yield the change of a row; the first state after a start was not caused by anyone."""
    from homeassistant.components.recorder.models import bytes_to_uuid_hex_or_none  # noqa: PLC0415

    at = dt_util.utc_from_timestamp(row.last_updated_ts)
    if row.old_state_id is None:
        yield ObservedChange(at=at, entity_id=row.entity_id, state="unavailable")
    yield ObservedChange(
        at=at,
        entity_id=row.entity_id,
        state=row.state or "",
        target=_target(row),
        user_id=bytes_to_uuid_hex_or_none(row.context_user_id_bin),
        by_machine=row.context_parent_id_bin is not None or row.context_id_bin in machines,
    )


def _target(row: Row[Any]) -> float | None:
    text = getattr(row, "shared_attrs", None)
    if not text or row.state in UNKNOWN:
        return None
    try:
        value = json_loads_object(text).get("temperature")
    except JSON_DECODE_EXCEPTIONS:
        return None
    return float(value) if isinstance(value, int | float) else None


def _read_levels(
    hass: HomeAssistant,
    sensors: set[str],
    start: datetime,
    end: datetime,
    step: timedelta,
) -> dict[str, list[Level]]:
    """Return statistics of sensors; runs in the recorder's executor."""
    hours = _statistics(hass, sensors, start, end, HOUR)
    if step >= HOUR:
        return hours
    fine = _statistics(hass, sensors, start, end, FINE)
    return {
        key: [
            *(level for level in hours.get(key, ()) if not fine.get(key) or level.start < fine[key][0].start),
            *fine.get(key, ()),
        ]
        for key in sensors
    }


def _statistics(
    hass: HomeAssistant, sensors: set[str], start: datetime, end: datetime, length: timedelta
) -> dict[str, list[Level]]:
    from homeassistant.components.recorder.statistics import statistics_during_period  # noqa: PLC0415

    rows = statistics_during_period(
        hass, start, end, sensors, "hour" if length == HOUR else "5minute", {"power": "W"}, {"mean", "max"}
    )
    return {
        key: [
            Level(dt_util.utc_from_timestamp(row["start"]), length, mean, mean if high is None else high)
            for row in found
            if (mean := row.get("mean")) is not None
            for high in (row.get("max"),)
        ]
        for key, found in rows.items()
    }
