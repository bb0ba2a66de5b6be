"""The turns under way, so that they can be ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from homeassistant.core import Event, callback

from ..errors import TurnInterrupted


class RunningTurns:
    """The turns of one agent that wait for a model; a server that hangs must not outlive the agent."""

    def __init__(self) -> None:
        """Start with none."""
        self._scopes: set[asyncio.Timeout] = set()
        self.stopped = False

    @property
    def busy(self) -> bool:
        """Return whether somebody is being answered."""
        return bool(self._scopes)

    @asynccontextmanager
    async def interruptible(self) -> AsyncIterator[None]:
        """Run what may be interrupted. Raises TurnInterrupted if it was."""
        if self.stopped:
            raise TurnInterrupted
        scope = asyncio.timeout(None)
        self._scopes.add(scope)
        try:
            async with scope:
                yield
        except TimeoutError as err:
            if scope.expired():
                raise TurnInterrupted from err
            raise
        finally:
            self._scopes.discard(scope)

    @callback
    def stop(self, _event: Event | None = None) -> None:
        """Interrupt all turns, also those that come to their model later."""
        self.stopped = True
        now = asyncio.get_running_loop().time()
        for scope in self._scopes:
            if not scope.expired():
                scope.reschedule(now)
