"""All languages in which claims are known."""

from collections.abc import Mapping
from typing import Final

from .claims_germanic import GERMANIC
from .claims_romance import ROMANCE
from .claims_slavic import SLAVIC
from .tongue import Tongue

TONGUES: Final[Mapping[str, Tongue]] = {**GERMANIC, **ROMANCE, **SLAVIC}

ALIASES: Final[Mapping[str, str]] = {"nb": "da", "no": "da", "nn": "da"}
"""Languages that are understood by way of another one."""
