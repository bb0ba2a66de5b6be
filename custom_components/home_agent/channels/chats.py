"""Chats in which a person can be written to unasked. A channel that has such chats registers them."""

from collections.abc import Sequence
from typing import Final, Protocol

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN


class PersonalChats(Protocol):
    """The chats of one agent, each of one person."""

    def of_person(self, person: str) -> Sequence[int]:
        """Return the chats of a person, by the entity of the person."""

    def of_user(self, user_id: str) -> Sequence[int]:
        """Return the chats of a person, by the user of the person."""

    async def async_write(self, chat: int, message: str) -> bool:
        """Write a message; return whether it was sent."""


_CHATS: Final[HassKey[dict[str, PersonalChats]]] = HassKey(f"{DOMAIN}.chats")


@callback
def async_register_chats(hass: HomeAssistant, entry_id: str, chats: PersonalChats) -> CALLBACK_TYPE:
    """Register the agent's way to write to chats; return a function that removes it."""
    hass.data.setdefault(_CHATS, {})[entry_id] = chats

    @callback
    def unregister() -> None:
        hass.data[_CHATS].pop(entry_id, None)

    return unregister


@callback
def chats_of(hass: HomeAssistant, entry_id: str) -> PersonalChats | None:
    """Return the chats of an agent, if a channel has any."""
    return hass.data.get(_CHATS, {}).get(entry_id)


async def async_write_to(chats: PersonalChats | None, numbers: Sequence[int], message: str) -> bool:
    """Write to each chat; return whether any took it."""
    if chats is None:
        return False
    return any([await chats.async_write(number, message) for number in numbers])
