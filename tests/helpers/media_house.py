"""Media players that search, browse and play, without a sound."""

from collections.abc import Sequence
from typing import Any, override

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.media_player import (
    BrowseMedia,
    MediaClass,
    MediaPlayerEntity,
    MediaPlayerEntityFeature as Feature,
    MediaPlayerState,
    SearchMedia,
    SearchMediaQuery,
)
from homeassistant.components.media_player.const import DATA_COMPONENT
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component

SEARCHING = Feature.PLAY_MEDIA | Feature.SEARCH_MEDIA | Feature.STOP | Feature.PAUSE | Feature.MEDIA_ENQUEUE
BROWSING = Feature.PLAY_MEDIA | Feature.BROWSE_MEDIA | Feature.STOP


def item(
    title: str,
    kind: MediaClass,
    content_id: str = "",
    *,
    plays: bool = True,
    children: Sequence[BrowseMedia] | None = None,
) -> BrowseMedia:
    """Return something of a library."""
    return BrowseMedia(
        title=title,
        media_class=kind,
        media_content_id=content_id or f"lib:{title.lower()}",
        media_content_type=str(kind),
        can_play=plays,
        can_expand=children is not None,
        children=children,
    )


class Player(MediaPlayerEntity):
    """Plays what it is told to."""

    def __init__(self, name: str, features: Feature, library: Sequence[BrowseMedia]) -> None:
        self._attr_name = name
        self._attr_unique_id = name
        self._attr_supported_features = features
        self._attr_state = MediaPlayerState.IDLE
        self.library = library
        self.queries: list[SearchMediaQuery] = []
        self.opened: list[str | None] = []
        self.played: list[tuple[str, str, dict[str, Any]]] = []

    @override
    async def async_search_media(self, query: SearchMediaQuery) -> SearchMedia:
        self.queries.append(query)
        wanted = query.media_filter_classes
        return SearchMedia(result=[one for one in self.library if not wanted or one.media_class in wanted])

    @override
    async def async_browse_media(
        self, media_content_type: str | None = None, media_content_id: str | None = None
    ) -> BrowseMedia:
        self.opened.append(media_content_id)
        root = item("Root", MediaClass.DIRECTORY, children=self.library)
        waiting = [root]
        while waiting:
            one = waiting.pop()
            if media_content_id is None or one.media_content_id == media_content_id:
                return one
            waiting += one.children or ()
        raise HomeAssistantError("no such folder")

    @override
    async def async_play_media(self, media_type: str, media_id: str, **kwargs: Any) -> None:
        self.played.append((media_id, media_type, kwargs))
        self._attr_media_title = media_id.removeprefix("lib:").title()
        self._attr_state = MediaPlayerState.PLAYING
        self.async_write_ha_state()

    @override
    async def async_media_stop(self) -> None:
        self._attr_state = MediaPlayerState.IDLE
        self.async_write_ha_state()


async def async_add_player(
    hass: HomeAssistant,
    name: str,
    library: Sequence[BrowseMedia],
    *,
    features: Feature = SEARCHING,
    area: str | None = None,
    exposed: bool = True,
) -> Player:
    """Add a player and return it."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "media_player", {})
    player = Player(name, features, library)
    await hass.data[DATA_COMPONENT].async_add_entities([player])
    if area is not None:
        area_id = ar.async_get(hass).async_get_or_create(area).id
        er.async_get(hass).async_update_entity(player.entity_id, area_id=area_id)
    async_expose_entity(hass, "conversation", player.entity_id, exposed)
    await hass.async_block_till_done()
    return player
