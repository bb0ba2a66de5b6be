"""Speakers that announce, and play together."""

from typing import Any, override

from homeassistant.components.media_player import (
    ATTR_MEDIA_ANNOUNCE,
    MediaPlayerDeviceClass,
    MediaPlayerEntity,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
)
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from . import device

ROOMS = ("Kitchen", "Garden")


class StandInSpeaker(MediaPlayerEntity):
    """A speaker without sound."""

    _attr_should_poll = False
    _attr_device_class = MediaPlayerDeviceClass.SPEAKER
    _attr_state = MediaPlayerState.PLAYING
    _attr_supported_features = (
        MediaPlayerEntityFeature.PLAY_MEDIA
        | MediaPlayerEntityFeature.MEDIA_ANNOUNCE
        | MediaPlayerEntityFeature.GROUPING
        | MediaPlayerEntityFeature.PAUSE
    )

    def __init__(self, room: str) -> None:
        self.entity_id = f"media_player.{room.casefold()}"
        self._attr_name = f"{room} speaker"
        self._attr_unique_id = room
        self._attr_device_info = device(f"{room} speaker", room)
        self._attr_extra_state_attributes = {"announced": []}

    @override
    async def async_join_players(self, group_members: list[str]) -> None:
        self._attr_group_members = [self.entity_id, *group_members]
        self.async_write_ha_state()

    @override
    async def async_unjoin_player(self) -> None:
        self._attr_group_members = []
        self.async_write_ha_state()

    @override
    async def async_play_media(self, media_type: MediaType | str, media_id: str, **kwargs: Any) -> None:
        if kwargs.get(ATTR_MEDIA_ANNOUNCE):
            announced = [*self._attr_extra_state_attributes["announced"], media_id]
            self._attr_extra_state_attributes = {"announced": announced}
            self.async_write_ha_state()


async def async_setup_entry(
    _hass: HomeAssistant, _entry: ConfigEntry, add: AddConfigEntryEntitiesCallback
) -> None:
    add(StandInSpeaker(room) for room in ROOMS)
