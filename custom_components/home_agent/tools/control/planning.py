"""Actions on entities: worked out for each, carried out through the guard, and what each shows afterwards."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import starmap
import json
from typing import Any, Final, cast

from homeassistant.const import ATTR_ASSUMED_STATE, ATTR_SUPPORTED_FEATURES
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.json import JsonValueType

from ...context.kind_lines import describe_state
from ...domains import DOMAINS, opens
from ...domains.base import ANY, STATE, Action, ControlParameter, DomainFacts, Unsupported, ValueStep
from ...domains.features import feature_bits, supports
from ...errors import (
    ConfirmationNeeded,
    HomeAgentError,
    PermissionDenied,
    ToolExecutionError,
    ValidationError,
)
from ...knowledge.house import HouseSnapshot
from ...knowledge.names import word_similarity
from ...safety.frozen import MAX_THINGS, ServiceCall
from ...safety.journal import EarlierState
from ...texts import fold
from ..base import PartlyFailed, TargetsFailed, ToolRun
from ..guard import GATED_OFF
from ..resolving.resolver import listed
from ..results import ControlResult
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
            name: wanted for name, wanted in self.attributes.items() if not _is_close(name, wanted, state)
        }


def _is_close(name: str, wanted: Any, state: State) -> bool:
    shown = state.state if name == STATE else state.attributes.get(name)
    if shown is None:
        return False
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        tolerance = TOLERANCES.get(name, 0.001)
        step = state.attributes.get("percentage_step")
        if name == "percentage" and isinstance(step, (int, float)):
            tolerance = max(1.0, step)
        try:
            return abs(float(shown) - float(wanted)) <= tolerance
        except TypeError, ValueError:
            return False
    return shown == wanted or fold(str(shown)) == fold(str(wanted))


def value_of(shown: EarlierState, name: str) -> Any:
    """Return an attribute, or the state."""
    return shown.state if name == STATE else shown.attributes.get(name)


def same(name: str, one: Any, other: Any) -> bool:
    """Return whether two values are alike, give or take a rounding."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same("", *pair) for pair in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return bool(one == other)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return bool(abs(one - other) <= TOLERANCES.get(name, 1 if name == "" else 0.001))
    return bool(one == other)


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
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while not all(starmap(self._is_settled, self._expectations.items())):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass

    @callback
    def _on_change(self, _event: Event[EventStateChangedData]) -> None:
        self._changed.set()

    def _is_settled(self, entity_id: str, expectation: Expectation) -> bool:
        state = self._hass.states.get(entity_id)
        if (expectation.change or expectation.may_change) and state is self._before[entity_id]:
            return False
        return expectation.is_met(state) or expectation.is_passing(state)


MAX_LISTED: Final = 12
MIN_BEGINNING: Final = 3
"""Letters with which a word of a choice may begin."""


def _check_action(facts: DomainFacts, state: State, verb: str, action: Action) -> None:
    """Raise Unsupported unless an entity can do an action, with those that open or close it instead."""
    if not action.features or supports(state, action.features):
        return
    others = [
        name
        for name, other in facts.actions.items()
        if action.opens is not None
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
    return bool(asked) and all(
        any(word == own or (len(word) >= MIN_BEGINNING and own.startswith(word)) for own in choice.split())
        for word in asked.split()
    )


def _bounded(state: State, name: str, bounds: tuple[str, str], value: float, *, clamp: bool) -> float:
    """Return a value within the entity's bounds.

    Raises ValidationError naming them, unless it is to be clamped.
    """
    low, high = (state.attributes.get(bound) for bound in bounds)
    if isinstance(low, (int, float)) and value < low:
        bound, problem = low, f"below {low:g}"
    elif isinstance(high, (int, float)) and value > high:
        bound, problem = high, f"above {high:g}"
    else:
        return value
    if clamp:
        return bound
    raise ValidationError(f"{name}: {value:g} is {problem}; allowed {low} to {high}")


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
    if state.state in facts.resting and verb not in facts.rest_actions and "source" not in parameters:
        return Plan(domain, (), Expectation(), (f"is {state.state}, so nothing is heard of it",))
    if any(parameters.get(name) == 0 for name in facts.off_at_zero):
        verb, action = "turn_off", facts.actions["turn_off"]
        parameters = {name: value for name, value in parameters.items() if name in action.takes}
    if action.direction:
        return _plan_step(facts, state, verb, action, parameters)
    if (end := _as_end(facts, state, parameters)) is not None:
        verb, action, parameters = end, facts.actions[end], {}
    parameters, notes = _supported(facts, state, action, parameters, alone=alone)
    parameters, remark = _woken(facts, state, verb, parameters)
    notes += [*remark, *(left_out or ())]
    skips_main = action.service is None or any(name in parameters for name in action.instead)
    if not skips_main:
        _check_action(facts, state, verb, action)
    if action.adds is not None:
        action = replace(action, data={**action.data, **action.adds(state)})
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
    own = state.attributes.get(step.attribute or "")
    own = float(own) if isinstance(own, (int, float)) else None
    change = action.direction * (size or max(own or step.size, step.least))
    shown = {name: state.attributes.get(name) for name in (step.parameter, *step.ends)}
    if shown.pop(step.parameter) is None and shown:  # a range that has no single value now
        ends = {name: round(end + change, 4) for name, end in shown.items() if isinstance(end, int | float)}
        if len(ends) == len(shown):
            return _plan_set(facts, state, action, ends)
    check_features(state, parameter.features, verb)
    if size is None and step.key and own is not None and own < step.least:
        size = step.least
    if step.services and (size is None or step.key):
        return Plan(facts.name, [_step_call(facts, step, state, action.direction, size)], CHANGED)
    value = _stepped(state, parameter, change)
    return _plan_set(facts, state, action, {step.parameter: value})


def _plan_set(facts: DomainFacts, state: State, action: Action, values: Mapping[str, float]) -> Plan:
    fitted, remark = _woken(facts, state, "set_value", fit(facts, state, values, clamp=True))
    calls = _calls(facts, action, fitted, skips_main=True)
    return Plan(facts.name, calls, _expect(facts, action, fitted, skips_main=True), remark)


def _woken(
    facts: DomainFacts, state: State, verb: str, parameters: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return parameters with those that it keeps or that turn it on, and what the person should hear."""
    if verb == "turn_on" and not parameters and facts.keep is not None and state.state == "on":
        parameters = dict(facts.keep(state))
    if facts.wake is not None:
        parameters = {**facts.wake(state, parameters), **parameters}
    remark = facts.remark(state, parameters) if facts.remark is not None else ""
    return parameters, (remark,) if remark else ()


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

    def shown(self, state: State) -> str:
        """Return what an entity shows, in words."""
        return describe_state(state, self.house.entities.get(state.entity_id))

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
        is_hidden = record is None or self.failed.get(entity_id) == NOT_EXPOSED
        return entity_id if is_hidden or record is None else record.name


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
        was, became = EarlierState.of(before), EarlierState.of(state)
        names = {STATE, *was.attributes, *became.attributes}  # what a call may change
        is_same = all(same(name, value_of(was, name), value_of(became, name)) for name in names)
        part = outcome.unchanged if is_same else outcome.done
        part[entity_id] = outcome.shown(state)


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
    units = Units(hass.config.units.temperature_unit)
    chosen = list(dict.fromkeys(entity_ids))
    calls: list[ServiceCall] = []
    for entity_id in chosen[:MAX_THINGS]:
        if (state := hass.states.get(entity_id)) is None:
            raise ValidationError(f"{entity_id} does not exist")
        try:
            made = plan(state, verb, {}, units, gated=gated)
        except ValidationError as err:
            raise ValidationError(f"{entity_id} {err}") from err
        calls += calls_of(made, entity_id)
    if not calls:
        raise ValidationError("nothing to do")
    return tuple(calls)
