"""Events on Home Assistant's bus."""

from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from .const import EVENT_HISTORY_SAVED


class EventEmitter:
    """Fires the integration's events, if the option says so."""

    def __init__(self, hass: HomeAssistant, enabled: bool) -> None:
        """Remember whether events are wanted."""
        self._hass = hass
        self._enabled = enabled

    @callback
    def fire(self, event: str, **data: Any) -> None:
        """Fire an event with a timestamp."""
        if self._enabled:
            self._hass.bus.async_fire(event, {**data, "timestamp": dt_util.utcnow().isoformat()})

    @callback
    def fire_history_saved(self, data: dict[str, Any]) -> None:
        """Fire the event of a written history store."""
        self.fire(EVENT_HISTORY_SAVED, **data)
