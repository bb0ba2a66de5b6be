"""Switches, and helpers that are on or off."""

from dataclasses import replace

from .common import SWITCHED

SWITCH = replace(SWITCHED, name="switch", reported=(), is_switched_with_everything=True, is_lively=True)
INPUT_BOOLEAN = replace(SWITCHED, name="input_boolean")
