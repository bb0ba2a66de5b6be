"""Usage of each agent per day: counters only, no content."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final

from homeassistant.core import callback

from ..const import CONF_PRICE_ANSWER, CONF_PRICE_CACHED, CONF_PRICE_PROMPT
from ..store import LARGEST
from ..tools.turn_calls import Fit

MAX_DAYS: Final = 90
_TOKENS_OF_A_PRICE: Final = 1_000_000
COUNTERS: Final = (
    "turns",
    "failed",
    "ms",
    "prompt",
    "completion",
    "cached",
    "external",
    "calls",
    *(fit.value for fit in Fit),
)
"""Tokens are those of the agent's own models but for `external`; `ms` is what all turns took together."""

type Day = dict[str, int]


type UsageDay = dict[str, Any]
"""All counters of a day, which is the ISO date `day`."""


def cost(day: UsageDay, settings: Mapping[str, Any]) -> float | None:
    """Return what the tokens of the agent's own models cost on a day; None without a price.

    The prices are those of today, in the currency of Home Assistant. Without a price of their own, tokens
    from the cache cost as much as others.
    """
    prompt, answer = settings.get(CONF_PRICE_PROMPT), settings.get(CONF_PRICE_ANSWER)
    if prompt is None and answer is None:
        return None
    cached = settings.get(CONF_PRICE_CACHED)
    new = (day["prompt"] - day["cached"]) * (prompt or 0)
    read = day["cached"] * ((prompt or 0) if cached is None else cached)
    total: float = new + read + day["completion"] * (answer or 0)
    return total / _TOKENS_OF_A_PRICE


class Usage:
    """The days of one agent, the oldest first. The store of all agents is notified of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._days: dict[date, Day] = {}

    @callback
    def note(self, day: date, counts: Mapping[str, int]) -> None:
        """Count what a turn cost."""
        counted = self._days.setdefault(day, {})
        for name, count in counts.items():
            counted[name] = counted.get(name, 0) + count
        while len(self._days) > MAX_DAYS:
            del self._days[min(self._days)]
        self._changed()

    @callback
    def days(self, last: date, count: int) -> list[UsageDay]:
        """Return so many days up to this one, also those on which nothing was said."""
        wanted = [last - timedelta(days=back) for back in reversed(range(count))]
        return [
            {"day": day.isoformat(), **{name: self._days.get(day, {}).get(name, 0) for name in COUNTERS}}
            for day in wanted
        ]

    def stored(self) -> dict[str, Day]:
        """Return all that is to be written; called in a worker thread."""
        return {day.isoformat(): dict(counted) for day, counted in list(self._days.items())}

    def restore(self, stored: Mapping[str, Mapping[str, Any]]) -> None:
        """Take what is stored. Raises AttributeError, TypeError or ValueError for invalid data."""
        self._days = {
            date.fromisoformat(day): {name: _count(counted.get(name, 0)) for name in COUNTERS}
            for day, counted in stored.items()
        }


def _count(value: Any) -> int:
    """Return a stored count. Raises TypeError or ValueError for invalid data."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("not a count")
    if not 0 <= value <= LARGEST:
        raise ValueError("not a count")
    return int(value)
