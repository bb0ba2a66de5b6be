"""Televisions and speakers."""

from typing import Any, override

from homeassistant.components.media_player import (
    BrowseMedia,
    MediaClass,
    MediaPlayerEntity,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
    SearchMedia,
    SearchMediaQuery,
)

from .entity import HouseEntity, platform

SONGS = (
    ("Morning Light", "The Paper Boats", "Folk"),
    ("Harbour Town", "Lena Marsh", "Jazz"),
    ("Slow Train Home", "The Paper Boats", "Folk"),
)
KINDS = (MediaClass.TRACK, MediaClass.ARTIST, MediaClass.GENRE)
"""What each part of a song is."""


class HouseMediaPlayer(HouseEntity, MediaPlayerEntity):
    """A player with three songs."""

    _attr_state = MediaPlayerState.OFF
    _attr_volume_level = 0.3
    _attr_is_volume_muted = False
    _attr_media_content_type = MediaType.MUSIC
    _attr_groups = False
    """Whether it can play in a group with others."""
    _attr_supported_features = (
        MediaPlayerEntityFeature.TURN_ON
        | MediaPlayerEntityFeature.TURN_OFF
        | MediaPlayerEntityFeature.PLAY
        | MediaPlayerEntityFeature.PAUSE
        | MediaPlayerEntityFeature.STOP
        | MediaPlayerEntityFeature.NEXT_TRACK
        | MediaPlayerEntityFeature.PREVIOUS_TRACK
        | MediaPlayerEntityFeature.PLAY_MEDIA
        | MediaPlayerEntityFeature.SEARCH_MEDIA
        | MediaPlayerEntityFeature.VOLUME_SET
        | MediaPlayerEntityFeature.VOLUME_STEP
        | MediaPlayerEntityFeature.VOLUME_MUTE
    )

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Put the first song on and connect the sources of the description."""
        self._track = 0
        self._attr_media_title, self._attr_media_artist, _ = SONGS[0]
        if sources := spec.get("sources"):
            self._attr_source_list, self._attr_source = sources, sources[0]
            self._attr_supported_features |= MediaPlayerEntityFeature.SELECT_SOURCE
        super().__init__(entity_id, spec)

    @property
    @override
    def supported_features(self) -> MediaPlayerEntityFeature:
        """Return what it can do."""
        groups = MediaPlayerEntityFeature.GROUPING if self._attr_groups else MediaPlayerEntityFeature(0)
        return self._attr_supported_features | groups

    @override
    async def async_join_players(self, group_members: list[str]) -> None:
        """Lead a group."""
        self.change(group_members=[self.entity_id, *group_members])

    @override
    async def async_unjoin_player(self) -> None:
        """Play alone."""
        self.change(group_members=[])

    def _skip(self, steps: int) -> None:
        self._track = (self._track + steps) % len(SONGS)
        title, artist, _ = SONGS[self._track]
        self.change(state=MediaPlayerState.PLAYING, media_title=title, media_artist=artist)

    @override
    async def async_turn_on(self) -> None:
        """Switch on."""
        self.change(state=MediaPlayerState.IDLE)

    @override
    async def async_turn_off(self) -> None:
        """Switch off."""
        self.change(state=MediaPlayerState.OFF)

    @override
    async def async_media_play(self) -> None:
        """Play."""
        self.change(state=MediaPlayerState.PLAYING)

    @override
    async def async_media_pause(self) -> None:
        """Pause."""
        self.change(state=MediaPlayerState.PAUSED)

    @override
    async def async_media_stop(self) -> None:
        """Stop."""
        self.change(state=MediaPlayerState.IDLE)

    @override
    async def async_media_next_track(self) -> None:
        """Play the next song."""
        self._skip(1)

    @override
    async def async_media_previous_track(self) -> None:
        """Play the song before."""
        self._skip(-1)

    @override
    async def async_play_media(self, media_type: MediaType | str, media_id: str, **kwargs: Any) -> None:
        """Play the first song of a title, an artist or a genre, else what was named."""
        found = next((song for song in SONGS if media_id in song), (media_id, None, None))
        self.change(state=MediaPlayerState.PLAYING, media_title=found[0], media_artist=found[1])

    @override
    async def async_search_media(self, query: SearchMediaQuery) -> SearchMedia:
        """Find songs, artists and genres by any of their words."""
        words = query.search_query.casefold().split()
        named = {name: kind for song in SONGS for name, kind in zip(song, KINDS, strict=True)}
        wanted = query.media_filter_classes or KINDS
        return SearchMedia(
            result=[
                BrowseMedia(
                    title=name,
                    media_class=kind,
                    media_content_id=name,
                    media_content_type=MediaType.MUSIC,
                    can_play=True,
                    can_expand=False,
                )
                for name, kind in named.items()
                if kind in wanted and any(word in name.casefold() for word in words)
            ]
        )

    @override
    async def async_set_volume_level(self, volume: float) -> None:
        """Set the volume, 0 to 1."""
        self.change(volume_level=volume)

    @override
    async def async_mute_volume(self, mute: bool) -> None:
        """Mute or sound."""
        self.change(is_volume_muted=mute)

    @override
    async def async_select_source(self, source: str) -> None:
        """Switch to a source."""
        self.change(source=source)


async_setup_entry = platform("media_player", HouseMediaPlayer)
