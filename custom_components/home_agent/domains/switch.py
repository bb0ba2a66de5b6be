"""Switches, and helpers that are on or off."""

from dataclasses import replace
from typing import Final

from .common import SWITCHED

DOMAINS: Final = (
    replace(SWITCHED, name="switch", reported=(), is_switched_with_everything=True, is_lively=True),
    replace(SWITCHED, name="input_boolean"),
)
