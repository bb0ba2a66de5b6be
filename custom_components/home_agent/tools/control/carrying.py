"""Plans carried out: calls through the guard, alike ones in one, and what each entity shows afterwards."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
import json
from typing import Final, cast

from homeassistant.const import ATTR_ASSUMED_STATE
from homeassistant.core import State
from homeassistant.util.json import JsonValueType

from ...context.kind_lines import describe_state
from ...domains import DOMAINS, opens
from ...domains.base import STATE
from ...errors import (
    ConfirmationNeeded,
    HomeAgentError,
    PermissionDenied,
    ToolExecutionError,
    ValidationError,
)
from ...knowledge.house import HouseSnapshot
from ...safety.ledger import EarlierState
from ..base import PartlyFailed, ServiceCall, TargetsFailed, ToolRun
from ..resolving.resolver import listed
from ..results import ControlResult
from .places import room_names
from .planning import Plan, Settling, calls_of
from .restoring import same, value_of

WIDE_OPEN: Final = 100
UNTOLD: Final = frozenset({"code"})
"""Parameters that change nothing of what an entity shows afterwards."""


async def async_needless(
    plans: Mapping[str, Plan], before: Mapping[str, State], verb: str, already: Iterable[str], run: ToolRun
) -> list[str]:
    """Return the entities that a person would have to confirm a change of that is already there."""
    found = []
    for entity_id in sorted(already):
        made = plans[entity_id]
        if not _is_there(made, before[entity_id], run.meanings.get(made.domain, verb)):
            continue
        with suppress(PermissionDenied):
            if await run.guard.async_foresee(calls_of(made, entity_id), run.speaker) is not None:
                found.append(entity_id)
    return found


def _is_there(made: Plan, state: State, verb: str) -> bool:
    """Return whether a state that is as expected leaves nothing to do for an action.

    Not where the state is only assumed, where a value is set that the state does not show, or where a door
    is open but not all the way.
    """
    action = DOMAINS[made.domain].actions.get(verb)
    if (action is not None and action.is_momentary) or state.attributes.get(ATTR_ASSUMED_STATE):
        return False
    given = {name for call in made.calls for name in call.data} - UNTOLD
    if given and not made.expectation.attributes:
        return False
    is_opened = any(opens(call.service, call.data) for call in made.calls)
    position = state.attributes.get("current_position")
    return not (is_opened and isinstance(position, int | float) and position < WIDE_OPEN)


MAX_ERROR: Final = 500
MAX_NAMED: Final = 4
"""Targets that an error names with their reasons."""
NOT_EXPOSED: Final = "does not exist or is not exposed"
OFFLINE: Final = "is unavailable (offline)"


@dataclass(slots=True)
class ControlOutcome:
    """What became of one call."""

    house: HouseSnapshot
    done: dict[str, str] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)
    """What happens later and when."""
    plan_id: str = ""
    notes: list[str] = field(default_factory=list)
    misfits: set[str] = field(default_factory=set)
    """Targets that the call does not fit, so that another call may help."""

    def fail(self, entity_id: str, reason: HomeAgentError | str) -> None:
        """Note why nothing became of one target."""
        self.failed[entity_id] = str(reason)
        if isinstance(reason, ValidationError):
            self.misfits.add(entity_id)

    def note(self, text: str) -> None:
        """Add a sentence once."""
        if text not in self.notes:
            self.notes.append(text)

    def shown(self, state: State) -> str:
        """Return what an entity shows, in words."""
        return describe_state(state, self.house.entities.get(state.entity_id))

    def show(self, before: State, after: State) -> None:
        """Note what a target shows, and whether anything of it changed."""
        part = self.unchanged if is_unchanged(before, after) else self.done
        part[after.entity_id] = self.shown(after)

    def content(self) -> ControlResult:
        """Return what the model reads."""
        parts = {
            "done": self.done,
            "unchanged": self.unchanged,
            "failed": self.failed,
            "planned": self.planned,
            "id": self.plan_id,
            "notes": self.notes,
        }
        return cast("ControlResult", {key: value for key, value in parts.items() if value})

    def result(self) -> JsonValueType:
        """Return what was done.

        Raises PartlyFailed or TargetsFailed with it if something failed, and ValidationError if the call fits
        no target.
        """
        content = cast("dict[str, JsonValueType]", self.content())
        if not self.failed:
            return content
        if self.done or self.unchanged or self.planned:
            raise PartlyFailed(self.error(), content)
        if self.misfits.issuperset(self.failed):
            raise ValidationError(self.error())
        raise TargetsFailed(self.error(), content)

    def error(self) -> str:
        """Return a sentence with the targets that failed."""
        told = [
            f"{self.name_of(entity_id)} {reason}"
            for entity_id, reason in list(self.failed.items())[:MAX_NAMED]
        ]
        if (more := len(self.failed) - len(told)) > 0:
            told.append(f"and {more} more failed")
        return "; ".join(told)[:MAX_ERROR]

    def name_of(self, entity_id: str) -> str:
        """Return the name of a target, or its id if it may not be known."""
        record = self.house.entities.get(entity_id)
        is_hidden = record is None or self.failed.get(entity_id) == NOT_EXPOSED
        return entity_id if is_hidden or record is None else record.name


def is_unchanged(before: State, after: State) -> bool:
    """Return whether an entity shows nothing else than before, as far as a call may change it."""
    one, other = EarlierState.of(before), EarlierState.of(after)
    names = {STATE, *one.attributes, *other.attributes}
    return all(same(name, value_of(one, name), value_of(other, name)) for name in names)


MAX_NAMES: Final = 200
"""Characters of the names of a group."""


async def async_carry_out(
    plans: Mapping[str, Plan], before: Mapping[str, State], verb: str, run: ToolRun, outcome: ControlOutcome
) -> None:
    """Make the calls of plans, wait for what they should show, and report it in the outcome."""
    already = _already(plans, before, verb, run)
    if needless := await async_needless(plans, before, verb, already, run):
        outcome.unchanged |= {entity_id: outcome.shown(before[entity_id]) for entity_id in needless}
        plans = {entity_id: made for entity_id, made in plans.items() if entity_id not in needless}
    if not plans:
        return
    settling = Settling(run.hass, {entity_id: made.expectation for entity_id, made in plans.items()})
    try:
        errors = await _async_call_all(plans, already, run)
        if len(errors) < len(plans):
            await settling.async_wait()
    finally:
        settling.stop()
    for entity_id, made in plans.items():
        said = run.meanings.get(made.domain, verb)
        _report(run, made, before[entity_id], verb=said, error=errors.get(entity_id), outcome=outcome)


def _already(
    plans: Mapping[str, Plan], before: Mapping[str, State], verb: str, run: ToolRun
) -> frozenset[str]:
    return frozenset(
        entity_id
        for entity_id, made in plans.items()
        if run.meanings.get(made.domain, verb) != "toggle"
        and not made.expectation.is_empty
        and made.expectation.is_met(before[entity_id])
    )


async def _async_call_all(plans: Mapping[str, Plan], already: frozenset[str], run: ToolRun) -> dict[str, str]:
    """Make all calls, several entities in one where they are alike, and return what failed by entity."""
    errors: dict[str, str] = {}
    for index in range(max(len(made.calls) for made in plans.values())):
        alike: dict[tuple[str, str, str], ServiceCall] = {}
        wanted: dict[tuple[str, str, str], dict[str, str]] = {}
        for entity_id, made in plans.items():
            if index >= len(made.calls) or entity_id in errors:
                continue
            call = made.calls[index]
            called = call.on or entity_id
            key = (made.domain, call.service, json.dumps([call.data, call.on], sort_keys=True, default=str))
            ids = tuple(dict.fromkeys((*alike[key].entity_ids, called) if key in alike else (called,)))
            wanted.setdefault(key, {})[entity_id] = called
            alike[key] = ServiceCall(
                domain=made.domain,
                service=call.service,
                entity_ids=ids,
                data=call.data,
                already=already.intersection(ids),
            )
        results = await asyncio.gather(*(_async_call(call, run) for call in alike.values()))
        for for_whom, failed in zip(wanted.values(), results, strict=True):
            errors |= {key: failed[called] for key, called in for_whom.items() if called in failed}
    return errors


async def _async_call(call: ServiceCall, run: ToolRun) -> dict[str, str]:
    """Make one call and return what failed by entity.

    What was refused was not called, so it is tried entity by entity; what failed is never called again.
    """
    try:
        await run.call(call)
    except PermissionDenied as err:
        if len(call.entity_ids) == 1:
            run.calls.denied[call.entity_ids[0]] = err
            return {call.entity_ids[0]: f"was refused: {err}"}
        single = (
            replace(call, entity_ids=(entity_id,), already=call.already & {entity_id})
            for entity_id in call.entity_ids
        )
        return {key: text for one in single for key, text in (await _async_call(one, run)).items()}
    except (ConfirmationNeeded, ToolExecutionError) as err:
        return dict.fromkeys(call.entity_ids, str(err))
    return {}


def _report(
    run: ToolRun, made: Plan, before: State, *, verb: str, error: str | None, outcome: ControlOutcome
) -> None:
    entity_id = before.entity_id
    state = run.hass.states.get(entity_id)
    if state is None:
        outcome.fail(entity_id, "is gone")
        return
    expectation = made.expectation
    worked = expectation.is_met(state) or expectation.is_passing(state)
    was_so = expectation.is_met(before) or expectation.is_passing(before)
    for note in made.notes:
        outcome.note(f"{outcome.name_of(entity_id)} {note}")
    if not made.calls:
        outcome.unchanged[entity_id] = outcome.shown(state)
    elif error is not None and (not worked or expectation.is_empty or was_so):
        outcome.fail(entity_id, f"{error}. It is {outcome.shown(state)}")
    elif error is None and not worked:
        still = "still" if state.state == before.state else "now"
        outcome.fail(entity_id, f"was told to {verb} but is {still} {outcome.shown(state)}")
    elif error is None and (told := _told_together(run, made, entity_id, verb)):
        outcome.done[entity_id] = told
    elif expectation.is_empty and not expectation.change:
        outcome.done[entity_id] = f"{verb} done"
    else:
        outcome.show(before, state)


def _told_together(run: ToolRun, made: Plan, entity_id: str, verb: str) -> str:
    """Return where a machine was sent, or with whom a player plays: states do not tell; else nothing."""
    facts = DOMAINS[made.domain]
    data = made.calls[0].data if made.calls else {}
    if facts.rooms is not None and verb == facts.rooms.action:
        return f"sent to {room_names(run.house, data.get(str(facts.actions[verb].value)) or ())}"
    if facts.groups is not None and verb == facts.groups.join:
        ids = dict.fromkeys((made.calls[0].on or entity_id, *(data.get(facts.groups.members) or ())))
        group = (run.house.entities.get(one) for one in ids)
        names = [record.name for record in group if record and record.entity_id != entity_id]
        return f"plays together with {listed(names, MAX_NAMES)}" if names else ""
    return ""
