"""Which parts of an index do not work, the repair issues about them, and trying again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later

from ..const import LOGGER
from ..events import EventEmitter
from ..issues import report, withdraw
from ..vector.embeddings import EmbeddingError
from ..vector.store import StoreProblem, VectorStoreError

FIRST_PAUSE = 15
LONGEST_PAUSE = 600
"""Seconds between two tries; each pause is twice the one before."""
FORGOTTEN_SECONDS = 1800
"""A part that worked for so long starts with the first pause again."""


class Part(StrEnum):
    """What can fail on its own."""

    STORE = "store"
    WRITING = "writing"
    """The store can be searched but takes nothing."""
    EMBEDDER = "embedder"


ISSUES = {
    Part.STORE: "vector_store_unavailable",
    Part.WRITING: "vector_store_unwritable",
    Part.EMBEDDER: "embedder_unavailable",
}
REFUSED = {
    Part.STORE: "vector_store_refused",
    Part.WRITING: "vector_store_unwritable",
    Part.EMBEDDER: "embedder_refused",
}


class Fault(NamedTuple):
    """What is wrong with a part; `issue` is the translation key of its repair issue."""

    issue: str
    detail: str


class Health:
    """Keeps the faults of one entry.

    A fault is tried again at once; the issue appears when that fails too, and goes when a try succeeds.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        title: str,
        *,
        emitter: EventEmitter,
        probe: Callable[[Part], Awaitable[None]],
        recovered: Callable[[Part], None],
    ) -> None:
        """Take what tries a part, raising what is wrong with it, and whom to tell that one works again."""
        self._hass = hass
        self._entry_id = entry_id
        self._title = title
        self._emitter = emitter
        self._probe = probe
        self._recovered = recovered
        self.faults: dict[Part, Fault] = {}
        self._tries: dict[Part, int] = {}
        self._well_since: dict[Part, float] = {}
        self._planned: dict[Part, CALLBACK_TYPE] = {}
        self._running: dict[Part, asyncio.Task[None]] = {}
        self._closed = False

    @callback
    def note(self, part: Part, err: Exception) -> None:
        """Note that a part failed, and plan to try it again."""
        if self._closed:
            return
        new = part not in self.faults
        fault = self.faults[part] = _fault(part, err)
        if not new:
            return
        LOGGER.warning("%s: the %s of the vector index failed: %s", self._title, part.value, fault.detail)
        self._emitter.fire_error("index", err, fault.detail, part=part.value)
        if self._hass.loop.time() - self._well_since.get(part, 0.0) > FORGOTTEN_SECONDS:
            self._tries[part] = 0
        self._plan(part)

    async def async_close(self) -> None:
        """Stop trying and take the issues back."""
        self._closed = True
        for stop in self._planned.values():
            stop()
        for task in self._running.values():
            task.cancel()
        if self._running:
            await asyncio.wait(self._running.values())
        for part in Part:
            withdraw(self._hass, self._issue_id(part))

    @callback
    def _plan(self, part: Part) -> None:
        """Try a part at once if this is the first time, else after a pause, and report it."""
        if (tries := self._tries.get(part, 0)) == 0:
            self._try(part)
            return

        @callback
        def retry(_now: datetime) -> None:
            self._try(part)

        self._report(part)
        pause = min(FIRST_PAUSE * 2 ** (tries - 1), LONGEST_PAUSE)
        job = HassJob(retry, cancel_on_shutdown=True)
        self._planned[part] = async_call_later(self._hass, pause, job)

    @callback
    def _try(self, part: Part) -> None:
        """Try a part in the background."""
        self._planned.pop(part, None)
        self._tries[part] = self._tries.get(part, 0) + 1
        self._running[part] = self._hass.async_create_background_task(
            self._async_try(part), f"home_agent try the {part.value} again", eager_start=False
        )

    async def _async_try(self, part: Part) -> None:
        """Find out whether a part works again."""
        try:
            await self._probe(part)
        except Exception as err:  # noqa: BLE001 - whatever it is, it does not work yet
            self.faults[part] = _fault(part, err)
            self._plan(part)
            return
        del self.faults[part]
        self._well_since[part] = self._hass.loop.time()
        withdraw(self._hass, self._issue_id(part))
        LOGGER.info("%s: the %s of the vector index works", self._title, part.value)
        self._recovered(part)

    @callback
    def _report(self, part: Part) -> None:
        """Raise the repair issue of a part."""
        fault = self.faults[part]
        report(
            self._hass,
            self._issue_id(part),
            fault.issue,
            fix={"entry_id": self._entry_id},
            title=self._title,
            error=fault.detail,
        )

    def _issue_id(self, part: Part) -> str:
        """Return the id of a part's issue."""
        return f"vector_{part.value}_{self._entry_id}"


def _fault(part: Part, err: Exception) -> Fault:
    """Return an error as a fault."""
    refused, detail = False, f"{type(err).__name__}: {err}"
    match err:
        case VectorStoreError():
            refused, detail = err.problem is StoreProblem.REFUSED, err.detail
        case EmbeddingError():
            refused, detail = err.refused, err.detail
        case TimeoutError():
            detail = "no answer in time"
    return Fault((REFUSED if refused else ISSUES)[part], detail[:200])
