"""Choices from a list."""

from typing import Final

from .base import ANY, STATE, Action, ControlParameter, DomainFacts, Reproduced, words
from .common import restore_value, setting

_ACTIONS: Final = {
    "select_option": setting("option"),
    "set_value": setting("option"),
    "next": Action("select_next"),
    "previous": Action("select_previous"),
}
_TOLD: Final = dict.fromkeys(("next", "previous"), "changed")
_PARAMETERS: Final = {
    "option": ControlParameter(
        "text",
        "select_option",
        STATE,
        ability="option",
        choices="options",
        has_few_choices=True,
        aliases="mode choice selection select_option state",
    )
}

INPUT_SELECT = DomainFacts(
    name="input_select",
    actions=_ACTIONS,
    parameters=_PARAMETERS,
    fields={"option": ""},
    synonyms=words("select_option"),
    describing=("options",),
    choices=("options",),
    told=_TOLD,
    restore=restore_value("select_option", "option"),
    contained=ANY,
    reproduced=Reproduced(other=("select_option",), attributes={"options": "set_options"}),
)
SELECT = DomainFacts(
    name="select",
    actions=_ACTIONS,
    parameters=_PARAMETERS,
    fields={"option": ""},
    synonyms=words("select_option"),
    describing=("options",),
    choices=("options",),
    told=_TOLD,
    restore=restore_value("select_option", "option"),
    contained=ANY,
    reproduced=Reproduced(other=("select_option",)),
)
