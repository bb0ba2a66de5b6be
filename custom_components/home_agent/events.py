"""Events on Home Assistant's bus."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack, cast

from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util import dt as dt_util
from homeassistant.util.event_type import EventType
from homeassistant.util.signal_type import SignalType

from .const import DOMAIN, EVENT_ERROR
from .event_data import ErrorContext, ErrorReported


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event inside of Home Agent: what happened, at which agent, and on which request."""

    entry_id: str
    """The agent's connection."""
    subentry_id: str | None
    """The agent, if it is a further one."""
    data: Mapping[str, Any]
    context: Context | None


def event_signal(event: EventType[Any] | str) -> SignalType[Occurrence]:
    """Return the signal of an event. It is sent even if the option for events on the bus is off."""
    return SignalType(f"{DOMAIN}_event_{event}")


class EventEmitter:
    """Fires the integration's events: on the bus if the option says so, and for triggers always."""

    def __init__(
        self, hass: HomeAssistant, enabled: bool, entry_id: str = "", subentry_id: str | None = None
    ) -> None:
        self._hass = hass
        self._enabled = enabled
        self._entry_id = entry_id
        self._subentry_id = subentry_id

    @callback
    def fire[D: Mapping[str, Any]](
        self, event: EventType[D], data: D, context: Context | None = None
    ) -> None:
        """Fire an event with a timestamp.

        By the context of a request the logbook knows which request the states that it changed go back to.
        """
        async_dispatcher_send(self._hass, event_signal(event), self._occurrence(data, context))
        if self._enabled:
            agent = {"config_entry_id": self._entry_id} if self._entry_id else {}
            if self._subentry_id is not None:
                agent["subentry_id"] = self._subentry_id
            content = {**data, **agent, "timestamp": dt_util.utcnow().isoformat()}
            self._hass.bus.async_fire(event, cast("D", content), context=context)

    def _occurrence(self, data: Mapping[str, Any], context: Context | None) -> Occurrence:
        """Return an event as triggers get it."""
        return Occurrence(self._entry_id, self._subentry_id, data, context)

    @callback
    def fire_error(
        self,
        component: str,
        err: BaseException,
        message: str,
        conversation_id: str | None = None,
        request: Context | None = None,
        /,
        **context: Unpack[ErrorContext],
    ) -> None:
        """Fire the event of an error; the message contains no words of a conversation."""
        self.fire(
            EVENT_ERROR,
            ErrorReported(
                error_type=type(err).__name__,
                error_message=message,
                conversation_id=conversation_id,
                component=component,
                context=context,
            ),
            request,
        )
