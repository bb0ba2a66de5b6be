"""PanelChannel: an open panel shows at once what waits for a person's word."""

from typing import override

from homeassistant.core import HomeAssistant
from homeassistant.helpers.dispatcher import async_dispatcher_send

from ..const import DOMAIN
from ..safety.confirmation import ConfirmationChannel
from ..safety.pending import Outcome, PendingAction


class PanelChannel(ConfirmationChannel):
    """Tells panels to look again."""

    def __init__(self, hass: HomeAssistant, entry_id: str) -> None:
        """Remember whose actions these are."""
        self._hass = hass
        self._signal = confirmation_signal(entry_id)

    @override
    async def async_ask(self, action: PendingAction) -> None:
        """Tell that there is one more."""
        async_dispatcher_send(self._hass, self._signal)

    @override
    async def async_settled(self, action: PendingAction, outcome: Outcome) -> None:
        """Tell that there is one less."""
        async_dispatcher_send(self._hass, self._signal)


def confirmation_signal(entry_id: str) -> str:
    """Return the signal that what waits has changed."""
    return f"{DOMAIN}_confirmation_{entry_id}"
