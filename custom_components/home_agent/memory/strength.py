"""How much a memory counts today, and how long it lives."""

from datetime import datetime, timedelta
from math import log1p
from typing import Final

from .records import Memory, Origin

ACCESS_BOOST: Final = 0.05
"""What using a memory adds, times the logarithm of how often."""
MAX_BOOST: Final = 0.3
DAY: Final = timedelta(days=1)


def strength(memory: Memory, now: datetime, decay: float) -> float:
    """Return how much a memory counts now, from 0 to 1.

    `decay` is the share of its importance that it loses for each day without use. What somebody asked to
    remember loses nothing.
    """
    days = max((now - memory.accessed_at) / DAY, 0.0)
    kept = 1.0 if memory.origin is Origin.TOLD else (1.0 - decay) ** days
    boost = min(ACCESS_BOOST * log1p(memory.access_count), MAX_BOOST)
    return min(memory.importance * kept + boost * kept, 1.0)


def has_expired(memory: Memory, now: datetime) -> bool:
    """Return whether a memory's time is over; never for what somebody asked to remember without a term."""
    return memory.expires_at is not None and memory.expires_at <= now
