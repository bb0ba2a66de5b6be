"""Dates and times."""

from collections.abc import Mapping
from typing import Any, Final

from .base import ANY, STATE, Changed, ControlParameter, DomainFacts, Reproduced, ServiceCalls
from .common import restore_value, setting

DATETIME_ALIASES: Final = "date_time timestamp"


def _restore(
    _facts: DomainFacts, state: str, _attributes: Mapping[str, Any], _changed: Changed
) -> ServiceCalls:
    key = "datetime" if " " in state else "date" if "-" in state else "time"
    yield "set_datetime", {key: state}


INPUT_DATETIME = DomainFacts(
    name="input_datetime",
    actions={"set_value": setting("datetime", "datetime", "date", "time")},
    parameters={
        "datetime": ControlParameter("datetime", "set_datetime", ability="value", aliases=DATETIME_ALIASES),
        "date": ControlParameter("date", "set_datetime"),
        "time": ControlParameter("time", "set_datetime"),
    },
    fields={"value": ""},
    restore=_restore,
    contained=ANY,
    reproduced=Reproduced(other=("set_datetime",)),
)
DATE, TIME = (
    DomainFacts(
        name=name,
        actions={"set_value": setting(name)},
        parameters={name: ControlParameter(name, "set_value", STATE, ability="value")},
        fields={"value": ""},
        restore=restore_value("set_value", name),
        contained=ANY,
    )
    for name in ("date", "time")
)
DATETIME = DomainFacts(
    name="datetime",
    actions={"set_value": setting("datetime")},
    # The state is written in another way than the value is given.
    parameters={
        "datetime": ControlParameter("datetime", "set_value", ability="value", aliases=DATETIME_ALIASES)
    },
    fields={"value": ""},
    restore=restore_value("set_value", "datetime"),
    contained=ANY,
)
