"""Which chat is whose. A private chat has the number of its user."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback

from ...knowledge.persons import PERSON
from ...tools.people import user_id_of

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
