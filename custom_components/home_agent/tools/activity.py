"""activity: lists the agent's recent actions, and undoes them."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NotRequired, TypedDict, override

import probatio

from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..domains.base import STATE
from ..errors import ValidationError
from ..knowledge.house import HouseSnapshot
from ..planned.commands import Cancellation, PlannedCommands
from ..planned.records import Owner, PlannedCommand
from ..safety.firewall.own_values import texts_in
from ..safety.ledger import SCENE, EarlierState, Ledger, RecordedAction
from ..timers.timers import Timer, told_days
from ..timespans import format_local
from .automating.kept import AutomationEdit, OwnAutomations, async_undo_edit, edit_rows, last_edit
from .base import HomeAgentTool, PartlyFailed, Speaker, TargetsFailed, ToolOutput, ToolRun
from .causes import async_why
from .control.mentions import mention
from .control.planning import (
    NOT_EXPOSED,
    OFFLINE,
    ControlOutcome,
    Plan,
    async_carry_out,
    expectation_of,
    value_of,
)
from .control.restoring import CannotRestoreError, restoring, taking_back
from .control.telling import tell_names
from .differences import COMPARED, differences
from .ha_control import async_prepare_names, entity_locks
from .ha_query import async_found, find_all
from .planned_rows import are_entities, entities_of, given_by, outside_rows, planned_row, planned_rows
from .resolving.resolver import Target
from .telling import Told
from .vetted import is_message

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


def last_changing_turn(actions: Iterable[RecordedAction], hass: HomeAssistant) -> str | None:
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
MAX_CANCELLED: Final = 5


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
    return ", ".join(named[:MAX_CANCELLED]) or "something"


MAX_LISTED: Final = 10
MAX_NAMED: Final = 6
HERE_FOR: Final = timedelta(minutes=30)
"""How long what a person has typed in one conversation belongs to what they type in another one."""
TARGET: Final = ("entity_id", "name", "area", "floor", "domain")
"""Arguments that name a part of what was done; models are offered the first one."""


def own_actions(ledger: Ledger, speaker: Speaker) -> Sequence[RecordedAction]:
    """Return the actions of this conversation, and those for this person or at this device in others."""
    whose = speaker.conversation_id, speaker.context.user_id, speaker.device_id
    return ledger.of_speaker(*whose) if any(whose) else []


def is_here(speaker: Speaker, owner: RecordedAction | AutomationEdit | Owner, at: datetime) -> bool:
    """Return whether something was done in this conversation or at this device.

    What a person types has no device: it belongs together for a while, whichever window it is typed in.
    """
    if speaker.conversation_id and owner.conversation_id == speaker.conversation_id:
        return True
    if speaker.device_id is not None or owner.device_id is not None:
        return owner.device_id == speaker.device_id
    return dt_util.utcnow() - at < HERE_FOR


class ActivityTool(HomeAgentTool):
    """Answers from the ledger."""

    name = "activity"
    names_targets = True
    reverses = True
    title = "What was done"
    description = "List your last actions, or undo the last request or only its entity_id."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)

    def __init__(
        self,
        actions: Callable[[Ledger, Speaker], Sequence[RecordedAction]] = own_actions,
        planned: PlannedCommands | None = None,
        automations: OwnAutomations | None = None,
    ) -> None:
        self._actions = actions
        self._is_spoken = actions is own_actions
        self._planned = planned
        self._automations = automations
        offered = {
            probatio.Required("action"): probatio.In(["list", "undo"]),
            probatio.Optional("entity_id"): [str],
        }
        self.parameters = probatio.Schema(
            {
                **offered,
                probatio.Optional("name"): str,
                probatio.Optional("area"): str,
                probatio.Optional("floor"): str,
                probatio.Optional("domain"): str,
            }
        )
        self._offered = probatio.to_openapi(probatio.Schema(offered), openapi_version="3.1.0")

    @override
    def parameters_in(self, hass: HomeAssistant, house: HouseSnapshot) -> Mapping[str, Any]:
        """Return the arguments that models are offered."""
        return self._offered

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether the ledger is only read."""
        return args.get("action") != "undo"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the content of free text fields."""
        if not isinstance(result, dict):
            return
        yield from outside_rows(result.get("planned"))
        yield from outside_rows(result.get("cancelled"))
        rows = result.get("newest_first")
        for row in rows if isinstance(rows, list) else ():
            changes = row.get("to") if isinstance(row, dict) else None
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
        cancelled = result.get("cancelled")
        return tell_names("cancelled", entities_of(cancelled), run) if are_entities(cancelled) else ()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ToolOutput:
        """List or undo."""
        actions = self._actions(run.guard.journal.ledger, run.speaker)
        target = Target.from_args(args)
        if args["action"] == "undo":
            # What this turn has done itself is not what the person wants undone.
            actions = [one for one in actions if one.turn_id != run.speaker.turn_id]
            here = actions
            if self._is_spoken:
                here = [one for one in actions if is_here(run.speaker, one, one.at)]
            if target.is_empty:
                return await self._async_undo(here, run, actions)
            return await self._async_undo_named(target, here, run, actions)
        result = ActivityResult(newest_first=[])
        result["newest_first"] = [row for action in actions if (row := _row(action, run))][:MAX_LISTED]
        if planned := planned_rows(self._planned, run):
            result["planned"] = planned
        if not target.is_empty:
            found = await async_found(target, run, with_doors=False, everything=False)
            result["why"] = (await async_why(run, found, {}, None))["why"]
        if automations := edit_rows(self._automations, run):
            result["automations"] = automations
        return result if any(result.values()) else "Nothing was done here lately."

    async def _async_undo(
        self, actions: Sequence[RecordedAction], run: ToolRun, all_actions: Sequence[RecordedAction]
    ) -> JsonValueType:
        """Undo the last thing that was done here: changes, a plan, a cancellation, or one of an automation.

        Of what was done elsewhere nothing is undone, but it is named. Raises ValidationError if there is
        nothing, PartlyFailed or TargetsFailed for what stays.
        """
        found: list[tuple[datetime, Callable[[], Awaitable[JsonValueType]]]] = []
        own, planned = self._automations, self._planned
        change = last_edit(own, run)
        if own is not None and change is not None and is_here(run.speaker, change, change.at):
            found.append((change.at, partial(async_undo_edit, change, own, run)))
        if (turn_id := last_changing_turn(actions, run.hass)) is not None:
            last = next(action.at for action in actions if action.turn_id == turn_id)
            found.append((last, partial(self._async_undo_turn, actions, turn_id, run)))
        commands = self._planned_here(run)
        if newest := max(commands, default=None, key=lambda command: command.created):
            same_turn = [one for one in commands if one.owner.turn_id == newest.owner.turn_id]
            found.append((newest.created, partial(self._async_cancel, same_turn, run)))
        cancelled = last_cancellation(planned, run) if self._is_spoken else None
        if planned and cancelled and is_here(run.speaker, cancelled.owner, cancelled.at):
            found.append((cancelled.at, partial(async_set_again, cancelled, planned, run)))
        if found:
            _, undo = max(found, key=lambda one: one[0])
            return await undo()
        elsewhere = _told_elsewhere(all_actions, run) if self._is_spoken else None
        raise ValidationError(elsewhere or "There is nothing to put back: nothing was changed here lately")

    async def _async_undo_turn(
        self, actions: Sequence[RecordedAction], turn_id: str, run: ToolRun
    ) -> JsonValueType:
        try:
            return await async_undo(changes_of_turn(actions, turn_id), run, whole=True)
        finally:
            if self._planned is not None:
                self._planned.drop_of_turn(turn_id)

    async def _async_undo_named(
        self,
        target: Target,
        here: Sequence[RecordedAction],
        run: ToolRun,
        all_actions: Sequence[RecordedAction],
    ) -> JsonValueType:
        """Undo the newest change of what a target names, or cancel what is planned for it.

        What the person changed elsewhere is undone only if the sentence names it.
        Raises ValidationError if nothing of it was changed, and the errors of `async_undo`.
        """
        planned = self._planned_here(run)
        changed = changed_ids(here, run.hass)
        known = changed.union(*(command.entity_ids for command in planned))
        elsewhere = changed_ids(all_actions, run.hass) - known
        await async_prepare_names(run.hass, run.house)
        found = find_all(run.house, target, speaker=run.speaker, sentence=run.sentence)
        wanted = frozenset(record.entity_id for record in found)
        if not wanted & known and wanted & elsewhere:
            said = mention(run.hass, run.house, run.sentence, run.sentence, run.speaker.language)
            wanted = frozenset(one.entity_id for one in found if said.fit(one)) & elsewhere
            here, known = all_actions, elsewhere
        wanted &= known
        if not wanted:
            raise ValidationError(_not_changed([record.name for record in found], changed, run))
        changes = newest_changes(here, wanted, run.hass)
        last = max((change.last.at for change in changes.values()), default=None)
        later = [
            command
            for command in planned
            if not wanted.isdisjoint(command.entity_ids) and (last is None or command.created > last)
        ]
        if later:
            if others := {one for command in later for one in command.entity_ids} - wanted:
                raise ValidationError(
                    f"What is planned is planned for {', '.join(sorted(others)[:MAX_NAMED])} too: "
                    "undo all of it, and plan the rest again"
                )
            return await self._async_cancel(later, run)
        try:
            return await async_undo(changes, run, whole=False)
        finally:
            if self._planned is not None:
                self._planned.take_held(changes)

    def _planned_here(self, run: ToolRun) -> list[PlannedCommand]:
        return [
            one
            for one in (self._planned.seen_by(run.speaker) if self._planned is not None else ())
            if not one.restores
            and one.owner.turn_id != run.speaker.turn_id
            and given_by(one, run)
            and is_here(run.speaker, one.owner, one.created)
        ]

    async def _async_cancel(self, commands: Sequence[PlannedCommand], run: ToolRun) -> JsonValueType:
        """Cancel planned commands, and return them."""
        if self._planned is not None:
            await self._planned.async_cancel([command.id for command in commands])
        return {"cancelled": [row for command in commands if (row := planned_row(command, run))]}


def _not_changed(named: Sequence[str], changed: Iterable[str], run: ToolRun) -> str:
    """Return a sentence that what was named was not changed here, with what was."""
    told = [f"{run.house.entities[one].name} ({one})" for one in sorted(changed) if one in run.house.entities]
    rest = f"Changed here: {', '.join(told[:MAX_NAMED])}" if told else "Nothing was changed here lately"
    return f"{', '.join(named[:MAX_NAMED])}: not changed here by you, so that nothing was undone. {rest}"


def _told_elsewhere(actions: Sequence[RecordedAction], run: ToolRun) -> str | None:
    """Return a sentence about the last change in other places; None if there is none to tell of."""
    turn_id = last_changing_turn(actions, run.hass)
    own = (action for action in actions if action.turn_id == turn_id)
    action = next((action for action in own if changed_ids([action], run.hass)), None)
    if action is None:
        return None
    names = [run.house.entities[one].name for one in action.entity_ids if one in run.house.entities]
    if not names:
        return None
    at = f"{dt_util.as_local(action.at):%H:%M}"
    return (
        f"Nothing was changed here. This person's last change was elsewhere, at {at}: "
        f"{action.domain}.{action.service} of {', '.join(names[:MAX_NAMED])}. It stays "
        "unless the person names it; say so"
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
    automations: NotRequired[list[JsonValueType]]
    why: NotRequired[JsonValueType]
    """Who or what changed the entities that were named, which others may have done."""


def _row(action: RecordedAction, run: ToolRun) -> ActionRow | None:
    """Return a description of a call; None if none of its entities is exposed any more."""
    shown = [
        entity_id
        for entity_id in action.entity_ids
        if run.reader.sees(entity_id)
        and not (is_held(action, entity_id) and action.before.get(entity_id) == action.after.get(entity_id))
    ]
    if not shown:
        return None
    row: ActionRow = {
        "at": dt_util.as_local(action.at).strftime("%Y-%m-%d %H:%M"),
        "did": f"{action.domain}.{action.service}",
        "to": {entity_id: _difference(action, entity_id) for entity_id in shown[:MAX_NAMED]},
    }
    if len(shown) > MAX_NAMED:
        row["more"] = len(shown) - MAX_NAMED
    if not action.success:
        row["failed"] = action.error or "failed"
    if action.undone:
        row["undone"] = True
    if action.planned is not None:
        row["planned_for"] = f"{dt_util.as_local(action.planned):%Y-%m-%d %H:%M}"
    return row


def _difference(action: RecordedAction, entity_id: str) -> str:
    before, after = action.before.get(entity_id), action.after.get(entity_id)
    if before is None or after is None:
        return "unknown"
    state = before.state if before.state == after.state else f"{before.state} -> {after.state}"
    return ", ".join((state, *differences(before.attributes, after.attributes)))


def _values(change: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in change.split(", "):
        name, _, rest = part.partition(" ")
        told = (name, rest) if name in COMPARED else ("state", part)
        found.setdefault(told[0], []).extend(told[1].split(" -> "))
    return found
