"""All languages in which claims are known."""

from collections.abc import Mapping
from typing import Final

from .germanic import GERMANIC
from .romance import ROMANCE
from .slavic import SLAVIC
from .tongue import Tongue

TONGUES: Final[Mapping[str, Tongue]] = {**GERMANIC, **ROMANCE, **SLAVIC}

ALIASES: Final[Mapping[str, str]] = {"nb": "da", "no": "da", "nn": "da"}
"""Languages that are understood by way of another one."""
