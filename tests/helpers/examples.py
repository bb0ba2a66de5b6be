"""How many examples the tests try: as many as usual, few for `scripts/test --fast`, or many for `--long`."""

import os
from typing import Final

LENGTH: Final = os.environ.get("HOME_AGENT_TESTS", "usual")
"""`fast`, `usual` or `long`."""
FAST: Final = LENGTH == "fast"
THOROUGH: Final = LENGTH == "long"
FACTORS: Final = {"fast": 0.1, "long": 20.0}
FEWEST: Final = 5


def many(examples: int) -> int:
    """Return how many examples to try where the usual test tries so many."""
    return max(FEWEST, int(FACTORS.get(LENGTH, 1.0) * examples))
