"""The changes that the recorder has stored, and what happened in their contexts."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads_object

from ...const import DOMAIN, LOGGER
from ...database import DatabaseError, async_read_database, async_recorder
from ...domains import DOMAINS
from ..differences import COMPARED
from .records import Asked, Change, Evidence, Happening, Kind, Origin

if TYPE_CHECKING:
    from sqlalchemy import Row, Select
    from sqlalchemy.orm import Session

    from homeassistant.components.recorder.core import Recorder

MAX_STATE_ROWS: Final = 80
"""Rows with another state that are read of one entity."""
MAX_SETTING_ROWS: Final = 60
"""Rows with another attribute that are read of one entity."""
MAX_ROWS: Final = 400
"""Rows of all contexts of one level."""
MAX_LEVELS: Final = 5
MAX_SETTINGS: Final = 2
"""Changes of attributes that are told where no period is asked about."""
SYNC_SECONDS: Final = 2.0
"""How long the newest changes may take to be written."""
READ_SECONDS: Final = 8.0
GONE: Final = frozenset({"unavailable", "unknown", ""})
CALL: Final = "call_service"
_KINDS: Final[Mapping[str, Kind]] = {
    "automation_triggered": Kind.AUTOMATION,
    "script_started": Kind.SCRIPT,
    CALL: Kind.CALL,
}
_SETTINGS_ALONE: Final = 0.001
"""Seconds between the last change of the state and an update that changed attributes only."""


async def async_recorded(hass: HomeAssistant, asked: Iterable[Asked]) -> Evidence | None:
    """Return what the recorder knows, read in its executor; None if it cannot be asked, or takes too long."""
    try:
        await _async_written(async_recorder(hass))
        async with asyncio.timeout(READ_SECONDS):
            return await async_read_database(hass, _read, hass, tuple(asked))
    except (TimeoutError, DatabaseError) as err:
        LOGGER.debug("The recorder did not answer: %s", err)
        return None


async def _async_written(recorder: Recorder) -> None:
    """Wait until the newest changes are in the database."""
    try:
        async with asyncio.timeout(SYNC_SECONDS):
            await recorder.async_block_till_done()
    except TimeoutError:
        LOGGER.debug("The recorder is busy: the newest changes may be missing")


def _read(hass: HomeAssistant, asked: Sequence[Asked]) -> Evidence:
    """Return what the recorder knows; runs in its executor."""
    with session_scope(hass=hass, read_only=True) as session:
        changes = [change for item in asked for change in _changes(session, item)]
        return Evidence(changes, _happenings(session, changes))


def _changes(session: Session, asked: Asked) -> list[Change]:
    """Return the newest changes of an entity that are asked about, the oldest first."""
    domain = asked.entity_id.partition(".")[0]
    rows = _rows(session, asked, MAX_STATE_ROWS, states_only=True)
    known = [_change(asked.entity_id, row) for row in rows]
    steps = [change for change in known if change.after.state not in GONE]
    changed = [
        _after(before, after)
        for before, after in pairwise(steps)
        if before.after.state != after.after.state and _is_wanted(after, asked)
    ][-asked.most :]
    if (asked.fits is not None and changed) or not settings_of(domain):
        return changed
    settings = _settings(session, asked)
    most = asked.most if asked.start is not None else MAX_SETTINGS
    return sorted([*changed, *settings[-most:]], key=lambda change: change.at)


def _settings(session: Session, asked: Asked) -> list[Change]:
    """Return the changes of the attributes that a person sets, while the state stayed as it was."""
    rows = [
        _change(asked.entity_id, row) for row in _rows(session, asked, MAX_SETTING_ROWS, states_only=False)
    ]
    kept = settings_of(asked.entity_id.partition(".")[0])
    return [
        _after(before, after)
        for before, after in pairwise(rows)
        if before.after.state == after.after.state
        and after.after.state not in GONE
        and _is_wanted(after, asked)
        and any(_differs(before.after, after.after, name) for name in kept)
    ]


def settings_of(domain: str) -> frozenset[str]:
    """Return the attributes of a domain that a person sets and that are compared."""
    return frozenset(DOMAINS[domain].kept_attributes).intersection(COMPARED)


def _differs(before: State, after: State, name: str) -> bool:
    """Return whether an attribute has another value."""
    old, new = before.attributes.get(name), after.attributes.get(name)
    return old != new and None not in (old, new)


def _is_wanted(change: Change, asked: Asked) -> bool:
    """Return whether a change is within the period and of the state that are asked about."""
    if asked.start is not None and change.at < asked.start:
        return False
    return asked.fits is None or asked.fits(change.after)


def _after(before: Change, after: Change) -> Change:
    """Return a change with the state before it."""
    return Change(at=after.at, before=before.after, after=after.after, origin=after.origin)


def _rows(session: Session, asked: Asked, limit: int, *, states_only: bool) -> Sequence[Row[Any]]:
    """Return the newest rows of an entity, the oldest first, with the one before the period."""
    from sqlalchemy import or_  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import States  # noqa: PLC0415

    query = _select_states().where(States.last_updated_ts <= asked.end)
    changed = States.last_changed_ts
    if states_only:
        query = query.where(or_(changed.is_(None), changed >= States.last_updated_ts - _SETTINGS_ALONE))
    found = list(session.execute(_of(query, asked.entity_id, newest_first=True).limit(limit)))
    return found[::-1]


def _of(query: Select[Any], entity_id: str, *, newest_first: bool) -> Select[Any]:
    """Return a query of states for one entity."""
    from homeassistant.components.recorder.db_schema import States, StatesMeta  # noqa: PLC0415

    order = States.last_updated_ts.desc() if newest_first else States.last_updated_ts
    return query.where(StatesMeta.entity_id == entity_id).order_by(order)


def _select_states() -> Select[Any]:
    """Return the query for states with their contexts and attributes."""
    from sqlalchemy import select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import (  # noqa: PLC0415
        StateAttributes,
        States,
        StatesMeta,
    )

    return (
        select(
            StatesMeta.entity_id,
            States.state,
            States.last_updated_ts,
            States.context_id_bin,
            States.context_parent_id_bin,
            States.context_user_id_bin,
            StateAttributes.shared_attrs,
        )
        .join(StatesMeta, States.metadata_id == StatesMeta.metadata_id)
        .outerjoin(StateAttributes, States.attributes_id == StateAttributes.attributes_id)
    )


def _select_events() -> Select[Any]:
    """Return the query for events with their contexts and data."""
    from sqlalchemy import select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import EventData, Events, EventTypes  # noqa: PLC0415

    return (
        select(
            EventTypes.event_type,
            EventData.shared_data,
            Events.time_fired_ts,
            Events.context_id_bin,
            Events.context_parent_id_bin,
            Events.context_user_id_bin,
        )
        .join(EventTypes, Events.event_type_id == EventTypes.event_type_id)
        .outerjoin(EventData, Events.data_id == EventData.data_id)
    )


def _change(entity_id: str, row: Row[Any]) -> Change:
    """Return a row as a change whose state before is not yet known."""
    at = dt_util.utc_from_timestamp(row.last_updated_ts)
    state = State(
        entity_id,
        row.state or "",
        _object(row.shared_attrs),
        last_changed=at,
        last_updated=at,
        validate_entity_id=False,
    )
    return Change(at=row.last_updated_ts, before=None, after=state, origin=_origin(row))


def _origin(row: Row[Any]) -> Origin:
    """Return the context of a row."""
    from homeassistant.components.recorder.models import (  # noqa: PLC0415
        bytes_to_ulid_or_none,
        bytes_to_uuid_hex_or_none,
    )

    return Origin(
        context_id=bytes_to_ulid_or_none(row.context_id_bin) or "",
        parent_id=bytes_to_ulid_or_none(row.context_parent_id_bin),
        user_id=bytes_to_uuid_hex_or_none(row.context_user_id_bin),
    )


def _object(text: str | None) -> dict[str, Any]:
    """Return stored JSON, empty where there is none or it cannot be read."""
    try:
        return json_loads_object(text) if text else {}
    except JSON_DECODE_EXCEPTIONS:
        return {}


def _happenings(session: Session, changes: Iterable[Change]) -> dict[str, list[Happening]]:
    """Return what happened in the contexts of changes, and in the parents of these."""
    from homeassistant.components.recorder.db_schema import Events, States  # noqa: PLC0415
    from homeassistant.components.recorder.models import ulid_to_bytes_or_none  # noqa: PLC0415

    found: dict[str, list[Happening]] = {}
    origins = [change.origin for change in changes]
    for _level in range(MAX_LEVELS):
        ids = {key for one in origins for key in (one.context_id, one.parent_id) if key} - found.keys()
        if not ids:
            break
        found |= {key: [] for key in ids}
        stored = [each for key in ids if (each := ulid_to_bytes_or_none(key))]
        events = _select_events().where(Events.context_id_bin.in_(stored)).order_by(Events.time_fired_ts)
        states = _select_states().where(States.context_id_bin.in_(stored)).order_by(States.last_updated_ts)
        new = [
            *filter(None, map(_event, session.execute(events.limit(MAX_ROWS)))),
            *map(_state, session.execute(states.limit(MAX_ROWS))),
        ]
        for one in sorted(new, key=lambda each: each.at):
            found.setdefault(one.origin.context_id, []).append(one)
        origins = [one.origin for one in new]
    return found


def _state(row: Row[Any]) -> Happening:
    """Return a stored state as something that happened in its context."""
    return Happening(
        kind=Kind.STATE,
        at=row.last_updated_ts,
        origin=_origin(row),
        entity_id=row.entity_id,
        state=row.state or "",
    )


def _event(row: Row[Any]) -> Happening | None:
    """Return a stored event as something that happened in its context; None for those that tell nothing."""
    kind = Kind.REQUEST if row.event_type.startswith(f"{DOMAIN}.") else _KINDS.get(row.event_type)
    if kind is None:
        return None
    data = _object(row.shared_data)
    targets: frozenset[str] = frozenset()
    if kind is Kind.CALL:
        given = data.get("service_data")
        told = given.get(ATTR_ENTITY_ID) if isinstance(given, Mapping) else None
        targets = frozenset([told] if isinstance(told, str) else map(str, told or ()))
    return Happening(
        kind=kind,
        at=row.time_fired_ts,
        origin=_origin(row),
        entity_id=str(data.get(ATTR_ENTITY_ID) or ""),
        source=str(data.get("source") or ""),
        targets=targets,
    )
