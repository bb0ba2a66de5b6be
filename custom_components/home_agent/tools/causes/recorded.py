"""The changes that the recorder has stored, and what happened in their contexts.

Home Assistant's own functions for states of the past leave out the contexts, so the tables are read here.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, Event, HomeAssistant, State
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads_object

from ...const import DOMAIN, LOGGER
from ...database import DatabaseError, async_read_database, async_recorder
from ...domains import DOMAINS
from ..differences import COMPARED, differences

if TYPE_CHECKING:
    from sqlalchemy import Row, Select
    from sqlalchemy.orm import Session

MAX_STATE_ROWS: Final = 80
"""Rows with another state that are read of one entity."""
MAX_SETTING_ROWS: Final = 60
"""Rows with another attribute that are read of one entity."""
MAX_ROWS: Final = 400
"""Rows of all contexts."""
MAX_SETTINGS: Final = 2
"""Changes of attributes that are told where no period is asked about."""
SYNC_SECONDS: Final = 2.0
"""How long the newest changes may take to be written."""
READ_SECONDS: Final = 8.0
GONE: Final = frozenset({"unavailable", "unknown", ""})
TRIGGERED: Final = "automation_triggered"
STARTED: Final = "script_started"
REQUESTED: Final = f"{DOMAIN}."
"""How the events of requests to Home Agent begin."""
_SETTINGS_ALONE: Final = 0.001
"""Seconds between the last change of the state and an update that changed attributes only."""

type Happening = Event[Any] | State
"""What happened in a context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which changes of an entity are wanted: the newest ones of a period (timestamps), or of all."""

    entity_id: str
    end: float
    start: float | None = None
    most: int = 4
    fits: Callable[[State], bool] | None = None
    """Whether a state is one that is asked about; None for all."""

    def wants(self, state: State) -> bool:
        """Return whether a state is one of the period that is asked about."""
        at = state.last_updated_timestamp
        is_in_time = self.start is None or self.start <= at <= self.end
        return is_in_time and state.state not in GONE and (self.fits is None or self.fits(state))


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an entity; `before` is None where it is not known."""

    before: State | None
    after: State

    @property
    def at(self) -> float:
        """Return the timestamp."""
        return self.after.last_updated_timestamp

    @property
    def is_of_state(self) -> bool:
        """Return whether the state changed, and not only a setting."""
        return self.before is None or self.before.state != self.after.state


def happened_at(happening: Happening) -> float:
    """Return the timestamp of an event or a state."""
    if isinstance(happening, State):
        return happening.last_updated_timestamp
    return happening.time_fired_timestamp


async def async_recorded(
    hass: HomeAssistant, asked: Iterable[Asked]
) -> tuple[list[Change], dict[str, list[Happening]]]:
    """Return changes, and what happened by the id of the context, both empty without the recorder.

    The oldest come first.
    """
    try:
        recorder = async_recorder(hass)
        with suppress(TimeoutError):
            async with asyncio.timeout(SYNC_SECONDS):
                await recorder.async_block_till_done()
        async with asyncio.timeout(READ_SECONDS):
            return await async_read_database(hass, _read, hass, tuple(asked))
    except (TimeoutError, DatabaseError) as err:
        LOGGER.debug("The recorder did not answer: %s", err)
        return [], {}


def _read(hass: HomeAssistant, asked: Sequence[Asked]) -> tuple[list[Change], dict[str, list[Happening]]]:
    with session_scope(hass=hass, read_only=True) as session:
        changes = [change for item in asked for change in _changes(session, item)]
        return changes, _happenings(session, changes)


def _changes(session: Session, asked: Asked) -> list[Change]:
    """Return the newest changes of the state, and of the settings, that are asked about."""
    states = [state for state in _rows(session, asked, states_only=True) if state.state not in GONE]
    changed = [
        Change(before, after)
        for before, after in pairwise(states)
        if before.state != after.state and asked.wants(after)
    ][-asked.most :]
    if (asked.fits is not None and changed) or set(COMPARED).isdisjoint(
        DOMAINS[asked.entity_id.partition(".")[0]].kept_attributes
    ):
        return changed
    settings = [
        Change(before, after)
        for before, after in pairwise(_rows(session, asked, states_only=False))
        if before.state == after.state
        and asked.wants(after)
        and any(differences(before.attributes, after.attributes))
    ]
    most = asked.most if asked.start is not None else MAX_SETTINGS
    return sorted([*changed, *settings[-most:]], key=lambda change: change.at)


def _rows(session: Session, asked: Asked, *, states_only: bool) -> list[State]:
    """Return the newest states of an entity, the oldest first, with the one before the period."""
    from sqlalchemy import or_  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import States, StatesMeta  # noqa: PLC0415

    at, changed = States.last_updated_ts, States.last_changed_ts
    query = _select_states().where(StatesMeta.entity_id == asked.entity_id, at <= asked.end)
    if states_only:
        query = query.where(or_(changed.is_(None), changed >= at - _SETTINGS_ALONE))
    limit = MAX_STATE_ROWS if states_only else MAX_SETTING_ROWS
    return [_state(row) for row in session.execute(query.order_by(at.desc()).limit(limit))][::-1]


def _happenings(session: Session, changes: Iterable[Change]) -> dict[str, list[Happening]]:
    """Return what happened in the contexts of changes, and in the parents of these."""
    from sqlalchemy import or_, select  # noqa: PLC0415

    from homeassistant.components.recorder.db_schema import (  # noqa: PLC0415
        EventData,
        Events,
        EventTypes,
        States,
    )
    from homeassistant.components.recorder.models import ulid_to_bytes_or_none  # noqa: PLC0415

    contexts = [change.after.context for change in changes]
    ids = {key for context in contexts for key in (context.id, context.parent_id)}
    stored = [each for key in ids if (each := ulid_to_bytes_or_none(key))]
    kind = EventTypes.event_type
    events = (
        select(
            kind,
            EventData.shared_data,
            Events.time_fired_ts,
            Events.context_id_bin,
            Events.context_parent_id_bin,
            Events.context_user_id_bin,
        )
        .join(EventTypes, Events.event_type_id == EventTypes.event_type_id)
        .outerjoin(EventData, Events.data_id == EventData.data_id)
        .where(Events.context_id_bin.in_(stored))
        .where(or_(kind.in_((TRIGGERED, STARTED, EVENT_CALL_SERVICE)), kind.startswith(REQUESTED)))
        .order_by(Events.time_fired_ts)
    )
    states = _select_states().where(States.context_id_bin.in_(stored)).order_by(States.last_updated_ts)
    happened: list[Happening] = [
        *map(_event, session.execute(events.limit(MAX_ROWS))),
        *map(_state, session.execute(states.limit(MAX_ROWS))),
    ]
    happenings: dict[str, list[Happening]] = {}
    for happening in sorted(happened, key=happened_at):
        happenings.setdefault(happening.context.id, []).append(happening)
    return happenings


def _select_states() -> Select[Any]:
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


def _state(row: Row[Any]) -> State:
    at = dt_util.utc_from_timestamp(row.last_updated_ts)
    return State(
        row.entity_id,
        row.state or "",
        _object(row.shared_attrs),
        last_changed=at,
        last_updated=at,
        context=_context(row),
        validate_entity_id=False,
    )


def _event(row: Row[Any]) -> Event[Any]:
    return Event(
        row.event_type,
        _object(row.shared_data),
        time_fired_timestamp=row.time_fired_ts,
        context=_context(row),
    )


def _context(row: Row[Any]) -> Context:
    from homeassistant.components.recorder.models import (  # noqa: PLC0415
        bytes_to_ulid_or_none,
        bytes_to_uuid_hex_or_none,
    )

    return Context(
        id=bytes_to_ulid_or_none(row.context_id_bin) or "",
        parent_id=bytes_to_ulid_or_none(row.context_parent_id_bin),
        user_id=bytes_to_uuid_hex_or_none(row.context_user_id_bin),
    )


def _object(text: str | None) -> Mapping[str, Any]:
    """Return stored JSON, empty where there is none or it cannot be read."""
    try:
        return json_loads_object(text) if text else {}
    except JSON_DECODE_EXCEPTIONS:
        return {}
