"""What timers and planned commands share: they are kept, and handed out when they are due."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, Protocol

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_track_point_in_utc_time
from homeassistant.util import dt as dt_util


class Due(Protocol):
    """Something that is due at a moment in UTC."""

    @property
    def id(self) -> str:
        """Return its id."""

    @property
    def due(self) -> datetime:
        """Return when it is due."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""


class DueItems[Item: Due, Run](ABC):
    """The timers, or the planned commands, of one agent. `Run` is called with what is due."""

    def __init__(
        self, hass: HomeAssistant, changed: Callable[[], None], flush: Callable[[], Awaitable[object]]
    ) -> None:
        self._hass = hass
        self._changed = changed
        self._flush = flush
        self._items: dict[str, Item] = {}
        self._run: Run | None = None
        self._job = HassJob(self._ring, "home_agent due", cancel_on_shutdown=True)
        self._cancel: CALLBACK_TYPE | None = None

    def all(self) -> list[Item]:
        """Return all items, the next one first; of those due together the one that was set first."""
        return sorted(self._items.values(), key=lambda item: item.due)

    def stored(self) -> list[dict[str, Any]]:
        """Return all that is to be written; called in a worker thread."""
        return [item.as_dict() for item in list(self._items.values())]

    async def async_cancel(self, ids: Iterable[str]) -> None:
        """Drop items."""
        for item_id in ids:
            self._drop(item_id)
        self._note()
        await self._flush()

    @callback
    def async_start(self, run: Run) -> CALLBACK_TYPE:
        """Begin to hand out what is due, what became due meanwhile at once; return how to stop."""
        self._run = run
        self._ring(dt_util.utcnow())

        @callback
        def stop() -> None:
            self._run = None
            self._wait()

        return stop

    @abstractmethod
    def _ring(self, now: datetime) -> None:
        """Hand out what is due. A repeated item waits for its next time, any other is dropped."""

    def _asked_at(self, item: Item) -> datetime:
        return item.due

    def _drop(self, item_id: str) -> None:
        self._items.pop(item_id, None)

    @callback
    def _forget(self, items: Iterable[Item]) -> int:
        """Drop items, and return how many."""
        ids = [item.id for item in items]
        for item_id in ids:
            self._drop(item_id)
        if ids:
            self._note()
        return len(ids)

    @callback
    def _note(self) -> None:
        """Have a change written, and wait for what is the next one now."""
        self._changed()
        self._wait()

    @callback
    def _wait(self) -> None:
        """Wait for the next item, as long as anybody runs what is due."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
        if self._run is not None and self._items:
            at = min(map(self._asked_at, self._items.values()))
            self._cancel = async_track_point_in_utc_time(self._hass, self._rung, at)

    @callback
    def _rung(self, now: datetime) -> None:
        self._cancel = None
        self._hass.async_run_hass_job(self._job, now)
