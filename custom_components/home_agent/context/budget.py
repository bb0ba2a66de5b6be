"""How the model's context is shared out, in tokens."""

from dataclasses import dataclass
from typing import Self

REFERENCE = 8000
"""The context size that the shares below are written for."""
HOME, RETRIEVED = 2400, 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What each part of a request may take."""

    home: int
    """The catalogue: every exposed entity where it fits, else rooms with counts."""
    retrieved: int
    """Entities found for the sentence, with their states."""

    @classmethod
    def for_context(cls, max_tokens: int) -> Self:
        """Return the shares of a context of so many tokens."""
        scale = max_tokens / REFERENCE
        return cls(home=int(HOME * min(scale, 4)), retrieved=int(RETRIEVED * min(max(scale, 0.5), 2)))
