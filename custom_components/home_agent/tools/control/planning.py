"""Actions on entities: worked out for each, carried out through the guard, and what each shows afterwards."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import starmap
import json
import operator
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from homeassistant.const import ATTR_ASSUMED_STATE
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.json import JsonValueType

from ...context.kind_lines import describe_state
from ...domains import DOMAINS, opens
from ...domains.base import ANY, STATE, Action, DomainFacts, NothingToDo, Unsupported
from ...domains.features import supports
from ...errors import (
    ConfirmationNeeded,
    HomeAgentError,
    PermissionDenied,
    ToolExecutionError,
    ValidationError,
)
from ...knowledge.house import HouseSnapshot
from ...knowledge.names import word_similarity
from ...safety.firewall.own_values import offers_own, without_outside
from ...safety.frozen import MAX_THINGS, ServiceCall
from ...safety.journal import EarlierState
from ...texts import fold
from ..base import PartlyFailed, TargetsFailed, ToolRun
from ..guard import GATED_OFF
from ..resolving.resolver import listed
from ..results import ControlResult
from .arguments import STEP, normalise

SETTLE_SECONDS = 1.0
TOLERANCES: Mapping[str, float] = {
    "brightness": 3,
    "color_temp_kelvin": 150,
    "volume_level": 0.02,
    "temperature": 0.06,
    "target_temp_low": 0.06,
    "target_temp_high": 0.06,
    "current_position": 2,
    "current_tilt_position": 2,
    "humidity": 1,
}
"""How far a state may be from what was asked for, per attribute."""


class Expectation(NamedTuple):
    """What a state should show once a call has worked. Nothing given, anything will do."""

    states: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    """States on the way to it."""
    attributes: Mapping[str, Any] = MappingProxyType({})
    """Attribute, or "state", and its value."""
    change: bool = False
    """Whether any change is worth waiting for."""
    is_on_its_way: Callable[[State], bool] | None = None
    """Whether another sign than the state shows that it has begun."""
    lasts: bool = False
    """Whether it takes minutes, so that its sentence speaks of the beginning."""

    @property
    def is_empty(self) -> bool:
        """Return whether a state cannot tell if the call worked."""
        return not (self.states or self.unless or self.attributes)

    def is_met(self, state: State | None) -> bool:
        """Return whether a state is as expected."""
        if state is None or (self.states and state.state not in self.states) or state.state in self.unless:
            return False
        step = state.attributes.get("percentage_step")  # a fan takes the nearest speed that it has
        tolerances = {"percentage": max(1.0, step)} if isinstance(step, int | float) else {}
        return all(
            same(name, value_of(state, name), wanted, tolerances.get(name))
            for name, wanted in self.attributes.items()
        )

    def is_reached(self, state: State | None) -> bool:
        """Return whether a state is as expected, or on its way."""
        if state is None or self.is_met(state):
            return state is not None
        return state.state in self.passing or (self.is_on_its_way is not None and self.is_on_its_way(state))

    def is_told(self, state: State | None) -> bool:
        """Return whether the sentence about the action is true."""
        return self.is_reached(state) if self.lasts else self.is_met(state)


def value_of(shown: EarlierState | State, name: str) -> Any:
    """Return an attribute, or the state."""
    return shown.state if name == STATE else shown.attributes.get(name)


def same(name: str, one: Any, other: Any, tolerance: float | None = None) -> bool:
    """Return whether two values of an attribute are alike, give or take a rounding."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(name, *pair, 1) for pair in zip(one, other, strict=True))
    if one is None or other is None or isinstance(one, bool) or isinstance(other, bool):
        return bool(one == other)
    if isinstance(one, int | float) or isinstance(other, int | float):
        with suppress(TypeError, ValueError):
            return abs(float(one) - float(other)) <= (tolerance or TOLERANCES.get(name, 0.001))
    return bool(one == other) or fold(str(one)) == fold(str(other))


class Settling:
    """Listens to entities from before a call until they are as expected."""

    def __init__(self, hass: HomeAssistant, expectations: Mapping[str, Expectation]) -> None:
        self._hass = hass
        self._expectations = expectations
        self._before = {entity_id: hass.states.get(entity_id) for entity_id in expectations}
        self._changed = asyncio.Event()
        self.stop = async_track_state_change_event(hass, list(expectations), self._on_change)

    async def async_wait(self) -> None:
        """Return when all entities are as expected or on their way, at the latest after SETTLE_SECONDS."""

        def is_settled(entity_id: str, expectation: Expectation) -> bool:
            state = self._hass.states.get(entity_id)
            if expectation.change and state is self._before[entity_id]:
                return False
            return expectation.is_reached(state)

        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                while not all(starmap(is_settled, self._expectations.items())):
                    self._changed.clear()
                    await self._changed.wait()

    @callback
    def _on_change(self, _event: Event[EventStateChangedData]) -> None:
        self._changed.set()


MAX_LISTED: Final = 12
MIN_BEGINNING: Final = 3
"""Letters with which a word of a choice may begin."""


def fit(
    facts: DomainFacts, state: State, parameters: Mapping[str, Any], *, clamp: bool = False
) -> dict[str, Any]:
    """Return parameters as this entity takes them: one of its choices, within its bounds.

    Raises Unsupported for what it does not have, and ValidationError with the choices or the bounds.
    """
    fitted = {}
    for name, value in parameters.items():
        parameter = facts.parameters[name]
        if not supports(state, parameter.features):
            raise Unsupported(f"does not support {name}", name)
        fitted[name] = value if parameter.choices is None else _chosen(state, name, parameter.choices, value)
        low, high = (state.attributes.get(bound) for bound in parameter.bounds or ("", ""))
        for bound, problem, is_beyond in ((low, "below", operator.lt), (high, "above", operator.gt)):
            if isinstance(bound, int | float) and is_beyond(value, bound):
                if not clamp:
                    raise ValidationError(
                        f"{name}: {value:g} is {problem} {bound:g}; allowed {low} to {high}"
                    )
                fitted[name] = bound
    return fitted


def _chosen(state: State, name: str, attribute: str, value: Any) -> Any:
    """Return the choice that a text means: as it is spelled, by its words, or by one that is alike."""
    choices = state.attributes.get(attribute)
    if isinstance(choices, Mapping):
        choices = list(choices.values())
    if not isinstance(choices, (list, tuple)) or not choices:
        return value
    asked = fold(str(value))

    def has_words(choice: str) -> bool:
        """Return whether each word begins or is a word of a choice: "eco" is "Eco mode"."""
        return bool(asked) and all(
            any(
                word == own or (len(word) >= MIN_BEGINNING and own.startswith(word)) for own in choice.split()
            )
            for word in asked.split()
        )

    spelled = {fold(str(choice)): choice for choice in choices}
    for fits in (
        lambda own: own == asked,
        lambda own: own.replace(" ", "") == asked.replace(" ", ""),
        has_words,
        lambda own: bool(word_similarity(asked, own)),
    ):
        near = [choice for folded, choice in spelled.items() if fits(folded)]
        if len(near) == 1:
            return near[0]
        if near:
            break
    listed = ", ".join(str(choice)[:30] for choice in choices[:MAX_LISTED])
    problem = ValidationError(f"{name}: {str(value)[:40]!r} is not one of {listed}"[:300])
    problem.quotes = not offers_own(state, choices)
    raise problem


CHANGED = Expectation(change=True)


class PlannedCall(NamedTuple):
    """One service call on one entity."""

    service: str
    data: Mapping[str, Any]
    on: str = ""
    """The entity that is called, where that is another one."""


class Plan(NamedTuple):
    """What to call for one entity, in order, and what to expect. Without a call it stays as it is."""

    domain: str
    calls: Sequence[PlannedCall]
    expectation: Expectation
    notes: tuple[str, ...] = ()
    """What the person should hear, without its subject."""


def expectation_of(domain: str, service: str) -> Expectation | None:
    """Return the states after a service with any parameters; None if no state shows it."""
    facts = DOMAINS[domain]
    for action in facts.actions.values():
        if action.service == service and (action.expected or action.unexpected):
            return Expectation(
                action.expected,
                action.unexpected,
                action.passing,
                is_on_its_way=action.is_on_its_way,
                lasts=service in facts.lasting,
            )
    return None


def action_of(domain: str, verb: str, *, gated: bool) -> Action:
    """Return the action of a domain.

    Raises ValidationError naming the actions that the domain has.
    """
    facts = DOMAINS[domain]
    is_off = facts.is_gated and not gated
    if (action := facts.actions.get(verb)) is not None:
        if is_off:
            raise ValidationError(GATED_OFF)
        return action
    names = ", ".join(facts.actions)
    if not names or is_off:
        raise ValidationError("cannot be controlled")
    raise ValidationError(f"has no action {verb!r}. A {domain} has: {names}"[:300])


def plan(
    state: State,
    verb: str,
    given: Mapping[str, Any],
    unit: str,
    *,
    gated: bool = False,
    alone: bool = True,
) -> Plan:
    """Return the plan for an action on an entity.

    What the entity does not support is left out and noted, if something is left: of several targets (not
    `alone`) that needs to be a parameter. Raises ValidationError if the entity cannot do it.
    """
    domain = state.domain
    facts = DOMAINS[domain]
    action = action_of(domain, verb, gated=gated)
    if verb == "toggle" and state.attributes.get("device_class") in facts.guarded_classes:
        raise ValidationError("does not toggle: say open or close")
    left_out: list[str] = []
    parameters, is_step = normalise(domain, verb, action, given, unit, left_out if alone else None), False
    notes: list[str] = []
    try:
        if action.direction:
            facts.adapt(state, verb, parameters)
            step = _step(facts, state, verb, action, parameters.get(STEP))
            if isinstance(step, PlannedCall):
                return Plan(domain, [step], CHANGED)
            verb, parameters, is_step = "set_value", step, True
            action = facts.actions[verb]
        while True:
            try:
                meant = facts.adapt(state, verb, parameters)
                parameters = fit(facts, state, meant.parameters, clamp=is_step)
                break
            except Unsupported as err:
                fewer = {name: value for name, value in parameters.items() if name not in err.parameters}
                # Turned on all the same; but not for a value that was meant for others.
                is_possible = bool(fewer) or (alone and action.service is not None and action.value is None)
                if not is_possible or len(fewer) == len(parameters):
                    raise ValidationError(notes[0] if notes else str(err)) from err
                parameters = fewer
                notes.append(str(err))
    except NothingToDo as err:
        return Plan(domain, (), Expectation(), (str(err),))
    verb, action = meant.verb, facts.actions[meant.verb]
    skips_main = action.service is None or any(name in parameters for name in action.instead)
    if not skips_main and not supports(state, action.features):
        others = [
            name
            for name, other in facts.actions.items()
            if action.opens is not None and other.opens is action.opens and supports(state, other.features)
        ]
        instead = f"; use {' or '.join(others)}" if others else ""
        raise ValidationError(f"does not support {verb}{instead}")
    calls, expectation = _calls(facts, state, action, parameters, skips_main=skips_main)
    if verb == "toggle":
        expectation = Expectation(unless=frozenset((state.state,)))
    elif facts.groups is not None and verb in (facts.groups.join, facts.groups.leave):
        expectation = Expectation(change=calls[0].on in ("", state.entity_id))
    return Plan(domain, calls, expectation, tuple(filter(None, (*notes, meant.note, *left_out))))


def _step(
    facts: DomainFacts, state: State, verb: str, action: Action, size: float | None
) -> PlannedCall | dict[str, Any]:
    """Return the call that raises or lowers a value, or the value that is to be set instead."""
    if facts.step is None:
        raise ValidationError(f"does not support {verb}")
    step, parameter = facts.step, facts.parameters[facts.step.parameter]
    present = value_of(state, parameter.attribute or "")
    own = state.attributes.get(step.attribute or "")
    least = max(own if isinstance(own, int | float) and own else step.size, step.least)
    change = action.direction * (size or least)
    ends = {name: state.attributes.get(name) for name in step.ends}
    if present is None and ends and None not in ends.values():  # a range that has no single value now
        return {name: round(float(end) + change, 4) for name, end in ends.items() if end is not None}
    if not supports(state, action.features if action.service and size is None else parameter.features):
        raise ValidationError(f"does not support {verb}")
    if step.call is not None and (call := step.call(state, action.direction, size)) is not None:
        facts.adapt(state, verb, call[1])
        return PlannedCall(*call)
    try:
        value = round(float(present) + change, 4)
    except TypeError, ValueError:
        raise ValidationError("has no value to raise or lower now; set one") from None
    if parameter.kind in ("percent", "integer"):
        value = round(value)
    if whole := {"percent": 100, "volume": 1}.get(parameter.kind):
        value = min(whole, max(0, value))
    return {step.parameter: value}


def _calls(
    facts: DomainFacts, state: State, action: Action, parameters: Mapping[str, Any], *, skips_main: bool
) -> tuple[list[PlannedCall], Expectation]:
    """Return the action's own call, then those of parameters that it does not take; and what these show."""
    if action.leader and action.service:
        leader, *others = parameters[action.leader]
        return [PlannedCall(action.service, {action.leader: others}, leader)], Expectation()
    native = parameters.keys() if action.native == ANY else parameters.keys() & {*action.native}
    data: dict[str, dict[str, Any]] = {}
    if not skips_main and action.service:
        more = action.adds(state) if action.adds is not None else {}
        own = {name: value for name, value in parameters.items() if name in native}
        data[action.service] = {**action.data, **more, **own}
    attributes: dict[str, Any] = {}
    passing = frozenset[str]()
    for name, parameter in facts.parameters.items():
        if name not in parameters:
            continue
        value = parameters[name]
        if skips_main or name not in native:
            data.setdefault(parameter.service, {})[name] = value
        passing |= parameter.passing
        if parameter.attribute is not None and parameter.is_verified:
            attributes[parameter.attribute] = round(value * 255 / 100) if name == "brightness_pct" else value
    calls = [PlannedCall(service, values) for service, values in data.items()]
    if skips_main:
        return calls, Expectation(attributes=attributes, passing=passing)
    attributes |= {name: value for name, value in action.shown.items() if name in state.attributes}
    return calls, Expectation(
        action.expected, action.unexpected, action.passing, attributes, is_on_its_way=action.is_on_its_way
    )


def calls_of(made: Plan, entity_id: str) -> list[ServiceCall]:
    """Return the service calls of a plan for an entity."""
    return [
        ServiceCall(
            domain=made.domain, service=call.service, entity_ids=(call.on or entity_id,), data=call.data
        )
        for call in made.calls
    ]


WIDE_OPEN: Final = 100
UNTOLD: Final = frozenset({"code"})
"""Parameters that change nothing of what an entity shows afterwards."""


async def async_needless(
    plans: Mapping[str, Plan], before: Mapping[str, State], verb: str, already: Iterable[str], run: ToolRun
) -> list[str]:
    """Return the entities that a person would have to confirm a change of that is already there.

    None of which the state is only assumed, which get a value that their states do not show, or which are
    open but not all the way.
    """
    needless = []
    for entity_id in sorted(already):
        made, state = plans[entity_id], before[entity_id]
        action = DOMAINS[made.domain].actions.get(run.meanings.get(made.domain, verb))
        given = {name for call in made.calls for name in call.data} - UNTOLD
        position = state.attributes.get("current_position")
        is_ajar = isinstance(position, int | float) and position < WIDE_OPEN
        if (
            (action is not None and action.is_momentary)
            or state.attributes.get(ATTR_ASSUMED_STATE)
            or (given and not made.expectation.attributes)
            or (is_ajar and any(opens(call.service, call.data) for call in made.calls))
        ):
            continue
        with suppress(PermissionDenied):
            if await run.guard.async_foresee(calls_of(made, entity_id), run.speaker) is not None:
                needless.append(entity_id)
    return needless


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

    def result(self) -> JsonValueType:
        """Return what was done.

        Raises PartlyFailed or TargetsFailed with it if something failed, and ValidationError if the call fits
        no target.
        """
        parts: ControlResult = {
            "done": self.done,
            "unchanged": self.unchanged,
            "failed": self.failed,
            "planned": self.planned,
            "id": self.plan_id,
            "notes": self.notes,
        }
        content = cast("dict[str, JsonValueType]", {key: value for key, value in parts.items() if value})
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
        return record.name if record and self.failed.get(entity_id) != NOT_EXPOSED else entity_id


MAX_NAMES: Final = 200
"""Characters of the names of a group."""


async def async_carry_out(
    plans: Mapping[str, Plan], before: Mapping[str, State], verb: str, run: ToolRun, outcome: ControlOutcome
) -> None:
    """Make the calls of plans, wait for what they should show, and report it in the outcome."""
    already = frozenset(
        entity_id
        for entity_id, made in plans.items()
        if run.meanings.get(made.domain, verb) != "toggle"
        and not made.expectation.is_empty
        and made.expectation.is_met(before[entity_id])
    )
    if already and (needless := await async_needless(plans, before, verb, already, run)):
        outcome.unchanged |= {
            entity_id: shown(run, before[entity_id], plans[entity_id].expectation) for entity_id in needless
        }
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
        run.note_quotes(err)
        return dict.fromkeys(call.entity_ids, str(err))
    return {}


def shown(run: ToolRun, state: State, expectation: Expectation) -> str:
    """Return what an entity shows, in the home's own words and in those that were asked for."""
    own = without_outside(run.hass, state, expectation.attributes)
    return describe_state(own, run.house.entities.get(state.entity_id))


def _report(
    run: ToolRun, made: Plan, before: State, *, verb: str, error: str | None, outcome: ControlOutcome
) -> None:
    entity_id = before.entity_id
    state = run.hass.states.get(entity_id)
    if state is None:
        outcome.fail(entity_id, "is gone")
        return
    expectation = made.expectation
    worked, was_so = expectation.is_reached(state), expectation.is_reached(before)
    for note in made.notes:
        outcome.note(f"{outcome.name_of(entity_id)} {note}")
    if not made.calls:
        outcome.unchanged[entity_id] = shown(run, state, expectation)
    elif error is not None and (not worked or expectation.is_empty or was_so):
        outcome.fail(entity_id, f"{error}. It is {shown(run, state, expectation)}")
    elif error is None and not worked:
        still = "still" if state.state == before.state else "now"
        outcome.fail(entity_id, f"was told to {verb} but is {still} {shown(run, state, expectation)}")
    elif error is None and (told := _told_together(run, made, entity_id, verb)):
        outcome.done[entity_id] = told
    elif expectation.is_empty and not expectation.change:
        outcome.done[entity_id] = f"{verb} done"
    else:
        was, became = EarlierState.of(before), EarlierState.of(state)
        names = {STATE, *was.attributes, *became.attributes}  # what a call may change
        is_same = all(same(name, value_of(was, name), value_of(became, name)) for name in names)
        part = outcome.unchanged if is_same else outcome.done
        part[entity_id] = shown(run, state, expectation)


def _told_together(run: ToolRun, made: Plan, entity_id: str, verb: str) -> str:
    """Return where a machine was sent, or with whom a player plays: states do not tell; else nothing."""
    facts, data = DOMAINS[made.domain], made.calls[0].data
    if facts.rooms is not None and verb == facts.rooms.action:
        areas = data.get(str(facts.actions[verb].value)) or ()
        names = [run.house.areas[area].name for area in areas if area in run.house.areas]
        return f"sent to {listed(names, MAX_NAMES)}"
    if facts.groups is not None and verb == facts.groups.join:
        ids = dict.fromkeys((made.calls[0].on or entity_id, *(data.get(facts.groups.members) or ())))
        group = (run.house.entities.get(one) for one in ids)
        names = [record.name for record in group if record and record.entity_id != entity_id]
        return f"plays together with {listed(names, MAX_NAMES)}" if names else ""
    return ""


PROPOSED: Final = (
    "close",
    "lock",
    "turn_off",
    "turn_on",
    "open",
    "unlock",
    "start",
    "return_to_base",
    "arm_away",
    "arm_night",
    "activate",
)
"""Actions without values, by the names that the domains give them."""


def propose(
    hass: HomeAssistant, verb: str, entity_ids: Iterable[str], *, gated: bool
) -> tuple[ServiceCall, ...]:
    """Return the calls of an action on as many entities as a question can name.

    Raises ValidationError if an entity cannot do that now.
    """
    unit = hass.config.units.temperature_unit
    chosen = list(dict.fromkeys(entity_ids))
    calls: list[ServiceCall] = []
    for entity_id in chosen[:MAX_THINGS]:
        if (state := hass.states.get(entity_id)) is None:
            raise ValidationError(f"{entity_id} does not exist")
        try:
            made = plan(state, verb, {}, unit, gated=gated)
        except ValidationError as err:
            raise ValidationError(f"{entity_id} {err}") from err
        calls += calls_of(made, entity_id)
    if not calls:
        raise ValidationError("nothing to do")
    return tuple(calls)
