"""MemoryManager: the memories of all entries, in one store. The store is the truth, vectors follow it."""

from homeassistant.core import HomeAssistant

from ..const import DOMAIN
from ..store import EntryStore
from .memories import Memories

STORE_KEY = f"{DOMAIN}.memories"


class MemoryManager(EntryStore[Memories]):
    """Keeps the memories by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass, STORE_KEY, Memories)
