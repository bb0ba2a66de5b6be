"""One queue for each model server, shared by all agents: people before background work, speakers in turn."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Final, override
from urllib.parse import urlsplit

from .models import Caller, ErrorKind, ModelServerError, Priority


class ServerBusy(ModelServerError):
    """A request has waited for too long, or would. Nothing was sent."""

    def __init__(self, caller: Caller, detail: str) -> None:
        super().__init__(ErrorKind.BUSY, detail, retryable=False)
        self._is_person = caller.priority is Priority.PERSON

    @property
    @override
    def is_down(self) -> bool:
        """Tell that the fallback may be asked for a person; other work waits until later."""
        return self._is_person


PERSON_SECONDS: Final = 30.0
"""How long the request of a person may wait."""
WORK_SECONDS: Final = 300.0
"""How long a request that nobody listens to may wait."""
MAX_INTERRUPTED: Final = 3
"""How often people may interrupt a request; then it is given up or, if somebody needs it, runs to its end."""
GUESSED_SLOTS: Final = 4
"""Requests at a time to a server that does not tell how many it answers."""
MANY_SLOTS: Final = 8
"""Requests at a time to servers that answer many."""

_THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class Interrupted(Exception):
    """A person's request has interrupted another one."""


class Place:
    """A request in the queue, or one that is being answered."""

    def __init__(self, caller: Caller, *, yields: bool) -> None:
        self.caller = caller
        self.admitted: asyncio.Future[None] | None = None
        self.yields = yields
        """Whether people may interrupt it."""
        self.interrupted = False
        self.order = (0, 0)
        """What goes before it: a turn that has begun, then by priority, and the speakers in turn."""
        self._scope: asyncio.Timeout | None = None

    def interrupt(self) -> None:
        """Interrupt the request: what is awaited now ends with Interrupted."""
        self.interrupted = True
        if self._scope is not None:
            self._scope.reschedule(0)

    async def wait_for[T](self, work: Awaitable[T]) -> T:
        """Return what is awaited. Raises Interrupted if a person interrupts it."""
        if not self.yields:
            return await work
        try:
            async with asyncio.timeout_at(0 if self.interrupted else None) as self._scope:
                return await work
        except TimeoutError:
            if self._scope is not None and self._scope.expired():
                raise Interrupted from None
            raise
        finally:
            self._scope = None


class ServerQueue:
    """The requests to one server: as many run as it answers at a time, the others wait in turn."""

    def __init__(self) -> None:
        self.slots = GUESSED_SLOTS
        self.exact = False
        self.known = False
        """Whether somebody has found out the number of slots."""
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
        return min(self._wanted.values(), default=self.slots)

    def learn(self, slots: int, *, exact: bool) -> None:
        """Remember how many requests the server answers at a time."""
        self.slots, self.exact, self.known = max(1, slots), exact, True
        self._fill()

    def want(self, agent: str, slots: int | None) -> None:
        """Set the number that the options of an agent name; None removes it. The smallest one counts."""
        self._wanted.pop(agent, None)
        if slots:
            self._wanted[agent] = slots
        self._fill()

    def note_unreachable(self, err: ModelServerError) -> None:
        """Let those who wait fail as this request has failed: the server does not take any."""
        while self._waiting:
            admitted = self._waiting.pop().admitted
            if admitted is not None and not admitted.done():
                admitted.set_exception(ModelServerError(err.kind, err.detail, plain=err.plain))

    @asynccontextmanager
    async def place(self, caller: Caller, *, yields: bool, until: float | None) -> AsyncGenerator[Place]:
        """Wait for a slot and hold it; `until` is when waiting is in vain, by the clock of the event loop.

        Raises ServerBusy if that takes too long.
        """
        place = Place(caller, yields=yields)
        rank = 0 if caller.priority is Priority.PERSON and caller.served else int(caller.priority)
        own = sum(other.caller.who == caller.who and other.order[0] == rank for other in self._waiting)
        place.order = (rank, own)
        is_first = not any(other.order[0] <= rank for other in self._waiting)
        if caller.running or (is_first and self._has_room(caller)):
            self._start(place)
        else:
            await self._wait(place, until)
        try:
            yield place
        finally:
            self._leave(place)

    async def _wait(self, place: Place, until: float | None) -> None:
        """Wait until the request may be sent. Raises ServerBusy."""
        caller, now = place.caller, asyncio.get_running_loop().time
        began = now()
        last = began + (PERSON_SECONDS if caller.priority is Priority.PERSON else WORK_SECONDS)
        place.admitted = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._fill()
        try:
            async with asyncio.timeout_at(last if until is None else min(last, until)):
                await place.admitted
        except BaseException as err:
            if place in self._waiting:
                self._waiting.remove(place)
            elif place in self._running:  # it was its turn just now
                self._leave(place)
            if isinstance(err, TimeoutError):
                raise ServerBusy(caller, f"waited for {now() - began:.0f} s in the queue") from None
            raise
        finally:
            caller.waited += now() - began

    def _has_room(self, caller: Caller) -> bool:
        count = len(self._running)
        if caller.priority is Priority.PERSON:
            return count < self.limit
        return count < max(1, self.limit - 1) if self.exact or self._wanted else not count

    def _start(self, place: Place) -> None:
        place.caller.running += 1
        place.caller.served += 1
        self._running.add(place)
        if place.caller.priority is Priority.PERSON and not self.exact and not self._wanted:
            self._interrupt(len(self._running))  # the server may have one slot only

    def _leave(self, place: Place) -> None:
        self._running.discard(place)
        place.caller.running -= 1
        self._fill()

    def _fill(self) -> None:
        """Start those whose turn it is, and interrupt other work for people that still wait."""
        while self._waiting:
            place = min(self._waiting, key=lambda waiting: waiting.order)
            if not self._has_room(place.caller):
                break
            self._waiting.remove(place)
            self._start(place)
            if place.admitted is not None and not place.admitted.done():
                place.admitted.set_result(None)
        if people := sum(place.caller.priority is Priority.PERSON for place in self._waiting):
            self._interrupt(people)

    def _interrupt(self, count: int) -> None:
        """Interrupt so many requests, those that matter least first."""
        leaving = sum(place.interrupted for place in self._running)
        able = [place for place in self._running if place.yields and not place.interrupted]
        able.sort(key=lambda place: -place.caller.priority)
        for place in able[: max(0, count - leaving)]:
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
