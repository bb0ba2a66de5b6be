"""Confirmations by notification: shown where nobody hears the question, answered by phones."""

from collections.abc import Callable
from typing import Any, override

from homeassistant.components import persistent_notification
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..agent.phrases import async_phrase
from ..const import LOGGER
from ..errors import HomeAgentError
from ..safety.confirmation import ConfirmationChannel, Confirmations, Outcome, PendingAction

EVENT_PHONE = "mobile_app_notification_action"
"""Fired by the companion app when a button of a notification was pressed."""

APPROVE = "HOME_AGENT_APPROVE_"
REJECT = "HOME_AGENT_REJECT_"


class NotificationChannel(ConfirmationChannel):
    """Shows what waits, and takes answers of phones.

    A notification sent to a phone by anybody may carry the actions `HOME_AGENT_APPROVE_<action id>` and
    `HOME_AGENT_REJECT_<action id>`; the phone's own user is the one who answers.
    """

    def __init__(self, hass: HomeAssistant, confirmations: Confirmations) -> None:
        """Serve the confirmations of one entry."""
        self._hass = hass
        self._confirmations = confirmations

    @callback
    def async_start(self) -> Callable[[], None]:
        """Begin to take answers; return how to stop."""
        self._confirmations.channels.append(self)
        return self._hass.bus.async_listen(EVENT_PHONE, self._async_answered)

    @override
    async def async_ask(self, action: PendingAction) -> None:
        """Show the question where nobody hears it."""
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
            f"{action.question}\n\n{how}",
            await async_phrase(self._hass, language, "confirmation_title"),
            _notification_id(action),
        )

    @override
    async def async_settled(self, action: PendingAction, outcome: Outcome) -> None:
        """Take the question away."""
        if action.unattended:
            persistent_notification.async_dismiss(self._hass, _notification_id(action))

    async def _async_answered(self, event: Event[Any]) -> None:
        """Take the answer of a phone, in the name of its user."""
        pressed = str(event.data.get("action", ""))
        verb = next((verb for verb in (APPROVE, REJECT) if pressed.startswith(verb)), None)
        if verb is None or not self._confirmations.has(action_id := pressed.removeprefix(verb)):
            return
        user_id = event.context.user_id
        user = await self._hass.auth.async_get_user(user_id) if user_id else None
        if user is None:
            return
        try:
            if verb == APPROVE:
                await self._confirmations.async_approve(action_id, user=user, trusted=True)
            else:
                await self._confirmations.async_reject(action_id, user=user)
        except HomeAgentError as err:
            LOGGER.info("The answer of a phone does not count: %s", err)


def _notification_id(action: PendingAction) -> str:
    """Return the id of an action's notification."""
    return f"home_agent_{action.id}"
