"""The changes that the recorder has stored, and what happened in their contexts.

Home Assistant's own functions for states of the past leave out the contexts, so the tables are read here.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from homeassistant.const import ATTR_ENTITY_ID, EVENT_CALL_SERVICE
from homeassistant.core import Context, Event, HomeAssistant, State, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads_object

from ...const import DOMAIN, LOGGER
from ...database import DatabaseError, async_read_database, async_recorder
from ...domains import DOMAINS
from ...regex import lazy_regex
from ..differences import COMPARED, differences

if TYPE_CHECKING:
    from sqlalchemy import Row, Select
    from sqlalchemy.orm import Session

    from homeassistant.components.trace.models import BaseTrace


TRACE: Final = "trace"
_ENTITY: Final = lazy_regex(r"(?<![\w.])[a-z][a-z0-9_]*\.[a-z0-9_]+(?![\w.])")
MAX_STEPS: Final = 200
"""Steps of a run that are looked at."""


FAILED: Final = "failed_conditions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Why an automation ran: the kind of its trigger, and the entity with the state that it got."""

    platform: str = ""
    entity_id: str = ""
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an automation or a script; times are timestamps, `ended` is None while it runs."""

    entity_id: str
    context_id: str
    started: float
    ended: float | None
    is_stopped: bool
    """Whether its conditions were not met."""
    trigger: Trigger
    aims: frozenset[str]
    """Entities that its steps named as targets, empty for an area, a device or a label."""

    def brought_about(self, hass: HomeAssistant, entity_id: str, at: float) -> bool:
        """Return whether the run certainly changed an entity at this time."""
        if at < self.started:
            return False
        if entity_id in self.aims or any(entity_id in members(hass, one) for one in self.aims):
            return True
        return "" in self.aims and (self.ended is None or at <= self.ended)


@callback
def members(hass: HomeAssistant, entity_id: str) -> Collection[str]:
    """Return the members of a group or a scene."""
    state = hass.states.get(entity_id)
    listed = state.attributes.get(ATTR_ENTITY_ID) if state else None
    return listed if isinstance(listed, list | tuple | set | frozenset) else ()


async def async_runs(
    hass: HomeAssistant, *, context_ids: Collection[str] = (), automations: Collection[str] = ()
) -> list[Run]:
    """Return the traced runs in contexts, or of automations; Home Assistant keeps the last five of each."""
    if TRACE not in hass.config.components:
        return []
    from homeassistant.components.trace.const import DATA_TRACE  # noqa: PLC0415
    from homeassistant.components.trace.util import async_restore_traces  # noqa: PLC0415

    await async_restore_traces(hass)
    return [
        _run(entity_id, trace)
        for key, buckets in hass.data[DATA_TRACE].items()
        for entity_id in [_entity_of(hass, key)]
        for trace in buckets.runs.values()
        if trace.context.id in context_ids or entity_id in automations
    ]


def _run(entity_id: str, trace: BaseTrace) -> Run:
    details = trace.as_extended_dict()
    times = details.get("timestamp") or {}
    steps = list(_steps(details.get("trace")))
    return Run(
        entity_id=entity_id,
        context_id=trace.context.id,
        started=_timestamp(times.get("start")) or 0.0,
        ended=_timestamp(times.get("finish")),
        is_stopped=details.get("script_execution") == FAILED,
        trigger=next((found for path, step in steps if (found := _trigger(path, step))), Trigger()),
        aims=frozenset(aim for path, step in steps if not path.startswith("trigger") for aim in _aims(step)),
    )


def _entity_of(hass: HomeAssistant, key: str) -> str:
    """Return the entity of a trace's key, which contains the unique id."""
    domain, _, item_id = key.partition(".")
    return er.async_get(hass).async_get_entity_id(domain, domain, item_id) or key


def _steps(trace: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    count = 0
    for path, elements in trace.items() if isinstance(trace, Mapping) else ():
        for element in elements:
            if isinstance(element, Mapping) and count < MAX_STEPS:
                count += 1
                yield str(path), element


def _trigger(path: str, step: Mapping[str, Any]) -> Trigger | None:
    variables = step.get("changed_variables")
    told = variables.get("trigger") if path.startswith("trigger") and isinstance(variables, Mapping) else None
    if not isinstance(told, Mapping):
        return None
    new = told.get("to_state")
    state = new.state if isinstance(new, State) else new.get("state") if isinstance(new, Mapping) else None
    return Trigger(
        platform=str(told.get("platform") or ""),
        entity_id=str(told.get(ATTR_ENTITY_ID) or ""),
        state=None if state is None else str(state),
    )


def trigger_in_words(source: str) -> Trigger:
    """Return the trigger that Home Assistant's own description of it means."""
    found = _ENTITY.search(source)
    return Trigger(platform=source.partition(" ")[0].lower(), entity_id=found[0] if found else "")


def _aims(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entities that a step had as targets, empty for an area, a device or a label."""
    result = step.get("result")
    params = result.get("params") if isinstance(result, Mapping) else None
    if not isinstance(params, Mapping):
        return
    for part in (params.get("target"), params.get("service_data")):
        if not isinstance(part, Mapping):
            continue
        told = part.get(ATTR_ENTITY_ID)
        yield from [told] if isinstance(told, str) else map(str, told or ())
        if any(part.get(name) for name in ("area_id", "device_id", "floor_id", "label_id")):
            yield ""


def _timestamp(value: object) -> float | None:
    """Return a time of a trace, which is a text where it was stored."""
    moment = dt_util.parse_datetime(value) if isinstance(value, str) else value
    return moment.timestamp() if isinstance(moment, datetime) else None


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

    def is_wanted(state: State) -> bool:
        is_late = asked.start is None or state.last_updated_timestamp >= asked.start
        return is_late and state.state not in GONE and (asked.fits is None or asked.fits(state))

    states = [state for state in _rows(session, asked, states_only=True) if state.state not in GONE]
    changed = [
        Change(before, after)
        for before, after in pairwise(states)
        if before.state != after.state and is_wanted(after)
    ][-asked.most :]
    if (asked.fits is not None and changed) or not has_settings(asked.entity_id.partition(".")[0]):
        return changed
    settings = [
        Change(before, after)
        for before, after in pairwise(_rows(session, asked, states_only=False))
        if before.state == after.state
        and is_wanted(after)
        and any(differences(before.attributes, after.attributes))
    ]
    most = asked.most if asked.start is not None else MAX_SETTINGS
    return sorted([*changed, *settings[-most:]], key=lambda change: change.at)


def has_settings(domain: str) -> bool:
    """Return whether a domain has attributes that a person sets and that are compared."""
    return not set(COMPARED).isdisjoint(DOMAINS[domain].kept_attributes)


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
        .where(or_(kind.in_((TRIGGERED, EVENT_CALL_SERVICE)), kind.startswith(REQUESTED)))
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
