"""Unasked messages in Telegram: reminders, and messages for people without a phone."""

from collections.abc import Sequence

from homeassistant.core import HomeAssistant

from ..notify_targets import user_id_of
from .bot import Bot
from .chats import Chats


class TelegramPersonalChats:
    """The private chats of the option, written to with the bot that knows them."""

    def __init__(self, hass: HomeAssistant, chats: Chats, bot: Bot) -> None:
        """Take the chats and the bot of the bridge."""
        self._hass = hass
        self._chats = chats
        self._bot = bot

    def of_person(self, person: str) -> Sequence[int]:
        """Return the chats in which a person is still allowed to write."""
        user_id = user_id_of(self._hass, person)
        return self.of_user(user_id) if user_id else []

    def of_user(self, user_id: str) -> Sequence[int]:
        """Return the chats of a user."""
        return [chat for chat, owner in self._chats.users().items() if owner == user_id]

    async def async_write(self, chat: int, message: str) -> bool:
        """Write a message as it is: names in it may look like markup."""
        return await self._bot.async_send(chat, message, markdown=False) is not None
