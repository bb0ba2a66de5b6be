"""Questions that Home Assistant shows if nobody is present to hear them."""

from typing import override

from homeassistant.components import persistent_notification
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..agent.phrases import async_phrase
from ..safety.confirmation import ConfirmationChannel
from ..safety.pending import ActionOutcome, PendingAction


class NotificationChannel(ConfirmationChannel):
    """Shows what waits as a notification of Home Assistant."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Show nothing yet."""
        self._hass = hass

    @override
    async def async_ask(self, action: PendingAction) -> None:
        """Show the question if nobody is present to hear it."""
        if not action.unattended:
            return
        language = action.speaker.language
        how = await async_phrase(
            self._hass,
            language,
            "confirmation_how",
            action_id=action.id,
            time=f"{dt_util.as_local(action.expires_at):%H:%M:%S}",
        )
        persistent_notification.async_create(
            self._hass,
            f"{action.full}\n\n{how}",
            await async_phrase(self._hass, language, "confirmation_title"),
            _notification_id(action),
        )

    @override
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        """Take the question away."""
        if action.unattended:
            persistent_notification.async_dismiss(self._hass, _notification_id(action))


def _notification_id(action: PendingAction) -> str:
    """Return the id of an action's notification."""
    return f"home_agent_{action.id}"
