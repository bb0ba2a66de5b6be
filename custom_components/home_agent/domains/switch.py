"""Switches, and helpers that are on or off."""

from dataclasses import replace

from .base import ANY_CLASS
from .common import SWITCHED

SWITCH = replace(
    SWITCHED,
    name="switch",
    several={ANY_CLASS: "switches"},
    reported=(),
    is_switched_with_everything=True,
    is_lively=True,
)
INPUT_BOOLEAN = replace(SWITCHED, name="input_boolean")
