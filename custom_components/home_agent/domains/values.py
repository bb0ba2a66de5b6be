"""What is set to a value: numbers, choices, texts, dates and times."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from homeassistant.core import State

from .base import (
    ANY,
    STATE,
    STEPS,
    Action,
    ControlParameter,
    DomainFacts,
    FormerState,
    Reproduced,
    ServiceCalls,
    ValueStep,
    restore_value,
    setting,
    words,
)
from .showing import quoted_text

INCREMENT: Final = ("increment", "decrement")
VALUE_ALIASES: Final = "number text state level amount"
DATETIME_ALIASES: Final = "date_time timestamp"

_SET_VALUE: Final = Reproduced(other=("set_value",))
_VALUE: Final = DomainFacts(name="", fields={"value": ""}, contained=ANY)


def _count(_state: State, direction: int, size: float | None) -> tuple[str, Mapping[str, Any]] | None:
    return (INCREMENT[0 if direction > 0 else 1], {}) if size is None else None


NUMBER = replace(
    _VALUE,
    name="number",
    actions={"set_value": setting("value"), **STEPS},
    parameters={
        "value": ControlParameter(
            "number",
            "set_value",
            STATE,
            ability="value",
            bounds=("min", "max"),
            # Models give a number with a unit under the parameters of other devices.
            aliases=f"{VALUE_ALIASES} temperature percentage volume brightness position humidity",
        )
    },
    step=ValueStep("value", 1, "step"),
    restore=restore_value("set_value", "value", float),
    reproduced=_SET_VALUE,
)
INPUT_NUMBER = replace(
    NUMBER, name="input_number", step=ValueStep("value", 1, "step", services=INCREMENT, call=_count)
)
COUNTER = replace(
    INPUT_NUMBER,
    name="counter",
    actions={"set_value": setting("value"), "reset": Action("reset"), **STEPS},
    parameters={
        "value": ControlParameter(
            "integer", "set_value", STATE, bounds=("minimum", "maximum"), aliases=VALUE_ALIASES
        )
    },
    restore=restore_value("set_value", "value", lambda state: int(float(state))),
)

SELECT = replace(
    _VALUE,
    name="select",
    actions={
        "select_option": setting("option"),
        "set_value": setting("option"),
        "next": Action("select_next"),
        "previous": Action("select_previous"),
    },
    parameters={
        "option": ControlParameter(
            "text",
            "select_option",
            STATE,
            ability="option",
            choices="options",
            has_few_choices=True,
            aliases="mode choice selection select_option state",
        )
    },
    fields={"option": ""},
    synonyms=words("select_option"),
    describing=("options",),
    choices=("options",),
    told=dict.fromkeys(("next", "previous"), "changed"),
    restore=restore_value("select_option", "option"),
    reproduced=Reproduced(other=("select_option",)),
)
INPUT_SELECT = replace(
    SELECT,
    name="input_select",
    reproduced=Reproduced(other=("select_option",), attributes={"options": "set_options"}),
)


TEXT = replace(
    _VALUE,
    name="text",
    actions={"set_value": setting("value")},
    parameters={
        "value": ControlParameter("text", "set_value", STATE, ability="value", aliases=VALUE_ALIASES)
    },
    restore=restore_value("set_value", "value"),
    say=lambda state: quoted_text(state.state),
    reproduced=_SET_VALUE,
)
INPUT_TEXT = replace(TEXT, name="input_text")


def _restore_datetime(was: FormerState) -> ServiceCalls:
    key = "datetime" if " " in was.state else "date" if "-" in was.state else "time"
    yield "set_datetime", {key: was.state}


INPUT_DATETIME = replace(
    _VALUE,
    name="input_datetime",
    actions={"set_value": setting("datetime", "datetime", "date", "time")},
    parameters={
        "datetime": ControlParameter("datetime", "set_datetime", ability="value", aliases=DATETIME_ALIASES),
        "date": ControlParameter("date", "set_datetime"),
        "time": ControlParameter("time", "set_datetime"),
    },
    restore=_restore_datetime,
    reproduced=Reproduced(other=("set_datetime",)),
)
DATE, TIME, DATETIME = (
    replace(
        _VALUE,
        name=name,
        actions={"set_value": setting(name)},
        # The state of a datetime is written in another way than the value is given.
        parameters={
            name: ControlParameter(
                name,
                "set_value",
                None if name == "datetime" else STATE,
                ability="value",
                aliases=DATETIME_ALIASES if name == "datetime" else "",
            )
        },
        restore=restore_value("set_value", name),
    )
    for name in ("date", "time", "datetime")
)
