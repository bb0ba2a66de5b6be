"""Plans carried out: calls through the guard, alike ones in one, and what each entity shows afterwards."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
import json
from typing import Final

from homeassistant.core import State

from ...domains import DOMAINS
from ...errors import ConfirmationNeeded, PermissionDenied, ToolExecutionError
from ..base import ServiceCall, ToolRun
from ..resolving.resolver import listed
from .needless import async_needless
from .outcome import ControlOutcome
from .planning import Plan
from .readback import Settling
from .rooms import room_names

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
    """Return the entities that show what their plan asks for before anything is called."""
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
    """Put into the outcome what an entity shows now."""
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
