"""When something was in use, as the power it draws shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

IN_USE: Final = "in_use"
"""What using something is called among observations."""
LEAST_WATTS: Final = 20.0
"""What something draws at least while it is in use."""
APART: Final = 5.0
"""In use it draws at least so many times what it draws at rest."""
OF_RANGE: Final = 0.2
"""From this share of the way between rest and use on it counts as in use."""
MOST_IN_USE: Final = 0.25
"""Share of the hours; what runs longer is not used, it works by itself: fridges, heat pumps, solar panels."""
LEAST_HOURS: Final = 3 * 24
PAUSE: Final = timedelta(hours=1)
"""A machine that is idle for less time continues the same run."""
SEEN_OFTEN: Final = 4
"""The highest hours but for the last of so many are peaks that say nothing."""


@dataclass(frozen=True, slots=True)
class Level:
    """What something drew during a step of time, in watts."""

    start: datetime
    length: timedelta
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Power:
    """What something draws at rest, and from where on it is in use; in watts."""

    rest: float
    threshold: float


def read_power(hours: Sequence[Level]) -> Power | None:
    """Return how use shows in hours of several weeks; None where it does not."""
    if len(hours) < LEAST_HOURS:
        return None
    highs = sorted(hour.high for hour in hours)
    rest, top = max(highs[len(highs) // 10], 0.0), highs[-SEEN_OFTEN]
    if top < max(LEAST_WATTS, APART * rest):
        return None
    threshold = rest + OF_RANGE * (top - rest)
    share = sum(high >= threshold for high in highs) / len(highs)
    return Power(rest, threshold) if share <= MOST_IN_USE else None


def starts(levels: Sequence[Level], power: Power) -> Iterator[datetime]:
    """Yield when something began to be used."""
    used_until: datetime | None = None
    for level in levels:
        if level.high < power.threshold:
            continue
        if used_until is not None and level.start - used_until < PAUSE:
            used_until = level.start + level.length
            continue
        used_until = level.start + level.length
        share = (level.mean - power.rest) / max(level.high - power.rest, 1.0)
        yield level.start + level.length * (1 - min(max(share, 0.0), 1.0))
