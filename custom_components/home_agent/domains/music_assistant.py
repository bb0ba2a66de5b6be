"""Music Assistant: what its actions beside those of its players come down to."""

from typing import Final

from .base import DomainFacts

MUSIC_ASSISTANT: Final = DomainFacts(
    name="music_assistant",
    writes=frozenset(("transfer_queue",)),
    reads=frozenset(("search",)),
    untargeted=frozenset(("search",)),
    untold=frozenset(("source_player",)),
    comes_to={
        "play_media": {"": "media_player.play_media"},
        "search": {"": "media_player.search_media"},
        "transfer_queue": {"": "media_player.play_media", "source_player": "media_player.media_stop"},
    },
)
