"""Music Assistant on a real `hass`: the actions of the installed component, players of its platform, and a
library in place of its server, whose packages are not installed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pathlib import Path
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, override

from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockModule,
    MockPlatform,
    mock_config_flow,
    mock_integration,
    mock_platform,
)

import homeassistant.components
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.media_player import (
    MediaPlayerDeviceClass,
    MediaPlayerEntity,
    MediaPlayerEntityFeature as Feature,
    MediaPlayerState,
)
from homeassistant.config_entries import ConfigEntry, ConfigFlow
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.setup import async_setup_component

DOMAIN = "music_assistant"
COMPONENT = f"homeassistant.components.{DOMAIN}"
FOLDER = Path(homeassistant.components.__path__[0]) / DOMAIN
FEATURES = (
    Feature.PLAY_MEDIA
    | Feature.SEARCH_MEDIA
    | Feature.MEDIA_ENQUEUE
    | Feature.PAUSE
    | Feature.PLAY
    | Feature.STOP
    | Feature.BROWSE_MEDIA
)


class MediaType(StrEnum):
    """As in music_assistant_models."""

    ARTIST = "artist"
    ALBUM = "album"
    AUDIOBOOK = "audiobook"
    PLAYLIST = "playlist"
    PODCAST = "podcast"
    TRACK = "track"
    RADIO = "radio"
    FOLDER = "folder"


class QueueOption(StrEnum):
    """As in music_assistant_models."""

    PLAY = "play"
    REPLACE = "replace"
    NEXT = "next"
    REPLACE_NEXT = "replace_next"
    ADD = "add"


MediaType.ALL = list(MediaType)  # type: ignore[attr-defined]
STAND_INS: Mapping[str, Mapping[str, Any]] = {
    "music_assistant_models": {},
    "music_assistant_models.enums": {
        "MediaType": MediaType,
        "QueueOption": QueueOption,
        "ImageType": SimpleNamespace(DISCART="discart", FANART="fanart"),
    },
    "music_assistant_models.auth": {"AuthProviderType": SimpleNamespace(HOME_ASSISTANT="homeassistant")},
    "music_assistant_client": {"MusicAssistantClient": object},
    "music_assistant_client.helpers": {"LinkedUser": SimpleNamespace},
    "music_assistant_models.media_items": {"ItemMapping": type("ItemMapping", (), {})},
    "music_assistant_models.errors": {
        "MusicAssistantError": type("MusicAssistantError", (Exception,), {}),
        "UserNotFoundError": type("UserNotFoundError", (Exception,), {}),
    },
}


@contextmanager
def installed_component() -> Iterator[Any]:
    """Yield the module with the actions of the installed component, without the packages that it needs."""
    before = dict(sys.modules)
    package = ModuleType(COMPONENT)
    package.__path__ = [str(FOLDER)]
    sys.modules[COMPONENT] = package
    for name, values in STAND_INS.items():
        module = ModuleType(name)
        vars(module).update(values)
        sys.modules[name] = module
    try:
        yield import_module(f"{COMPONENT}.services")
    finally:
        for name in [
            one
            for one in sys.modules
            if one.startswith((COMPONENT, "music_assistant_models", "music_assistant_client"))
        ]:
            del sys.modules[name]
        sys.modules.update({name: before[name] for name in before if name.startswith(COMPONENT)})


@dataclass
class Music:
    """Something of the library."""

    name: str
    media_type: MediaType
    by: str = ""
    album: Any = None
    version: str = ""
    favorite: bool = False
    metadata: Any = field(default_factory=lambda: SimpleNamespace(explicit=None))

    @property
    def uri(self) -> str:
        return f"library://{self.media_type}/{self.name.casefold().replace(' ', '_')}"

    @property
    def artists(self) -> list[Any]:
        return [Music(self.by, MediaType.ARTIST)] if self.by else []


LIBRARY = [
    Music("Bohemian Rhapsody", MediaType.TRACK, "The Covers"),
    Music("Bohemian Rhapsody", MediaType.TRACK, "Queen"),
    Music("A Night at the Opera", MediaType.ALBUM, "Queen"),
    Music("Queen", MediaType.ARTIST),
    Music("Queen", MediaType.TRACK, "Somebody"),
    Music("Dinner", MediaType.PLAYLIST),
    Music("Radio Paradise", MediaType.RADIO),
]
LISTS = {
    "artists": MediaType.ARTIST,
    "albums": MediaType.ALBUM,
    "tracks": MediaType.TRACK,
    "playlists": MediaType.PLAYLIST,
    "radio": MediaType.RADIO,
    "audiobooks": MediaType.AUDIOBOOK,
    "podcasts": MediaType.PODCAST,
}


class Server:
    """A stand-in for the client of Music Assistant that records the requests and answers from a library."""

    def __init__(self, library: Sequence[Music]) -> None:
        self.library = library
        self.searches: list[dict[str, Any]] = []
        self.music = self

    async def search(self, **asked: Any) -> Any:
        """Return all of the wanted kinds, as the server does: whatever it takes to be like the query."""
        self.searches.append(asked)
        return SimpleNamespace(
            **{
                name: [
                    item for item in self.library if item.media_type is kind and kind in asked["media_types"]
                ]
                for name, kind in LISTS.items()
            }
        )

    def get_media_item_image_url(self, _item: Any, **_options: Any) -> None:
        """There are no pictures."""


class Player(MediaPlayerEntity):
    """A player of Music Assistant, with its queue."""

    _attr_should_poll = False
    _attr_device_class = MediaPlayerDeviceClass.SPEAKER
    _attr_supported_features = FEATURES

    def __init__(self, name: str, players: dict[str, Player]) -> None:
        self._attr_name = name
        self._attr_unique_id = name
        self._attr_state = MediaPlayerState.IDLE
        self.players = players
        self.played: list[tuple[str, dict[str, Any]]] = []
        self.moved: list[str | None] = []
        self.deaf = False

    @override
    async def async_play_media(self, media_type: str, media_id: str, **kwargs: Any) -> None:
        self.played.append((media_id, kwargs))
        if not self.deaf:
            self.shows(MediaPlayerState.PLAYING, media_id.rpartition("/")[2].replace("_", " ").title())

    @override
    async def async_media_stop(self) -> None:
        self.shows(MediaPlayerState.IDLE, None)

    async def _async_handle_transfer_queue(self, source_player: str | None = None, **_options: Any) -> None:
        self.moved.append(source_player)
        source = next((one for one in self.players.values() if one.entity_id == source_player), None)
        if source is None:
            raise HomeAssistantError("Source player not available.")
        self.shows(source.state or MediaPlayerState.IDLE, source.media_title)
        source.shows(MediaPlayerState.IDLE, None)

    def shows(self, state: MediaPlayerState, title: str | None) -> None:
        self._attr_state, self._attr_media_title = state, title
        self._attr_available = True
        self.async_write_ha_state()

    def leave(self) -> None:
        self._attr_available = False
        self.async_write_ha_state()


@dataclass
class MusicHome:
    """The players by name, and the server."""

    server: Server
    players: dict[str, Player]

    def __getitem__(self, name: str) -> Player:
        return self.players[name]


async def async_add_music(
    hass: HomeAssistant, services: Any, library: Sequence[Music], **rooms: str
) -> MusicHome:
    """Set up Music Assistant with players by name, each in a room; what one plays follows a comma."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "media_player", {})
    players: dict[str, Player] = {}
    players |= {name: Player(name.replace("_", " "), players) for name in rooms}
    server = Server(library)

    # As the component does it until Home Assistant 2026.10, and since.
    is_earlier = hasattr(services, "register_actions")
    register = services.register_actions if is_earlier else services.async_setup_services

    async def setup(hass: HomeAssistant, entry: ConfigEntry) -> bool | None:
        entry.runtime_data = SimpleNamespace(mass=server)
        await hass.config_entries.async_forward_entry_setups(entry, ["media_player"])
        return True if is_earlier else None

    async def add(_hass: HomeAssistant, _entry: ConfigEntry, add: AddConfigEntryEntitiesCallback) -> None:
        add(players.values())

    mock_integration(hass, MockModule(DOMAIN, async_setup_entry=setup))
    mock_platform(hass, f"{DOMAIN}.config_flow", None)
    mock_platform(hass, f"{DOMAIN}.media_player", MockPlatform(async_setup_entry=add))
    register(hass)
    entry = MockConfigEntry(domain=DOMAIN)
    entry.add_to_hass(hass)
    with mock_config_flow(DOMAIN, type("Flow", (ConfigFlow,), {})):
        assert await hass.config_entries.async_setup(entry.entry_id)
    for name, said in rooms.items():
        entity_id = players[name].entity_id
        room, _, title = said.partition(", ")
        area_id = ar.async_get(hass).async_get_or_create(room).id
        er.async_get(hass).async_update_entity(entity_id, area_id=area_id)
        async_expose_entity(hass, "conversation", entity_id, True)
        if title:
            players[name].shows(MediaPlayerState.PLAYING, title)
    await hass.async_block_till_done()
    return MusicHome(server, players)
