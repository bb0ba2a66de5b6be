"""Commands for later: judged when they are given, and kept until they are due."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from homeassistant.core import State, callback
from homeassistant.util import dt as dt_util

from ...domains import DOMAINS, opens
from ...errors import ConfirmationNeeded, PermissionDenied, ValidationError
from ...planned.commands import MAX_COMMANDS, PlannedCommands
from ...planned.records import RESTORE, Held, Owner, PlannedCommand
from ...planned.schedule import Schedule
from ...safety.frozen import FrozenCall, FrozenPlan, frozen_call
from ...safety.ledger import EarlierState
from ...safety.redaction import is_secret
from ...timespans import format_span
from ..base import ToolRun
from ..everyday.choosing import user_of
from ..vetted import registry_ids
from .asked import is_planted
from .carrying import ControlOutcome
from .planning import Plan, calls_of
from .restoring import only_safe
from .timing import Timing

MAX_ALIKE: Final = 3
"""Similar commands that a result names."""
NO_CODES: Final = "A code is not stored, so this cannot be planned; the person has to ask for it at that time"


def told(verb: str, given: Mapping[str, Any]) -> str:
    """Return an action in words."""
    values = ", ".join(f"{name} {value}" for name, value in given.items())
    return f"{verb.replace('_', ' ')} ({values})" if values else verb.replace("_", " ")


def _in_words(given: Mapping[str, Any], run: ToolRun) -> dict[str, Any]:
    areas, entities = run.house.areas, run.house.entities

    def name(value: Any) -> str:
        known = areas.get(str(value)) or entities.get(str(value))
        return known.name if known else str(value)

    return {
        ("to" if isinstance(value, list) else key): (
            ", ".join(map(name, value)) if isinstance(value, list) else value
        )
        for key, value in given.items()
    }


class Planner:
    """Plans the commands of one agent."""

    def __init__(self, planned: PlannedCommands) -> None:
        self.planned = planned

    @callback
    def check(self, timing: Timing, given: Mapping[str, Any]) -> None:
        """Raise ValidationError for what cannot be planned at all."""
        if any(is_secret(name) for name in given):
            raise ValidationError(NO_CODES)
        if (timing.schedule or timing.hold) and self.planned.full:
            raise ValidationError(f"{MAX_COMMANDS} commands are planned already; cancel some first")

    @callback
    def fit(
        self,
        plans: dict[str, Plan],
        before: Mapping[str, State],
        timing: Timing,
        verb: str,
        given: Mapping[str, Any],
        run: ToolRun,
        outcome: ControlOutcome,
    ) -> None:
        """Take out the plans whose end could not restore what was before; they go to the outcome."""
        if not timing.hold:
            return
        for entity_id in list(plans):
            state = before[entity_id]
            facts = DOMAINS[state.domain]
            meant = run.meanings.get(state.domain, verb)
            if facts.restore is None and facts.safe_action is None:
                outcome.fail(entity_id, ValidationError("cannot be put back, so for does not fit"))
            elif only_safe(facts, state) and opens(meant, given) is not True:
                outcome.fail(
                    entity_id,
                    ValidationError("is never opened without a request, so it cannot be closed for a while"),
                )
            else:
                continue
            del plans[entity_id]

    async def async_judge(
        self, plans: Mapping[str, Plan], timing: Timing, run: ToolRun, outcome: ControlOutcome
    ) -> tuple[list[str], dict[str, tuple[FrozenCall, ...]]]:
        """Return the entities whose calls are free, and those whose calls a person has to confirm.

        What is planned is judged for the time at which it is due, and again at that time.
        """
        speaker = replace(run.speaker, due=timing.schedule.due) if timing.schedule else run.speaker
        free: list[str] = []
        waiting: dict[str, tuple[FrozenCall, ...]] = {}
        for entity_id, made in plans.items():
            try:
                frozen = await run.guard.async_foresee(calls_of(made, entity_id), speaker)
            except PermissionDenied as err:
                run.calls.denied[entity_id] = err
                outcome.fail(entity_id, f"was refused: {err}")
                continue
            schedule = timing.schedule
            if frozen is None and schedule and is_planted(run, [entity_id], repeats=bool(schedule.days)):
                frozen = tuple(
                    frozen_call(call.domain, call.service, call.entity_ids, call.data)
                    for call in calls_of(made, entity_id)
                )
            if frozen is None:
                free.append(entity_id)
            else:
                waiting[entity_id] = frozen
        return free, waiting

    async def async_plan(
        self, command: PlannedCommand, entity_ids: Sequence[str], outcome: ControlOutcome
    ) -> None:
        """Keep a command for some of its entities, and say in the outcome what happens when."""
        if not entity_ids:
            return
        command = replace(command, entity_ids=tuple(entity_ids))
        if same := [one.id for one in self.planned.all() if one.is_same(command)]:
            await self.planned.async_cancel(same)
            outcome.note("replaces the same command that was planned before")
        for other in self._alike(command):
            outcome.note(
                f"also planned: {other.told} {other.schedule.told(dt_util.utcnow())}, id {other.id}; "
                "cancel it if this one replaces it"
            )
        await self.planned.async_add(command)
        self._tell(command, outcome)

    def _alike(self, command: PlannedCommand) -> list[PlannedCommand]:
        """Return commands that plan the same for some of the same entities and that the speaker may know."""
        return [
            other
            for other in self.planned.all()
            if not other.restores
            and other.verb == command.verb
            and set(other.entity_ids) & set(command.entity_ids)
            and other.owner.user_id in (None, command.owner.user_id)
        ][:MAX_ALIKE]

    @callback
    def keep(self, verb: str, run: ToolRun, outcome: ControlOutcome) -> None:
        """Restore no more what is to stay on: it was turned on again without an end, in a later turn."""
        if verb != "turn_on":
            return
        on = {*outcome.done, *outcome.unchanged}
        ending = (one for one in self.planned.all() if one.owner.turn_id != run.speaker.turn_id)
        kept = on.intersection(entity_id for one in ending for entity_id in one.held)
        for entity_id in sorted(self.planned.take_held(kept)):
            outcome.note(f"{outcome.name_of(entity_id)} stays so: it is no longer set back later")

    @staticmethod
    def _tell(command: PlannedCommand, outcome: ControlOutcome) -> None:
        now = dt_util.utcnow()
        until = f", then back after {format_span(command.hold)}" if command.hold else ""
        outcome.planned |= {key: command.told_for(key, now) + until for key in command.entity_ids}
        outcome.plan_id = outcome.plan_id or command.id

    def ask(
        self,
        command: PlannedCommand,
        waiting: Mapping[str, tuple[FrozenCall, ...]],
        timing: Timing,
        run: ToolRun,
        outcome: ControlOutcome,
    ) -> None:
        """Let what a person has to confirm wait; once it is confirmed the command is kept."""
        for entity_id, calls in waiting.items():
            own = replace(command, entity_ids=(entity_id,), approved=calls)

            async def begin(own: PlannedCommand = own) -> None:
                if timing.schedule is None:
                    own = own.at(dt_util.utcnow())
                await self.planned.async_add(own)

            item = FrozenPlan(
                calls=calls,
                due=timing.schedule.due if timing.schedule else None,
                repeats=bool(timing.schedule and timing.schedule.days),
                hold=command.hold,
                begin=begin,
            )
            if run.draft is None:
                outcome.fail(entity_id, "was refused: it needs a person's confirmation")
                continue
            try:
                outcome.fail(entity_id, ConfirmationNeeded(run.guard.let_wait(item, run.draft)))
            except PermissionDenied as err:
                outcome.fail(entity_id, err)

    async def async_hold(
        self,
        command: PlannedCommand,
        before: Mapping[str, State],
        run: ToolRun,
        outcome: ControlOutcome,
    ) -> None:
        """Plan the end of a command for a while that has just run."""
        changed = [key for key in (*outcome.done, *outcome.unchanged) if key in before]
        earlier = self.planned.take_held(changed)
        held: dict[str, Held] = {}
        for entity_id in changed:
            state = run.hass.states.get(entity_id)
            if state is None or (entity_id in outcome.unchanged and entity_id not in earlier):
                continue
            first = earlier[entity_id].before if entity_id in earlier else EarlierState.of(before[entity_id])
            held[entity_id] = Held(first, EarlierState.of(state))
        if not held:
            return
        due = dt_util.utcnow() + timedelta(seconds=command.hold)
        ending = replace(
            command,
            verb=RESTORE,
            entity_ids=tuple(held),
            given={},
            hold=0,
            held=held,
            ends=due,
            schedule=Schedule(due=due),
            owner=replace(command.owner, turn_id=run.speaker.turn_id),
        )
        await self.planned.async_add(ending)
        self._tell(ending, outcome)


def command_of(
    verb: str, given: Mapping[str, Any], plans: Mapping[str, Plan], timing: Timing, run: ToolRun
) -> PlannedCommand:
    """Return the command that a call gives."""
    return PlannedCommand(
        verb=verb,
        entity_ids=tuple(plans),
        given=dict(given),
        told=told(verb, _in_words(given, run)),
        schedule=timing.schedule or Schedule(due=dt_util.utcnow()),
        hold=timing.hold.total_seconds(),
        registered=registry_ids(run.hass, plans),
        owner=Owner.of(run.speaker, user_of(run)),
    )
