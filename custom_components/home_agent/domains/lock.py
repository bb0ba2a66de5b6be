"""Locks and alarm systems."""

from typing import Final

from .base import ANY, CODE, UNKNOWN_SERVICE, Action, DomainFacts, Reproduced, words

LOCK = DomainFacts(
    name="lock",
    actions={
        "lock": Action(
            "lock",
            expected=words("locked"),
            passing=words("locking"),
            takes=("code",),
            native=ANY,
            opens=False,
        ),
        "unlock": Action(
            "unlock",
            expected=words("unlocked open"),
            passing=words("unlocking opening"),
            takes=("code",),
            native=ANY,
            opens=True,
            also_said=("open",),
        ),
        "open": Action(
            "open",
            expected=words("open unlocked"),
            passing=words("opening unlocking"),
            takes=("code",),
            native=ANY,
            features="OPEN",
            ability="open",
            opens=True,
            is_momentary=True,
        ),
    },
    parameters={"code": CODE},
    # Home Assistant locks at a generic "turn on".
    turn_on="lock",
    turn_off="unlock",
    is_protected=True,
    safe_action="lock",
    says_age=True,
    reported=("changed_by",),
    restricted=("lock.unlock", "lock.open"),
    contained=ANY,
    reproduced=Reproduced(
        states={
            **dict.fromkeys(("locked", "locking"), ("lock",)),
            **dict.fromkeys(("unlocked", "unlocking"), ("unlock",)),
            **dict.fromkeys(("open", "opening"), ("open",)),
        },
        other=(UNKNOWN_SERVICE,),
    ),
    active="unlocked",
    acts={
        **dict.fromkeys(("locking", "locked"), "locked"),
        **dict.fromkeys(("unlocking", "unlocked", "opening", "open"), "unlocked"),
    },
    suggested={"locked": "lock"},
    in_everything=True,
    is_lively=True,
)


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
