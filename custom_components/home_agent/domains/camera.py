"""Cameras."""

from .base import Action, DomainFacts, Reproduced, words

CAMERA = DomainFacts(
    name="camera",
    actions={
        "turn_on": Action("turn_on", unexpected=words("off"), features="ON_OFF"),
        "turn_off": Action("turn_off", expected=words("off idle"), features="ON_OFF"),
    },
    restricted=("camera",),
    reproduced=Reproduced(states={"off": ("turn_off",)}, other=("turn_on",)),
)
