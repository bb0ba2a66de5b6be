"""What timers and planned commands share: waiting for the next one, and repetitions on days of the week."""

from collections.abc import Callable, Collection
from datetime import datetime, time, timedelta
from typing import Final

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_track_point_in_utc_time
from homeassistant.util import dt as dt_util

EVERY_DAY: Final = tuple(range(7))
WORKDAYS: Final = tuple(range(5))
WEEKEND: Final = (5, 6)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NAMED: Final = {EVERY_DAY: "daily", WORKDAYS: "on weekdays", WEEKEND: "on weekends"}


def told_days(days: tuple[int, ...]) -> str:
    """Return sorted days of the week as the model reads them."""
    return _NAMED.get(days) or "every " + ", ".join(WEEKDAYS[day] for day in days)


def next_at(clock: time, days: Collection[int], after: datetime) -> datetime:
    """Return when clocks next show a time on one of some days of the week, in UTC.

    `days` counts from 0 for Monday, and is not empty.
    """
    day = dt_util.as_local(after).date()
    while True:
        due = dt_util.as_utc(datetime.combine(day, clock, dt_util.get_default_time_zone()))
        if due > after and day.weekday() in days:
            return due
        day += timedelta(days=1)


class NextDue:
    """Waits for the next of several moments."""

    def __init__(self, hass: HomeAssistant, name: str, ring: Callable[[datetime], None]) -> None:
        """Call `ring` at the moment, with the time in UTC."""
        self._hass = hass
        self._job = HassJob(ring, name, cancel_on_shutdown=True)
        self._cancel: CALLBACK_TYPE | None = None

    @callback
    def wait(self, due: datetime | None) -> None:
        """Wait for a moment in UTC instead of another one; None waits for nothing."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
        if due is not None:
            self._cancel = async_track_point_in_utc_time(self._hass, self._rung, due)

    @callback
    def _rung(self, now: datetime) -> None:
        """Note that the moment has come."""
        self._cancel = None
        self._hass.async_run_hass_job(self._job, now)
