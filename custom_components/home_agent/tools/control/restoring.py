"""How an entity is brought back to what it showed: per domain the calls, and what must stay as it is."""

from collections.abc import Sequence

from homeassistant.core import State

from ...domains import DOMAINS
from ...domains.base import STATE, DomainFacts, FormerState
from ...domains.showing import GONE
from ...safety.journal import EarlierState, RecordedAction
from .planning import Expectation, Plan, PlannedCall, same, value_of


class CannotRestoreError(Exception):
    """An entity stays as it is; the text says why."""


class ChangedSinceError(CannotRestoreError):
    """Somebody has changed an entity since."""


def restoring(before: EarlierState, after: EarlierState, now: State, *, late: bool) -> Plan | None:
    """Return the plan that restores an entity; None if there is nothing to do.

    `late` says that what it shows now still comes from the call, only later than `after`.
    Raises CannotRestoreError if it has changed since, or is not brought back at all.
    """
    if DOMAINS[now.domain].is_gated:
        raise CannotRestoreError("cannot be undone as a whole; say what should be changed back")
    changed = frozenset(
        name
        for name in (STATE, *before.attributes, *after.attributes)
        if not same(name, value_of(before, name), value_of(after, name))
    )
    shown = EarlierState.of(now)
    if all(same(name, value_of(before, name), value_of(shown, name)) for name in changed):
        return None
    facts = DOMAINS[now.domain]
    was_moving = after.state in moving(now.domain)
    arrived = late or (was_moving and shown.state not in GONE and now.context.user_id is None)
    if not arrived and any(not same(name, value_of(after, name), value_of(shown, name)) for name in changed):
        raise ChangedSinceError(f"has changed since: it is {shown.state} now")
    if before.state in GONE and STATE in changed:
        raise CannotRestoreError("did not report its state before, so that it cannot be put back")
    passing = moving(now.domain)
    if only_safe(facts, now):
        safe = facts.actions[str(facts.safe_action)]
        if before.state not in safe.expected:
            raise CannotRestoreError("is not opened by an undo; it has to be asked for by name")
        calls, passing = [PlannedCall(str(safe.service), {})], safe.passing
    else:
        former = FormerState(now.entity_id, facts, before.state, before.attributes, changed, after.attributes)
        calls = [PlannedCall(*call) for call in facts.restore(former)] if facts.restore is not None else []
    if not calls:
        raise CannotRestoreError("cannot be put back")
    attributes = {
        name: before.attributes[name]
        for name in changed & before.attributes.keys()
        if isinstance(before.attributes[name], str | int | float) and name not in ("color_mode", "effect")
    }
    states = frozenset((before.state,)) if STATE in changed else frozenset[str]()
    if facts.is_protected and attributes:
        states = frozenset()
    elif before.state == "off":
        attributes = {}
    return Plan(now.domain, calls, Expectation(states, passing=passing, attributes=attributes))


def taking_back(domain: str, actions: Sequence[RecordedAction]) -> Plan | None:
    """Return the plan that reverts calls without a visible state, the newest first; None for other domains.

    Raises CannotRestoreError for what Home Assistant cannot take back.
    """
    take_back, calls = DOMAINS[domain].take_back, list[PlannedCall]()
    if take_back is None:
        return None
    for action in actions:
        made = take_back(action.service, action.data, {shown.state for shown in action.before.values()})
        if isinstance(made, str):
            raise CannotRestoreError(made)
        calls += [PlannedCall(*made)] if made else []
    return Plan(domain, calls, Expectation()) if calls else None


def moving(domain: str) -> frozenset[str]:
    """Return the states in which something that lets people or water through is on its way."""
    facts = DOMAINS[domain]
    actions = facts.actions.values() if facts.is_protected else ()
    return frozenset(state for action in actions for state in action.passing)


def only_safe(facts: DomainFacts, now: State) -> bool:
    """Return whether an undo may only close or lock an entity, as it leads into the home."""
    guarded = not facts.guarded_classes or now.attributes.get("device_class") in facts.guarded_classes
    return facts.safe_action is not None and guarded
