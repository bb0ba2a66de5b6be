"""When a planned command is due: at a time or with the sun, once or on days of the week."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any, Final, Self

from homeassistant.const import SUN_EVENT_SUNRISE, SUN_EVENT_SUNSET
from homeassistant.core import HomeAssistant
from homeassistant.helpers.sun import get_astral_event_next
from homeassistant.util import dt as dt_util

from ..store import read_moment
from ..timers.timers import EVERY_DAY, next_at, read_clock, told_days

SUN_EVENTS: Final = (SUN_EVENT_SUNRISE, SUN_EVENT_SUNSET)
MAX_OFFSET: Final = 12 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The times of a command."""

    due: datetime
    """The next time, in UTC."""
    days: tuple[int, ...] = ()
    """The days of the week on which it is repeated, from 0 for Monday; empty if it is not."""
    sun: str | None = None
    """The event of the sun by which the time is calculated again for each day."""
    offset: int = 0
    """Seconds after the event, negative before it."""
    clock: time | None = field(default=None, compare=False)
    """The local time of each day. `due` shows another one where the clocks are put forward over it."""

    def __post_init__(self) -> None:
        """Read the time of day from `due`, where it was not given."""
        if self.days and self.sun is None and self.clock is None:
            object.__setattr__(self, "clock", dt_util.as_local(self.due).time())

    def next_after(self, hass: HomeAssistant, now: datetime) -> datetime | None:
        """Return when it is due again, in UTC; None if it is not repeated."""
        if not self.days:
            return None
        after = max(now, self.due)
        if self.clock is not None:
            return next_at(self.clock, self.days, after)
        assert self.sun is not None
        # Sunset moves by minutes from day to day, so the next one is never the one that has just been.
        after = max(now, self.due + timedelta(hours=1))
        return next_sun(hass, self.sun, self.offset, after, self.days)

    def told(self, now: datetime) -> str:
        """Return the time in words, as the model reads it."""
        local, today = dt_util.as_local(self.due), dt_util.as_local(now).date()
        clock = f"{local:%H:%M}"
        if self.days:
            days = told_days(self.days)
            return (
                f"{days} at {self.clock:%H:%M}"
                if self.clock is not None
                else f"{days} at {self._told_sun()}, next {local:%a} {clock}"
            )
        if self.sun:
            clock = f"{clock} ({self._told_sun()})"
        if local.date() == today:
            return f"at {clock}"
        if local.date() == today + timedelta(days=1):
            return f"tomorrow at {clock}"
        return f"on {local:%a %Y-%m-%d} at {clock}"

    def _told_sun(self) -> str:
        """Return the event of the sun in words."""
        sign = "-" if self.offset < 0 else "+"
        return f"{self.sun} {sign} {abs(self.offset) // 60} min" if self.offset else str(self.sun)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""
        return {
            "due": self.due.isoformat(),
            "days": list(self.days),
            "sun": self.sun,
            "offset": self.offset,
            "clock": self.clock.isoformat() if self.clock else None,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored schedule. Raises LookupError, TypeError or ValueError for anything else."""
        days, sun, offset = tuple(stored["days"]), stored["sun"], stored["offset"]
        if not all(isinstance(day, int) and day in EVERY_DAY for day in days):
            raise ValueError("not days of the week")
        if sun is not None and sun not in SUN_EVENTS:
            raise ValueError("not an event of the sun")
        if not isinstance(offset, int) or abs(offset) > MAX_OFFSET:
            raise ValueError("not an offset")
        return cls(
            due=read_moment(stored["due"]),
            days=days,
            sun=sun,
            offset=offset,
            clock=read_clock(stored.get("clock")),
        )


def next_sun(
    hass: HomeAssistant, event: str, offset: int, after: datetime, days: tuple[int, ...] = EVERY_DAY
) -> datetime:
    """Return the next time of an event of the sun on one of some days of the week, in UTC.

    Raises ValueError where the sun does not set or rise for a year.
    """
    while True:
        due = get_astral_event_next(hass, event, after, timedelta(seconds=offset))
        if dt_util.as_local(due).weekday() in days:
            return dt_util.as_utc(due)
        after = due
