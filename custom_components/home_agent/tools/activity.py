"""activity: lists the agent's recent actions, and undoes them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple, override

import probatio

from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..domains.base import STATE
from ..errors import ValidationError
from ..knowledge.house import HouseSnapshot
from ..knowledge.speaker import Speaker
from ..planned.records import Giver, PlannedItem
from ..planned.scheduler import Cancellation, Scheduler
from ..safety.firewall.own_values import texts_in
from ..safety.journal import SCENE, EarlierState, Journal, RecordedAction
from ..timespans import format_local
from .automating.kept import AutomationEdit, OwnAutomations, async_undo_edit, edit_rows, edits_by_speaker
from .base import HomeAgentTool, PartlyFailed, TargetsFailed, ToolOutput, ToolRun
from .briefing import async_briefing, outside_texts
from .causes import async_why
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
from .control.telling import tell_names, tell_undone
from .everyday.timer_tool import (
    MAX_LISTED as MAX_PLANNED,
    are_entities,
    entities_of,
    given_by,
    is_unasked,
    outside_rows,
    planned_row,
    planned_rows,
    told_timer,
)
from .ha_control import async_prepare_names, entity_locks
from .ha_query import async_found, find_all
from .naming import LEARN_NAME
from .query.present import differences
from .recipients import is_message
from .remembering import MemoryTool
from .resolving.resolver import Target, mention
from .results import ToldAct

BRIEFING: Final = "briefing"
"""The action that tells what somebody should know of today."""
MOVING: Final = "todo."
"""Entities that depend on each other: all of a turn are restored, or none."""
LATE: Final = timedelta(seconds=10)
"""How long after a call a device may report what the call did."""


class Undoable(NamedTuple):
    """What one turn did to one entity."""

    before: EarlierState
    after: EarlierState
    actions: tuple[RecordedAction, ...]
    """The calls, the newest first."""


def last_changing_turn(actions: Iterable[RecordedAction], hass: HomeAssistant) -> str | None:
    """Return the last turn with changes that was not undone yet; None if there is none.

    A call that found all so already changed nothing.
    """
    for action in actions:
        targets = _targets(action)
        if any(_changed(action, one, hass) for one in targets) or (not targets and _counts(action)):
            return action.turn_id
    return None


def _targets(action: RecordedAction, entity_id: str | None = None) -> tuple[str, ...]:
    """Return the entities that an undo restores, of all or for one entity of a call.

    For a scene that is what it holds, if that is known. Messages and announcements cannot be undone.
    """
    if is_message(action.domain, action.service):
        return ()
    targets = tuple(one for one in action.entity_ids if _is_held(action, one)) or action.entity_ids
    if entity_id is None or entity_id not in action.entity_ids:
        return targets if entity_id is None else ()
    return (entity_id,) if entity_id in targets else targets


def _is_held(action: RecordedAction, entity_id: str) -> bool:
    """Return whether an entity was not called itself, but is held by a scene that was."""
    return action.domain == SCENE and not entity_id.startswith(f"{SCENE}.")


def _counts(action: RecordedAction) -> bool:
    is_young = dt_util.utcnow() - action.at < timedelta(hours=24)
    return is_young and action.success and not action.undoes and not action.undone


def _changed(action: RecordedAction, entity_id: str, hass: HomeAssistant) -> bool:
    """Return whether a call changed an entity, or a scene what it holds, and may be undone."""
    targets = _targets(action, entity_id)
    if targets and targets != (entity_id,):
        return any(_changed(action, one, hass) for one in targets)
    if not _counts(action) or not targets or entity_id in action.undone_ids:
        return False
    if not _is_held(action, entity_id) and expectation_of(action.domain, action.service) is None:
        return True
    before, now = action.before.get(entity_id), hass.states.get(entity_id)
    return before != action.after.get(entity_id) or (now is not None and before != EarlierState.of(now))


def _changed_ids(actions: Iterable[RecordedAction], hass: HomeAssistant) -> frozenset[str]:
    """Return the entities that calls have changed and no undo has restored yet."""
    return frozenset(one for action in actions for one in action.entity_ids if _changed(action, one, hass))


def _changes_of(actions: Iterable[RecordedAction], turn_id: str) -> dict[str, Undoable]:
    """Return what a turn changed by entity, from before its first call to after its last one."""
    changes: dict[str, Undoable] = {}
    own = [action for action in actions if action.turn_id == turn_id and _counts(action)]
    for action in reversed(own):
        for entity_id in _targets(action):
            before, after = action.before.get(entity_id), action.after.get(entity_id)
            if before is not None and after is not None and entity_id not in action.undone_ids:
                first = changes.get(entity_id)
                earlier = first.actions if first else ()
                changes[entity_id] = Undoable(first.before if first else before, after, (action, *earlier))
    return changes


async def _async_undo(changes: Mapping[str, Undoable], run: ToolRun, *, whole: bool) -> JsonValueType:
    """Restore what changes have changed; `whole` if they are all of their turn.

    Raises PartlyFailed or TargetsFailed for what stays.
    """
    run = run._replace(speaker=replace(run.speaker, undoes=True))
    async with entity_locks(run.hass, list(changes)):
        outcome = ControlOutcome(run.house)
        plans, now = _plans(changes, run, outcome)
        if plans:
            await async_carry_out(plans, now, "restore", run, outcome)
    restored: dict[str, JsonValueType] = {**outcome.done, **outcome.unchanged}
    if restored:
        undone: dict[str, set[str]] = {}
        for entity_id, change in changes.items():
            if whole or entity_id in restored:
                undone.setdefault(change.actions[0].turn_id, set()).add(entity_id)
        for turn_id, entity_ids in undone.items():
            run.guard.journal.mark_undone(turn_id, None if whole else entity_ids)
    if not outcome.failed:
        return {"restored": restored}
    failed: dict[str, JsonValueType] = {**outcome.failed}
    if restored:
        raise PartlyFailed(outcome.error(), {"restored": restored, "failed": failed})
    raise TargetsFailed(outcome.error(), {"failed": failed})


def _plans(
    changes: Mapping[str, Undoable], run: ToolRun, outcome: ControlOutcome
) -> tuple[dict[str, Plan], dict[str, State]]:
    """Return the plan for each entity with its current state; unchanged ones go to the outcome."""
    plans: dict[str, Plan] = {}
    states: dict[str, State] = {}
    for entity_id, change in changes.items():
        now, last = run.hass.states.get(entity_id), change.actions[0]
        of_scene = _is_held(last, entity_id)
        if of_scene and now is not None and change.before == change.after == EarlierState.of(now):
            continue
        if now is None or not run.reader.sees(entity_id):
            if of_scene:
                outcome.fail(last.entity_ids[0], "changed devices too that are not exposed; these stay so")
            else:
                outcome.fail(entity_id, NOT_EXPOSED)
            continue
        if now.state == STATE_UNAVAILABLE:
            outcome.fail(entity_id, OFFLINE)
            continue
        is_of_call = of_scene or now.context.id == last.context_id
        late = is_of_call and now.last_updated - last.at < LATE
        try:
            made = taking_back(now.domain, change.actions)
            made = made or restoring(change.before, change.after, now, late=late)
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


async def _async_set_again(made: Cancellation, planned: Scheduler, run: ToolRun) -> JsonValueType:
    """Set again what was cancelled, and return it by name.

    Nothing that needed a confirmation, which was for a plan that no longer exists; nothing after its time,
    and no end of a command for a while, as there may be a newer one.
    """
    made.undone = True
    again = [
        item
        for item in made.items
        if item.approved is None and item.due > dt_util.utcnow() and not item.restores
    ]
    rest = [item for item in made.items if item not in again]
    for item in again:
        await planned.async_add(item)
    rows: dict[str, JsonValueType] = {}
    for key, items in (("set_again", again), ("stays_cancelled", rest)):
        told = [told_timer(item) if item.is_timer else planned_row(item, run) for item in items]
        if any(told):
            rows[key] = [row for row in told if row]
    if not again:
        raise ValidationError(
            f"The last request cancelled {json_dumps(rows.get('stays_cancelled', 'something'))[:200]}. That "
            "cannot be undone: its time has passed, or it needs a confirmation. Nothing was undone; say so"
        )
    return rows


MAX_LISTED: Final = 10
MAX_NAMED: Final = 6
HERE_FOR: Final = timedelta(minutes=30)
"""How long what a person has typed in one conversation belongs to what they type in another one."""


def own_actions(journal: Journal, speaker: Speaker) -> Sequence[RecordedAction]:
    """Return the actions of this conversation, and those for this person or at this device in others."""
    whose = speaker.conversation_id, speaker.context.user_id, speaker.device_id
    return journal.of_speaker(*whose) if any(whose) else []


def is_here(speaker: Speaker, owner: RecordedAction | AutomationEdit | Giver, at: datetime) -> bool:
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
    description = "List your last actions, undo the last request or only its entity_id."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)

    def __init__(
        self,
        actions: Callable[[Journal, Speaker], Sequence[RecordedAction]] = own_actions,
        planned: Scheduler | None = None,
        automations: OwnAutomations | None = None,
    ) -> None:
        self._actions = actions
        self._is_spoken = actions is own_actions
        self._planned = planned
        self._automations = automations
        offered = {
            probatio.Required("action"): probatio.In(["list", "undo", BRIEFING]),
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
        return self._offered

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        return args.get("action") != "undo"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        if not isinstance(result, dict):
            return
        yield from outside_rows(result.get("cancelled"))
        yield from outside_texts(result)
        rows = result.get("newest_first")
        for row in rows if isinstance(rows, list) else ():
            changes = row.get("to") if isinstance(row, dict) else None
            for entity_id, change in changes.items() if isinstance(changes, dict) else ():
                for name, text in change.items() if isinstance(change, dict) else ():
                    if [*texts_in(hass, entity_id, {name: str(text).split(" -> ")})]:
                        yield str(text)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        if not isinstance(result, Mapping):
            return ()
        if isinstance(restored := result.get("restored"), Mapping):
            return tell_undone(restored, run)
        cancelled = result.get("cancelled")
        return tell_names("plan_cancelled", entities_of(cancelled), run) if are_entities(cancelled) else ()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ToolOutput:
        if args["action"] == BRIEFING:
            return await async_briefing(run, self._planned) or "Nothing is known of today."
        actions = self._actions(run.guard.journal, run.speaker)
        target = Target.from_args(args)
        if args["action"] == "undo":
            # What this turn has done itself is not what the person wants undone.
            actions = [one for one in actions if one.turn_id != run.speaker.turn_id]
            here = actions
            if self._is_spoken:
                here = [one for one in actions if is_here(run.speaker, one, one.at)]
            plans = [
                item
                for item in (self._planned.seen_by(run.speaker) if self._planned is not None else ())
                if not item.restores
                and not item.is_timer
                and item.owner.turn_id != run.speaker.turn_id
                and given_by(item.owner, run)
                and is_here(run.speaker, item.owner, item.created)
            ]
            if target.is_empty:
                return await self._async_undo_last(here, plans, run)
            return await self._async_undo_named(target, here, plans, run, actions)
        rows: list[JsonValueType] = [row for action in actions if (row := _row(action, run))]
        result: dict[str, JsonValueType] = {"newest_first": rows[:MAX_LISTED]}
        seen = self._planned.seen_by(run.speaker) if self._planned is not None else ()
        if planned := planned_rows([item for item in seen if not item.is_timer][:MAX_PLANNED], run):
            result["planned"] = planned
        if not target.is_empty:
            records = await async_found(target, run, everything=False)
            result["why"] = (await async_why(run, records, {}, None))["why"]
        if automations := edit_rows(self._automations, run):
            result["automations"] = automations
        return result if any(result.values()) else "Nothing was done here lately."

    async def _async_undo_last(
        self,
        actions: Sequence[RecordedAction],
        plans: Sequence[PlannedItem],
        run: ToolRun,
    ) -> JsonValueType:
        """Undo the last thing done here: changes, a plan, a cancellation, or an edit of an automation."""
        undos: list[tuple[datetime, Callable[[], Awaitable[JsonValueType]]]] = []
        own, planned = self._automations, self._planned
        edits = edits_by_speaker(own, run)
        change = next((edit for edit in edits if edit.turn_id != run.speaker.turn_id), None)
        if own is not None and change is not None and is_here(run.speaker, change, change.at):
            undos.append((change.at, partial(async_undo_edit, change, own, run)))
        if (turn_id := last_changing_turn(actions, run.hass)) is not None:
            last = next(action.at for action in actions if action.turn_id == turn_id)
            undos.append((last, partial(self._async_undo_turn, actions, turn_id, run)))
        if newest := max(plans, default=None, key=lambda item: item.created):
            same_turn = [item for item in plans if item.owner.turn_id == newest.owner.turn_id]
            undos.append((newest.created, partial(self._async_cancel, same_turn, run)))
        for made in reversed(planned.cancelled if planned is not None and self._is_spoken else ()):
            is_earlier = not made.undone and made.owner.turn_id != run.speaker.turn_id
            if planned is not None and is_earlier and given_by(made.owner, run):
                if is_here(run.speaker, made.owner, made.at):
                    undos.append((made.at, partial(_async_set_again, made, planned, run)))
                break
        if undos:
            _, undo = max(undos, key=lambda pair: pair[0])
            return await undo()
        raise ValidationError("There is nothing to put back: nothing was changed here lately. Say so")

    async def _async_undo_turn(
        self, actions: Sequence[RecordedAction], turn_id: str, run: ToolRun
    ) -> JsonValueType:
        try:
            if changes := _changes_of(actions, turn_id):
                return await _async_undo(changes, run, whole=True)
            own = [action for action in actions if action.turn_id == turn_id and _counts(action)]
            memory = run.calls.tools.get(MemoryTool.name)
            learned = [action.data["memory"] for action in own if action.service == LEARN_NAME]
            if learned and isinstance(memory, MemoryTool):
                await memory.async_forget(learned[0], run)
                run.guard.journal.mark_undone(turn_id)
                return {"forgotten": "the name that was learned"}
            calls = dict.fromkeys(f"{action.domain}.{action.service}" for action in own)
            raise ValidationError(
                f"Cannot be undone: {', '.join(calls)}. Nothing records what was so before; say so"
            )
        finally:
            if self._planned is not None:
                self._planned.drop_of_turn(turn_id)

    async def _async_undo_named(
        self,
        target: Target,
        here: Sequence[RecordedAction],
        plans: Sequence[PlannedItem],
        run: ToolRun,
        all_actions: Sequence[RecordedAction],
    ) -> JsonValueType:
        """Undo the newest change of what a target names, or cancel what is planned for it.

        What the person changed elsewhere is undone only if the sentence names it.
        """
        hass, house = run.hass, run.house
        changed = _changed_ids(here, hass)
        undoable = changed.union(*(item.entity_ids for item in plans))
        elsewhere = _changed_ids(all_actions, hass) - undoable
        await async_prepare_names(hass, house)
        records = find_all(house, target, speaker=run.speaker, sentence=run.sentence)
        wanted = frozenset(record.entity_id for record in records)
        if not wanted & undoable and wanted & elsewhere:
            named = mention(hass, house, run.sentence, run.speaker.language)
            wanted = frozenset(record.entity_id for record in records if named.fit(record)) & elsewhere
            here, undoable = all_actions, elsewhere
        wanted &= undoable
        if not wanted:
            done = [f"{house.entities[one].name} ({one})" for one in sorted(changed) if one in house.entities]
            raise ValidationError(
                f"{', '.join([record.name for record in records][:MAX_NAMED])}: not changed here by you, so "
                f"that nothing was undone. Changed here: {', '.join(done[:MAX_NAMED]) or 'nothing'}"
            )
        changes: dict[str, Undoable] = {}
        for entity_id in sorted(wanted):
            if (action := next((one for one in here if _changed(one, entity_id, hass)), None)) is not None:
                together, targets = _changes_of(here, action.turn_id), _targets(action, entity_id)
                if entity_id.startswith(MOVING):
                    targets = tuple(one for one in together if one.startswith(MOVING))
                changes |= {one: together[one] for one in targets if one in together}
        last = max((change.actions[0].at for change in changes.values()), default=None)
        later = [
            item
            for item in plans
            if not wanted.isdisjoint(item.entity_ids) and (last is None or item.created > last)
        ]
        if later:
            if others := {one for item in later for one in item.entity_ids} - wanted:
                raise ValidationError(
                    f"What is planned is planned for {', '.join(sorted(others)[:MAX_NAMED])} too: "
                    "undo all of it, and plan the rest again"
                )
            return await self._async_cancel(later, run, sorted(wanted))
        try:
            return await _async_undo(changes, run, whole=False)
        finally:
            if self._planned is not None:
                self._planned.take_held(changes)

    async def _async_cancel(
        self, items: Sequence[PlannedItem], run: ToolRun, named: Sequence[str] = ()
    ) -> JsonValueType:
        """Cancel planned commands, and return them; `named` are the entities of a call that names some."""
        if is_unasked(items, run):
            run.ask_first(self, {"action": "undo", **({"entity_id": list(named)} if named else {})})
        if self._planned is not None:
            await self._planned.async_cancel([item.id for item in items])
        return {"cancelled": planned_rows(items, run)}


def _row(action: RecordedAction, run: ToolRun) -> dict[str, JsonValueType] | None:
    """Return a call as the model reads it, its changes by entity; None if it may see none of the entities."""
    shown = [
        entity_id
        for entity_id in action.entity_ids
        if run.reader.sees(entity_id)
        and not (_is_held(action, entity_id) and action.before.get(entity_id) == action.after.get(entity_id))
    ]
    if not shown:
        return None
    changes: dict[str, JsonValueType] = {}
    for entity_id in shown[:MAX_NAMED]:
        before, after = action.before.get(entity_id), action.after.get(entity_id)
        if before is None or after is None:
            changes[entity_id] = "unknown"
            continue
        state = before.state if before.state == after.state else f"{before.state} -> {after.state}"
        changes[entity_id] = {STATE: state, **dict(differences(before.attributes, after.attributes))}
    row: dict[str, JsonValueType] = {
        "at": format_local(action.at),
        "did": f"{action.domain}.{action.service}",
        "to": changes,
    }
    if len(shown) > MAX_NAMED:
        row["more"] = len(shown) - MAX_NAMED
    if not action.success:
        row["failed"] = action.error or "failed"
    if action.undone:
        row["undone"] = True
    if action.planned is not None:
        row["planned_for"] = format_local(action.planned)
    return row
