"""Data of the recorder: who changed which state, and the power consumption."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched
from typing import TYPE_CHECKING, Any, Final, Protocol

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads_object

from ...database import DatabaseError, async_read_database
from ...domains import DOMAINS
from .patterns import TARGET

if TYPE_CHECKING:
    from sqlalchemy import Row, Select


MIN_WATTS: Final = 20.0
"""What something draws at least while it is in use."""
APART: Final = 5.0
"""The least ratio between the power in use and at rest."""
OF_RANGE: Final = 0.2
"""Fraction between the power at rest and in use from which it counts as in use."""
MAX_SHARE_IN_USE: Final = 0.25
"""Share of the hours; what runs longer works on its own: fridges, heat pumps, solar panels."""
MIN_HOURS: Final = 3 * 24
PAUSE: Final = timedelta(hours=1)
"""A shorter pause of a machine belongs to the same run."""
SEEN_OFTEN: Final = 4
"""The highest of so many hours are ignored as peaks."""
UNKNOWN: Final = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN, ""})
NOTHING: Final = "-"
"""Noted for a state that people do not cause on purpose, like a vacuum that returns to its dock."""
LOST: Final = ""
"""Recorded if the state was lost: the next state is not an action, as it may have existed before."""


@dataclass(frozen=True, slots=True)
class Level:
    """What something drew during a step of time, in watts."""

    start: datetime
    length: timedelta
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Power:
    """What something draws at rest, and from where on it is in use; in watts."""

    rest: float
    threshold: float


def read_power(hours: Sequence[Level]) -> Power | None:
    """Return how use shows in hours of several weeks; None if it does not."""
    if len(hours) < MIN_HOURS:
        return None
    highs = sorted(hour.high for hour in hours)
    rest, top = max(highs[len(highs) // 10], 0.0), highs[-SEEN_OFTEN]
    if top < max(MIN_WATTS, APART * rest):
        return None
    threshold = rest + OF_RANGE * (top - rest)
    share = sum(high >= threshold for high in highs) / len(highs)
    return Power(rest, threshold) if share <= MAX_SHARE_IN_USE else None


def starts(levels: Sequence[Level], power: Power) -> Iterator[datetime]:
    """Yield when something began to be used."""
    used_until: datetime | None = None
    for level in levels:
        if level.high < power.threshold:
            continue
        if used_until is not None and level.start - used_until < PAUSE:
            used_until = level.start + level.length
            continue
        used_until = level.start + level.length
        share = (level.mean - power.rest) / max(level.high - power.rest, 1.0)
        yield level.start + level.length * (1 - min(max(share, 0.0), 1.0))


def watched_domains() -> list[str]:
    """Return the domains in which a person can do something."""
    return [facts.name for facts in DOMAINS.values() if facts.acts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChange:
    """A state as a source reports it; each source reports those of an entity in order."""

    at: datetime
    entity_id: str
    state: str | None = None
    """None if only the target is reported."""
    target: float | None = None
    """The target temperature of a thermostat."""
    user_id: str | None = None
    by_machine: bool = False
    """An automation or a script did it."""
    follows: bool = True
    """Something else was recorded before. False where the source cannot tell."""


@dataclass(frozen=True, slots=True)
class Act:
    """An action of a person."""

    at: datetime
    entity_id: str
    value: str
    user_id: str | None


def acts(changes: Iterable[ObservedChange], last: MutableMapping[str, str]) -> Iterator[Act]:
    """Yield the actions of people; `last` holds the last value of each entity and is updated."""
    for change in changes:
        for track, value in _values(change):
            before = last.get(track)
            last[track] = value
            if value in (before, LOST, NOTHING) or before == LOST or change.by_machine:
                continue
            if before is not None or change.follows:
                yield Act(change.at, change.entity_id, value, change.user_id)


def _values(change: ObservedChange) -> Iterator[tuple[str, str]]:
    if change.state is not None:
        yield change.entity_id, _value(change.entity_id.partition(".")[0], change.state)
    if change.state in UNKNOWN:
        yield f"{change.entity_id} target", LOST
    elif change.target is not None:
        yield f"{change.entity_id} target", TARGET.format(degrees=change.target)


def _value(domain: str, state: str) -> str:
    if state in UNKNOWN:
        return LOST
    facts = DOMAINS[domain]
    return facts.acts.get(state) or (facts.other_act or NOTHING).format(state=state)


class SourceError(Exception):
    """A source cannot be read. The text says why in one line, without keys."""


class ObservationSource(Protocol):
    """A source of events. Every method raises SourceError."""

    knows_who: bool
    """Whether the source distinguishes people from automations."""

    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return the changes of entities from `start` to before `end`, in order."""
        ...

    async def async_levels(
        self, sensors: Mapping[str, float], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return the values of sensors, in steps of this length or of an hour.

        `sensors` maps each sensor to the number of watts of its unit.
        """
        ...


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
    from sqlalchemy import select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import Events, EventTypes  # noqa: PLC0415

    begun = start - timedelta(hours=1)  # actions that began shortly before may still run
    by_machines = (
        select(Events.context_id_bin)
        .join(EventTypes, Events.event_type_id == EventTypes.event_type_id)
        .where(EventTypes.event_type.in_(MACHINES))
        .where(Events.time_fired_ts >= begun.timestamp())
        .where(Events.time_fired_ts < end.timestamp())
        .limit(MAX_ROWS)
    )
    changes: list[ObservedChange] = []
    with session_scope(hass=hass, read_only=True) as session:
        machines = {row[0] for row in session.execute(by_machines)}
        for with_target in (False, True):
            wanted = [key for key in entity_ids if key.startswith(WITH_TARGET) is with_target]
            for some in batched(wanted, MAX_IDS, strict=False):
                rows = session.execute(_select_states(some, start, end, with_target=with_target))
                for row in rows:
                    changes += _changes(row, machines)
    return sorted(changes, key=lambda change: change.at)


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
