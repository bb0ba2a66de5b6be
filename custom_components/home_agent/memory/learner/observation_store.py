"""The store of what all entries have observed."""

from collections.abc import Mapping

from homeassistant.core import HomeAssistant, callback

from ...const import DOMAIN
from ...store import Content, KeptStore
from .observations import Observations

STORE_KEY = f"{DOMAIN}.observations"


class ObservationStore:
    """Keeps observations by entry, in memory and on disk."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        self._entries: dict[str, Observations] = {}
        self._store = KeptStore(hass, STORE_KEY, self._content)

    async def async_load(self) -> None:
        """Read the store; an entry that cannot be read begins anew, and the file is kept aside."""
        entries = (await self._store.async_read()).get("entries", {})
        for entry_id, stored in entries.items() if isinstance(entries, Mapping) else ():
            observations = Observations(self._store.schedule)
            try:
                observations.restore(stored)
            except (KeyError, TypeError, ValueError, AttributeError) as err:
                await self._store.async_set_aside(err, keep_in_place=True)
                continue
            self._entries[entry_id] = observations

    async def async_flush(self) -> None:
        """Write what has not been written yet."""
        await self._store.async_flush()

    async def async_forget_set_aside(self) -> None:
        """Delete files that could not be read, for people who want everything gone."""
        await self._store.async_forget_set_aside()

    @callback
    def of(self, entry_id: str) -> Observations:
        """Return what an entry has observed."""
        if entry_id not in self._entries:
            self._entries[entry_id] = Observations(self._store.schedule)
        return self._entries[entry_id]

    @callback
    def forget(self, entry_id: str) -> None:
        """Drop what an entry that is removed has observed."""
        if self._entries.pop(entry_id, None) is not None:
            self._store.schedule()

    def _content(self) -> Content:
        """Return what is written."""
        return {
            "entries": {entry_id: observed.stored() for entry_id, observed in list(self._entries.items())}
        }
