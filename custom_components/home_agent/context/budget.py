"""How the model's context is shared out, in tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from ..const import CONF_BUDGETS

REFERENCE: Final = 8000
"""The size of a request that the shares below are written for."""
ANSWER: Final = 500
"""What of it the answer takes there."""
STANDING: Final = 1300
"""What rules and tools really take; they are needed however small the context is."""
ANSWER_SHARE: Final = 0.25
"""Of a context, what is kept for the answer at most."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a slot may take at the reference size, and how far that shrinks and grows with the size."""

    tokens: int
    least: float = 0.0
    most: float = 4.0


SHARES: Final[Mapping[str, Share]] = {
    "rules": Share(800, least=0.5),
    "tools": Share(1200, least=0.75),
    "home": Share(2400),
    "history": Share(2000, most=16.0),
    "retrieved": Share(800, least=0.25, most=2.0),
    "documents": Share(800),
    "memories": Share(400),
    "profile": Share(400),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What each part of a request may take, in tokens as `estimate_tokens` counts them."""

    rules: int
    """Role, rules and instructions; more only where there is room."""
    tools: int
    """The descriptions of the tools; more only where there is room."""
    home: int
    """The catalogue: every exposed entity where it fits, else rooms with counts."""
    history: int
    """Earlier turns."""
    retrieved: int
    """Entities found for the sentence, with their states."""
    documents: int
    """Passages of manuals, notes and other collections."""
    memories: int
    profile: int

    @classmethod
    def shared_out(
        cls,
        size: int,
        *,
        limit: int | None = None,
        answer: int = ANSWER,
        factor: float = 1.0,
        chosen: Mapping[str, int] | None = None,
    ) -> Self:
        """Return the shares of a request of `size` tokens.

        The history may grow with the model's own `limit`, as it costs only those who talk that long.
        `answer` is kept free, `factor` is how many tokens the model counts where we count one, `chosen`
        holds shares that a person has set.
        """
        scales = {"history": _scale(limit or size, answer)}
        shares = {
            name: share.tokens * _within(share, scales.get(name, _scale(size, answer)))
            for name, share in SHARES.items()
        }
        shares.update(chosen or {})
        return cls(**{field.name: int(shares[field.name] / factor) for field in fields(cls)})


def chosen_shares(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the shares that the options set."""
    return {slot: settings[key] for slot, key in CONF_BUDGETS.items() if settings.get(key) is not None}


def answer_room(limit: int, max_tokens: int) -> int:
    """Return how many tokens of a context are kept for the answer."""
    return min(max_tokens, int(limit * ANSWER_SHARE))


def _scale(size: int, answer: int) -> float:
    """Return how a size compares with the reference, as far as it can be shared out."""
    free = size - answer_room(size, answer) - STANDING
    return free / (REFERENCE - ANSWER - STANDING)


def _within(share: Share, scale: float) -> float:
    """Return a scale within the bounds of a share."""
    return min(max(scale, share.least), share.most)
