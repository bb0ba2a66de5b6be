"""Which chat is whose, and writing to a person's chat. A private chat has the number of its user."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from homeassistant.core import HomeAssistant, callback

from ...knowledge.persons import PERSON
from ..people import ChatQuestion, user_id_of
from .bot import Bot

CHAT: Final = "chat_id"
"""Key of the items of the option, beside the person."""


def read_chats(stored: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Return the person of each chat."""
    return {int(item[CHAT]): item[PERSON] for item in stored}


class Chats:
    """The chats of one entry."""

    def __init__(self, hass: HomeAssistant, stored: Iterable[Mapping[str, Any]]) -> None:
        self._hass = hass
        self._persons = read_chats(stored)

    @callback
    def user_of(self, event: Mapping[str, Any]) -> str | None:
        """Return the Home Assistant user who wrote or pressed; None for anyone else.

        Only in a chat of their own: in a group others read along.
        """
        chat = event.get("chat_id")
        if chat is None or chat != event.get("user_id") or chat not in self._persons:
            return None
        return user_id_of(self._hass, self._persons[chat])

    @callback
    def users(self) -> dict[int, str]:
        """Return the Home Assistant user of each chat that has one."""
        found = {chat: user_id_of(self._hass, person) for chat, person in self._persons.items()}
        return {chat: user_id for chat, user_id in found.items() if user_id is not None}


class Asking(Protocol):
    """Asks questions with answers to choose from."""

    async def async_ask(self, question: ChatQuestion) -> None:
        """Write a question."""

    async def async_end(self, question_id: str, answer: str | None) -> None:
        """Take the buttons of a question away."""


class TelegramPersonalChats:
    """The private chats of the option, written to with the bot that knows them."""

    def __init__(self, hass: HomeAssistant, chats: Chats, bot: Bot, asking: Asking) -> None:
        self._hass = hass
        self._chats = chats
        self._bot = bot
        self.async_ask = asking.async_ask
        self.async_end = asking.async_end

    def of_person(self, person: str) -> Sequence[int]:
        """Return the chats in which a person is still allowed to write."""
        user_id = user_id_of(self._hass, person)
        return self.of_user(user_id) if user_id else []

    def of_user(self, user_id: str) -> Sequence[int]:
        """Return the chats of a user."""
        return [chat for chat, owner in self._chats.users().items() if owner == user_id]

    def message(self, chat: int, message: str) -> Mapping[str, Any]:
        """Return the data of the call that writes a message as it is: names in it may look like markup."""
        return self._bot.plain(chat, message)

    async def async_write(self, chat: int, message: str) -> bool:
        """Write a message as it is: names in it may look like markup."""
        return await self._bot.async_send(chat, message, markdown=False) is not None
