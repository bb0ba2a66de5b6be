"""The vetted services beside those of `ha_control`: what the everyday tools write and read."""

from collections.abc import Mapping
from typing import Any, Final

from .control.actions import is_vetted

NOTIFY: Final = "notify"

TARGET_KEYS: Final = frozenset(
    {
        *("entity_id", "entity_ids", "area_id", "device_id", "floor_id", "label_id", "target"),
        *("domain", "service"),
    }
)
"""Keys of a call's data that would aim it at something else than what was checked."""

WRITES: Final = frozenset(
    {
        ("todo", "add_item"),
        ("todo", "update_item"),
        ("todo", "remove_item"),
        ("calendar", "create_event"),
        ("media_player", "play_media"),
    }
)
"""Services that change something, called on entities like those of the actions."""

READS: Final = frozenset(
    {
        ("todo", "get_items"),
        ("calendar", "get_events"),
        ("weather", "get_forecasts"),
        ("media_player", "search_media"),
        ("media_player", "browse_media"),
    }
)
"""Services that only answer."""

REACHING: Final = frozenset({("media_player", "play_media")})
"""Services whose data may name an address: no more harmless in a tool of the household's than any other."""


def is_offered(domain: str, service: str, *, gated: bool = False) -> bool:
    """Return whether a service may be called on entities; `gated` lets scripts and scenes through."""
    return (domain, service) in WRITES or is_vetted(domain, service, gated=gated)


def target_keys(data: Mapping[Any, Any]) -> list[str]:
    """Return the keys of a call's data that would aim it at something else, however they are written."""
    return sorted(key for key in map(str, data) if key.strip().casefold() in TARGET_KEYS)
