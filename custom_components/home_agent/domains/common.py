"""What several domains have in common: actions, parameters, and ways to restore an entity."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from .base import (
    ANY,
    STATE,
    Action,
    Changed,
    ControlParameter,
    DomainFacts,
    Reproduced,
    RestoreRule,
    ServiceCalls,
)

ON_OFF_SERVICES: Final = {"on": "turn_on", "off": "turn_off"}
ON_OFF_STATES: Final = {"on": ("turn_on",), "off": ("turn_off",)}
REPRODUCED_ON_OFF: Final = Reproduced(states=ON_OFF_STATES)

STEPS: Final = {
    name: Action(None, direction=direction, value="step", takes=("step",))
    for name, direction in (("increase", 1), ("decrease", -1))
}
"""Actions that raise and lower a value."""

TEMPERATURE_ALIASES: Final = "temp target_temperature target_temp setpoint set_temperature"
HUMIDITY_ALIASES: Final = "target_humidity percent percentage"
HUMIDITY_BOUNDS: Final = ("min_humidity", "max_humidity")
TEMPERATURE_BOUNDS: Final = ("min_temp", "max_temp")
PRESET_ALIASES: Final = "preset mode"
VALUE_ALIASES: Final = "number text state level amount"
VOLUME_ALIASES: Final = "volume level percent percentage"
DURATION_ALIASES: Final = "time length minutes_and_seconds"

CODE: Final = ControlParameter("code", "", aliases="pin alarm_code")
TARGET_TEMPERATURE: Final = ControlParameter(
    "temperature",
    "set_temperature",
    "temperature",
    "TARGET_TEMPERATURE",
    ability="temperature",
    aliases=TEMPERATURE_ALIASES,
    bounds=TEMPERATURE_BOUNDS,
)
TRANSITION: Final = ControlParameter("seconds", "turn_on", aliases="transition_time fade")


def on_off_actions(
    *takes: str, native: tuple[str, ...] = (), features: str = "", off: str = "off"
) -> dict[str, Action]:
    """Return on, off and toggle; an entity needs one of the features."""
    return {
        "turn_on": Action(
            "turn_on", unexpected=frozenset((off,)), takes=takes, native=native, features=features
        ),
        "turn_off": Action("turn_off", expected=frozenset((off,)), features=features),
        "toggle": Action("toggle", features=features),
    }


def setting(value: str, *takes: str) -> Action:
    """Return an action that sets its parameters; a bare value belongs to the first."""
    return Action(None, value=value, takes=takes or (value,))


def choice(name: str, choices: str, aliases: str = "") -> ControlParameter:
    """Return a parameter with a list of choices, whose service and feature have its name."""
    return ControlParameter(
        "text", f"set_{name}", name, name.upper(), ability=name, choices=choices, aliases=aliases
    )


def restore_on_off(
    _facts: DomainFacts, state: str, _attributes: Mapping[str, Any], changed: Changed
) -> ServiceCalls:
    """Yield on or off."""
    if STATE in changed and state in ("on", "off"):
        yield f"turn_{state}", {}


def restore_settings(
    facts: DomainFacts, _state: str, attributes: Mapping[str, Any], changed: Changed
) -> ServiceCalls:
    """Yield the calls that set the attributes of parameters."""
    for name, parameter in facts.parameters.items():
        shown = parameter.attribute
        if shown in changed and shown in attributes and parameter.is_restored:
            yield parameter.service, {parameter.key or name: attributes[shown]}


def restore_switched(
    facts: DomainFacts, state: str, attributes: Mapping[str, Any], changed: Changed
) -> ServiceCalls:
    """Yield the calls for entities that are on or off, with settings while they are on."""
    yield from restore_on_off(facts, state, attributes, changed)
    if state != "off":
        yield from restore_settings(facts, state, attributes, changed)


def restore_value(service: str, parameter: str, convert: Callable[[str], Any] = str) -> RestoreRule:
    """Return the rule for entities that are set to a state."""

    def rule(
        _facts: DomainFacts, state: str, _attributes: Mapping[str, Any], _changed: Changed
    ) -> ServiceCalls:
        yield service, {parameter: convert(state)}

    return rule


def restore_rest(states: tuple[str, ...], service: str) -> RestoreRule:
    """Return the rule for machines: they are sent back to rest, never to work."""

    def rule(facts: DomainFacts, state: str, attributes: Mapping[str, Any], changed: Changed) -> ServiceCalls:
        if STATE not in changed:
            yield from restore_settings(facts, state, attributes, changed)
        elif state in states:
            yield service, {}

    return rule


SWITCHED: Final = DomainFacts(
    name="",
    actions=on_off_actions(),
    restore=restore_switched,
    contained=ANY,
    reproduced=REPRODUCED_ON_OFF,
    active="on",
    acts={"on": "on", "off": "off"},
    suggested=ON_OFF_SERVICES,
    in_everything=True,
)
"""Facts of entities that are only on or off."""
