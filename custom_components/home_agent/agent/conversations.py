"""What an agent keeps of its conversations beside their history: the last ones, and the turns under way."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, override

from homeassistant.core import Event, callback
from homeassistant.util import dt as dt_util

from ..errors import TurnInterrupted
from ..tools.turn_calls import CallSummary

MAX_CONVERSATIONS: Final = 200


class BoundedDict[T](OrderedDict[str, T]):
    """A mapping that drops its oldest entry when it is full."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    @override
    def __setitem__(self, key: str, value: T) -> None:
        """Add an entry as the newest one."""
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._limit:
            self.popitem(last=False)


@dataclass(slots=True, kw_only=True)
class RecentConversations:
    """The last conversations of one agent, by their ids."""

    calls: BoundedDict[list[CallSummary]] = field(default_factory=lambda: BoundedDict(50))
    """Tool calls of the last turn, for the response of `home_agent.process`."""
    history_ids: BoundedDict[str] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """The history that a conversation continued: a person's sentences share one for a while."""
    speakers: BoundedDict[str] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """The owner of a conversation: its first known speaker."""
    shared: BoundedDict[bool] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """Conversations in which several persons have spoken."""
    at_home: BoundedDict[bool] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """Conversations in which something was said that an external model must not receive."""
    tainted: BoundedDict[bool] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """Conversations in which text was read that an outsider wrote."""
    about: BoundedDict[tuple[str, ...]] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """The entities that a conversation was about last."""
    _cleared: BoundedDict[datetime] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    _all_cleared: datetime | None = None

    def history_id(self, conversation_id: str) -> str:
        """Return the history that a conversation belongs to."""
        return self.history_ids.get(conversation_id, conversation_id)

    @callback
    def note_cleared(self, conversation_id: str | None) -> None:
        """Remember that a conversation, or all, were forgotten: the chat log keeps them for a while."""
        now = dt_util.utcnow()
        if conversation_id is None:
            self._all_cleared = now
            self.about.clear()
        else:
            self.about.pop(conversation_id, None)
            self._cleared[self.history_id(conversation_id)] = now

    def cleared_at(self, conversation_id: str) -> datetime | None:
        """Return up to when a conversation is forgotten."""
        moments = (self._cleared.get(self.history_id(conversation_id)), self._all_cleared)
        return max((moment for moment in moments if moment is not None), default=None)


class RunningTurns:
    """The turns of one agent that wait for a model; a server that hangs must not outlive the agent."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()
        self.stopped = False

    @property
    def busy(self) -> bool:
        """Return whether a turn is running."""
        return bool(self._scopes)

    @asynccontextmanager
    async def interruptible(self) -> AsyncIterator[None]:
        """Run an interruptible part. Raises TurnInterrupted if it was interrupted."""
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
