"""Who or what brought changes about: from the states of now, the recorder and the ledger, as facts."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from homeassistant.const import ATTR_ENTITY_ID, EVENT_CALL_SERVICE, STATE_OFF
from homeassistant.core import Context, Event, HomeAssistant, State
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.recorder import session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonValueType, json_loads_object

from ..const import DOMAIN, LOGGER
from ..context.kind_lines import describe_state
from ..database import DatabaseError, async_read_database, async_recorder
from ..domains import DOMAINS
from ..errors import PermissionDenied, RefusedByRule
from ..knowledge.house import EntityRecord
from ..knowledge.speaker import async_is_member, persons
from ..regex import lazy_regex
from ..safety.firewall.own_values import is_own_state, without_outside
from ..safety.frozen import ServiceCall
from ..safety.journal import RecordedAction
from ..texts import as_number, clean
from ..timespans import format_local
from ..when import Period, read_asked
from .base import ToolRun
from .query.present import Member, Report, StateTest, differences

if TYPE_CHECKING:
    from sqlalchemy import Row, Select
    from sqlalchemy.orm import Session


MAX_ROWS: Final = 400
"""Rows of all contexts."""
MAX_SETTINGS: Final = 2
"""Changes of attributes that are told where no period is asked about."""
GONE: Final = frozenset({"unavailable", "unknown", ""})
TRIGGERED: Final = "automation_triggered"
STARTED: Final = "script_started"
REQUESTED: Final = f"{DOMAIN}."
"""How the events of requests to Home Agent begin."""

type Happening = Event[Any] | State
"""What happened in a context."""


class Asked(NamedTuple):
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


type StateChange = tuple[State | None, State]
"""The states before, None where that is not known, and after a change."""


def happened_at(happening: Happening) -> float:
    """Return the timestamp of an event or a state."""
    if isinstance(happening, State):
        return happening.last_updated_timestamp
    return happening.time_fired_timestamp


async def async_recorded(
    hass: HomeAssistant, asked: Sequence[Asked]
) -> tuple[list[StateChange], dict[str, list[Happening]]]:
    """Return changes, and what happened by the id of the context, both empty without the recorder.

    The oldest come first.
    """

    def read() -> tuple[list[StateChange], dict[str, list[Happening]]]:
        from sqlalchemy import or_, select  # noqa: PLC0415

        from homeassistant.components.recorder import db_schema, models  # noqa: PLC0415

        with session_scope(hass=hass, read_only=True) as session:
            changes = [change for item in asked for change in _changes(session, item)]
            # What happened in the contexts of the changes, and in the parents of these.
            contexts = [after.context for _before, after in changes]
            ids = {key for context in contexts for key in (context.id, context.parent_id)}
            stored = [each for key in ids if (each := models.ulid_to_bytes_or_none(key))]
            fired, types, data = db_schema.Events, db_schema.EventTypes, db_schema.EventData
            kind = types.event_type
            events = (
                select(
                    kind,
                    data.shared_data,
                    fired.time_fired_ts,
                    fired.context_id_bin,
                    fired.context_parent_id_bin,
                    fired.context_user_id_bin,
                )
                .join(types, fired.event_type_id == types.event_type_id)
                .outerjoin(data, fired.data_id == data.data_id)
                .where(fired.context_id_bin.in_(stored))
                .where(or_(kind.in_((TRIGGERED, STARTED, EVENT_CALL_SERVICE)), kind.startswith(REQUESTED)))
                .order_by(fired.time_fired_ts)
            )
            of_contexts = db_schema.States.context_id_bin.in_(stored)
            states = _select_states().where(of_contexts).order_by(db_schema.States.last_updated_ts)
            happened: list[Happening] = [_state(row) for row in session.execute(states.limit(MAX_ROWS))]
            for row in session.execute(events.limit(MAX_ROWS)):
                content, at = _object(row.shared_data), row.time_fired_ts
                happened.append(
                    Event(row.event_type, content, context=_context(row), time_fired_timestamp=at)
                )
            happenings: dict[str, list[Happening]] = {}
            for happening in sorted(happened, key=happened_at):
                happenings.setdefault(happening.context.id, []).append(happening)
            return changes, happenings

    try:
        recorder = async_recorder(hass)
        with suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                await recorder.async_block_till_done()
        async with asyncio.timeout(8.0):
            return await async_read_database(hass, read)
    except (TimeoutError, DatabaseError) as err:
        LOGGER.debug("The recorder did not answer: %s", err)
        return [], {}


def _changes(session: Session, asked: Asked) -> Sequence[StateChange]:
    """Return the newest changes of the state, and of the settings, that are asked about."""
    from homeassistant.components.recorder.db_schema import States, StatesMeta  # noqa: PLC0415

    at = States.last_updated_ts
    query = _select_states().where(StatesMeta.entity_id == asked.entity_id, at <= asked.end)
    rows = session.execute(query.order_by(at.desc()).limit(1000))
    states = [state for state in map(_state, rows) if state.state not in GONE][::-1]
    pairs = [(before, after) for before, after in pairwise(states) if asked.wants(after)]
    changed: list[StateChange] = [(before, after) for before, after in pairs if before.state != after.state]
    changed = changed[-asked.most :]
    if asked.fits is not None and changed:
        return changed
    settings: list[StateChange] = [
        (before, after)
        for before, after in pairs
        if before.state == after.state and any(differences(before.attributes, after.attributes))
    ]
    most = asked.most if asked.start is not None else MAX_SETTINGS
    return sorted([*changed, *settings[-most:]], key=lambda change: happened_at(change[1]))


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


def _context(row: Row[Any]) -> Context:
    from homeassistant.components.recorder import models  # noqa: PLC0415

    return Context(
        id=models.bytes_to_ulid_or_none(row.context_id_bin) or "",
        parent_id=models.bytes_to_ulid_or_none(row.context_parent_id_bin),
        user_id=models.bytes_to_uuid_hex_or_none(row.context_user_id_bin),
    )


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        return json_loads_object(text) if text else {}
    except JSON_DECODE_EXCEPTIONS:
        return {}


type Facts = dict[str, JsonValueType]
"""A cause: `scene`, `script`, `automation` and its `trigger`; `by` whom, `asked_by`, `in` and `planned`."""

SAME_MOMENT: Final = 1.0
"""Seconds between a change and what belongs to it."""
PRIVATE: Final = frozenset({"person", "device_tracker"})
"""Domains that follow where people are: nobody brings their changes about."""
REPORTING: Final = frozenset({"binary_sensor", "sensor", "event"})
"""Domains whose entities report what they measure, so that nothing brought a change about."""
HOUSEHOLD: Final = frozenset({"automation", "script", "scene"})
"""Domains that the household itself wrote; their names are no secret to its members."""
TRIGGERS: Final = frozenset(
    {"calendar", "conversation", "event", "mqtt", "sunrise", "sunset", "tag", "template", "time", "webhook"}
)
"""First words of Home Assistant's descriptions of triggers that say why an automation ran."""
NAME_CHARS: Final = 40
LASTING: Final = frozenset({"device_class", "unit_of_measurement", "options", "friendly_name"})
"""Attributes that are the same for all states of an entity."""
CONNECTED: Final = "an integration or an app that is connected to Home Assistant"
NOT_EXPOSED: Final = "not exposed"
ANOTHER: Final = "another text"
_ENTITY: Final = lazy_regex(r"(?<![\w.])[a-z][a-z0-9_]*\.[a-z0-9_]+(?![\w.])")


async def async_explain(
    run: ToolRun, asked: Sequence[Asked], *, is_of_past: bool = True
) -> dict[str, list[tuple[float, Facts]]]:
    """Return the changes of entities, the oldest first: when (a timestamp), and what is told of it.

    That is when and what changed, and what brought it about. The recorder is read only if it `is_of_past`.
    """
    wanted = [item for item in asked if item.entity_id.partition(".")[0] not in PRIVATE]
    changes, recorded = await async_recorded(run.hass, wanted) if is_of_past else ([], {})
    last = {after.entity_id: happened_at(after) for _before, after in changes}
    for item in wanted:
        state = run.hass.states.get(item.entity_id)
        if state is None or state.last_updated_timestamp - state.last_changed_timestamp > SAME_MOMENT:
            continue
        if happened_at(state) > last.get(item.entity_id, 0.0) + SAME_MOMENT and item.wants(state):
            changes.append((None, state))
    if not changes:
        return {}
    contexts = [after.context for _before, after in changes]
    ids = {key for context in contexts for key in (context.id, context.parent_id) if key}
    happenings: dict[str, list[Happening]] = {}
    ids -= recorded.keys()
    for state in sorted((s for s in run.hass.states.async_all() if s.context.id in ids), key=happened_at):
        happening: Happening = state
        if kind := {"automation": TRIGGERED, "script": STARTED}.get(state.domain):  # it is a run of it
            started = state.attributes.get("last_triggered")
            at = started.timestamp() if isinstance(started, datetime) else state.last_updated_timestamp
            data = {ATTR_ENTITY_ID: state.entity_id}
            happening = Event(kind, data, context=state.context, time_fired_timestamp=at)
        happenings.setdefault(state.context.id, []).append(happening)
    happenings |= recorded
    actions: dict[str, RecordedAction] = {}
    for action in run.guard.journal.of_speaker(None):
        if action.success:
            actions.setdefault(action.context_id, action)
    viewer = await async_viewer(run)
    explained: dict[str, list[tuple[float, Facts]]] = {}
    for before, after in changes:
        cause = viewer.cause(after, happenings, actions)
        if before is None and not cause and after.entity_id not in explained:
            continue  # it may be from the last start, which nobody brought about
        if not cause and after.domain not in REPORTING:
            cause = {"by": "not through Home Assistant: by hand at the device, in its own app, or by itself"}
        told: Facts = {"at": format_local(happened_at(after)), "change": viewer.difference(before, after)}
        explained.setdefault(after.entity_id, []).append((happened_at(after), told | cause))
    return explained


async def async_viewer(run: ToolRun) -> Viewer:
    """Return what the speaker may know."""
    is_member = await async_is_member(run.hass, run.speaker)
    users = await run.hass.auth.async_get_users()
    return Viewer(
        run=run,
        is_member=is_member,
        names_people=is_member and (run.disclosure.home or run.disclosure.people),
        narrows=run.guard.policy.view.seen.narrows,
        accounts={user.id: None if user.system_generated else (user.name or "") for user in users},
    )


class Viewer(NamedTuple):
    """Who is told, and what they may know."""

    run: ToolRun
    is_member: bool
    """Whether the speaker is known as a member of the household."""
    names_people: bool
    """Whether the speaker, and the model, may know the names of people."""
    narrows: bool
    """Whether the agent has lists, which leave out what the household itself wrote."""
    accounts: Mapping[str, str | None]
    """Names of the accounts that have no person, by their id; None for a service's own."""

    def cause(
        self,
        after: State,
        happenings: Mapping[str, Sequence[Happening]],
        actions: Mapping[str, RecordedAction],
    ) -> Facts:
        """Return what brought a change about, in its context and in that which set this one off."""
        context, at = after.context, happened_at(after) + SAME_MOMENT
        parent = context.parent_id or ""
        happened = [each for each in happenings.get(context.id, ()) if happened_at(each) <= at]
        above = [each for each in happenings.get(parent, ()) if happened_at(each) <= at]
        events = [each for each in happened if isinstance(each, Event)]
        facts: Facts = {}
        for state in (each for each in happened if isinstance(each, State) and each.domain == "scene"):
            now = self.run.hass.states.get(state.entity_id)
            if now and after.entity_id in now.attributes.get(ATTR_ENTITY_ID, ()):
                facts["scene"] = self.name(state.entity_id)
        ran: Mapping[str, Any] = next((event.data for event in events if event.event_type == TRIGGERED), {})
        automation = str(ran.get(ATTR_ENTITY_ID) or "")
        scripts = [str(event.data.get(ATTR_ENTITY_ID)) for event in events if event.event_type == STARTED]
        if scripts:
            facts["script"] = ", ".join(dict.fromkeys(map(self.name, scripts)))
        if automation:
            facts["automation"] = self.name(automation)
        source = str(ran.get("source") or "")
        states = [each for each in above if isinstance(each, State)]
        if trigger := self.trigger(source, states):
            facts["trigger"] = trigger
        return facts | self._who(context, happened, above, actions.get(context.id) or actions.get(parent))

    def trigger(self, source: str, states: Sequence[State]) -> str | None:
        """Return what set an automation off, from Home Assistant's description and from its context."""
        named = _ENTITY.search(source)
        entity_id = named[0] if named else ""
        state = next((each for each in states if each.entity_id == entity_id), next(iter(states), None))
        if state is not None and entity_id in ("", state.entity_id):
            if not self.run.reader.sees(state.entity_id):
                return NOT_EXPOSED
            now = self.run.hass.states.get(state.entity_id)
            kept = dict(now.attributes) if now else {}
            if now and now.state != state.state:  # a state of the past had other values
                kept = {key: value for key, value in kept.items() if key in LASTING}
            shown = now and self.shown(State(state.entity_id, state.state, kept))
            return f"{self.name(state.entity_id)}: {shown or ANOTHER}"
        if entity_id:
            return self.name(entity_id) if self.run.reader.sees(entity_id) else NOT_EXPOSED
        word = source.partition(" ")[0].lower()
        return word if word in TRIGGERS else None

    def _who(
        self,
        context: Context,
        happened: Sequence[Happening],
        above: Sequence[Happening],
        action: RecordedAction | None,
    ) -> Facts:
        """Return the person, the request or the voice assistant where a chain begins."""
        contexts = [context, *(each.context for each in (*happened, *above))]
        user_id = next((each.user_id for each in contexts if each.user_id), None)
        if action is not None:
            facts: Facts = {"by": "you", "asked_by": self.person(action.user_id or user_id)}
            if action.planned is not None:
                facts["planned"] = True
            device = dr.async_get(self.run.hass).async_get(action.device_id) if action.device_id else None
            area_id = device.area_id if device else None
            area = ar.async_get(self.run.hass).async_get_area(area_id) if area_id else None
            if area and self.is_member and (not self.narrows or area_id in self.run.house.areas):
                facts["in"] = clean(area.name, NAME_CHARS)
            return facts
        events = [each for each in (*happened, *above) if isinstance(each, Event)]
        if any(str(event.event_type).startswith(REQUESTED) for event in events):
            return {"by": "the voice assistant", "asked_by": self.person(user_id)}
        if user_id is not None:
            return {"by": self.person(user_id)}
        for each in happened:  # these change when somebody speaks to them
            if isinstance(each, State) and each.domain in ("assist_satellite", "conversation"):
                return {"by": f"somebody at the voice assistant {self.name(each.entity_id)}"}
        is_called = any(event.event_type == EVENT_CALL_SERVICE for event in events)
        if is_called and not above and not any(event.event_type == TRIGGERED for event in events):
            return {"by": CONNECTED}
        return {}

    def person(self, user_id: str | None) -> str:
        """Return who a user is."""
        if user_id is None:
            return "somebody"
        if user_id in self.accounts and self.accounts[user_id] is None:
            return CONNECTED
        if not self.names_people:
            return "a member of the household"
        name = next((person.name for person in persons(self.run.hass) if person.user_id == user_id), None)
        if name is None:
            account = self.accounts.get(user_id)
            return f"the account {clean(account, NAME_CHARS)}" if account else "an account that is gone"
        asks = " (who asks)" if user_id == self.run.speaker.context.user_id else ""
        return f"{clean(name, NAME_CHARS)}{asks}"

    def name(self, entity_id: str) -> str:
        """Return the name of an entity, if the speaker may know it."""
        reader, state = self.run.reader, self.run.hass.states.get(entity_id)
        is_own = self.is_member and not self.narrows and entity_id.partition(".")[0] in HOUSEHOLD
        if not reader.sees(entity_id) and not (is_own and reader.permits(entity_id)):
            return NOT_EXPOSED
        record = self.run.house.entities.get(entity_id)
        return clean(record.name if record else state.name if state else "", NAME_CHARS) or NOT_EXPOSED

    def shown(self, state: State) -> str | None:
        """Return a state in words; None for text from outside."""
        if not is_own_state(self.run.hass, state):
            return None
        own = without_outside(self.run.hass, state)
        return describe_state(own, self.run.house.entities.get(state.entity_id), aged=False)

    def difference(self, before: State | None, after: State) -> str:
        """Return what changed: the state, or settings."""
        now = self.shown(after) or ANOTHER
        if before is None:
            return now
        if before.state != after.state:
            return f"{self.shown(before) or ANOTHER} -> {now}"
        old, new = (without_outside(self.run.hass, state).attributes for state in (before, after))
        return ", ".join(f"{name} {values}" for name, values in differences(old, new)) or now


async def _async_not_done(viewer: Viewer, entity_id: str, since: float, *, with_idle: bool) -> list[Facts]:
    """Return the automations that use an entity and are off, or whose conditions stopped them since a time.

    With `with_idle` also those that were not triggered at all.
    """
    hass = viewer.run.hass
    if "automation" not in hass.config.components:
        return []
    from homeassistant.components.automation import automations_with_entity  # noqa: PLC0415
    from homeassistant.components.trace.util import async_list_traces  # noqa: PLC0415

    idle: list[Facts] = []
    stopped: list[tuple[float, Facts]] = []
    for state in filter(None, map(hass.states.get, automations_with_entity(hass, entity_id))):
        facts: Facts = {"automation": viewer.name(state.entity_id)}
        key = f"automation.{state.attributes.get('id')}"
        runs = await async_list_traces(hass, "automation", key) if "trace" in hass.config.components else []
        failed: list[tuple[float, str]] = []
        for trace in runs:
            start = trace["timestamp"]["start"]
            # It is a text where it was stored.
            moment = dt_util.parse_datetime(start) if isinstance(start, str) else start
            is_failed = trace.get("script_execution") == "failed_conditions"
            if is_failed and moment is not None and moment.timestamp() >= since:
                failed.append((moment.timestamp(), str(trace.get("trigger") or "")))
        last = state.attributes.get("last_triggered")
        if state.state == STATE_OFF:
            idle.append(facts | {"state": "turned off"})
        elif with_idle and not failed and (not isinstance(last, datetime) or last.timestamp() < since):
            when = format_local(last) if isinstance(last, datetime) else "never"
            idle.append(facts | {"last_run": when})
        for started, source in failed:
            trigger = viewer.trigger(source, ())
            at: Facts = {"at": format_local(started), "stopped_by": "its conditions"}
            stopped.append((started, facts | at | ({"trigger": trigger} if trigger else {})))
    stopped.sort(key=lambda pair: pair[0])
    return [*idle, *(facts for _started, facts in stopped)][-3:]


MAX_ENTITIES: Final = 5
"""Entities whose changes are explained at once."""
AROUND: Final = timedelta(minutes=30)
"""Time before and after a moment within which a change belongs to it."""
MOST_IN_HOME: Final = 12
"""Devices of which the last change is told where none is asked about."""
MOST_LOOKED_AT: Final = 24
"""Devices whose changes are read for that; not all of them have changed."""
FOLLOWS: Final = (
    "nobody sets this: it follows where a person or a device is. What people did: ask without a target"
)
NO_CHANGE: Final = "no change of this kind is recorded in this time"


async def async_why(
    run: ToolRun,
    found: Sequence[Member],
    history: Mapping[str, str],
    wanted: StateTest | None,
) -> Report:
    """Return the last changes of entities, or those of a period, with what brought them about.

    `wanted` is the state that they got. Raises ValidationError for a period that is not understood.
    """
    period = _period(history, run.speaker.language)
    members = [member for member in found if wanted is None or wanted(*member)] or found
    members = sorted(members, key=lambda member: member[1].last_changed, reverse=True)[:MAX_ENTITIES]
    asked = [
        Asked(
            entity_id=record.entity_id,
            start=period.start.timestamp() if period else None,
            end=(period.end if period else dt_util.utcnow()).timestamp(),
            most=2 if len(members) > 1 else 6,
            fits=partial(wanted, record) if wanted else None,
        )
        for record, _state in members
    ]
    explained = await async_explain(run, asked)
    answer: Report = {}
    if period:
        answer["period"] = f"{format_local(period.start)} to {format_local(period.end)}"
    answer["states"] = {
        record.entity_id: describe_state(without_outside(run.hass, state), record)
        for record, state in members
    }
    why: Report = {}
    for record, state in members:
        why[record.entity_id] = [facts for _at, facts in explained.get(record.entity_id, ())] or [
            NO_CHANGE if period else "no change of this kind is recorded"
        ]
        if record.domain in PRIVATE:
            why[record.entity_id] = [FOLLOWS]
        elif record.domain == "sensor" and as_number(state.state) is not None:
            why[record.entity_id] = ["a measurement, which nobody sets"]
    answer["why"] = why
    if len(members) == 1:
        (record, _state), begin = members[0], period.start if period else dt_util.utcnow() - timedelta(days=1)
        is_idle = not explained and record.domain not in PRIVATE
        viewer, since = await async_viewer(run), begin.timestamp()
        if not_done := await _async_not_done(viewer, record.entity_id, since, with_idle=is_idle):
            answer["not_done"] = [*not_done]
        if rule := await _async_rule(run, record):
            answer["rule"] = rule
    if len(found) > len(members):
        answer["more"] = f"+{len(found) - len(members)} more; ask about fewer"
    return answer


async def _async_rule(run: ToolRun, record: EntityRecord) -> str | None:
    """Return the rule of the household that forbids the speaker an action of an entity."""
    for service in sorted({str(action.service) for action in DOMAINS[record.domain].actions.values()}):
        call = ServiceCall(domain=record.domain, service=service, entity_ids=(record.entity_id,))
        try:
            await run.guard.async_foresee([call], run.speaker)
        except RefusedByRule as err:
            return str(err)
        except PermissionDenied:
            continue
    return None


async def async_happened(run: ToolRun, found: Sequence[Member], history: Mapping[str, str]) -> Report:
    """Return what happened in the home: the last change of each device, the newest last.

    Raises ValidationError for a period that is not understood.
    """
    period = _period({"duration": "24h", **history}, run.speaker.language)
    assert period is not None
    begin, end = period.start.timestamp(), period.end.timestamp()
    changed = [
        (record, state)
        for record, state in found
        if record.domain not in PRIVATE
        and not DOMAINS[record.domain].is_gated
        and as_number(state.state) is None
        and state.last_updated.timestamp() >= begin
    ]
    changed.sort(key=lambda member: member[1].last_updated, reverse=True)
    ids = [record.entity_id for record, _state in changed[:MOST_LOOKED_AT]]
    asked = [Asked(entity_id=entity_id, start=begin, end=end, most=1) for entity_id in ids]
    explained = await async_explain(run, asked)
    told = sorted(explained.items(), key=lambda item: item[1][-1][0])
    answer: Report = {"period": f"{format_local(period.start)} to {format_local(period.end)}"}
    answer["why"] = {key: changes[-1][1] for key, changes in told[-MOST_IN_HOME:]} or NO_CHANGE
    if (left := len(told) - MOST_IN_HOME) > 0 or len(changed) > MOST_LOOKED_AT:
        answer["more"] = f"{max(left, 1)} or more earlier; ask about a kind or an area"
    return answer


def _period(history: Mapping[str, str], language: str) -> Period | None:
    """Return the time that is asked about; None for the last changes, whenever they were."""
    now = dt_util.utcnow()
    at, duration = history.get("at", ""), history.get("duration", "")
    if not at and not duration:
        return None
    period, at_once = read_asked(at, duration, language, now)
    return Period(period.start - AROUND, min(now, period.end + AROUND)) if at_once else period
