"""Timers of all agents in one store; each agent tells its own when they are due."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_track_point_in_utc_time
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..store import EntryStore, read_list
from .records import Timer

STORE_KEY: Final = f"{DOMAIN}.timers"
MAX_TIMERS: Final = 100
"""Timers of one agent."""

type Tell = Callable[[Timer, datetime], Awaitable[None]]
"""Tells somebody of a timer; the time is the one at which it was due."""


class Timers:
    """The timers of one agent."""

    def __init__(
        self, hass: HomeAssistant, changed: Callable[[], None], flush: Callable[[], Awaitable[None]]
    ) -> None:
        """Start with none; `changed` has a change written soon, `flush` at once."""
        self._hass = hass
        self._changed = changed
        self._flush = flush
        self._timers: dict[str, Timer] = {}
        self._tell: Tell | None = None
        self._cancel: CALLBACK_TYPE | None = None

    @property
    def full(self) -> bool:
        """Return whether there is no room for another one."""
        return len(self._timers) >= MAX_TIMERS

    def all(self) -> list[Timer]:
        """Return all timers, the next one first."""
        return sorted(self._timers.values(), key=lambda timer: (timer.due, timer.id))

    def stored(self) -> list[dict[str, Any]]:
        """Return all that is to be written; called in a worker thread."""
        return [timer.as_dict() for timer in list(self._timers.values())]

    def restore(self, stored: object) -> Exception | None:
        """Take what is stored; return what was wrong with what is left out. Raises TypeError for no list."""
        found, problem = read_list(stored, Timer.from_dict)
        self._timers = {timer.id: timer for timer in found}
        return problem

    async def async_set(self, timer: Timer) -> None:
        """Keep a timer, or one that was changed, and write it at once: a restart may be near."""
        self._timers[timer.id] = timer
        self._note()
        await self._flush()

    async def async_cancel(self, timer_ids: list[str]) -> None:
        """Drop timers."""
        for timer_id in timer_ids:
            self._timers.pop(timer_id, None)
        self._note()
        await self._flush()

    def of_user(self, user_id: str | None) -> list[Timer]:
        """Return the timers of a user; none of nobody."""
        return [timer for timer in self.all() if user_id and timer.user_id == user_id]

    @callback
    def forget_user(self, user_id: str) -> int:
        """Drop the timers of a user; return how many."""
        gone = [timer.id for timer in self._timers.values() if timer.user_id == user_id]
        for timer_id in gone:
            del self._timers[timer_id]
        if gone:
            self._note()
        return len(gone)

    @callback
    def async_start(self, tell: Tell) -> CALLBACK_TYPE:
        """Begin to tell what is due, what became due meanwhile at once; return how to stop."""
        self._tell = tell
        self._ring(dt_util.utcnow())

        @callback
        def stop() -> None:
            self._tell = None
            self._wait()

        return stop

    @callback
    def _note(self) -> None:
        """Have a change written, and wait for what is the next one now."""
        self._changed()
        self._wait()

    @callback
    def _wait(self) -> None:
        """Wait for the next timer."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
        if self._tell is not None and self._timers:
            job = HassJob(self._ring, "home_agent timer", cancel_on_shutdown=True)
            self._cancel = async_track_point_in_utc_time(self._hass, job, self.all()[0].due)

    @callback
    def _ring(self, now: datetime) -> None:
        """Tell what is due. A repeated one waits for its next time, any other is done."""
        self._cancel = None
        due = [timer for timer in self.all() if timer.due <= now]
        for timer in due:
            if (again := timer.next_after(now)) is None:
                del self._timers[timer.id]
            else:
                self._timers[timer.id] = replace(timer, due=again)
            if self._tell is not None:
                self._hass.async_create_task(_told(self._tell, timer), "home_agent timer")
        if due:
            self._changed()
        self._wait()


async def _told(tell: Tell, timer: Timer) -> None:
    """Tell of a timer."""
    await tell(timer, timer.due)


class TimerStore(EntryStore[Timers]):
    """The file of all agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass, STORE_KEY, lambda changed: Timers(hass, changed, self.async_flush))
