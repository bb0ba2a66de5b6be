"""Humidifiers and dehumidifiers."""

from collections.abc import Iterator
from dataclasses import replace

from homeassistant.core import State

from .base import ANY, ControlParameter, ValueStep, words
from .common import HUMIDITY_ALIASES, HUMIDITY_BOUNDS, STEPS, SWITCHED, on_off_actions, setting
from .showing import number_of


def _details(state: State) -> Iterator[str]:
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
    details=_details,
    reported=("current_humidity", "humidity", "mode", "action"),
    is_lively=True,
)
