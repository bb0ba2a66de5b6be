"""One action on one entity, worked out: the service calls, and what its state should show afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State

from ...errors import ValidationError
from ...knowledge.names import word_similarity
from ...texts import fold
from ..resolving.candidates import SINGULAR_CLASSES
from .actions import ACTIONS, ANY, GATED_OFF, Action
from .parameter_table import PARAMETERS, STEP_SERVICES, STEPS, Parameter
from .parameters import STEP, normalise
from .readback import Expectation
from .values import Units

COLOR_MODES = frozenset(("hs", "rgb", "rgbw", "rgbww", "xy"))
UNDIMMED_MODES = frozenset(("onoff", "unknown"))
BRIGHTNESS = ("brightness_pct", "brightness", "brightness_step_pct")
COLORS = ("rgb_color", "hs_color", "xy_color", "rgbw_color", "rgbww_color")
MAX_LISTED = 12
PASSING = frozenset(("opening", "closing"))
WHITE_KELVIN = 4000
CHANGED = Expectation(change=True)


@dataclass(frozen=True, slots=True)
class Call:
    """One service call on one entity."""

    service: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to call for one entity, in order, and what to expect."""

    domain: str
    calls: Sequence[Call]
    expectation: Expectation


def expectation_of(domain: str, service: str) -> Expectation | None:
    """Return what entities show after a service, whatever its parameters; None where no state tells."""
    for action in ACTIONS.get(domain, {}).values():
        if action.service == service and (action.expected or action.unexpected):
            return Expectation(action.expected, action.unexpected, action.passing)
    return None


def action_of(domain: str, verb: str, *, gated: bool) -> Action:
    """Return the action of a domain.

    Raises ValidationError naming the actions that the domain has.
    """
    actions = ACTIONS.get(domain, {})
    action = actions.get(verb)
    if action is not None and (gated or not action.gated):
        return action
    if action is not None:
        raise ValidationError(GATED_OFF)
    names = ", ".join(name for name, other in actions.items() if gated or not other.gated)
    if not names:
        raise ValidationError(f"A {domain} cannot be controlled")
    raise ValidationError(f"action: a {domain} has no {verb!r}. Allowed: {names}"[:300])


def plan(state: State, verb: str, given: Mapping[str, Any], units: Units, *, gated: bool = False) -> Plan:
    """Return what an action on an entity comes down to.

    Raises ValidationError where the entity cannot do it.
    """
    domain = state.domain
    action = action_of(domain, verb, gated=gated)
    if verb == "toggle" and state.attributes.get("device_class") in SINGULAR_CLASSES:
        raise ValidationError("does not toggle: say open or close")
    parameters = normalise(domain, verb, action, given, units)
    if domain == "light" and 0 in (parameters.get("brightness_pct"), parameters.get("brightness")):
        verb, action = "turn_off", ACTIONS["light"]["turn_off"]
        parameters = {name: value for name, value in parameters.items() if name in action.takes}
    if action.direction:
        return _plan_step(state, verb, action, parameters)
    if (ends := _as_end(state, parameters)) is not None:
        verb, action, parameters = ends, ACTIONS[domain][ends], {}
    parameters = _fit(state, parameters)
    _check_mode(state, parameters)
    skips_main = action.service is None or any(name in parameters for name in action.instead)
    if not skips_main:
        _check_features(state, action.features, verb)
    calls = _calls(domain, action, parameters, skips_main=skips_main)
    if verb == "toggle":
        return Plan(domain, calls, Expectation(unless=frozenset((state.state,))))
    return Plan(domain, calls, _expect(domain, action, parameters, skips_main=skips_main))


def _as_end(state: State, parameters: Mapping[str, Any]) -> str | None:
    """Return open or close for a position that means just that, where only these two are known."""
    parameter = PARAMETERS.get(state.domain, {}).get("position")
    if parameter is None or list(parameters) != ["position"] or parameters["position"] not in (0, 100):
        return None
    features = state.attributes.get(ATTR_SUPPORTED_FEATURES)
    if not isinstance(features, int) or features & parameter.features:
        return None
    return "close" if parameters["position"] == 0 else "open"


def _calls(domain: str, action: Action, parameters: Mapping[str, Any], *, skips_main: bool) -> list[Call]:
    """Return the calls: the action's own, then those of parameters that it does not take itself."""
    calls: dict[str, dict[str, Any]] = {}
    if not skips_main and action.service:
        native = (
            parameters
            if action.native == ANY
            else {key: parameters[key] for key in action.native if key in parameters}
        )
        calls[action.service] = {**action.data, **native}
    for name, parameter in PARAMETERS.get(domain, {}).items():
        if name in parameters and (skips_main or (action.native != ANY and name not in action.native)):
            calls.setdefault(parameter.service, {})[parameter.key or name] = parameters[name]
    return [Call(service, data) for service, data in calls.items()]


def _expect(domain: str, action: Action, parameters: Mapping[str, Any], *, skips_main: bool) -> Expectation:
    """Return what the state should show."""
    attributes = {}
    for name, value in parameters.items():
        parameter = PARAMETERS.get(domain, {}).get(name)
        if parameter is not None and parameter.attribute is not None:
            attributes[parameter.attribute] = round(value * 255 / 100) if name == "brightness_pct" else value
    if skips_main:
        return Expectation(
            attributes=attributes, passing=PASSING if domain in ("cover", "valve") else frozenset()
        )
    return Expectation(action.expected, action.unexpected, action.passing, attributes)


def _plan_step(state: State, verb: str, action: Action, parameters: Mapping[str, Any]) -> Plan:
    """Return the plan for raising or lowering a value."""
    domain = state.domain
    size = parameters.get(STEP)
    if size is None and action.service:
        _check_features(state, action.features, verb)
        return Plan(domain, [Call(action.service, {})], CHANGED)
    services = STEP_SERVICES.get(domain)
    step = STEPS[domain]
    parameter = PARAMETERS[domain][step.parameter]
    _check_features(state, parameter.features, verb)
    if domain == "light":
        _check_mode(state, {"brightness_pct": 1})
        return Plan(
            domain,
            [Call("turn_on", {"brightness_step_pct": round(action.direction * (size or step.size))})],
            CHANGED,
        )
    if services and (size is None or domain == "fan"):
        data = {} if size is None else {"percentage_step": round(size)}
        return Plan(domain, [Call(services[0 if action.direction > 0 else 1], data)], CHANGED)
    value = _stepped(
        state, parameter, action.direction * (size or _own_step(state, step.attribute) or step.size)
    )
    fitted = _fit(state, {step.parameter: value}, clamp=True)
    expectation = Expectation(
        attributes={parameter.attribute or "": fitted[step.parameter]},
        passing=PASSING if domain == "cover" else frozenset(),
    )
    return Plan(domain, [Call(parameter.service, fitted)], expectation)


def _own_step(state: State, attribute: str | None) -> float | None:
    """Return the entity's own step."""
    size = state.attributes.get(attribute or "")
    return float(size) if isinstance(size, (int, float)) else None


def _stepped(state: State, parameter: Parameter, change: float) -> float:
    """Return the present value and the change together."""
    present = (
        state.state if parameter.attribute == "state" else state.attributes.get(parameter.attribute or "")
    )
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


def _check_features(state: State, bits: int, what: str) -> None:
    """Raise ValidationError unless the entity has one of some features."""
    features = state.attributes.get(ATTR_SUPPORTED_FEATURES)
    if bits and not (isinstance(features, int) and features & bits):
        raise ValidationError(f"does not support {what}")


def _check_mode(state: State, parameters: Mapping[str, Any]) -> None:
    """Raise ValidationError for a light that cannot be dimmed or coloured as asked."""
    if state.domain != "light":
        return
    modes = {str(mode) for mode in state.attributes.get("supported_color_modes") or ()}
    if not modes - UNDIMMED_MODES and any(name in parameters for name in BRIGHTNESS):
        raise ValidationError("can only be switched on and off, not dimmed")
    if not modes & COLOR_MODES and any(name in parameters for name in COLORS):
        raise ValidationError("has no colours")
    if not modes & {"color_temp", *COLOR_MODES} and "color_temp_kelvin" in parameters:
        raise ValidationError("has no colour temperature")


def _fit(state: State, parameters: Mapping[str, Any], *, clamp: bool = False) -> dict[str, Any]:
    """Return parameters as this entity takes them: one of its choices, within its bounds."""
    fitted = {}
    table = PARAMETERS.get(state.domain, {})
    for name, value in parameters.items():
        parameter = table[name]
        _check_features(state, parameter.features, name)
        if parameter.choices is not None:
            fitted[name] = _chosen(state, name, parameter.choices, value)
        elif parameter.bounds is not None:
            fitted[name] = _bounded(state, name, parameter.bounds, value, clamp=clamp)
        else:
            fitted[name] = value
    return _fit_white(state, fitted) if state.domain == "light" else fitted


def _fit_white(state: State, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a light with white and kelvin as it knows them."""
    modes = {str(mode) for mode in state.attributes.get("supported_color_modes") or ()}
    if parameters.get("rgb_color") == [255, 255, 255] and not modes & COLOR_MODES:
        if "color_temp" in modes:
            parameters["color_temp_kelvin"] = WHITE_KELVIN
        if "color_temp" in modes or parameters.keys() - {"rgb_color", "transition"}:
            del parameters["rgb_color"]
    if (kelvin := parameters.get("color_temp_kelvin")) is not None:
        low = state.attributes.get("min_color_temp_kelvin") or kelvin
        high = state.attributes.get("max_color_temp_kelvin") or kelvin
        parameters["color_temp_kelvin"] = max(min(kelvin, high), low)
    return parameters


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
    near = compact or [choice for folded, choice in spelled.items() if word_similarity(asked, folded)]
    if len(near) == 1:
        return near[0]
    listed = ", ".join(str(choice)[:30] for choice in choices[:MAX_LISTED])
    raise ValidationError(f"{name}: {str(value)[:40]!r} is not one of {listed}"[:300])


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
    """Return what is allowed, in words."""
    return f"allowed {low} to {high}"
