"""Throttle: an automation that runs away cannot call the model without end."""

from collections import deque
from time import monotonic

from ..errors import TooManyRequests

WINDOW = 60.0


class Throttle:
    """Counts turns that nobody speaks, over the last minute."""

    def __init__(self, limit: int) -> None:
        """Allow so many per minute."""
        self._limit = limit
        self._times: deque[float] = deque(maxlen=max(limit, 1))

    def check(self) -> None:
        """Count one turn. Raises TooManyRequests if there were too many."""
        now = monotonic()
        if len(self._times) == self._times.maxlen and now - self._times[0] < WINDOW:
            raise TooManyRequests(
                f"Automations asked more than {self._limit} times within a minute", limit=self._limit
            )
        self._times.append(now)
