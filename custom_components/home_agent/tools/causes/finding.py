"""Who or what brought changes about: from the states of now, the recorder and the ledger, as facts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, EVENT_CALL_SERVICE, STATE_OFF
from homeassistant.core import Event, HomeAssistant, State, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.formats import describe_state
from ...knowledge.persons import persons
from ...regex import lazy_regex
from ...safety.firewall.own_values import is_own_state, without_outside
from ...safety.ledger import RecordedAction
from ...texts import clean
from ...timespans import format_local
from ..base import ToolRun
from ..differences import differences
from ..members import async_is_member
from .recorded import (
    GONE,
    REQUESTED,
    STARTED,
    TRIGGERED,
    Asked,
    Change,
    Happening,
    async_recorded,
    happened_at,
)

type Facts = dict[str, JsonValueType]
"""A cause: `scene`, `script`, `automation` and its `trigger`; `by` whom, `asked_by`, `in` and `planned`."""

VOICE: Final = frozenset({"assist_satellite", "conversation"})
"""Domains of entities that change when somebody speaks to them."""
LATE: Final = 1.0
"""Seconds that an event may be stored after the change that belongs to it."""
SAME_MOMENT: Final = 1.0
"""Seconds between a change of the state and its last update within which both have one cause."""
MOST_NOT_DONE: Final = 3
"""Automations that did nothing and are told."""
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
YOU: Final = "you"
NOBODY: Final = "not through Home Assistant: by hand at the device, in its own app, or by itself"
SOMEBODY: Final = "a member of the household"
CONNECTED: Final = "an integration or an app that is connected to Home Assistant"
NOT_EXPOSED: Final = "not exposed"
ANOTHER: Final = "another text"
_ENTITY: Final = lazy_regex(r"(?<![\w.])[a-z][a-z0-9_]*\.[a-z0-9_]+(?![\w.])")


@dataclass(frozen=True, slots=True)
class Explained:
    """A change with its cause; `cause` is empty where that is not known."""

    change: Change
    cause: Facts
    difference: str

    @property
    def facts(self) -> Facts:
        """Return when and what changed, and the cause."""
        told: Facts = {"at": format_local(self.change.at), "change": self.difference}
        if not self.cause and self.change.after.domain not in REPORTING:
            return told | {"by": NOBODY}
        return told | self.cause


async def async_explain(run: ToolRun, asked: Sequence[Asked]) -> dict[str, list[Explained]]:
    """Return the changes of entities with what brought them about, the oldest first."""
    wanted = [item for item in asked if item.entity_id.partition(".")[0] not in PRIVATE]
    recorded, happenings = await async_recorded(run.hass, wanted)
    live: list[Change] = []
    for item in wanted:
        state = run.hass.states.get(item.entity_id)
        if state is None or state.state in GONE or not _is_of_one_cause(state):
            continue
        change = Change(None, state)
        last = max((each.at for each in recorded if each.after.entity_id == item.entity_id), default=0.0)
        if change.at > last + SAME_MOMENT and item.wants(state):
            live.append(change)
    explained: dict[str, list[Explained]] = {}
    for each in await _async_explained(run, [*recorded, *live], happenings):
        # What only the state of now shows may be from the last start, which nobody brought about.
        if each.cause or each.change not in live or each.change.after.entity_id in explained:
            explained.setdefault(each.change.after.entity_id, []).append(each)
    return explained


async def async_explain_now(run: ToolRun, state: State) -> Facts | None:
    """Return what brought an entity into its state, without the recorder; None if that is not known."""
    if state.domain in PRIVATE or not _is_of_one_cause(state):
        return None
    (explained,) = await _async_explained(run, [Change(None, state)], {})
    return explained.cause or None


def _is_of_one_cause(state: State) -> bool:
    """Return whether the last update of a state was its last change."""
    return state.last_updated_timestamp - state.last_changed_timestamp <= SAME_MOMENT


async def _async_explained(
    run: ToolRun, changes: Sequence[Change], recorded: Mapping[str, Sequence[Happening]]
) -> list[Explained]:
    contexts = [change.after.context for change in changes]
    ids = {key for context in contexts for key in (context.id, context.parent_id) if key}
    happenings = {**_live_happenings(run.hass, ids), **recorded}
    actions: dict[str, RecordedAction] = {}
    for action in run.guard.journal.ledger.of_speaker(None):
        if action.success:
            actions.setdefault(action.context_id, action)
    viewer = await async_viewer(run)
    return [
        Explained(change, viewer.cause(change, happenings, actions), viewer.difference(change))
        for change in changes
    ]


@callback
def _live_happenings(hass: HomeAssistant, ids: Collection[str]) -> dict[str, list[Happening]]:
    """Return what the current states tell of contexts; that of an automation or a script is a run of it."""
    happenings: dict[str, list[Happening]] = {}
    for state in sorted(hass.states.async_all(), key=happened_at):
        if state.context.id not in ids:
            continue
        happening: Happening = state
        if kind := {"automation": TRIGGERED, "script": STARTED}.get(state.domain):
            started = state.attributes.get("last_triggered")
            at = started.timestamp() if isinstance(started, datetime) else state.last_updated_timestamp
            data = {ATTR_ENTITY_ID: state.entity_id}
            happening = Event(kind, data, context=state.context, time_fired_timestamp=at)
        happenings.setdefault(state.context.id, []).append(happening)
    return happenings


async def async_viewer(run: ToolRun) -> Viewer:
    """Return what the speaker may know."""
    is_member = await async_is_member(run.hass, run.speaker)
    users = await run.hass.auth.async_get_users()
    return Viewer(
        run=run,
        hass=run.hass,
        is_member=is_member,
        names_people=is_member and (run.disclosure.home or run.disclosure.people),
        narrows=run.guard.policy.view.seen.narrows,
        accounts={user.id: None if user.system_generated else (user.name or "") for user in users},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who is told, and what they may know."""

    run: ToolRun
    hass: HomeAssistant
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
        change: Change,
        happenings: Mapping[str, Sequence[Happening]],
        actions: Mapping[str, RecordedAction],
    ) -> Facts:
        """Return what brought a change about, in its context and in that which set this one off."""
        context, at = change.after.context, change.at + LATE
        parent = context.parent_id or ""
        happened = [each for each in happenings.get(context.id, ()) if happened_at(each) <= at]
        above = [each for each in happenings.get(parent, ()) if happened_at(each) <= at]
        events = [each for each in happened if isinstance(each, Event)]
        facts: Facts = {}
        changed = {change.after.entity_id}
        for state in (each for each in happened if isinstance(each, State)):
            now = self.hass.states.get(state.entity_id)
            members = now.attributes.get(ATTR_ENTITY_ID) if now else None
            if isinstance(members, list | tuple | set | frozenset) and change.after.entity_id in members:
                changed.add(state.entity_id)
                if state.domain == "scene":
                    facts["scene"] = self.name(state.entity_id)
        ran: Mapping[str, Any] = next((event.data for event in events if event.event_type == TRIGGERED), {})
        automation = str(ran.get(ATTR_ENTITY_ID) or "")
        scripts = [str(event.data.get(ATTR_ENTITY_ID)) for event in events if event.event_type == STARTED]
        using = self._using(changed) if scripts else set()
        if named := [script for script in scripts if script in using or not automation]:
            facts["script"] = self.name(named[-1])
        if automation:
            facts["automation"] = self.name(automation)
        source = str(ran.get("source") or "")
        states = [each for each in above if isinstance(each, State)]
        if trigger := self.trigger(source, states):
            facts["trigger"] = trigger
        return facts | self._who(change, happened, above, actions.get(context.id) or actions.get(parent))

    def _using(self, entity_ids: Collection[str]) -> set[str]:
        """Return the scripts that name one of the entities, or the area or device of one."""
        from homeassistant.components.script import (  # noqa: PLC0415
            scripts_with_area,
            scripts_with_device,
            scripts_with_entity,
        )

        using: set[str] = set()
        registry = er.async_get(self.hass)
        for entity_id in entity_ids:
            using.update(scripts_with_entity(self.hass, entity_id))
            if (record := self.run.house.entities.get(entity_id)) and record.area_id:
                using.update(scripts_with_area(self.hass, record.area_id))
            if (entry := registry.async_get(entity_id)) and entry.device_id:
                using.update(scripts_with_device(self.hass, entry.device_id))
        return using

    def trigger(self, source: str, states: Sequence[State]) -> str | None:
        """Return what set an automation off, from Home Assistant's description and from its context."""
        named = _ENTITY.search(source)
        entity_id = named[0] if named else ""
        state = next((each for each in states if each.entity_id == entity_id), next(iter(states), None))
        if state is not None and entity_id in ("", state.entity_id):
            if not self.run.reader.sees(state.entity_id):
                return NOT_EXPOSED
            now = self.hass.states.get(state.entity_id)
            shown = now and self.shown(State(state.entity_id, state.state, _kept(now, state.state)))
            return f"{self.name(state.entity_id)}: {shown or ANOTHER}"
        if entity_id:
            return self.name(entity_id) if self.run.reader.sees(entity_id) else NOT_EXPOSED
        word = source.partition(" ")[0].lower()
        return word if word in TRIGGERS else None

    def _who(
        self,
        change: Change,
        happened: Sequence[Happening],
        above: Sequence[Happening],
        action: RecordedAction | None,
    ) -> Facts:
        """Return the person, the request or the voice assistant where a chain begins."""
        contexts = [change.after.context, *(each.context for each in (*happened, *above))]
        user_id = next((context.user_id for context in contexts if context.user_id), None)
        if action is not None:
            facts: Facts = {"by": YOU, "asked_by": self.person(action.user_id or user_id)}
            if action.planned is not None:
                facts["planned"] = True
            return facts | self._place(action.device_id)
        events = [each for each in (*happened, *above) if isinstance(each, Event)]
        if any(str(event.event_type).startswith(REQUESTED) for event in events):
            return {"by": "the voice assistant", "asked_by": self.person(user_id)}
        if user_id is not None:
            return {"by": self.person(user_id)}
        for state in (each for each in happened if isinstance(each, State) and each.domain in VOICE):
            return {"by": f"somebody at the voice assistant {self.name(state.entity_id)}"}
        is_called = any(event.event_type == EVENT_CALL_SERVICE for event in events)
        if is_called and not above and not any(event.event_type == TRIGGERED for event in events):
            return {"by": CONNECTED}
        return {}

    def _place(self, device_id: str | None) -> Facts:
        """Return the room of a device, if that may be known."""
        device = dr.async_get(self.hass).async_get(device_id) if device_id else None
        area_id = device.area_id if device else None
        if not self.is_member or (self.narrows and area_id not in self.run.house.areas):
            return {}
        area = ar.async_get(self.hass).async_get_area(area_id) if area_id else None
        return {"in": clean(area.name, NAME_CHARS)} if area else {}

    def person(self, user_id: str | None) -> str:
        """Return who a user is."""
        if user_id is None:
            return "somebody"
        if user_id in self.accounts and self.accounts[user_id] is None:
            return CONNECTED
        if not self.names_people:
            return SOMEBODY
        name = next((person.name for person in persons(self.hass) if person.user_id == user_id), None)
        if name is None:
            account = self.accounts.get(user_id)
            return f"the account {clean(account, NAME_CHARS)}" if account else "an account that is gone"
        asks = " (who asks)" if user_id == self.run.speaker.context.user_id else ""
        return f"{clean(name, NAME_CHARS)}{asks}"

    def name(self, entity_id: str) -> str:
        """Return the name of an entity, if the speaker may know it."""
        reader, state = self.run.reader, self.hass.states.get(entity_id)
        is_own = self.is_member and not self.narrows and entity_id.partition(".")[0] in HOUSEHOLD
        if not reader.sees(entity_id) and not (is_own and reader.permits(entity_id)):
            return NOT_EXPOSED
        record = self.run.house.entities.get(entity_id)
        return clean(record.name if record else state.name if state else "", NAME_CHARS) or NOT_EXPOSED

    def shown(self, state: State) -> str | None:
        """Return a state in words; None for text from outside."""
        if not is_own_state(self.hass, state):
            return None
        own = without_outside(self.hass, state)
        return describe_state(own, self.run.house.entities.get(state.entity_id), aged=False)

    def difference(self, change: Change) -> str:
        """Return what changed: the state, or settings."""
        before, after = change.before, change.after
        now = self.shown(after) or ANOTHER
        if before is None:
            return now
        if before.state != after.state:
            return f"{self.shown(before) or ANOTHER} -> {now}"
        old, new = (without_outside(self.hass, state).attributes for state in (before, after))
        return ", ".join(differences(old, new)) or now


def _kept(now: State, text: str) -> Mapping[str, Any]:
    """Return the attributes of an entity that a state of the past had, too."""
    if now.state == text:
        return now.attributes
    lasting = ("device_class", "unit_of_measurement", "options", "friendly_name")
    return {key: value for key, value in now.attributes.items() if key in lasting}


async def async_not_done(run: ToolRun, entity_id: str, since: float, *, with_idle: bool) -> list[Facts]:
    """Return the automations that use an entity and are off, or whose conditions stopped them since a time.

    With `with_idle` also those that were not triggered at all.
    """
    hass = run.hass
    if "automation" not in hass.config.components:
        return []
    from homeassistant.components.automation import automations_with_entity  # noqa: PLC0415
    from homeassistant.components.trace.util import async_list_traces  # noqa: PLC0415

    viewer = await async_viewer(run)
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
    return [*idle, *(facts for _started, facts in stopped)][-MOST_NOT_DONE:]
