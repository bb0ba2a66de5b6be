"""Remote controls."""

from .base import ControlParameter, DomainFacts
from .common import REPRODUCED_ON_OFF, on_off_actions, restore_on_off

REMOTE = DomainFacts(
    name="remote",
    actions=on_off_actions("activity", native=("activity",)),
    parameters={
        "activity": ControlParameter(
            "text",
            "turn_on",
            "current_activity",
            "ACTIVITY",
            choices="activity_list",
            aliases="current_activity",
        )
    },
    fields={"activity": "activity"},
    restore=restore_on_off,
    contained=("turn_*", "toggle"),
    reproduced=REPRODUCED_ON_OFF,
    in_everything=True,
)
