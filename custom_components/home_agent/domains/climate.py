"""Thermostats and air conditioners."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.core import State

from .base import (
    ANY,
    ANY_CLASS,
    STATE,
    Action,
    Changed,
    ControlParameter,
    DomainFacts,
    Reproduced,
    ServiceCalls,
    ValueStep,
    words,
)
from .common import (
    HUMIDITY_ALIASES,
    HUMIDITY_BOUNDS,
    PRESET_ALIASES,
    STEPS,
    TARGET_TEMPERATURE,
    TEMPERATURE_BOUNDS,
    choice,
    restore_settings,
    setting,
)
from .showing import number_of, text_of, word_or_quote

HEAT: Final = "heat"


def say_heating(state: State) -> str:
    """Return the action of a thermostat, its measurements and its targets."""
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


def _abilities(known: Mapping[str, Any]) -> Iterator[str]:
    if known.get("hvac_modes"):
        yield "hvac_mode"


def _restore(facts: DomainFacts, state: str, attributes: Mapping[str, Any], changed: Changed) -> ServiceCalls:
    """Yield mode and settings; the settings first where the mode is going to be off."""
    mode = [("set_hvac_mode", {"hvac_mode": state})] if STATE in changed else []
    if state != "off":
        yield from mode
    low, high = attributes.get("target_temp_low"), attributes.get("target_temp_high")
    if not changed.isdisjoint(("target_temp_low", "target_temp_high")) and None not in (low, high):
        yield "set_temperature", {"target_temp_low": low, "target_temp_high": high}
    yield from restore_settings(facts, state, attributes, changed)
    if state == "off":
        yield from mode


def _wake(state: State, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    target, current = parameters.get("temperature"), state.attributes.get("current_temperature")
    modes = state.attributes.get("hvac_modes") or ()
    if state.state != "off" or HEAT not in modes or not isinstance(current, int | float):
        return {}
    return {"hvac_mode": HEAT} if isinstance(target, int | float) and target > current else {}


def say_off(state: State, parameters: Mapping[str, Any]) -> str:
    """Return that a target has no effect while the heating is off."""
    target = number_of(parameters.get("temperature"))
    if state.state != "off" or not target or parameters.keys() & {"hvac_mode", "operation_mode"}:
        return ""
    return f"is off, so the target of {target}° has no effect yet"


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
    wake=_wake,
    remark=say_off,
    restore=_restore,
    say=say_heating,
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
    find_abilities=_abilities,
    describing=("hvac_modes",),
    contained=ANY,
    reproduced=Reproduced(other=("set_hvac_mode",)),
    acts={"off": "off"},
    other_act="mode:{state}",
    suggested={"mode": "set_hvac_mode", "off": "set_hvac_mode", "temperature": "set_temperature"},
    in_everything=True,
    is_lively=True,
)
