"""activity: lists the agent's recent actions, and undoes them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, NotRequired, TypedDict, override

import probatio

from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..domains.base import STATE
from ..errors import ValidationError
from ..planned.commands import PlannedCommands
from ..safety.firewall.own_values import texts_in
from ..safety.ledger import EarlierState, Ledger, RecordedAction
from .base import HomeAgentTool, PartlyFailed, Speaker, TargetsFailed, ToolOutput, ToolRun
from .control.outcome import NOT_EXPOSED, OFFLINE, ControlOutcome
from .control.planning import Plan, expectation_of
from .control.restoring import CannotRestoreError, restoring, taking_back, value_of
from .control.telling import tell_names
from .ha_control import async_carry_out, entity_locks
from .planned_rows import entities_of, given_by, planned_row, planned_rows
from .telling import Told

MAX_LISTED: Final = 10
MAX_NAMED: Final = 6
MAX_AGE: Final = timedelta(hours=24)
MOVING: Final = "todo."
"""Entities that depend on each other: all of a turn are restored, or none."""
COMPARED: Final = (
    "brightness",
    "temperature",
    "current_position",
    "percentage",
    "volume_level",
    "preset_mode",
)
"""Attributes whose old and new values are reported."""
FULL: Final[Mapping[str, float]] = {
    "brightness": 255,
    "volume_level": 1,
    "percentage": 100,
    "current_position": 100,
}
"""Attributes that are told in percent, and their value for 100 percent."""
HERE_FOR: Final = timedelta(minutes=30)
"""How long what a person has typed in one conversation belongs to what they type in another one."""
LATE: Final = timedelta(seconds=10)
"""How long after a call a device may report what the call did."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one turn did to one entity."""

    before: EarlierState
    after: EarlierState
    actions: tuple[RecordedAction, ...]
    """The calls, the newest first."""

    @property
    def last(self) -> RecordedAction:
        """Return the newest call."""
        return self.actions[0]


def own_actions(ledger: Ledger, speaker: Speaker) -> Sequence[RecordedAction]:
    """Return the actions of this conversation, and those for this person or at this device in others."""
    whose = speaker.conversation_id, speaker.context.user_id, speaker.device_id
    return ledger.of_speaker(*whose) if any(whose) else []


def is_here(speaker: Speaker, conversation_id: str, device_id: str | None, at: datetime) -> bool:
    """Return whether something was done in this conversation or at this device.

    What a person types has no device: it belongs together for a while, whichever window it is typed in.
    """
    if speaker.conversation_id and conversation_id == speaker.conversation_id:
        return True
    if speaker.device_id is not None or device_id is not None:
        return device_id == speaker.device_id
    return dt_util.utcnow() - at < HERE_FOR


class ActivityTool(HomeAgentTool):
    """Answers from the ledger."""

    name = "activity"
    names_targets = True
    title = "What was done"
    description = "Your own last actions: list them, or undo what the last request changed ('put it back')."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)

    def __init__(
        self,
        actions: Callable[[Ledger, Speaker], Sequence[RecordedAction]] = own_actions,
        planned: PlannedCommands | None = None,
    ) -> None:
        """Answer from these calls, the newest first, and from what is planned."""
        self._actions = actions
        self._is_spoken = actions is own_actions
        self._planned = planned
        self.parameters = probatio.Schema({probatio.Required("action"): probatio.In(["list", "undo"])})

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether the ledger is only read."""
        return args.get("action") != "undo"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the content of free text fields."""
        found = result.get("newest_first") if isinstance(result, dict) else None
        for told in found if isinstance(found, list) else ():
            changes = told.get("to") if isinstance(told, dict) else None
            for entity_id, change in changes.items() if isinstance(changes, dict) else ():
                if any(True for _ in texts_in(hass, entity_id, _values(str(change)))):
                    yield str(change)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[Told, ...]:
        """Return what was undone, or cancelled."""
        if not isinstance(result, Mapping):
            return ()
        if isinstance(restored := result.get("restored"), Mapping):
            return tell_names("undone", restored, run)
        return tell_names("cancelled", entities_of(result.get("cancelled")), run)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ToolOutput:
        """List or undo."""
        actions = self._actions(run.guard.journal.ledger, run.speaker)
        if args["action"] == "undo":
            here = [
                one for one in actions if is_here(run.speaker, one.conversation_id, one.device_id, one.at)
            ]
            return await self._async_undo(here if self._is_spoken else actions, run, actions)
        told = [shown for action in actions if (shown := _told(action, run))]
        result = ActivityResult(newest_first=told[:MAX_LISTED])
        if planned := planned_rows(self._planned, run):
            result["planned"] = planned
        return result if told or planned else "Nothing was done here lately."

    async def _async_undo(
        self, actions: Sequence[RecordedAction], run: ToolRun, all_actions: Sequence[RecordedAction]
    ) -> JsonValueType:
        """Cancel what was planned last, or undo the last turn with changes, whichever was later.

        Of what was done elsewhere nothing is undone, but it is named. Raises ValidationError if there is
        nothing, PartlyFailed or TargetsFailed for what stays.
        """
        if self._planned is None:
            return await _async_undo(actions, run)
        turn_id = last_change(actions, run.hass)
        changed = next((action.at for action in actions if action.turn_id == turn_id), None)
        own = [
            one
            for one in self._planned.seen_by(run.speaker)
            if not one.restores
            and given_by(one, run)
            and is_here(run.speaker, one.owner.conversation_id, one.owner.device_id, one.created)
        ]
        newest = max(own, default=None, key=lambda command: command.created)
        if newest is not None and (changed is None or newest.created > changed):
            same_turn = [one for one in own if one.owner.turn_id == newest.owner.turn_id]
            await self._planned.async_cancel([command.id for command in same_turn])
            return {"cancelled": [row for command in same_turn if (row := planned_row(command, run))]}
        if turn_id is None and (elsewhere := _told_elsewhere(all_actions, run)):
            raise ValidationError(elsewhere)
        try:
            return await _async_undo(actions, run)
        finally:
            if turn_id is not None:
                self._planned.drop_of_turn(turn_id)


def _told_elsewhere(actions: Sequence[RecordedAction], run: ToolRun) -> str | None:
    """Return a sentence about the last change in other places; None if there is none to tell of."""
    turn_id = last_change(actions, run.hass)
    action = next((action for action in actions if action.turn_id == turn_id and _counts(action)), None)
    if action is None:
        return None
    names = [run.house.entities[one].name for one in action.entity_ids if one in run.house.entities]
    if not names:
        return None
    time = f"{dt_util.as_local(action.at):%H:%M}"
    return (
        f"Nothing was changed here. This person's last change was elsewhere, at {time}: "
        f"{action.domain}.{action.service} of {', '.join(names[:MAX_NAMED])}. It stays; say so"
    )


class ActionRow(TypedDict):
    """A call as the model reads it; `to` has the changes by entity, `more` counts further entities."""

    at: str
    did: str
    to: dict[str, str]
    more: NotRequired[int]
    failed: NotRequired[str]
    undone: NotRequired[bool]
    planned_for: NotRequired[str]


class ActivityResult(TypedDict):
    """The calls that the speaker may know of, and what is planned."""

    newest_first: list[ActionRow]
    planned: NotRequired[list[JsonValueType]]


def _told(action: RecordedAction, run: ToolRun) -> ActionRow | None:
    """Return a description of a call; None if none of its entities is exposed any more."""
    shown = [entity_id for entity_id in action.entity_ids if run.is_exposed(entity_id)]
    if not shown:
        return None
    told: ActionRow = {
        "at": dt_util.as_local(action.at).strftime("%Y-%m-%d %H:%M"),
        "did": f"{action.domain}.{action.service}",
        "to": {entity_id: _difference(action, entity_id) for entity_id in shown[:MAX_NAMED]},
    }
    if len(shown) > MAX_NAMED:
        told["more"] = len(shown) - MAX_NAMED
    if not action.success:
        told["failed"] = action.error or "failed"
    if action.undone:
        told["undone"] = True
    if action.planned is not None:
        told["planned_for"] = f"{dt_util.as_local(action.planned):%Y-%m-%d %H:%M}"
    return told


def _difference(action: RecordedAction, entity_id: str) -> str:
    """Return a change as its states before and after."""
    before, after = action.before.get(entity_id), action.after.get(entity_id)
    if before is None or after is None:
        return "unknown"
    parts = [before.state if before.state == after.state else f"{before.state} -> {after.state}"]
    for name in COMPARED:
        old, new = before.attributes.get(name), after.attributes.get(name)
        if old != new and None not in (old, new):
            parts.append(f"{name} {_shown(name, old)} -> {_shown(name, new)}")
    return ", ".join(parts)


def _shown(name: str, value: Any) -> str:
    """Return a value as people say it."""
    full = FULL.get(name)
    is_share = full is not None and isinstance(value, int | float)
    return f"{round(value * 100 / full)}%" if is_share and full else str(value)


def _values(change: str) -> dict[str, list[str]]:
    """Return the values of a reported change by name."""
    found: dict[str, list[str]] = {}
    for part in change.split(", "):
        name, _, rest = part.partition(" ")
        told = (name, rest) if name in COMPARED else ("state", part)
        found.setdefault(told[0], []).extend(told[1].split(" -> "))
    return found


async def _async_undo(actions: Sequence[RecordedAction], run: ToolRun) -> JsonValueType:
    """Undo the last turn with changes that was not undone yet.

    Raises ValidationError if there is nothing, PartlyFailed or ToolExecutionError for what stays.
    """
    turn_id = last_change(actions, run.hass)
    if turn_id is None:
        raise ValidationError("There is nothing to put back: nothing was changed here lately")
    changes = _changes([action for action in actions if action.turn_id == turn_id and _counts(action)])
    run = replace(run, speaker=replace(run.speaker, undoes=True))
    async with entity_locks(run.hass, list(changes)):
        outcome = ControlOutcome(run.house)
        plans, now = _plans(changes, run, outcome)
        if plans:
            await async_carry_out(plans, now, "restore", run, outcome)
    restored: dict[str, JsonValueType] = {**outcome.done, **outcome.unchanged}
    failed: dict[str, JsonValueType] = {**outcome.failed}
    if restored:
        run.guard.journal.mark_undone(turn_id)
    if not outcome.failed:
        return {"restored": restored}
    if restored:
        raise PartlyFailed(outcome.error(), {"restored": restored, "failed": failed})
    raise TargetsFailed(outcome.error(), {"failed": failed})


def last_change(actions: Iterable[RecordedAction], hass: HomeAssistant) -> str | None:
    """Return the last turn with changes that was not undone yet; None if there is none."""
    return next(
        (action.turn_id for action in actions if _counts(action) and _did_something(action, hass)),
        None,
    )


def _did_something(action: RecordedAction, hass: HomeAssistant) -> bool:
    """Return whether a call changed anything: one that found all of its targets as it asked did not."""
    if not action.entity_ids or expectation_of(action.domain, action.service) is None:
        return True
    return any(
        action.before.get(entity_id) != action.after.get(entity_id)
        or ((now := hass.states.get(entity_id)) and action.before.get(entity_id) != EarlierState.of(now))
        for entity_id in action.entity_ids
    )


def _counts(action: RecordedAction) -> bool:
    """Return whether a call can be put back at all."""
    return (
        action.success and not action.undoes and not action.undone and dt_util.utcnow() - action.at < MAX_AGE
    )


def _changes(actions: Sequence[RecordedAction]) -> dict[str, Change]:
    """Return the changes of a turn by entity, from before its first call to after its last one."""
    changes: dict[str, Change] = {}
    for action in reversed(actions):
        for entity_id in action.entity_ids:
            before, after = action.before.get(entity_id), action.after.get(entity_id)
            if before is not None and after is not None:
                first = changes.get(entity_id)
                earlier = first.actions if first else ()
                changes[entity_id] = Change(first.before if first else before, after, (action, *earlier))
    return changes


def _plans(
    changes: Mapping[str, Change], run: ToolRun, outcome: ControlOutcome
) -> tuple[dict[str, Plan], dict[str, State]]:
    """Return the plan for each entity with its current state; unchanged ones go to the outcome."""
    plans: dict[str, Plan] = {}
    states: dict[str, State] = {}
    for entity_id, change in changes.items():
        now = run.hass.states.get(entity_id)
        if now is None or not run.is_exposed(entity_id):
            outcome.fail(entity_id, NOT_EXPOSED)
            continue
        if now.state == STATE_UNAVAILABLE:
            outcome.fail(entity_id, OFFLINE)
            continue
        is_late = now.context.id == change.last.context_id and now.last_updated - change.last.at < LATE
        try:
            made = taking_back(now.domain, change.actions) or restoring(
                change.before, change.after, now, late=is_late
            )
        except (CannotRestoreError, ValueError) as err:
            outcome.fail(entity_id, str(err))
            continue
        if made is None:
            outcome.done[entity_id] = f"is {value_of(change.before, STATE)} again already"
        else:
            plans[entity_id], states[entity_id] = made, now
    if any(entity_id.startswith(MOVING) for entity_id in outcome.failed):
        # What went from one list to another would be on neither.
        for entity_id in [one for one in plans if one.startswith(MOVING)]:
            del plans[entity_id], states[entity_id]
            outcome.fail(entity_id, "stays as it is, as another list does")
    return plans, states
