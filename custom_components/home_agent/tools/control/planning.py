"""One action on one entity, worked out: the service calls, and what its state should show afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State

from ...domains import DOMAINS
from ...domains.base import ANY, STATE, Action, ControlParameter, DomainFacts, Unsupported, ValueStep
from ...domains.features import feature_bits, supports
from ...errors import ValidationError
from ..vetted import GATED_OFF
from .arguments import STEP, normalise
from .fitting import check_action, check_features, fit
from .readback import Expectation
from .values import Units

CHANGED = Expectation(change=True)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One service call on one entity."""

    service: str
    data: Mapping[str, Any]
    on: str = ""
    """The entity that is called, where that is another one."""


@dataclass(frozen=True, slots=True)
class Plan:
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
                is_on_its_way=facts.is_on_its_way,
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
    units: Units,
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
    if action.direction and (value := _value_beside(facts, state, action, given, units)) is not None:
        verb, given = ("set_value", value) if STEP not in value else (verb, value)
        action = facts.actions[verb]
    left_out: list[str] | None = [] if alone else None
    parameters = normalise(domain, verb, action, given, units, left_out)
    if _has_no_effect(facts, state, verb, parameters):
        return Plan(domain, (), Expectation(), (f"is {state.state}, so nothing is heard of it",))
    if any(parameters.get(name) == 0 for name in facts.off_at_zero):
        verb, action = "turn_off", facts.actions["turn_off"]
        parameters = {name: value for name, value in parameters.items() if name in action.takes}
    if action.direction:
        return _plan_step(facts, state, verb, action, parameters)
    if (end := _as_end(facts, state, parameters)) is not None:
        verb, action, parameters = end, facts.actions[end], {}
    parameters, notes = _adapted(facts, state, verb, action, parameters, alone=alone)
    notes += left_out or ()
    skips_main = action.service is None or any(name in parameters for name in action.instead)
    if not skips_main:
        check_action(facts, state, verb, action)
    action = _with_data(action, state)
    calls = _calls(facts, action, parameters, skips_main=skips_main)
    if verb == "toggle":
        return Plan(domain, calls, Expectation(unless=frozenset((state.state,))))
    if facts.groups is not None and verb in (facts.groups.join, facts.groups.leave):
        led = calls[0].on in ("", state.entity_id)
        return Plan(domain, calls, Expectation(may_change=led), tuple(notes))
    expectation = _expect(facts, action, parameters, skips_main=skips_main)
    if shown := {name: value for name, value in action.shown.items() if name in state.attributes}:
        expectation = replace(expectation, attributes={**expectation.attributes, **shown})
    return Plan(domain, calls, expectation, tuple(notes))


def _with_data(action: Action, state: State) -> Action:
    """Return an action with the data that depend on the entity."""
    return action if action.adds is None else replace(action, data={**action.data, **action.adds(state)})


def _value_beside(
    facts: DomainFacts, state: State, action: Action, given: Mapping[str, Any], units: Units
) -> dict[str, Any] | None:
    """Return what a value beside "increase" or "decrease" means; None if there is none.

    It is the wanted value if that lies further in this direction, and the size of the step if it is small:
    from 30 percent, "increase, brightness 60" sets 60, and "increase, brightness 10" sets 40.
    """
    if facts.step is None or "set_value" not in facts.actions:
        return None
    shown = facts.parameters[facts.step.parameter].attribute
    for key, value in given.items():
        name = facts.parameter_of(key) if key in facts.fields else None
        if name is None or facts.parameters[name].attribute != shown:
            continue
        read = normalise(facts.name, "set_value", facts.actions["set_value"], {key: value}, units)
        wanted = next(iter(read.values()), None)
        present = state.state if shown == STATE else state.attributes.get(shown or "")
        if not isinstance(wanted, int | float) or not isinstance(present, int | float):
            return {STEP: value}
        if "brightness_pct" in read:
            present = present / 2.55
        is_target = wanted > present if action.direction > 0 else present / 2 <= wanted < present
        return {key: value} if is_target else {STEP: value}
    return None


def _has_no_effect(facts: DomainFacts, state: State, verb: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether nothing would be heard or seen of an action, as the entity rests."""
    return state.state in facts.resting and verb not in facts.rest_actions and "source" not in parameters


def _adapted(
    facts: DomainFacts,
    state: State,
    verb: str,
    action: Action,
    parameters: Mapping[str, Any],
    *,
    alone: bool,
) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters as this entity needs them now, and what the person should hear of them."""
    found, notes = _supported(facts, state, action, parameters, alone=alone)
    if verb == "turn_on" and not found and facts.keep is not None and state.state == "on":
        found = dict(facts.keep(state))
    if facts.wake is not None:
        found = {**facts.wake(state, found), **found}
    if facts.remark is not None and (remark := facts.remark(state, found)):
        notes.append(remark)
    return found, notes


def _supported(
    facts: DomainFacts, state: State, action: Action, parameters: Mapping[str, Any], *, alone: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters that an entity supports, and what it does not."""
    left, notes = dict(parameters), list[str]()
    while True:
        try:
            return fit(facts, state, left), notes
        except Unsupported as err:
            fewer = {name: value for name, value in left.items() if name not in err.parameters}
            # Turned on all the same; but not for a value that was meant for others.
            is_possible = bool(fewer) or (alone and action.service is not None and action.value is None)
            if not is_possible or len(fewer) == len(left):
                raise ValidationError(notes[0] if notes else str(err)) from err
            left = fewer
            notes.append(str(err))


def _as_end(facts: DomainFacts, state: State, parameters: Mapping[str, Any]) -> str | None:
    """Return open or close for a position that means just that, where only these two are known."""
    if len(parameters) != 1:
        return None
    name, value = next(iter(parameters.items()))
    parameter = facts.parameters[name]
    features = state.attributes.get(ATTR_SUPPORTED_FEATURES)
    if not (parameter.ends and value in parameter.ends and isinstance(features, int)):
        return None
    return None if features & feature_bits(facts.name, parameter.features) else parameter.ends[value]


def _calls(
    facts: DomainFacts, action: Action, parameters: Mapping[str, Any], *, skips_main: bool
) -> list[PlannedCall]:
    """Return the calls: the action's own, then those of parameters that it does not take itself."""
    if action.leader and action.service:
        leader, *others = parameters[action.leader]
        return [PlannedCall(action.service, {action.leader: others}, leader)]
    calls: dict[str, dict[str, Any]] = {}
    if not skips_main and action.service:
        native = (
            parameters
            if action.native == ANY
            else {key: parameters[key] for key in action.native if key in parameters}
        )
        calls[action.service] = {**action.data, **native}
    for name, parameter in facts.parameters.items():
        if name in parameters and (skips_main or (action.native != ANY and name not in action.native)):
            calls.setdefault(parameter.service, {})[parameter.key or name] = parameters[name]
    return [PlannedCall(service, data) for service, data in calls.items()]


def _expect(
    facts: DomainFacts, action: Action, parameters: Mapping[str, Any], *, skips_main: bool
) -> Expectation:
    """Return the expected state."""
    attributes = {}
    passing: frozenset[str] = frozenset()
    for name, value in parameters.items():
        parameter = facts.parameters[name]
        passing |= parameter.passing
        if parameter.attribute is not None and parameter.is_verified:
            attributes[parameter.attribute] = round(value * 255 / 100) if name == "brightness_pct" else value
    if skips_main:
        return Expectation(attributes=attributes, passing=passing)
    return Expectation(
        action.expected, action.unexpected, action.passing, attributes, is_on_its_way=facts.is_on_its_way
    )


def _plan_step(
    facts: DomainFacts, state: State, verb: str, action: Action, parameters: Mapping[str, Any]
) -> Plan:
    """Return the plan for raising or lowering a value."""
    size = parameters.get(STEP)
    if size is None and facts.step is not None and (softer := _halved(facts, state, action.direction)):
        name = facts.step.parameter
        fitted = fit(facts, state, {name: softer}, clamp=True)
        return Plan(facts.name, [PlannedCall(facts.parameters[name].service, fitted)], CHANGED)
    if size is None and action.service:
        check_features(state, action.features, verb)
        return Plan(facts.name, [PlannedCall(action.service, {})], CHANGED)
    if facts.step is None:
        raise ValidationError(f"does not support {verb}")
    step, parameter = facts.step, facts.parameters[facts.step.parameter]
    if ends := _ends(state, step):
        change = action.direction * (size or _default_size(state, step))
        return _plan_set(facts, state, action, {name: round(end + change, 4) for name, end in ends.items()})
    check_features(state, parameter.features, verb)
    own = _own_step(state, step.attribute)
    if size is None and step.key and own is not None and own < step.least:
        size = step.least
    if step.services and (size is None or step.key):
        return Plan(facts.name, [_step_call(facts, step, state, action.direction, size)], CHANGED)
    value = _stepped(state, parameter, action.direction * (size or _default_size(state, step)))
    return _plan_set(facts, state, action, {step.parameter: value})


def _ends(state: State, step: ValueStep) -> dict[str, float]:
    """Return the ends of a range that has no single value now; none without such a range."""
    shown = {name: state.attributes.get(name) for name in (step.parameter, *step.ends)}
    if shown.pop(step.parameter) is not None:
        return {}
    found = {name: end for name, end in shown.items() if isinstance(end, int | float)}
    return found if len(found) == len(shown) else {}


def _plan_set(facts: DomainFacts, state: State, action: Action, values: Mapping[str, float]) -> Plan:
    """Return the plan for values that a step leads to, within the entity's bounds."""
    fitted = fit(facts, state, values, clamp=True)
    if facts.wake is not None:
        fitted = {**facts.wake(state, fitted), **fitted}
    remark = facts.remark(state, fitted) if facts.remark is not None else ""
    calls = _calls(facts, action, fitted, skips_main=True)
    expectation = _expect(facts, action, fitted, skips_main=True)
    return Plan(facts.name, calls, expectation, (remark,) if remark else ())


def _step_call(
    facts: DomainFacts, step: ValueStep, state: State, direction: int, size: float | None
) -> PlannedCall:
    """Return the call of the domain's own service for a step."""
    up, down = step.services or ("", "")
    data: dict[str, Any] = {}
    if step.key and up == down:
        data = {step.key: round(direction * (size or step.size))}
    elif step.key and size is not None:
        data = {step.key: round(size)}
    if facts.fit is not None:
        facts.fit(state, dict(data))
    return PlannedCall(up if direction > 0 else down, data)


def _default_size(state: State, step: ValueStep) -> float:
    """Return the size of a step that nobody named."""
    return max(_own_step(state, step.attribute) or step.size, step.least)


def _halved(facts: DomainFacts, state: State, direction: int) -> float | None:
    """Return half of a value that a step down would bring to zero, where it can be set."""
    if facts.step is None or not facts.step.keeps_on:
        return None
    step, parameter = facts.step, facts.parameters[facts.step.parameter]
    if parameter.features and not supports(state, parameter.features):
        return None
    present = state.attributes.get(parameter.attribute or "")
    if direction > 0 or not isinstance(present, int | float) or isinstance(present, bool):
        return None
    full = 255 if parameter.attribute == "brightness" else 1
    share = present / full
    if not 0 < share <= (step.size / 100 if full > 1 else step.size) + 0.005:
        return None
    return max(1, round(share * 50)) if full > 1 else round(share / 2, 4)


def _own_step(state: State, attribute: str | None) -> float | None:
    """Return the entity's own step."""
    size = state.attributes.get(attribute or "")
    return float(size) if isinstance(size, (int, float)) else None


def _stepped(state: State, parameter: ControlParameter, change: float) -> float:
    """Return the present value and the change together."""
    present = state.state if parameter.attribute == STATE else state.attributes.get(parameter.attribute or "")
    try:
        value = round(float(present) + change, 4)  # type: ignore[arg-type]
    except TypeError, ValueError:
        raise ValidationError("has no value to raise or lower now; set one") from None
    if parameter.kind == "volume":
        return min(1.0, max(0.0, value))
    if parameter.kind in ("percent", "integer"):
        value = round(value)
        return min(100, max(0, value)) if parameter.kind == "percent" else value
    return value
