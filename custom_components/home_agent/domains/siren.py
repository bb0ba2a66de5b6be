"""Sirens."""

from .base import ANY, ControlParameter, DomainFacts, Reproduced, words
from .common import DURATION_ALIASES, VOLUME_ALIASES, on_off_actions, restore_rest

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
