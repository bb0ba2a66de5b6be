"""The store of what all entries have observed."""

from homeassistant.core import HomeAssistant

from ...const import DOMAIN
from ...store import EntryStore
from .observations import Observations

STORE_KEY = f"{DOMAIN}.observations"


class ObservationStore(EntryStore[Observations]):
    """Keeps observations by entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass, STORE_KEY, Observations)
