"""Numbers and counters."""

from typing import Final

from .base import ANY, STATE, Action, ControlParameter, DomainFacts, Reproduced, ValueStep
from .common import STEPS, VALUE_ALIASES, restore_value, setting

INCREMENT: Final = ("increment", "decrement")

_LEVELS: Final = "temperature percentage volume brightness position humidity"
"""Parameters of other devices under which models give a number with a unit."""
_ACTIONS: Final = {"set_value": setting("value"), **STEPS}
_NUMBER: Final = {
    "value": ControlParameter(
        "number",
        "set_value",
        STATE,
        ability="value",
        bounds=("min", "max"),
        aliases=f"{VALUE_ALIASES} {_LEVELS}",
    )
}
_REPRODUCED: Final = Reproduced(other=("set_value",))

INPUT_NUMBER = DomainFacts(
    name="input_number",
    actions=_ACTIONS,
    parameters=_NUMBER,
    fields={"value": ""},
    step=ValueStep("value", 1, "step", services=INCREMENT),
    restore=restore_value("set_value", "value", float),
    contained=ANY,
    reproduced=_REPRODUCED,
)
NUMBER = DomainFacts(
    name="number",
    actions=_ACTIONS,
    parameters=_NUMBER,
    fields={"value": ""},
    step=ValueStep("value", 1, "step"),
    restore=restore_value("set_value", "value", float),
    contained=ANY,
    reproduced=_REPRODUCED,
)
COUNTER = DomainFacts(
    name="counter",
    actions={"set_value": setting("value"), "reset": Action("reset"), **STEPS},
    parameters={
        "value": ControlParameter(
            "integer", "set_value", STATE, bounds=("minimum", "maximum"), aliases=VALUE_ALIASES
        )
    },
    fields={"value": ""},
    step=ValueStep("value", 1, "step", services=INCREMENT),
    restore=restore_value("set_value", "value", lambda state: int(float(state))),
    contained=ANY,
    reproduced=_REPRODUCED,
)
