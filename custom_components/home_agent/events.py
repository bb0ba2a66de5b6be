"""Events on Home Assistant's bus; `docs/reference/events.md` describes their data."""

from typing import Any

from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.event_type import EventType

from .const import EVENT_ERROR, EventData


class EventEmitter:
    """Fires the integration's events on the bus, if the option says so."""

    def __init__(
        self, hass: HomeAssistant, enabled: bool, entry_id: str = "", subentry_id: str | None = None
    ) -> None:
        self._hass = hass
        self._enabled = enabled
        self._entry_id = entry_id
        self._subentry_id = subentry_id

    @callback
    def fire(self, event: EventType[EventData], data: EventData, context: Context | None = None) -> None:
        """Fire an event with a timestamp.

        By the context of a request the logbook knows which request the states that it changed go back to.
        """
        if self._enabled:
            agent = {"config_entry_id": self._entry_id} if self._entry_id else {}
            if self._subentry_id is not None:
                agent["subentry_id"] = self._subentry_id
            content = {**data, **agent, "timestamp": dt_util.utcnow().isoformat()}
            self._hass.bus.async_fire(event, content, context=context)

    @callback
    def fire_error(
        self,
        component: str,
        err: BaseException,
        message: str,
        conversation_id: str | None = None,
        request: Context | None = None,
        /,
        **context: Any,
    ) -> None:
        """Fire the event of an error; the message contains no words of a conversation."""
        self.fire(
            EVENT_ERROR,
            {
                "error_type": type(err).__name__,
                "error_message": message,
                "conversation_id": conversation_id,
                "component": component,
                "context": context,
            },
            request,
        )
