"""Water heaters."""

from collections.abc import Mapping
from typing import Any

from .base import (
    ANY,
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
from .climate import say_heating, say_off
from .common import ON_OFF_STATES, STEPS, TARGET_TEMPERATURE, restore_settings, setting


def _restore(facts: DomainFacts, state: str, attributes: Mapping[str, Any], changed: Changed) -> ServiceCalls:
    if STATE in changed:
        yield "set_operation_mode", {"operation_mode": state}
    yield from restore_settings(facts, state, attributes, changed)


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
    remark=say_off,
    step=ValueStep("temperature", 0.5, "target_temp_step", least=0.5),
    restore=_restore,
    say=say_heating,
    reported=("current_temperature", "temperature", "operation_mode", "away_mode"),
    contained=ANY,
    reproduced=Reproduced(states=ON_OFF_STATES, other=("set_operation_mode",)),
    in_everything=True,
)
