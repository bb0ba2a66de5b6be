"""One queue for each model server, shared by all agents: people before background work, speakers in turn."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from .models import Caller, ErrorKind, ModelServerError, Priority


class ServerBusy(ModelServerError):
    """A request has waited for too long, or would. Nothing was sent."""

    def __init__(self, caller: Caller, detail: str) -> None:
        super().__init__(ErrorKind.BUSY, detail, retryable=False)
        # The fallback may be asked for a person; other work waits until later.
        self.is_down = caller.priority is Priority.PERSON


PERSON_SECONDS: Final = 30.0
"""How long the request of a person may wait."""
WORK_SECONDS: Final = 300.0
"""How long a request that nobody listens to may wait."""
MAX_INTERRUPTED: Final = 3
"""How often people may interrupt work in the background before it is given up."""
GUESSED_SLOTS: Final = 4
"""Requests at a time to a server that does not tell how many it answers."""
MANY_SLOTS: Final = 8
"""Requests at a time to a server outside the home."""

_THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class Interrupted(Exception):
    """A person's request has interrupted work in the background."""


class Place:
    """A request in the queue, or one that is being answered."""

    def __init__(self, caller: Caller, order: tuple[int, int]) -> None:
        self.caller = caller
        self.admitted = asyncio.get_running_loop().create_future()
        self.order = order
        """What goes before it: a turn that has begun, then by priority, and the speakers in turn."""
        self._interrupted = False
        self._scope: asyncio.Timeout | None = None

    def interrupt(self) -> None:
        """Interrupt the request if it is one in the background."""
        if self.caller.priority is Priority.BACKGROUND:
            self._interrupted = True
            if self._scope is not None and not self._scope.expired():
                self._scope.reschedule(0)

    async def finish[T](self, work: Awaitable[T]) -> T:
        """Return the result of work in the background. Raises Interrupted if a person interrupts it."""
        try:
            async with asyncio.timeout_at(0 if self._interrupted else None) as self._scope:
                return await work
        except TimeoutError:
            if self._interrupted:
                raise Interrupted from None
            raise
        finally:
            self._scope = None


class ServerQueue:
    """The requests to one server: as many run as it answers at a time, the others wait in turn."""

    def __init__(self) -> None:
        self.slots: int | None = None
        """How many requests the server answers at a time, where that is known."""
        self._wanted: dict[str, int] = {}
        self._running: set[Place] = set()
        self._waiting: list[Place] = []

    @property
    def running(self) -> int:
        """Return how many requests are being answered."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Return how many requests wait."""
        return len(self._waiting)

    @property
    def limit(self) -> int:
        """Return how many requests are sent at a time."""
        return min(self._wanted.values(), default=self.slots or GUESSED_SLOTS)

    def want(self, agent: str, slots: int | None) -> None:
        """Set the number that the options of an agent name; None removes it. The smallest one counts."""
        self._wanted.pop(agent, None)
        if slots:
            self._wanted[agent] = slots
        self._fill()

    def note_unreachable(self, err: ModelServerError) -> None:
        """Let those who wait fail as this request has failed: the server does not take any."""
        for place in self._waiting:
            if not place.admitted.done():
                place.admitted.set_exception(ModelServerError(err.kind, err.detail, plain=err.plain))
        self._waiting.clear()

    @asynccontextmanager
    async def place(self, caller: Caller, until: float | None = None) -> AsyncGenerator[Place]:
        """Wait for a slot and hold it; `until` is when waiting is in vain, by the clock of the event loop.

        Raises ServerBusy if that takes too long.
        """
        rank = 0 if caller.priority is Priority.PERSON and caller.served else int(caller.priority)
        own = sum(other.caller.who == caller.who and other.order[0] == rank for other in self._waiting)
        place = Place(caller, (rank, own))
        try:
            if caller.running:  # a tool of a turn does not wait for the turn
                self._start(place)
                self._fill()
            else:
                await self._wait(place, until)
            yield place
        finally:
            if place in self._running:
                self._running.discard(place)
                caller.running -= 1
                self._fill()

    async def _wait(self, place: Place, until: float | None) -> None:
        caller, now = place.caller, asyncio.get_running_loop().time
        began = now()
        last = began + (PERSON_SECONDS if caller.priority is Priority.PERSON else WORK_SECONDS)
        self._waiting.append(place)
        self._fill()
        try:
            async with asyncio.timeout_at(last if until is None else min(last, until)):
                await place.admitted
        except TimeoutError:
            raise ServerBusy(caller, f"waited for {now() - began:.0f} s in the queue") from None
        finally:
            if place in self._waiting:
                self._waiting.remove(place)
            caller.waited += now() - began

    def _start(self, place: Place) -> None:
        place.caller.running += 1
        place.caller.served += 1
        self._running.add(place)
        if not place.admitted.done():
            place.admitted.set_result(None)

    def _fill(self) -> None:
        """Start those whose turn it is, and interrupt work in the background for people."""
        is_known = bool(self.slots or self._wanted)
        while self._waiting:
            place, count = min(self._waiting, key=lambda waiting: waiting.order), len(self._running)
            room = self.limit
            if place.caller.priority is not Priority.PERSON:  # a slot is left for people
                room = max(1, self.limit - 1) if is_known else 1
            if count >= room:
                break
            self._waiting.remove(place)
            self._start(place)
        # A server of unknown size may have one slot only.
        others = self._waiting if is_known else [*self._waiting, *self._running]
        if any(place.caller.priority is Priority.PERSON for place in others):
            for place in self._running:
                place.interrupt()


class ServerQueues:
    """The queues of all servers, by host and port: one server may be named in several ways."""

    def __init__(self) -> None:
        self._queues: dict[str, ServerQueue] = {}

    def of(self, base_url: str) -> ServerQueue:
        """Return the queue of the server at this address."""
        return self._queues.setdefault(origin(base_url), ServerQueue())


def origin(base_url: str) -> str:
    """Return the host and the port of an address, which name one server; paths and keys do not matter."""
    parts = urlsplit(base_url.strip() if "//" in base_url else f"//{base_url.strip()}")
    try:
        port = parts.port
    except ValueError:
        port = None
    host = (parts.hostname or "").rstrip(".")
    host = "localhost" if host in _THIS_MACHINE else host
    return f"{host}:{port or (443 if parts.scheme == 'https' else 80)}"
