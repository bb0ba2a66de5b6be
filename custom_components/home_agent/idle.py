"""Background work: in slices of the event loop's time, or while no turn is running."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Final

from homeassistant.core import CALLBACK_TYPE, CoreState, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later

PAUSE: Final = 4
"""Seconds of silence before work begins; they double with each attempt that failed."""
MAX_WAITING: Final = 20
"""Pieces of work that wait; the oldest are dropped."""
MAX_ATTEMPTS: Final = 3
SLICE_SECONDS: Final = 0.004
"""How long the event loop is blocked at a time."""


async def in_slices[T](items: Iterable[T]) -> AsyncIterator[T]:
    """Yield items; after each slice of time the event loop goes on first."""
    deadline = perf_counter() + SLICE_SECONDS
    for item in items:
        yield item
        if perf_counter() > deadline:
            await asyncio.sleep(0)
            deadline = perf_counter() + SLICE_SECONDS


@dataclass(slots=True)
class _Waiting[T]:
    item: T
    attempts: int = 0


class IdleQueue[T]:
    """Does one piece of work after the other while no turn is running.

    `work` gets the key and the item, and returns whether that is done; if not, it is tried again later.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        name: str,
        work: Callable[[str, T], Awaitable[bool]],
        *,
        is_busy: Callable[[], bool],
    ) -> None:
        self._hass = hass
        self._name = name
        self._work = work
        self._is_busy = is_busy
        self._waiting: OrderedDict[str, _Waiting[T]] = OrderedDict()
        self._timer: CALLBACK_TYPE | None = None
        self._working = False

    @callback
    def put(self, key: str, item: T) -> None:
        """Schedule this, in place of the pending work of the same key."""
        self._waiting.pop(key, None)
        self._waiting[key] = _Waiting(item)
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)
        self._wait()

    @callback
    def get(self, key: str) -> T | None:
        """Return the work that waits under a key."""
        waiting = self._waiting.get(key)
        return waiting.item if waiting else None

    @callback
    def stop(self) -> None:
        """Drop the pending work."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer()
            self._timer = None

    @callback
    def _wait(self) -> None:
        if self._timer is not None:
            self._timer()
        tried = next(iter(self._waiting.values())).attempts if self._waiting else 0
        job = HassJob(self._begin, cancel_on_shutdown=True)
        self._timer = async_call_later(self._hass, PAUSE * 2**tried, job)

    @callback
    def _begin(self, _now: datetime) -> None:
        """Work, unless a turn is running."""
        self._timer = None
        if self._is_busy() or self._working:
            self._wait()
            return
        self._hass.async_create_background_task(self._async_work(), f"home_agent {self._name}")

    async def _async_work(self) -> None:
        self._working = True
        try:
            while self._waiting and not self._is_busy():
                key, waiting = self._waiting.popitem(last=False)
                if await self._work(key, waiting.item):
                    continue
                waiting.attempts += 1
                if waiting.attempts < MAX_ATTEMPTS and key not in self._waiting:
                    self._waiting[key] = waiting
                break
        finally:
            self._working = False
        if self._waiting:
            self._wait()


class Calm:
    """Looks a while after the first of several changes, when more may have changed."""

    def __init__(self, hass: HomeAssistant, seconds: float, look: Callable[[], None]) -> None:
        self._hass = hass
        self._seconds = seconds
        self._look = look
        self._cancel: CALLBACK_TYPE | None = None

    @callback
    def wait(self, _event: object = None) -> None:
        """Look in a while, unless that is going to happen or Home Assistant has not started."""

        @callback
        def look(_now: datetime) -> None:
            self._cancel = None
            self._look()

        if self._cancel is None and self._hass.state is CoreState.running:
            job = HassJob(look, "home_agent watching", cancel_on_shutdown=True)
            self._cancel = async_call_later(self._hass, self._seconds, job)

    @callback
    def stop(self) -> None:
        """Look no more."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
