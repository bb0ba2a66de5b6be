"""Fans."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from homeassistant.core import State

from .base import ANY, ControlParameter, ValueStep, words
from .common import PRESET_ALIASES, STEPS, SWITCHED, choice, on_off_actions, setting
from .features import supports
from .showing import number_of, text_of


def _details(state: State) -> Iterator[str]:
    if state.state == "on":
        if percentage := number_of(state.attributes.get("percentage")):
            yield f"{percentage}%"
        yield from text_of("preset_mode", state)
        if state.attributes.get("oscillating"):
            yield "oscillating"


def _keep(state: State) -> Mapping[str, Any]:
    """Return the speed: turned on without one, many fans change it."""
    if not supports(state, "SET_SPEED") or not (percentage := state.attributes.get("percentage")):
        return {}
    return {"percentage": percentage}


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
        least=10,
        services=("increase_speed", "decrease_speed"),
        key="percentage_step",
    ),
    keep=_keep,
    details=_details,
    reported=("percentage", "preset_mode", "oscillating", "direction"),
    is_switched_with_everything=True,
    is_lively=True,
)
