"""Robot vacuum cleaners and lawn mowers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from homeassistant.core import State

from .base import (
    ANY,
    ON_OFF_STATES,
    Action,
    ControlParameter,
    DomainFacts,
    Reproduced,
    WorkInRooms,
    choice,
    restore_rest,
    setting,
    words,
)
from .showing import number_of

CLEANING: Final = words("cleaning")
ROOMS: Final = "cleaning_area_id"
"""The parameter with the ids of the rooms to clean."""

_START: Final = Action("start", expected=CLEANING, takes=("fan_speed",), features="START")
_RETURN: Final = Action(
    "return_to_base", expected=words("returning docked"), features="RETURN_HOME", ability="return_home"
)


def _details(state: State) -> Iterator[str]:
    if level := number_of(state.attributes.get("battery_level")):
        yield f"battery {level}%"


def _areas(options: Mapping[str, Any]) -> Iterable[str]:
    mapping = options.get("area_mapping")
    return [area for area, parts in mapping.items() if parts] if isinstance(mapping, Mapping) else ()


VACUUM = DomainFacts(
    name="vacuum",
    actions={
        "start": _START,
        "turn_on": _START,
        "stop": Action("stop", unexpected=CLEANING, features="STOP", ability="stop"),
        "pause": Action("pause", unexpected=CLEANING, features="PAUSE", ability="pause"),
        "return_to_base": _RETURN,
        "turn_off": _RETURN,
        "locate": Action("locate", features="LOCATE", ability="locate"),
        "clean_spot": Action("clean_spot", expected=CLEANING, features="CLEAN_SPOT", ability="clean_spot"),
        "clean_area": Action(
            "clean_area",
            expected=CLEANING,
            takes=(ROOMS, "fan_speed"),
            native=(ROOMS,),
            value=ROOMS,
            features="CLEAN_AREA",
            ability="clean_area",
            also_said=("start",),
            is_momentary=True,
        ),
        "set_speed": setting("fan_speed"),
        "set_value": setting("fan_speed"),
    },
    parameters={
        "fan_speed": choice("fan_speed", "fan_speed_list", "speed fan_mode mode power suction"),
        ROOMS: ControlParameter(
            "ids",
            "clean_area",
            features="CLEAN_AREA",
            ability="clean_area",
            aliases="rooms cleaning_area cleaning_areas cleaning_area_ids segments zones",
        ),
    },
    fields={"fan_speed": "fan_speed"},
    synonyms=words("turn_on turn_off set_speed"),
    rooms=WorkInRooms("clean_area", words("start turn_on"), _areas),
    device_actions={"clean": "start", "dock": "return_to_base"},
    told={"turn_on": "started", "clean_spot": "started", "turn_off": "returning"},
    restore=restore_rest(("docked", "returning", "idle"), "return_to_base"),
    details=_details,
    reported=("battery_level", "fan_speed"),
    contained=ANY,
    not_contained=("send_command",),
    reproduced=Reproduced(
        states={
            **ON_OFF_STATES,
            "cleaning": ("start",),
            **dict.fromkeys(("docked", "returning"), ("return_to_base",)),
            "idle": ("stop",),
            "paused": ("pause",),
        }
    ),
    active="cleaning",
    acts={"cleaning": "cleaning"},
    suggested={"cleaning": "start"},
    in_everything=True,
    is_lively=True,
    moves=True,
)


MOWING: Final = words("mowing")

_MOW: Final = Action("start_mowing", expected=MOWING, features="START_MOWING")
_DOCK: Final = Action("dock", expected=words("returning docked"), features="DOCK", ability="dock")

LAWN_MOWER = DomainFacts(
    name="lawn_mower",
    actions={
        "start": _MOW,
        "turn_on": _MOW,
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
