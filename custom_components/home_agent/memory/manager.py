"""MemoryManager: the memories of all entries, in one store. The store is the truth, vectors follow it."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..store import Content, KeptStore
from .memories import Memories
from .records import Memory, as_dict, from_dict

STORE_KEY = f"{DOMAIN}.memories"


class MemoryManager:
    """Keeps the memories by entry, in memory and on disk."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        self._hass = hass
        self._entries: dict[str, Memories] = {}
        self._store = KeptStore(hass, STORE_KEY, self._content)

    async def async_load(self) -> None:
        """Read the store; memories that cannot be read are kept aside and left out."""
        data = await self._store.async_read()
        if not data:
            return
        entries, problem = await self._hass.async_add_executor_job(_parse, data)
        if problem is not None:
            await self._store.async_set_aside(problem, keep_in_place=True)
        for entry_id, memories in entries.items():
            self._entries[entry_id] = Memories(self._store.schedule, memories)

    async def async_flush(self) -> None:
        """Write what has not been written yet."""
        await self._store.async_flush()

    async def async_forget_set_aside(self) -> None:
        """Delete files that could not be read, for people who want everything gone."""
        await self._store.async_forget_set_aside()

    @callback
    def of(self, entry_id: str) -> Memories:
        """Return the memories of an entry."""
        if entry_id not in self._entries:
            self._entries[entry_id] = Memories(self._store.schedule)
        return self._entries[entry_id]

    @callback
    def forget(self, entry_id: str) -> None:
        """Drop the memories of an entry that is removed."""
        if self._entries.pop(entry_id, None) is not None:
            self._store.schedule()

    def _content(self) -> Content:
        """Return what is written."""
        return {
            "entries": {
                entry_id: [as_dict(memory) for memory in memories.stored()]
                for entry_id, memories in list(self._entries.items())
            }
        }


def _parse(data: Mapping[str, Any]) -> tuple[dict[str, list[Memory]], Exception | None]:
    """Return what can be read, and what was wrong with the rest."""
    found: dict[str, list[Memory]] = {}
    problem: Exception | None = None
    entries = data.get("entries")
    if not isinstance(entries, dict):
        return found, TypeError("no entries")
    for entry_id, stored in entries.items():
        for item in stored if isinstance(stored, list) else ():
            try:
                found.setdefault(entry_id, []).append(from_dict(item))
            except (LookupError, TypeError, ValueError, AttributeError) as err:
                problem = err
    return found, problem
