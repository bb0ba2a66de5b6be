"""Alarm systems."""

from typing import Final

from .base import ANY, UNKNOWN_SERVICE, Action, DomainFacts, Reproduced, words
from .common import CODE

MODES: Final = ("home", "away", "night", "vacation")

ALARM_CONTROL_PANEL = DomainFacts(
    name="alarm_control_panel",
    actions={
        **{
            f"arm_{mode}": Action(
                f"alarm_arm_{mode}",
                expected=words(f"armed_{mode}"),
                passing=words("arming pending"),
                takes=("code",),
                native=ANY,
                features=f"ARM_{mode.upper()}",
                ability=f"arm_{mode}",
                opens=False,
            )
            for mode in MODES
        },
        "disarm": Action(
            "alarm_disarm",
            expected=words("disarmed"),
            passing=words("disarming"),
            takes=("code",),
            native=ANY,
            opens=True,
            also_said=("turn_off",),
        ),
    },
    parameters={"code": CODE},
    device_actions={"trigger": "alarm_trigger"},
    is_protected=True,
    says_age=True,
    reported=("changed_by",),
    abilities={"trigger": "TRIGGER", "arm_custom_bypass": "ARM_CUSTOM_BYPASS"},
    restricted=("alarm_control_panel.alarm_disarm", "alarm_control_panel.alarm_trigger"),
    contained=ANY,
    reproduced=Reproduced(
        states={
            **{f"armed_{mode}": (f"alarm_arm_{mode}",) for mode in (*MODES, "custom_bypass")},
            "disarmed": ("alarm_disarm",),
            "triggered": ("alarm_trigger",),
        },
        other=(UNKNOWN_SERVICE,),
    ),
)
