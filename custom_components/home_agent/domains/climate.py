"""Thermostats, air conditioners, water heaters, humidifiers and fans."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from homeassistant.core import State

from .base import (
    ANY,
    ANY_CLASS,
    ON_OFF_STATES,
    PRESET_ALIASES,
    STATE,
    STEPS,
    SWITCHED,
    Action,
    ControlParameter,
    DomainFacts,
    FormerState,
    MeantAction,
    Reproduced,
    ServiceCalls,
    ValueStep,
    choice,
    on_off_actions,
    restore_settings,
    setting,
    words,
)
from .features import supports
from .showing import number_of, text_of, word_or_quote

HEAT: Final = "heat"
HUMIDITY_ALIASES: Final = "target_humidity percent percentage"
HUMIDITY_BOUNDS: Final = ("min_humidity", "max_humidity")
TEMPERATURE_BOUNDS: Final = ("min_temp", "max_temp")
TARGET_TEMPERATURE: Final = ControlParameter(
    "temperature",
    "set_temperature",
    "temperature",
    "TARGET_TEMPERATURE",
    ability="temperature",
    aliases="temp target_temperature target_temp setpoint set_temperature",
    bounds=TEMPERATURE_BOUNDS,
)


def _say(state: State) -> str:
    attributes = state.attributes
    mode = word_or_quote(state.state)
    action = str(attributes.get("hvac_action") or "")
    doing = mode if action in {"", "off", mode} else f"{mode} ({action})" if action == "idle" else action
    low, high = number_of(attributes.get("target_temp_low")), number_of(attributes.get("target_temp_high"))
    target = number_of(attributes.get("temperature")) or (f"{low}-{high}" if low and high else "")
    if target and state.state != "off":
        doing = f"{doing} to {target}°"
    current = number_of(attributes.get("current_temperature"))
    return f"{current}°, {doing}" if current else doing


def _details(state: State) -> Iterator[str]:
    yield from text_of("preset_mode", state, unless={"none"})


def _restore(was: FormerState) -> ServiceCalls:
    """Yield mode and settings; the settings first where the mode is going to be off."""
    mode = [("set_hvac_mode", {"hvac_mode": was.state})] if STATE in was.changed else []
    if was.state != "off":
        yield from mode
    low, high = was.attributes.get("target_temp_low"), was.attributes.get("target_temp_high")
    if not was.changed.isdisjoint(("target_temp_low", "target_temp_high")) and None not in (low, high):
        yield "set_temperature", {"target_temp_low": low, "target_temp_high": high}
    yield from restore_settings(was)
    if was.state == "off":
        yield from mode


def _adapt(state: State, verb: str, parameters: Mapping[str, Any]) -> MeantAction:
    """Turn heating that is off on for a target that needs it, or say that the target has no effect yet."""
    target, current = parameters.get("temperature"), state.attributes.get("current_temperature")
    if state.state != "off" or not isinstance(target, int | float):
        return MeantAction(verb, parameters)
    is_colder = isinstance(current, int | float) and target > current
    if is_colder and HEAT in (state.attributes.get("hvac_modes") or ()):
        parameters = {"hvac_mode": HEAT, **parameters}
    has_mode = parameters.keys() & {"hvac_mode", "operation_mode"}
    note = f"is off, so the target of {number_of(target)}° has no effect yet"
    return MeantAction(verb, parameters, "" if has_mode else note)


def _range_end(name: str, aliases: str) -> ControlParameter:
    """Return one end of a range of temperatures; both are restored together."""
    return ControlParameter(
        "temperature",
        "set_temperature",
        name,
        "TARGET_TEMPERATURE_RANGE",
        ability="temperature_range",
        aliases=aliases,
        bounds=TEMPERATURE_BOUNDS,
        is_restored=False,
    )


CLIMATE = DomainFacts(
    name="climate",
    several={ANY_CLASS: "thermostats"},
    counted="on",
    measures={"temperature": "current_temperature", "humidity": "current_humidity"},
    actions={
        "turn_on": Action(
            "turn_on", unexpected=words("off"), takes=ANY, instead=("hvac_mode",), features="TURN_ON"
        ),
        "turn_off": Action("turn_off", expected=words("off"), features="TURN_OFF"),
        "toggle": Action("toggle", features="TURN_OFF TURN_ON"),
        "set_temperature": setting("temperature", *ANY),
        "set_value": setting("temperature", *ANY),
        "set_hvac_mode": setting("hvac_mode", *ANY),
        "set_fan_mode": setting("fan_mode", *ANY),
        "set_preset": setting("preset_mode", *ANY),
        "set_humidity": setting("humidity", *ANY),
        **STEPS,
    },
    parameters={
        "hvac_mode": ControlParameter(
            "hvac_mode",
            "set_hvac_mode",
            STATE,
            ability="hvac_mode",
            choices="hvac_modes",
            aliases="mode operation_mode hvac",
            has_few_choices=True,
        ),
        "preset_mode": choice("preset_mode", "preset_modes", PRESET_ALIASES),
        "temperature": TARGET_TEMPERATURE,
        "target_temp_low": _range_end(
            "target_temp_low", "target_temperature_low temperature_low min_temperature low"
        ),
        "target_temp_high": _range_end(
            "target_temp_high", "target_temperature_high temperature_high max_temperature high"
        ),
        "humidity": ControlParameter(
            "percent",
            "set_humidity",
            "humidity",
            "TARGET_HUMIDITY",
            aliases=HUMIDITY_ALIASES,
            bounds=HUMIDITY_BOUNDS,
        ),
        "fan_mode": choice("fan_mode", "fan_modes", "fan fan_speed speed"),
        "swing_mode": choice("swing_mode", "swing_modes", "swing"),
        "swing_horizontal_mode": choice("swing_horizontal_mode", "swing_horizontal_modes"),
    },
    fields={
        "temperature": "temperature",
        "hvac_mode": "hvac_mode",
        "preset_mode": "preset_mode",
        "fan_mode": "fan_mode",
        "humidity": "humidity",
    },
    synonyms=words("toggle set_temperature set_hvac_mode set_fan_mode set_preset set_humidity"),
    step=ValueStep(
        "temperature", 0.5, "target_temp_step", least=0.5, ends=("target_temp_low", "target_temp_high")
    ),
    adapt=_adapt,
    restore=_restore,
    say=_say,
    details=_details,
    reported=(
        "current_temperature",
        "current_humidity",
        "temperature",
        "target_temp_low",
        "target_temp_high",
        "humidity",
        "hvac_action",
        "preset_mode",
        "fan_mode",
    ),
    describing=("hvac_modes",),
    contained=ANY,
    reproduced=Reproduced(other=("set_hvac_mode",)),
    acts={"off": "off"},
    other_act="mode:{state}",
    suggested={"mode": "set_hvac_mode", "off": "set_hvac_mode", "temperature": "set_temperature"},
    in_everything=True,
    is_lively=True,
)


def _restore_water(was: FormerState) -> ServiceCalls:
    if STATE in was.changed:
        yield "set_operation_mode", {"operation_mode": was.state}
    yield from restore_settings(was)


WATER_HEATER = DomainFacts(
    name="water_heater",
    actions={
        "turn_on": Action("turn_on", unexpected=words("off"), takes=ANY, features="ON_OFF"),
        "turn_off": Action("turn_off", expected=words("off"), features="ON_OFF"),
        "set_temperature": setting("temperature", *ANY),
        "set_value": setting("temperature", *ANY),
        "set_preset": setting("operation_mode", *ANY),
        **STEPS,
    },
    # The modes come first, as each may bring a temperature of its own.
    parameters={
        "operation_mode": ControlParameter(
            "text",
            "set_operation_mode",
            STATE,
            "OPERATION_MODE",
            choices="operation_list",
            aliases="mode preset_mode preset hvac_mode operation",
        ),
        "away_mode": ControlParameter(
            "boolean", "set_away_mode", "away_mode", "AWAY_MODE", aliases="away", is_verified=False
        ),
        "temperature": TARGET_TEMPERATURE,
    },
    fields={"temperature": "temperature", "operation_mode": "operation_mode"},
    synonyms=words("set_temperature set_preset"),
    adapt=_adapt,
    step=ValueStep("temperature", 0.5, "target_temp_step", least=0.5),
    restore=_restore_water,
    say=_say,
    reported=("current_temperature", "temperature", "operation_mode", "away_mode"),
    contained=ANY,
    reproduced=Reproduced(states=ON_OFF_STATES, other=("set_operation_mode",)),
    in_everything=True,
)


def _humidity(state: State) -> Iterator[str]:
    if current := number_of(state.attributes.get("current_humidity")):
        yield f"{current}%"
    if state.state == "on" and (target := number_of(state.attributes.get("humidity"))):
        yield f"target {target}%"


HUMIDIFIER = replace(
    SWITCHED,
    name="humidifier",
    actions={
        **on_off_actions(*ANY),
        "set_humidity": setting("humidity", *ANY),
        "set_value": setting("humidity", *ANY),
        "set_preset": setting("mode", *ANY),
        **STEPS,
    },
    # The mode comes first, as it may bring a humidity of its own.
    parameters={
        "mode": ControlParameter(
            "text", "set_mode", "mode", "MODES", choices="available_modes", aliases="preset_mode preset"
        ),
        "humidity": ControlParameter(
            "percent",
            "set_humidity",
            "humidity",
            ability="humidity",
            aliases=HUMIDITY_ALIASES,
            bounds=HUMIDITY_BOUNDS,
        ),
    },
    fields={"humidity": "humidity", "mode": "mode"},
    synonyms=words("set_humidity set_preset"),
    step=ValueStep("humidity", 5, "target_humidity_step"),
    details=_humidity,
    reported=("current_humidity", "humidity", "mode", "action"),
    is_lively=True,
)


LEAST_STEP: Final = 10
"""Percent; a fan with a hundred speeds does not change by one."""


def _speed(state: State) -> Iterator[str]:
    if state.state == "on":
        if percentage := number_of(state.attributes.get("percentage")):
            yield f"{percentage}%"
        yield from text_of("preset_mode", state)
        if state.attributes.get("oscillating"):
            yield "oscillating"


def _keep_speed(state: State, verb: str, parameters: Mapping[str, Any]) -> MeantAction:
    """Keep the speed of a fan that is on: turned on without one, many change it."""
    percentage = state.attributes.get("percentage")
    keeps = verb == "turn_on" and state.state == "on" and not parameters and supports(state, "SET_SPEED")
    return MeantAction(verb, {"percentage": percentage} if keeps and percentage else parameters)


def _step(state: State, direction: int, size: float | None) -> tuple[str, Mapping[str, Any]]:
    own = state.attributes.get("percentage_step")
    if size is None and isinstance(own, int | float) and own < LEAST_STEP:
        size = LEAST_STEP
    data = {} if size is None else {"percentage_step": round(size)}
    return "increase_speed" if direction > 0 else "decrease_speed", data


FAN = replace(
    SWITCHED,
    name="fan",
    actions={
        **on_off_actions(*ANY, native=("percentage", "preset_mode")),
        "set_value": setting("percentage", *ANY),
        "set_speed": setting("percentage", *ANY),
        "set_preset": setting("preset_mode", *ANY),
        **STEPS,
    },
    parameters={
        "percentage": ControlParameter(
            "percent",
            "set_percentage",
            "percentage",
            "SET_SPEED",
            ability="speed",
            aliases="speed percent fan_speed level speed_percentage",
        ),
        "preset_mode": choice("preset_mode", "preset_modes", PRESET_ALIASES),
        "oscillating": ControlParameter(
            "boolean",
            "oscillate",
            "oscillating",
            "OSCILLATE",
            ability="oscillation",
            aliases="oscillate oscillation swing",
        ),
        "direction": ControlParameter("direction", "set_direction", "direction", "DIRECTION"),
    },
    fields={"percentage": "speed", "preset_mode": "preset_mode", "oscillating": "oscillation"},
    synonyms=words("set_speed set_preset"),
    step=ValueStep(
        "percentage",
        20,
        "percentage_step",
        least=LEAST_STEP,
        services=("increase_speed", "decrease_speed"),
        call=_step,
    ),
    adapt=_keep_speed,
    details=_speed,
    reported=("percentage", "preset_mode", "oscillating", "direction"),
    is_switched_with_everything=True,
    is_lively=True,
)
