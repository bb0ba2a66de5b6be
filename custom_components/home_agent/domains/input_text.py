"""Texts."""

from homeassistant.core import State

from .base import ANY, STATE, ControlParameter, DomainFacts, Reproduced
from .common import VALUE_ALIASES, restore_value, setting
from .showing import quoted_text


def _say(state: State) -> str:
    return quoted_text(state.state)


INPUT_TEXT, TEXT = (
    DomainFacts(
        name=name,
        actions={"set_value": setting("value")},
        parameters={
            "value": ControlParameter("text", "set_value", STATE, ability="value", aliases=VALUE_ALIASES)
        },
        fields={"value": ""},
        restore=restore_value("set_value", "value"),
        say=_say,
        contained=ANY,
        reproduced=Reproduced(other=("set_value",)),
    )
    for name in ("input_text", "text")
)
