"""Fans."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from homeassistant.core import State

from .base import (
    ANY,
    PRESET_ALIASES,
    STEPS,
    SWITCHED,
    ControlParameter,
    MeantAction,
    ValueStep,
    choice,
    on_off_actions,
    setting,
    words,
)
from .features import supports
from .showing import number_of, text_of

LEAST_STEP: Final = 10
"""Percent; a fan with a hundred speeds does not change by one."""


def _details(state: State) -> Iterator[str]:
    if state.state == "on":
        if percentage := number_of(state.attributes.get("percentage")):
            yield f"{percentage}%"
        yield from text_of("preset_mode", state)
        if state.attributes.get("oscillating"):
            yield "oscillating"


def _adapt(state: State, verb: str, parameters: Mapping[str, Any]) -> MeantAction:
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
    adapt=_adapt,
    details=_details,
    reported=("percentage", "preset_mode", "oscillating", "direction"),
    is_switched_with_everything=True,
    is_lively=True,
)
