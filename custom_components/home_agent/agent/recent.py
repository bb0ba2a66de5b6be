"""What is known of the last conversations beyond what was said in them; bounded."""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, override

from homeassistant.core import callback
from homeassistant.util import dt as dt_util

MAX_CONVERSATIONS: Final = 200


class BoundedDict[T](OrderedDict[str, T]):
    """A mapping that drops its oldest entry when it is full."""

    def __init__(self, limit: int) -> None:
        """Hold so many entries."""
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

    calls: BoundedDict[list[dict[str, Any]]] = field(default_factory=lambda: BoundedDict(50))
    """Tool calls of the last turn, for the response of `home_agent.process`."""
    history_ids: BoundedDict[str] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """The history that a conversation continued: a person's sentences share one for a while."""
    speakers: BoundedDict[str] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """Whose a conversation is: the first one in it who is known."""
    shared: BoundedDict[bool] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """Conversations in which several persons have spoken."""
    at_home: BoundedDict[bool] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """Conversations in which something was said that a model outside the house must not be told."""
    tainted: BoundedDict[bool] = field(default_factory=lambda: BoundedDict(MAX_CONVERSATIONS))
    """Conversations in which text was read that somebody outside wrote."""
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
        else:
            self._cleared[self.history_id(conversation_id)] = now

    def cleared_at(self, conversation_id: str) -> datetime | None:
        """Return up to when a conversation is forgotten."""
        moments = (self._cleared.get(self.history_id(conversation_id)), self._all_cleared)
        return max((moment for moment in moments if moment is not None), default=None)
