"""Which recorded changes an undo restores, by turn or by name, and how."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...domains.base import STATE
from ...errors import ValidationError
from ...planned.commands import Cancellation, PlannedCommands
from ...planned.records import PlannedCommand
from ...safety.ledger import SCENE, EarlierState, RecordedAction
from ...timers.timers import Timer, told_days
from ...timespans import format_local
from ..base import PartlyFailed, TargetsFailed, ToolRun
from ..control.carrying import NOT_EXPOSED, OFFLINE, ControlOutcome, async_carry_out
from ..control.planning import Plan, expectation_of
from ..control.restoring import CannotRestoreError, restoring, taking_back, value_of
from ..ha_control import entity_locks
from ..planned.rows import planned_row
from ..vetted import is_message

MAX_AGE: Final = timedelta(hours=24)
HIDDEN: Final = "changed devices too that are not exposed; these stay as they are"
MOVING: Final = "todo."
"""Entities that depend on each other: all of a turn are restored, or none."""
LATE: Final = timedelta(seconds=10)
"""How long after a call a device may report what the call did."""


@dataclass(frozen=True, slots=True)
class TurnChange:
    """What one turn did to one entity."""

    before: EarlierState
    after: EarlierState
    actions: tuple[RecordedAction, ...]
    """The calls, the newest first."""

    @property
    def last(self) -> RecordedAction:
        """Return the newest call."""
        return self.actions[0]


def last_change(actions: Iterable[RecordedAction], hass: HomeAssistant) -> str | None:
    """Return the last turn with changes that was not undone yet; None if there is none."""
    return next((action.turn_id for action in actions if _did_something(action, hass)), None)


def changed_ids(actions: Iterable[RecordedAction], hass: HomeAssistant) -> frozenset[str]:
    """Return the entities that calls have changed and no undo has restored yet."""
    return frozenset(
        entity_id
        for action in actions
        for entity_id in action.entity_ids
        if _changed(action, entity_id, hass)
    )


def changes_of_turn(actions: Sequence[RecordedAction], turn_id: str) -> dict[str, TurnChange]:
    """Return the changes of a turn by entity.

    Raises ValidationError if its calls left nothing that could be restored.
    """
    own = [action for action in actions if action.turn_id == turn_id and _counts(action)]
    if changes := _changes(own):
        return changes
    calls = dict.fromkeys(f"{action.domain}.{action.service}" for action in own)
    raise ValidationError(f"Cannot be undone: {', '.join(calls)}. Nothing records what was so before; say so")


def newest_changes(
    actions: Sequence[RecordedAction], entity_ids: Collection[str], hass: HomeAssistant
) -> dict[str, TurnChange]:
    """Return the change of the newest turn that changed each of some entities."""
    found: dict[str, TurnChange] = {}
    for entity_id in sorted(entity_ids):
        last = next((action for action in actions if _changed(action, entity_id, hass)), None)
        if last is None:
            continue
        together = _changes(
            [action for action in actions if action.turn_id == last.turn_id and _counts(action)]
        )
        wanted = {key: together[key] for key in _meant(last, entity_id) if key in together}
        if entity_id.startswith(MOVING):
            wanted = {key: change for key, change in together.items() if key.startswith(MOVING)}
        found |= wanted
    return found


def is_held(action: RecordedAction, entity_id: str) -> bool:
    """Return whether an entity was not called itself, but is held by a scene that was."""
    return action.domain == SCENE and not entity_id.startswith(f"{SCENE}.")


async def async_undo(changes: Mapping[str, TurnChange], run: ToolRun, *, whole: bool) -> JsonValueType:
    """Restore what changes have changed; `whole` if they are all of their turn.

    Raises PartlyFailed or TargetsFailed for what stays.
    """
    run = replace(run, speaker=replace(run.speaker, undoes=True))
    async with entity_locks(run.hass, list(changes)):
        outcome = ControlOutcome(run.house)
        plans, now = _plans(changes, run, outcome)
        if plans:
            await async_carry_out(plans, now, "restore", run, outcome)
    restored: dict[str, JsonValueType] = {**outcome.done, **outcome.unchanged}
    failed: dict[str, JsonValueType] = {**outcome.failed}
    if restored:
        undone: dict[str, set[str]] = {}
        for entity_id, change in changes.items():
            if whole or entity_id in restored:
                undone.setdefault(change.last.turn_id, set()).add(entity_id)
        for turn_id, entity_ids in undone.items():
            run.guard.journal.mark_undone(turn_id, None if whole else entity_ids)
    if not outcome.failed:
        return {"restored": restored}
    if restored:
        raise PartlyFailed(outcome.error(), {"restored": restored, "failed": failed})
    raise TargetsFailed(outcome.error(), {"failed": failed})


def _did_something(action: RecordedAction, hass: HomeAssistant) -> bool:
    """Return whether a call changed anything that is not undone: one that found all so already did not."""
    if not _targets(action):
        return _counts(action)
    return any(_changed(action, entity_id, hass) for entity_id in _targets(action))


def _changed(action: RecordedAction, entity_id: str, hass: HomeAssistant) -> bool:
    """Return whether a call changed an entity, or a scene what it holds, and may be undone."""
    meant = _meant(action, entity_id)
    if meant and meant != (entity_id,):
        return any(_changed(action, one, hass) for one in meant)
    if not _counts(action) or not meant or entity_id in action.undone_ids:
        return False
    if not is_held(action, entity_id) and expectation_of(action.domain, action.service) is None:
        return True
    before = action.before.get(entity_id)
    now = hass.states.get(entity_id)
    return before != action.after.get(entity_id) or (now is not None and before != EarlierState.of(now))


def _targets(action: RecordedAction) -> tuple[str, ...]:
    """Return the entities that an undo restores: of a scene what it holds, if that is known.

    Nobody takes back what was said.
    """
    if is_message(action.domain, action.service):
        return ()
    return tuple(one for one in action.entity_ids if is_held(action, one)) or action.entity_ids


def _meant(action: RecordedAction, entity_id: str) -> tuple[str, ...]:
    """Return what an undo restores for an entity of a call; for a scene, all that it holds."""
    targets = _targets(action)
    if entity_id in targets:
        return (entity_id,)
    return targets if entity_id in action.entity_ids else ()


def _counts(action: RecordedAction) -> bool:
    return (
        action.success and not action.undoes and not action.undone and dt_util.utcnow() - action.at < MAX_AGE
    )


def _changes(actions: Sequence[RecordedAction]) -> dict[str, TurnChange]:
    """Return changes by entity, from before the first call to after the last one, without undone ones."""
    changes: dict[str, TurnChange] = {}
    for action in reversed(actions):
        for entity_id in _targets(action):
            before, after = action.before.get(entity_id), action.after.get(entity_id)
            if before is not None and after is not None and entity_id not in action.undone_ids:
                first = changes.get(entity_id)
                earlier = first.actions if first else ()
                changes[entity_id] = TurnChange(first.before if first else before, after, (action, *earlier))
    return changes


def _plans(
    changes: Mapping[str, TurnChange], run: ToolRun, outcome: ControlOutcome
) -> tuple[dict[str, Plan], dict[str, State]]:
    """Return the plan for each entity with its current state; unchanged ones go to the outcome."""
    plans: dict[str, Plan] = {}
    states: dict[str, State] = {}
    for entity_id, change in changes.items():
        now = run.hass.states.get(entity_id)
        of_scene = is_held(change.last, entity_id)
        if of_scene and now is not None and change.before == change.after == EarlierState.of(now):
            continue
        if of_scene and (now is None or not run.reader.sees(entity_id)):
            outcome.fail(change.last.entity_ids[0], HIDDEN)
            continue
        if now is None or not run.reader.sees(entity_id):
            outcome.fail(entity_id, NOT_EXPOSED)
            continue
        if now.state == STATE_UNAVAILABLE:
            outcome.fail(entity_id, OFFLINE)
            continue
        is_late = (
            of_scene or now.context.id == change.last.context_id
        ) and now.last_updated - change.last.at < LATE
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


SET_AGAIN: Final = "set_again"
"""The part of the result that lists what was set again."""
MAX_NAMED: Final = 5


def last_cancellation(planned: PlannedCommands | None, run: ToolRun) -> Cancellation | None:
    """Return the last cancellation of an earlier turn that was not undone; None if there is none."""
    for one in reversed(planned.cancelled if planned is not None else ()):
        if not one.undone and one.owner.turn_id != run.speaker.turn_id and _is_own(one, run):
            return one
    return None


async def async_set_again(made: Cancellation, planned: PlannedCommands, run: ToolRun) -> JsonValueType:
    """Set again what was cancelled, and return it by name.

    What needed a confirmation is not set again: a person confirmed it for a plan that no longer exists.
    Raises ValidationError if nothing of it can be set again. In both cases a further undo goes on to what was
    before.
    """
    made.undone = True
    now = dt_util.utcnow()
    timers = [timer for timer in made.timers if timer.due > now] if not made.kept_in.full else []
    commands = [one for one in made.commands if _may_return(one, planned)]
    rest: list[JsonValueType] = [_told(timer) for timer in made.timers if timer not in timers]
    rest += [row for one in made.commands if one not in commands and (row := planned_row(one, run))]
    if not timers and not commands:
        raise ValidationError(
            f"The last request cancelled {_named(made, run)}. That cannot be undone: its time has passed, or "
            "it needs a confirmation. Nothing was undone; say so"
        )
    for timer in timers:
        await made.kept_in.async_set(timer)
    for command in commands:
        await planned.async_add(command)
    rows: list[JsonValueType] = [_told(timer) for timer in timers]
    rows += [row for command in commands if (row := planned_row(command, run))]
    result: dict[str, JsonValueType] = {SET_AGAIN: rows}
    if rest:
        result["stays_cancelled"] = rest
    return result


def _may_return(command: PlannedCommand, planned: PlannedCommands) -> bool:
    """Return whether a command may be planned again: not after its time, and not beside a newer end."""
    if command.approved is not None or command.due <= dt_util.utcnow() or planned.full:
        return False
    ends = (one for one in planned.all() if one.restores)
    return not command.restores or all(set(one.entity_ids).isdisjoint(command.entity_ids) for one in ends)


def _is_own(made: Cancellation, run: ToolRun) -> bool:
    """Return whether the speaker cancelled something: this person, or an unknown voice in this place."""
    owner, speaker = made.owner, run.speaker
    if owner.user_id is not None or speaker.context.user_id is not None:
        return owner.user_id == speaker.context.user_id
    if speaker.conversation_id and owner.conversation_id == speaker.conversation_id:
        return True
    return owner.device_id is not None and owner.device_id == speaker.device_id


def _told(timer: Timer) -> str:
    """Return a timer with its name and time, as the model reads it."""
    local = dt_util.as_local(timer.due)
    days = f", {told_days(timer.on_days)}" if timer.repeat else ""
    return f"{timer.name or 'timer'}: {local:%a} {format_local(timer.due)}{days}"


def _named(made: Cancellation, run: ToolRun) -> str:
    named = [timer.name or "a timer" for timer in made.timers]
    named += [
        run.house.entities[one].name
        for command in made.commands
        for one in command.entity_ids
        if run.reader.sees(one) and one in run.house.entities
    ]
    named += [f"a message to {one.message.receiver}" for one in made.commands if one.message is not None]
    return ", ".join(named[:MAX_NAMED]) or "something"
