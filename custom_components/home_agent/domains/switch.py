"""What is switched on and off or pressed: switches, buttons, cameras, remote controls and sirens."""

from dataclasses import replace
from typing import Final

from .base import (
    ANY,
    ANY_CLASS,
    DURATION_ALIASES,
    REPRODUCED_ON_OFF,
    SWITCHED,
    VOLUME_ALIASES,
    Action,
    ControlParameter,
    DomainFacts,
    Reproduced,
    on_off_actions,
    restore_on_off,
    restore_rest,
    words,
)

SWITCH = replace(
    SWITCHED,
    name="switch",
    several={ANY_CLASS: "switches"},
    reported=(),
    is_switched_with_everything=True,
    is_lively=True,
)
INPUT_BOOLEAN = replace(SWITCHED, name="input_boolean")


_PRESS: Final = Action("press")

BUTTON, INPUT_BUTTON = (
    DomainFacts(
        name=name,
        actions={"press": _PRESS, "activate": _PRESS},
        synonyms=frozenset(("activate",)),
        turn_on="press",
        is_moment=True,
        contained=ANY,
    )
    for name in ("button", "input_button")
)


CAMERA = DomainFacts(
    name="camera",
    actions={
        "turn_on": Action("turn_on", unexpected=words("off"), features="ON_OFF"),
        "turn_off": Action("turn_off", expected=words("off idle"), features="ON_OFF"),
    },
    restricted=("camera",),
    reproduced=Reproduced(states={"off": ("turn_off",)}, other=("turn_on",)),
)


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


SIREN = DomainFacts(
    name="siren",
    actions=on_off_actions("tone", "duration", "volume_level", native=ANY, features="TURN_ON TURN_OFF"),
    parameters={
        "tone": ControlParameter("text", "turn_on", features="TONES", choices="available_tones"),
        "duration": ControlParameter("seconds", "turn_on", features="DURATION", aliases=DURATION_ALIASES),
        "volume_level": ControlParameter(
            "volume", "turn_on", features="VOLUME_SET", ability="volume", aliases=VOLUME_ALIASES
        ),
    },
    fields={"volume": "volume", "duration": "duration", "tone": "tone"},
    synonyms=words("toggle"),
    restore=restore_rest(("off",), "turn_off"),
    reported=(),
    restricted=("siren",),
    reproduced=Reproduced(states={"off": ("turn_off",)}, other=("turn_on",)),
    active="on",
    in_everything=True,
)
