"""Robot lawn mowers."""

from typing import Final

from .base import ANY, Action, DomainFacts, words
from .common import restore_rest

MOWING: Final = words("mowing")

_START: Final = Action("start_mowing", expected=MOWING, features="START_MOWING")
_DOCK: Final = Action("dock", expected=words("returning docked"), features="DOCK", ability="dock")

LAWN_MOWER = DomainFacts(
    name="lawn_mower",
    actions={
        "start": _START,
        "turn_on": _START,
        "pause": Action("pause", unexpected=MOWING, features="PAUSE", ability="pause"),
        "stop": Action("stop", unexpected=MOWING, features="STOP"),
        "return_to_base": _DOCK,
        "turn_off": _DOCK,
    },
    synonyms=words("turn_on turn_off"),
    told={"turn_on": "started", "turn_off": "returning"},
    restore=restore_rest(("docked", "returning"), "dock"),
    contained=ANY,
    active="mowing",
    acts={"mowing": "mowing"},
    suggested={"mowing": "start_mowing"},
    in_everything=True,
    moves=True,
)
