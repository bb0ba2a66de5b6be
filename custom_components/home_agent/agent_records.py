"""Which agents there are and were: for what is left to do when one was removed while nothing ran."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from .const import DOMAIN
from .store import EntryStore, dump, read_moment

STORE_KEY: Final = f"{DOMAIN}.agents"


class AgentRecord:
    """What is known of one agent. The store of all agents is notified of every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.connection_id = ""
        self.title = ""
        self.entity_id: str | None = None
        self.removed_at: datetime | None = None
        """When the agent was removed, if its memories are still kept."""

    @callback
    def note(self, connection_id: str, title: str, entity_id: str | None) -> None:
        """Take what an agent is now."""
        known = (self.connection_id, self.title, self.entity_id)
        if known != (connection_id, title, entity_id) or self.removed_at is not None:
            self.connection_id, self.title, self.entity_id = connection_id, title, entity_id
            self.removed_at = None
            self._changed()

    @callback
    def note_removed(self) -> None:
        """Note that the agent was removed now."""
        self.removed_at = dt_util.utcnow()
        self._changed()

    def stored(self) -> Mapping[str, Any]:
        """Return what is to be written; called in a worker thread."""
        names = ("connection_id", "title", "entity_id", "removed_at")
        return {name: dump(getattr(self, name)) for name in names}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Take what is stored. Raises KeyError, TypeError or ValueError for invalid data."""
        texts = stored["connection_id"], stored["title"]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("not an agent")
        self.connection_id, self.title = texts
        entity_id = stored["entity_id"]
        self.entity_id = entity_id if isinstance(entity_id, str) else None
        self.removed_at = read_moment(stored["removed_at"]) if stored["removed_at"] is not None else None


class AgentRecords(EntryStore[AgentRecord]):
    """Keeps what is known of the agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, AgentRecord)

    @callback
    def removed(self) -> dict[str, AgentRecord]:
        """Return the removed agents whose memories are kept, by their ids."""
        return {key: record for key, record in self._entries.items() if record.removed_at is not None}

    @callback
    def of_connection(self, connection_id: str) -> dict[str, AgentRecord]:
        """Return the agents that a connection has or had, without those whose memories are kept."""
        return {
            key: record
            for key, record in self._entries.items()
            if record.connection_id == connection_id and record.removed_at is None
        }
