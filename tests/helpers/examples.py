"""How long tests with made examples are: short, or as long as the stage `scripts/test --long` wants them."""

import os
from typing import Final

THOROUGH: Final = bool(os.environ.get("HOME_AGENT_THOROUGH"))
TIMES: Final = 20


def many(examples: int) -> int:
    """Return how many examples to try where a short test tries so many."""
    return TIMES * examples if THOROUGH else examples
