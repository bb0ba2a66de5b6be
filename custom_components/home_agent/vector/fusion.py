"""Makes one ranking of several."""

from collections.abc import Sequence
from typing import Final

DAMPING: Final = 20
"""How little the first places of a ranking stand out from those that follow."""


def fuse(rankings: Sequence[tuple[Sequence[str], float]]) -> list[str]:
    """Return everything that is in any of the rankings, best first, by reciprocal rank fusion.

    Each ranking, best first, comes with its weight. Ties stand as in the first ranking that has them.
    """
    scores: dict[str, float] = {}
    for ranking, weight in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking)):
            scores[key] = scores.get(key, 0.0) + weight / (DAMPING + rank)
    return sorted(scores, key=lambda key: -scores[key])
