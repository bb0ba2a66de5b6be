"""Finds what brought changes about: in the recorder, in traces, in the ledger and in the states of now."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, EVENT_CALL_SERVICE, STATE_OFF
from homeassistant.core import Context, Event, HomeAssistant, State, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr

from ...context.kind_lines import describe_state
from ...knowledge.house import HouseSnapshot
from ...knowledge.speaker import persons
from ...safety.firewall.own_values import is_own_state, without_outside
from ...safety.ledger import RecordedAction
from ...safety.reading import Reader
from ...texts import clean
from ...timespans import format_local
from ..base import ToolRun
from ..differences import differences
from ..members import async_is_member
from .recorded import (
    GONE,
    REQUESTED,
    TRIGGERED,
    Asked,
    Change,
    Happening,
    Run,
    Trigger,
    async_recorded,
    async_runs,
    happened_at,
    members,
    trigger_in_words,
)

MAX_CONTEXTS: Final = 2
"""Contexts that are followed: that of the change, and that of what set off its automation."""
VOICE: Final = frozenset({"assist_satellite", "conversation"})
"""Domains of entities that change when somebody speaks to them."""
LATE: Final = 1.0
"""Seconds that an event may be stored after the change that belongs to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that is known of what ran: by the id of the context."""

    happenings: Mapping[str, Sequence[Happening]]
    runs: Mapping[str, Sequence[Run]]
    actions: Mapping[str, Sequence[RecordedAction]]


def causes_of(viewer: Viewer, change: Change, known: Known) -> list[str]:
    """Return what brought a change about, the nearest first; empty if nobody and nothing is known."""
    parts: list[str] = []
    entity_id, context, at = change.after.entity_id, change.after.context, change.at
    for _each in range(MAX_CONTEXTS):
        happened = known.happenings.get(context.id, ())
        runs = known.runs.get(context.id, ())
        above = known.happenings.get(context.parent_id or "", ())
        actions = sorted(known.actions.get(context.id, ()), key=lambda one: entity_id not in one.entity_ids)
        if scene := _scene(viewer, entity_id, happened, actions):
            parts.append(viewer.ran(scene, is_first=not parts))
        scripts = [run for run in runs if run.entity_id.startswith("script.")]
        for run in sorted(scripts, key=lambda each: each.started, reverse=True):
            if run.brought_about(viewer.hass, entity_id, at):
                parts.append(viewer.ran(run.entity_id, is_first=not parts))
                break
        automation, trigger = _automation(happened, runs)
        if automation:
            reason = viewer.because(trigger)
            told = viewer.ran(automation, is_first=not parts)
            parts.append(f"{told}, which ran {reason}" if reason else told)
        elif last := _last(viewer, context, happened, actions):
            return [*parts, last]
        elif not above and any(_is(one, EVENT_CALL_SERVICE) for one in happened):
            return [*parts, f"{'started ' if parts else ''}by {CONNECTED}"]
        if context.parent_id is None:
            break
        states = [one for one in above if isinstance(one, State) and happened_at(one) <= at + LATE]
        named = [one for one in states if one.entity_id == trigger.entity_id]
        cause = next(iter([*named, *states, *above]), None)
        if isinstance(cause, State):
            if cause.entity_id not in (entity_id, trigger.entity_id):
                parts.append(f"because {viewer.changed(cause.entity_id, cause.state)}")
            entity_id = cause.entity_id
        at = happened_at(cause) if cause else at
        context = cause.context if cause else Context(id=context.parent_id)
    return parts


def _is(happening: Happening, kind: str) -> bool:
    return not isinstance(happening, State) and str(happening.event_type).startswith(kind)


def _scene(
    viewer: Viewer, entity_id: str, happened: Sequence[Happening], actions: Sequence[RecordedAction]
) -> str | None:
    asked = [target for action in actions for target in action.entity_ids]
    if entity_id in asked:
        return None
    called = [
        target
        for one in happened
        if not isinstance(one, State) and one.event_type == EVENT_CALL_SERVICE
        for target in _targets(one.data)
    ]
    scenes = (target for target in (*called, *asked) if target.startswith("scene."))
    return next((scene for scene in scenes if entity_id in members(viewer.hass, scene)), None)


def _targets(data: Mapping[str, Any]) -> list[str]:
    given = data.get("service_data")
    entity_ids = given.get(ATTR_ENTITY_ID) if isinstance(given, Mapping) else None
    return [entity_ids] if isinstance(entity_ids, str) else sorted(map(str, entity_ids or ()))


def _automation(happened: Sequence[Happening], runs: Sequence[Run]) -> tuple[str, Trigger]:
    """Return the automation that ran in a context with its trigger; empty if none did."""
    events = (one.data for one in happened if not isinstance(one, State) and one.event_type == TRIGGERED)
    event: Mapping[str, Any] = next(events, {})
    described = trigger_in_words(str(event.get("source") or ""))
    for run in runs:
        if run.entity_id.startswith("automation."):
            return run.entity_id, run.trigger if run.trigger != Trigger() else described
    return str(event.get(ATTR_ENTITY_ID) or ""), described


def _last(
    viewer: Viewer, context: Context, happened: Sequence[Happening], actions: Sequence[RecordedAction]
) -> str | None:
    """Return the person, the request or the voice assistant where a chain ends; None if it goes on."""
    user_id = context.user_id or next((user for one in happened if (user := one.context.user_id)), None)
    if actions:
        action = actions[0]
        who = viewer.who_asked(action.user_id or user_id)
        had = "had planned" if action.planned is not None else "asked"
        return f"by you, as {who}{viewer.place(action.device_id)} {had}"
    if any(_is(one, REQUESTED) for one in happened):
        return f"by the voice assistant, as {viewer.who_asked(user_id)} asked"
    if user_id is not None:
        return f"by {viewer.person(user_id)}"
    for one in happened:
        if isinstance(one, State) and one.domain in VOICE:
            name = viewer.name_of(one.entity_id)
            return "by somebody at " + (f"the voice assistant {name}" if name else "a voice assistant")
    return None


MOST_NOT_DONE: Final = 3
"""Automations that did nothing and are told."""
SAME_MOMENT: Final = 1.0
"""Seconds between a change of the state and its last update within which both have one cause."""
PRIVATE: Final = frozenset({"person", "device_tracker"})
"""Domains that follow where people are: nobody brings their changes about."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A change with what brought it about; `causes` is empty where that is not known."""

    change: Change
    causes: Sequence[str]
    viewer: Viewer

    @property
    def line(self) -> str:
        """Return the change with its time and what brought it about."""
        return tell(self.viewer, self.change, self.causes)


async def async_explain(run: ToolRun, asked: Sequence[Asked]) -> dict[str, list[Explained]]:
    """Return the changes of entities with what brought them about, the oldest first."""
    wanted = [item for item in asked if item.entity_id.partition(".")[0] not in PRIVATE]
    recorded, happenings = await async_recorded(run.hass, wanted)
    live = [change for item in wanted if (change := _live_change(run.hass, item, recorded))]
    explained: dict[str, list[Explained]] = {}
    for one in await _async_explained(run, [*recorded, *live], happenings):
        # What only the state of now shows may be from the last start, which nobody brought about.
        if one.causes or one.change not in live or one.change.after.entity_id in explained:
            explained.setdefault(one.change.after.entity_id, []).append(one)
    return explained


async def async_explain_now(run: ToolRun, state: State) -> str | None:
    """Return what brought an entity into its state, without the recorder; None if that is not known."""
    if state.domain in PRIVATE or not _is_of_one_cause(state):
        return None
    (explained,) = await _async_explained(run, [Change(None, state)], {})
    return ", ".join(explained.causes) or None


async def _async_explained(
    run: ToolRun,
    changes: Sequence[Change],
    recorded: Mapping[str, Sequence[Happening]],
) -> list[Explained]:
    hass = run.hass
    contexts = [change.after.context for change in changes]
    ids = {key for context in contexts for key in (context.id, context.parent_id) if key}
    happenings = {**_live_happenings(hass, ids), **recorded}
    runs: dict[str, list[Run]] = {}
    for traced in await async_runs(hass, context_ids=ids):
        runs.setdefault(traced.context_id, []).append(traced)
    actions: dict[str, list[RecordedAction]] = {}
    for action in run.guard.journal.ledger.of_speaker(None):
        if action.success:
            actions.setdefault(action.context_id, []).append(action)
    known = Known(happenings=happenings, runs=runs, actions=actions)
    viewer = await _async_viewer(run)
    return [Explained(change, causes_of(viewer, change, known), viewer) for change in changes]


async def async_not_done(run: ToolRun, entity_id: str, since: float, *, with_idle: bool) -> list[str]:
    """Return the automations that use an entity and are off, or whose conditions stopped them since a time.

    With `with_idle` also those that were not triggered at all.
    """
    hass = run.hass
    if "automation" not in hass.config.components:
        return []
    from homeassistant.components.automation import automations_with_entity  # noqa: PLC0415

    viewer = await _async_viewer(run)
    using = [state for one in automations_with_entity(hass, entity_id) if (state := hass.states.get(one))]
    runs = await async_runs(hass, automations=[state.entity_id for state in using])
    stopped = sorted((one for one in runs if one.is_stopped and one.started >= since), key=_started)
    lines = []
    for state in using:
        which, last = viewer.which(state.entity_id), state.attributes.get("last_triggered")
        if state.state == STATE_OFF:
            lines.append(f"{which} uses it and is turned off")
        elif with_idle and not any(one.entity_id == state.entity_id for one in stopped):
            at = last.timestamp() if isinstance(last, datetime) else 0.0
            if at < since:
                when = f"its last run was {format_local(at)}" if at else "it has never run"
                lines.append(f"{which} uses it and did not run; {when}")
    for one in stopped:
        which, reason = viewer.which(one.entity_id), viewer.because(one.trigger)
        triggered = f"was triggered {reason}".rstrip()
        lines.append(f"{format_local(one.started)} {which} {triggered}, but its conditions were not met")
    return lines[-MOST_NOT_DONE:]


def _started(run: Run) -> float:
    return run.started


@callback
def _live_happenings(hass: HomeAssistant, ids: Container[str]) -> dict[str, list[Happening]]:
    """Return what the current states tell of contexts; the state of an automation is a run of it."""
    happenings: dict[str, list[Happening]] = {}
    for state in sorted(hass.states.async_all(), key=happened_at):
        context = state.context
        if context.id not in ids or state.domain == "script":
            continue
        happening: Happening = state
        if state.domain == "automation":
            data = {ATTR_ENTITY_ID: state.entity_id}
            at = state.last_updated_timestamp
            happening = Event(TRIGGERED, data, context=context, time_fired_timestamp=at)
        happenings.setdefault(context.id, []).append(happening)
    return happenings


@callback
def _live_change(hass: HomeAssistant, asked: Asked, recorded: Iterable[Change]) -> Change | None:
    """Return the newest change as the state of now shows it, where the recorder does not have it."""
    state = hass.states.get(asked.entity_id)
    if state is None or state.state in GONE or not _is_of_one_cause(state):
        return None
    change = Change(None, state)
    if asked.start is not None and not asked.start <= change.at <= asked.end:
        return None
    if asked.fits is not None and not asked.fits(state):
        return None
    last = max((each.at for each in recorded if each.after.entity_id == asked.entity_id), default=0.0)
    return change if change.at > last + SAME_MOMENT else None


def _is_of_one_cause(state: State) -> bool:
    """Return whether the last update of a state was its last change."""
    return state.last_updated_timestamp - state.last_changed_timestamp <= SAME_MOMENT


async def _async_viewer(run: ToolRun) -> Viewer:
    """Return what the speaker may know."""
    speaker, hass = run.speaker, run.hass
    is_member = await async_is_member(hass, speaker)
    users = await hass.auth.async_get_users()
    return Viewer(
        hass=hass,
        house=run.house,
        reader=run.reader,
        is_member=is_member,
        names_people=is_member and (run.disclosure.home or run.disclosure.people),
        narrows=run.guard.policy.view.seen.narrows,
        accounts={user.id: None if user.system_generated else (user.name or "") for user in users},
    )


NAME_CHARS: Final = 40
NOBODY: Final = "not through Home Assistant: by hand at the device, in its own app, or by itself"
REPORTING: Final = frozenset({"binary_sensor", "sensor", "event"})
"""Domains whose entities report what they measure, so that nothing brought a change about."""
SOMEBODY: Final = "a member of the household"
ANOTHER: Final = "another text"
NOT_EXPOSED: Final = "something that is not exposed"
CONNECTED: Final = "an integration or an app that is connected to Home Assistant"
HOUSEHOLD: Final = frozenset({"automation", "script", "scene"})
"""Domains that the household itself wrote; their names are no secret to its members."""
TRIGGERS: Final = frozenset(
    {"time", "time_pattern", "sun", "homeassistant", "webhook", "event", "mqtt", "conversation", "tag"}
    | {"calendar", "template"}
)
"""Kinds of triggers that say by themselves why an automation ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who is told, and what they may know."""

    hass: HomeAssistant
    house: HouseSnapshot
    reader: Reader
    is_member: bool
    """Whether the speaker is known as a member of the household."""
    names_people: bool
    """Whether the speaker, and the model, may know the names of people."""
    narrows: bool
    """Whether the agent has lists, which leave out what the household itself wrote."""
    accounts: Mapping[str, str | None]
    """Names of the accounts that have no person, by their id; None for a service's own."""

    def name_of(self, entity_id: str) -> str | None:
        """Return the name of an entity; None if the speaker may not know it."""
        domain = entity_id.partition(".")[0]
        state = self.hass.states.get(entity_id)
        if not self.reader.sees(entity_id) and not (
            self.is_member and not self.narrows and domain in HOUSEHOLD and self.reader.permits(entity_id)
        ):
            return None
        record = self.house.entities.get(entity_id)
        if record is None and state is None:
            return None
        return clean(record.name if record else state.name if state else "", NAME_CHARS)

    def state_of(self, entity_id: str, text: str | None) -> str | None:
        """Return a state in words; None for text from outside."""
        now = self.hass.states.get(entity_id)
        if text is None or now is None:
            return None
        return self.shown(State(entity_id, text, _kept(now, text), validate_entity_id=False))

    def shown(self, state: State) -> str | None:
        """Return a state in words; None for text from outside."""
        if not is_own_state(self.hass, state):
            return None
        own = without_outside(self.hass, state)
        return describe_state(own, self.house.entities.get(state.entity_id), aged=False)

    def person(self, user_id: str | None) -> str:
        """Return who a user is."""
        if user_id is not None and user_id in self.accounts and self.accounts[user_id] is None:
            return CONNECTED
        if user_id is None or not self.names_people:
            return SOMEBODY
        name = next((one.name for one in persons(self.hass) if one.user_id == user_id), None)
        if name is None:
            account = self.accounts.get(user_id)
            return f"the account {clean(account, NAME_CHARS)}" if account else "an account that is gone"
        asks = " (who asks)" if user_id == self.reader.speaker.context.user_id else ""
        return f"{clean(name, NAME_CHARS)}{asks}"

    def place(self, device_id: str | None) -> str:
        """Return the room of a device, with a preposition; empty if it has none that may be known."""
        device = dr.async_get(self.hass).async_get(device_id) if device_id else None
        area_id = device.area_id if device else None
        if not self.is_member or (self.narrows and area_id not in self.house.areas):
            return ""
        area = ar.async_get(self.hass).async_get_area(area_id) if area_id else None
        return f" in {clean(area.name, NAME_CHARS)}" if area else ""

    def who_asked(self, user_id: str | None) -> str:
        """Return who a request came from."""
        return self.person(user_id) if user_id else "somebody"

    def ran(self, entity_id: str, *, is_first: bool = True) -> str:
        """Return a script, a scene or an automation as a cause; `is_first` if nothing is between."""
        return f"{'' if is_first else 'started '}by {self.which(entity_id)}"

    def which(self, entity_id: str) -> str:
        """Return a script, a scene or an automation with its name, if the speaker may know it."""
        domain, name = entity_id.partition(".")[0], self.name_of(entity_id)
        return f"{domain} {name}" if name else f"{'an' if domain[0] in 'aeiou' else 'a'} {domain}"

    def because(self, trigger: Trigger) -> str:
        """Return the trigger of an automation as a reason; empty if it is not known."""
        if trigger.entity_id and trigger.platform not in ("time", "conversation"):
            return f"because {self.changed(trigger.entity_id, trigger.state)}"
        return f"by its {trigger.platform} trigger" if trigger.platform in TRIGGERS else ""

    def changed(self, entity_id: str, state: str | None) -> str:
        """Return what an entity did, without what the speaker may not know."""
        name = self.name_of(entity_id) if self.reader.sees(entity_id) else None
        if name is None:
            return f"{NOT_EXPOSED} changed"
        told = self.state_of(entity_id, state)
        return f"{name} became {told}" if told else f"{name} changed"


def _kept(now: State, text: str) -> Mapping[str, object]:
    if now.state == text:
        return now.attributes
    return {
        key: value
        for key, value in now.attributes.items()
        if key in ("device_class", "unit_of_measurement", "options", "friendly_name")
    }


def tell(viewer: Viewer, change: Change, causes: Sequence[str]) -> str:
    """Return a change with its time and what brought it about."""
    told = f"{format_local(change.at)} {_difference(viewer, change)}"
    if not causes and change.after.domain in REPORTING:
        return told
    return ", ".join([told, *(causes or [NOBODY])])


def _difference(viewer: Viewer, change: Change) -> str:
    before, after = change.before, change.after
    now = viewer.shown(after) or ANOTHER
    if before is None:
        return now
    if before.state != after.state:
        return f"{viewer.shown(before) or ANOTHER} -> {now}"
    old, new = (without_outside(viewer.hass, state).attributes for state in (before, after))
    return ", ".join(differences(old, new)) or now
