"""What lets people or water through, and what guards it: locks, alarm systems, covers and valves."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State

from .base import (
    ANY,
    CODE,
    STATE,
    STEPS,
    UNKNOWN_SERVICE,
    Action,
    ControlParameter,
    DomainFacts,
    FormerState,
    MeantAction,
    Reproduced,
    ServiceCalls,
    ValueStep,
    setting,
    words,
)
from .features import supports
from .showing import number_of

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
    told={"open": "unlatched"},
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


ENTRANCES: Final = ("garage", "gate", "door")
"""Device classes of covers of which "the garage door" means one, and that lead into the home."""
MOVING: Final = words("opening closing")
ACTS: Final = {"opening": "open", "open": "open", "closing": "closed", "closed": "closed"}


def _open_close_stop(domain: str) -> dict[str, Action]:
    return {
        "open": Action(
            f"open_{domain}",
            expected=words("open"),
            passing=words("opening"),
            features="OPEN",
            opens=True,
            takes=("position",),
            instead=("position",),
        ),
        "close": Action(
            f"close_{domain}",
            expected=words("closed"),
            passing=words("closing"),
            features="CLOSE",
            opens=False,
            takes=("position",),
            instead=("position",),
        ),
        "stop": Action(f"stop_{domain}", unexpected=MOVING, features="STOP", ability="stop"),
    }


def _position(domain: str) -> ControlParameter:
    return ControlParameter(
        "percent",
        f"set_{domain}_position",
        "current_position",
        "SET_POSITION",
        ability="position",
        aliases="level percent percentage cover_position current_position",
        passing=MOVING,
    )


def _adapt(state: State, verb: str, parameters: Mapping[str, Any]) -> MeantAction:
    """Open or close what knows only these two for a position that means just that."""
    ends = {0: "close", 100: "open"}
    is_end = parameters.keys() == {"position"} and parameters["position"] in ends
    if not is_end or not state.attributes.get(ATTR_SUPPORTED_FEATURES) or supports(state, "SET_POSITION"):
        return MeantAction(verb, parameters)
    return MeantAction(ends[parameters["position"]], {})


def _restore(was: FormerState) -> ServiceCalls:
    if "current_position" in was.attributes and "current_position" in was.changed:
        yield "set_cover_position", {"position": was.attributes["current_position"]}
    elif STATE in was.changed and was.state in ("open", "closed"):
        yield "open_cover" if was.state == "open" else "close_cover", {}
    if "current_tilt_position" in was.changed and "current_tilt_position" in was.attributes:
        yield "set_cover_tilt_position", {"tilt_position": was.attributes["current_tilt_position"]}


def _details(state: State) -> Iterator[str]:
    position = number_of(state.attributes.get("current_position"))
    if position and (state.state, position) not in {("open", "100"), ("closed", "0")}:
        yield f"{position}%"
    if tilt := number_of(state.attributes.get("current_tilt_position")):
        yield f"tilt {tilt}%"


COVER = DomainFacts(
    name="cover",
    several={
        "awning": "awnings",
        "blind": "blinds",
        "curtain": "curtains",
        "door": "doors",
        "garage": "garage doors",
        "gate": "gates",
        "shade": "shades",
        "shutter": "shutters",
        "window": "windows",
    },
    actions={
        **_open_close_stop("cover"),
        "toggle": Action("toggle", features="OPEN CLOSE"),
        "set_position": setting("position", *ANY),
        "set_value": setting("position", *ANY),
        "set_tilt": setting("tilt_position", *ANY),
        **STEPS,
    },
    parameters={
        "position": _position("cover"),
        "tilt_position": ControlParameter(
            "percent",
            "set_cover_tilt_position",
            "current_tilt_position",
            "SET_TILT_POSITION",
            aliases="tilt tilt_angle",
            passing=MOVING,
        ),
    },
    fields={"position": "position", "tilt_position": "tilt_position"},
    synonyms=words("toggle set_position set_tilt"),
    step=ValueStep("position", 20),
    adapt=_adapt,
    turn_on="open",
    turn_off="close",
    is_protected=True,
    guarded_classes=frozenset(ENTRANCES),
    device_actions={
        "open_tilt": "open_cover_tilt",
        "close_tilt": "close_cover_tilt",
        "set_position": "set_cover_position",
        "set_tilt_position": "set_cover_tilt_position",
    },
    directions={"open_cover_tilt": True, "close_cover_tilt": False},
    restore=_restore,
    safe_action="close",
    details=_details,
    says_age=True,
    reported=("current_position", "current_tilt_position"),
    abilities={"tilt": "OPEN_TILT CLOSE_TILT SET_TILT_POSITION"},
    restricted=tuple(f"cover:{kind}" for kind in ENTRANCES),
    unrestricted=tuple(
        f"cover:{kind}.{service}" for kind in ENTRANCES for service in ("close_cover*", "stop_cover*")
    ),
    contained=ANY,
    reproduced=Reproduced(
        states={
            **dict.fromkeys(("open", "opening"), ("open_cover", "open_cover_tilt")),
            **dict.fromkeys(("closed", "closing"), ("close_cover", "close_cover_tilt")),
        },
        other=(UNKNOWN_SERVICE,),
    ),
    active="open",
    acts=ACTS,
    suggested={"open": "open_cover", "closed": "close_cover"},
    in_everything=True,
    is_lively=True,
)
VALVE = DomainFacts(
    name="valve",
    actions={
        **_open_close_stop("valve"),
        "set_position": setting("position"),
        "set_value": setting("position"),
    },
    parameters={"position": _position("valve")},
    fields={"position": "position"},
    synonyms=words("set_position"),
    adapt=_adapt,
    turn_on="open",
    turn_off="close",
    is_protected=True,
    safe_action="close",
    details=_details,
    says_age=True,
    reported=("current_position",),
    restricted=("valve.open_valve", "valve.set_valve_position", "valve.toggle"),
    contained=ANY,
    reproduced=Reproduced(
        states=dict.fromkeys(("closed", "closing"), ("close_valve",)), other=("open_valve",)
    ),
    active="open",
    acts=ACTS,
    suggested={"closed": "close_valve"},
    in_everything=True,
    is_lively=True,
)
