"""One ranking out of several."""

from collections.abc import Hashable, Sequence
from typing import Final

DAMPING: Final = 60
"""How little the first places of a ranking stand out (the k of reciprocal rank fusion)."""


def fuse[K: Hashable](
    rankings: Sequence[Sequence[K]], weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """Return what any ranking holds with its fused score, best first.

    Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): places count, scores of different kinds
    are never compared. Equal scores keep the order of the first ranking that holds them.
    """
    scores: dict[K, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for place, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + weight / (DAMPING + place)
    return sorted(scores.items(), key=lambda item: -item[1])
