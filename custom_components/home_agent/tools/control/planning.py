"""One action on one entity, worked out: the service calls, and what its state should show afterwards."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.helpers.event import async_track_state_change_event

from ...domains import DOMAINS
from ...domains.base import ANY, STATE, Action, ControlParameter, DomainFacts, Unsupported, ValueStep
from ...domains.features import feature_bits, supports
from ...errors import ValidationError
from ...knowledge.names import word_similarity
from ...texts import fold
from ..base import ServiceCall
from ..vetted import GATED_OFF
from .arguments import STEP, normalise
from .values import Units

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


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a state should show once a call has worked. Nothing given, anything will do."""

    states: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    """States on the way to it."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attribute, or "state", and its value."""
    change: bool = False
    """Whether any change is worth waiting for."""
    may_change: bool = False
    """The same, where nothing has failed without a change."""
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
        if state is None:
            return False
        if (self.states and state.state not in self.states) or state.state in self.unless:
            return False
        return not self.missed(state)

    def is_passing(self, state: State | None) -> bool:
        """Return whether an entity is on its way."""
        if state is None:
            return False
        return state.state in self.passing or (self.is_on_its_way is not None and self.is_on_its_way(state))

    def is_told(self, state: State | None) -> bool:
        """Return whether the sentence about the action is true."""
        return self.is_met(state) or (self.lasts and self.is_passing(state))

    def missed(self, state: State) -> dict[str, Any]:
        """Return the attributes that are not as expected, with what was expected."""
        return {
            name: wanted
            for name, wanted in self.attributes.items()
            if not _is_close(
                name,
                wanted,
                state.state if name == "state" else state.attributes.get(name),
                state.attributes.get("percentage_step"),
            )
        }


def _is_close(name: str, wanted: Any, shown: Any, percentage_step: Any) -> bool:
    if shown is None:
        return False
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        tolerance = TOLERANCES.get(name, 0.001)
        if name == "percentage" and isinstance(percentage_step, (int, float)):
            tolerance = max(1.0, percentage_step)
        try:
            return abs(float(shown) - float(wanted)) <= tolerance
        except TypeError, ValueError:
            return False
    return shown == wanted or fold(str(shown)) == fold(str(wanted))


class Settling:
    """Listens to entities from before a call until they are as expected."""

    def __init__(self, hass: HomeAssistant, expectations: Mapping[str, Expectation]) -> None:
        self._hass = hass
        self._expectations = expectations
        self._before = {entity_id: hass.states.get(entity_id) for entity_id in expectations}
        self._changed = asyncio.Event()
        self._unsubscribe = async_track_state_change_event(hass, list(expectations), self._on_change)

    async def async_wait(self) -> None:
        """Return when all entities are as expected or on their way, at the latest after SETTLE_SECONDS."""
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while not self._is_settled():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass

    @callback
    def stop(self) -> None:
        """Listen no longer."""
        self._unsubscribe()

    @callback
    def _on_change(self, _event: Event[EventStateChangedData]) -> None:
        self._changed.set()

    def _is_settled(self) -> bool:
        for entity_id, expectation in self._expectations.items():
            state = self._hass.states.get(entity_id)
            awaited = expectation.change or expectation.may_change
            if awaited and state is self._before[entity_id]:
                return False
            if not (expectation.is_met(state) or expectation.is_passing(state)):
                return False
        return True


MAX_LISTED: Final = 12
MIN_BEGINNING: Final = 3
"""Letters with which a word of a choice may begin."""


def check_action(facts: DomainFacts, state: State, verb: str, action: Action) -> None:
    """Raise Unsupported unless an entity can do an action, with those that open or close it instead."""
    if not action.features or supports(state, action.features):
        return
    others = [
        name
        for name, other in facts.actions.items()
        if name != verb
        and action.opens is not None
        and other.opens is action.opens
        and (not other.features or supports(state, other.features))
    ]
    instead = f"; use {' or '.join(others)}" if others else ""
    raise Unsupported(f"does not support {verb}{instead}", verb)


def check_features(state: State, needed: str, what: str) -> None:
    """Raise ValidationError unless the entity has one of some features."""
    if needed and not supports(state, needed):
        raise Unsupported(f"does not support {what}", what)


def fit(
    facts: DomainFacts, state: State, parameters: Mapping[str, Any], *, clamp: bool = False
) -> dict[str, Any]:
    """Return parameters as this entity takes them: one of its choices, within its bounds."""
    fitted = {}
    for name, value in parameters.items():
        parameter = facts.parameters[name]
        check_features(state, parameter.features, name)
        if parameter.choices is not None:
            fitted[name] = _chosen(state, name, parameter.choices, value)
        elif parameter.bounds is not None:
            fitted[name] = _bounded(state, name, parameter.bounds, value, clamp=clamp)
        else:
            fitted[name] = value
    return facts.fit(state, fitted) if facts.fit is not None else fitted


def _chosen(state: State, name: str, attribute: str, value: Any) -> Any:
    """Return the choice that a text means.

    Raises ValidationError naming the choices.
    """
    choices = state.attributes.get(attribute)
    if isinstance(choices, Mapping):
        choices = list(choices.values())
    if not isinstance(choices, (list, tuple)) or not choices:
        return value
    asked = fold(str(value))
    spelled = {fold(str(choice)): choice for choice in choices}
    if asked in spelled:
        return spelled[asked]
    compact = [
        choice for folded, choice in spelled.items() if folded.replace(" ", "") == asked.replace(" ", "")
    ]
    parts = [choice for folded, choice in spelled.items() if _is_part(asked, folded)]
    alike = [choice for folded, choice in spelled.items() if word_similarity(asked, folded)]
    near = compact or parts or alike
    if len(near) == 1:
        return near[0]
    listed = ", ".join(str(choice)[:30] for choice in choices[:MAX_LISTED])
    raise ValidationError(f"{name}: {str(value)[:40]!r} is not one of {listed}"[:300])


def _is_part(asked: str, choice: str) -> bool:
    """Return whether each word of a text begins or is a word of a choice: "eco" is "Eco mode"."""
    own = choice.split()
    return bool(asked) and all(
        any(word == one or (len(word) >= MIN_BEGINNING and one.startswith(word)) for one in own)
        for word in asked.split()
    )


def _bounded(state: State, name: str, bounds: tuple[str, str], value: float, *, clamp: bool) -> float:
    """Return a value within the entity's bounds.

    Raises ValidationError naming them, unless it is to be clamped.
    """
    low, high = (state.attributes.get(bound) for bound in bounds)
    if isinstance(low, (int, float)) and value < low:
        if not clamp:
            raise ValidationError(f"{name}: {value:g} is below {low:g}; {_span(low, high)}")
        return low
    if isinstance(high, (int, float)) and value > high:
        if not clamp:
            raise ValidationError(f"{name}: {value:g} is above {high:g}; {_span(low, high)}")
        return high
    return value


def _span(low: Any, high: Any) -> str:
    return f"allowed {low} to {high}"


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
    size = state.attributes.get(attribute or "")
    return float(size) if isinstance(size, (int, float)) else None


def _stepped(state: State, parameter: ControlParameter, change: float) -> float:
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


def calls_of(made: Plan, entity_id: str) -> list[ServiceCall]:
    """Return the service calls of a plan for an entity."""
    return [
        ServiceCall(
            domain=made.domain, service=call.service, entity_ids=(call.on or entity_id,), data=call.data
        )
        for call in made.calls
    ]
