"""Commands for later: their times read, judged when they are given, and kept until they are due."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any, Final, NamedTuple

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ...domains import DOMAINS, opens
from ...errors import ConfirmationNeeded, HomeAgentError, PermissionDenied, ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.speaker import Speaker, async_is_member
from ...planned.events import Clause, async_holds, is_so
from ...planned.records import (
    RESTORE,
    Giver,
    Held,
    PlannedItem,
    Schedule,
    read_schedule,
    schedule_of,
    told_clause,
)
from ...planned.scheduler import MAX_COMMANDS, Scheduler
from ...safety.frozen import FrozenPlan, frozen_call
from ...safety.journal import EarlierState
from ...safety.redaction import is_secret
from ...timespans import format_span
from ...when import NEVER, read, read_days
from ..base import ToolRun
from ..everyday.choosing import user_of
from ..pending import freeze, registry_ids
from .arguments import TIME_SLOTS, is_about_time
from .asked import EVENT_FORMS, EVERY_TIME, FOR_FORMS, NEXT_TIME, WHEN_FORMS, is_planted
from .planning import ControlOutcome, Plan, async_carry_out, calls_of
from .restoring import only_safe
from .scripts import SCRIPT

MAX_AHEAD: Final = timedelta(days=366)
MIN_HOLD: Final = timedelta(seconds=1)
AT_ONCE: Final = frozenset({"", "0", "now", "right now", "immediately", "at once", "none", "null"})


WHEN, FOR, REPEAT, IF = TIME_SLOTS


class Timing(NamedTuple):
    """When a command runs, and for how long it holds."""

    schedule: Schedule | None
    """None for now."""
    hold: timedelta = timedelta()
    """After this time the states from before are restored; zero if they are not."""


async def async_read_schedule(
    args: Mapping[str, Any],
    run: ToolRun,
    *,
    accepted: str = WHEN_FORMS,
    years: int = 1,
    clock: time | None = None,
) -> Schedule | None:
    """Return when something is due by `when`, `repeat` and `if` of a call; None for now, if that holds.

    Raises ValidationError that names the slot and what is accepted, PermissionDenied for what the speaker may
    not know.
    """
    language = run.speaker.language
    when, repeat, only = (str(args.get(slot) or "").strip() for slot in (WHEN, REPEAT, IF))
    when = "" if when.casefold() in AT_ONCE else when
    days = read_days(repeat, language) if repeat else None
    event, conditions = None, list[Clause]()
    if only or (when and read(when, language) is None):
        if days is not None:
            raise ValidationError(EVERY_TIME)
        if run.read_once is None:
            raise ValidationError("when, if: only a time is available here")
        when, event, conditions = await run.read_once({**args, WHEN: when}, run)
    schedule = event
    if when:
        schedule = read_schedule(run.hass, when, days, language, accepted=accepted, years=years, clock=clock)
    elif days is not None:
        raise ValidationError(f"when: say at which time it is repeated, such as {WHEN_FORMS}")
    if schedule is not None:
        return replace(schedule, conditions=tuple(conditions)) if conditions else schedule
    for clause in conditions:
        if not await async_holds(run.hass, clause):
            raise ValidationError(
                f"if: it is not so that {told_clause(clause)}, so nothing was done. To wait until it is so, "
                f"give it as when: {EVENT_FORMS}"
            )
    return None


async def async_read_timing(args: Mapping[str, Any], run: ToolRun) -> Timing | None:
    """Return the timing of arguments; None for a command for now.

    Raises ValidationError that names the slot and what is accepted, PermissionDenied.
    """
    language = run.speaker.language
    schedule = await async_read_schedule(args, run)
    hold = str(args.get(FOR) or "").strip()
    if hold.casefold() in NEVER:
        return Timing(schedule) if schedule else None
    waits = schedule is not None and schedule.event is not None
    begins = schedule.due if schedule and not waits else dt_util.utcnow()
    value = read(hold, language, until=True)
    if isinstance(value, datetime) and value <= begins:
        value = read(hold, language, begins, until=True)
    if waits and not isinstance(value, timedelta):
        value = None
    ends = None if value is None else schedule_of(run.hass, value, begins)
    if ends is None or ends.due - begins < MIN_HOLD:
        forms = "5 minutes" if waits else FOR_FORMS
        raise ValidationError(f"for: {hold[:40]!r} is not understood; give {forms}")
    if ends.due - begins > MAX_AHEAD:
        raise ValidationError("for: at most a year")
    return Timing(schedule, ends.due - begins)


def refuse_times(given: Mapping[str, Any], records: Sequence[EntityRecord]) -> None:
    """Raise ValidationError for a time among the values, unless all targets take it, as timers do."""
    domains = {record.domain for record in records}
    for key in given:
        is_value = SCRIPT in domains or (
            domains and all(DOMAINS[domain].parameter_of(key) is not None for domain in domains)
        )
        if is_about_time(key) and not is_value:
            raise ValidationError(
                f"{key[:40]}: is not known, so nothing was done. For later give when, such as {WHEN_FORMS}; "
                f"for a while give for, such as {FOR_FORMS}"
            )


NO_CODES: Final = "A code is not stored, so this cannot be planned; the person has to ask for it at that time"


def _told(verb: str, given: Mapping[str, Any], run: ToolRun) -> str:
    """Return an action in words, with names for the ids among its values."""
    parts = []
    for key, value in given.items():
        names = []
        for each in value if isinstance(value, list) else [value]:
            record = run.house.areas.get(str(each)) or run.house.entities.get(str(each))
            names.append(record.name if record else str(each))
        parts.append(f"{'to' if isinstance(value, list) else key} {', '.join(names)}")
    action = verb.replace("_", " ")
    return f"{action} ({', '.join(parts)})" if parts else action


async def async_act_later(
    planned: Scheduler,
    verb: str,
    given: Mapping[str, Any],
    plans: dict[str, Plan],
    before: Mapping[str, State],
    timing: Timing,
    run: ToolRun,
    outcome: ControlOutcome,
) -> None:
    """Plan a command, or carry it out and plan its end. What a person has to confirm waits.

    What is planned is judged for the time at which it is due, and again at that time.

    Raises ValidationError for what cannot be planned at all.
    """
    if any(is_secret(name) for name in given):
        raise ValidationError(NO_CODES)
    if planned.full:
        raise ValidationError(f"{MAX_COMMANDS} commands are planned already; cancel some first")
    for entity_id in list(plans) if timing.hold else ():
        state, facts, problem = before[entity_id], DOMAINS[before[entity_id].domain], ""
        if facts.restore is None and facts.safe_action is None:
            problem = "cannot be put back, so for does not fit"
        elif only_safe(facts, state) and opens(run.meanings.get(state.domain, verb), given) is not True:
            problem = "is never opened without a request, so it cannot be closed for a while"
        if problem:
            outcome.fail(entity_id, ValidationError(problem))
            del plans[entity_id]
    schedule = timing.schedule
    watched = schedule.watched if schedule else []
    command = PlannedItem(
        verb=verb,
        entity_ids=tuple(plans),
        given=dict(given),
        told=_told(verb, given, run),
        schedule=schedule or Schedule(due=dt_util.utcnow()),
        hold=timing.hold.total_seconds(),
        registered=registry_ids(run.hass, (*plans, *watched)),
        owner=Giver.of(run.speaker, user_of(run)),
    )
    speaker = judged_for(schedule, run)
    free: list[str] = []
    for entity_id, made in plans.items():
        calls = calls_of(made, entity_id)
        try:
            waiting = await run.guard.async_foresee(calls, speaker)
        except PermissionDenied as err:
            run.calls.denied[entity_id] = err
            outcome.fail(entity_id, f"was refused: {err}")
            continue
        named = [entity_id, *watched]
        if waiting is None and schedule and is_planted(run, named, repeats=bool(schedule.days)):
            waiting = tuple(frozen_call(call, after_outside=True) for call in calls)
        if waiting is None:
            free.append(entity_id)
        else:
            own = replace(command, entity_ids=(entity_id,), approved=waiting)
            outcome.fail(entity_id, _let_wait(planned, own, timing, run))
    if not free:
        return
    if schedule is not None:
        for note in await async_waits_again(schedule, run):
            outcome.note(note)
        await _async_plan(planned, replace(command, entity_ids=tuple(free)), outcome)
        return
    await async_carry_out({entity_id: plans[entity_id] for entity_id in free}, before, verb, run, outcome)
    await async_hold(planned, command, before, run, outcome)


def judged_for(schedule: Schedule | None, run: ToolRun) -> Speaker:
    """Return the speaker for whom something for later is judged: of an event as if it came now."""
    if schedule is None or schedule.event is not None:
        return run.speaker
    return replace(run.speaker, due=schedule.due)


def _let_wait(planned: Scheduler, command: PlannedItem, timing: Timing, run: ToolRun) -> HomeAgentError | str:
    """Let a command wait for a person; once it is confirmed it is kept. Return why nothing was done now."""

    async def begin() -> None:
        await planned.async_add(command if timing.schedule else command.at(dt_util.utcnow()))

    item = FrozenPlan(
        calls=command.approved or (),
        **asked_when(timing.schedule),
        hold=command.hold,
        begin=begin,
    )
    try:
        return ConfirmationNeeded(freeze(run.hass, run.draft, item))
    except PermissionDenied as err:
        return err


def asked_when(schedule: Schedule | None) -> dict[str, Any]:
    """Return what a question says about the time: fields of `FrozenPlan`."""
    if schedule is None:
        return {}
    event = schedule.event.clause if schedule.event else None
    conditions = schedule.conditions
    return {"due": schedule.due, "repeats": bool(schedule.days), "event": event, "conditions": conditions}


async def async_waits_again(schedule: Schedule, run: ToolRun) -> list[str]:
    """Return what the model reads about an event that has come about before it is waited for.

    Nothing where that would tell somebody where a person is who may not know it.
    """
    if (event := schedule.event) is None:
        return []
    is_known = all(map(run.reader.sees, event.entity_ids)) or await async_is_member(run.hass, run.speaker)
    is_already = any(is_so(run.hass, event.clause, entity_id) for entity_id in event.entity_ids)
    return [NEXT_TIME] if is_already and is_known else []


async def _async_plan(planned: Scheduler, command: PlannedItem, outcome: ControlOutcome) -> None:
    """Keep a command, and say in the outcome what happens when, and what is planned that is like it."""
    if await planned.async_put(command):
        outcome.note("replaces the same command that was planned before")
    for note in planned.told_beside(command):
        outcome.note(note)
    _tell(command, outcome)


def keep(planned: Scheduler, run: ToolRun, outcome: ControlOutcome) -> None:
    """Cancel the planned end of entities that a later turn has turned on again without an end."""
    ending = (command for command in planned.all() if command.owner.turn_id != run.speaker.turn_id)
    held = {entity_id for command in ending for entity_id in command.held}
    for entity_id in sorted(planned.take_held(held & {*outcome.done, *outcome.unchanged})):
        outcome.note(f"{outcome.name_of(entity_id)} stays so: it is no longer set back later")


async def async_hold(
    planned: Scheduler,
    command: PlannedItem,
    before: Mapping[str, State],
    run: ToolRun,
    outcome: ControlOutcome,
) -> None:
    """Plan the end of a command for a while that has just run."""
    changed = [key for key in (*outcome.done, *outcome.unchanged) if key in before]
    earlier = planned.take_held(changed)
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
    await planned.async_add(ending)
    _tell(ending, outcome)


def _tell(command: PlannedItem, outcome: ControlOutcome) -> None:
    now = dt_util.utcnow()
    until = f", then back after {format_span(command.hold)}" if command.hold else ""
    outcome.planned |= {key: command.told_for(key, now) + until for key in command.entity_ids}
    outcome.plan_id = outcome.plan_id or command.id
