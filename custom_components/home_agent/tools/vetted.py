"""The vetted services: what may be called at all, as the facts about the domains state it."""

from collections.abc import Mapping
from typing import Any, Final

from ..domains import DOMAINS

NOTIFY: Final = "notify"
TELEGRAM: Final = ("telegram_bot", "send_message")
ANNOUNCE: Final = ("assist_satellite", "announce")
SPEAK: Final = ("tts", "speak")

TARGET_KEYS: Final = frozenset(
    {
        *("entity_id", "entity_ids", "area_id", "device_id", "floor_id", "label_id", "target"),
        *("domain", "service"),
    }
)
"""Keys of a call's data that would aim it at something else than what was checked."""

GATED_OFF: Final = (
    "Scenes and scripts are switched off for this assistant. An administrator can switch them on in its "
    "options: Safety, Let it run scripts and scenes (allow_scripts_and_scenes)"
)
"""What is said where they are switched off."""


def is_spoken(domain: str, service: str) -> bool:
    """Return whether a call is an announcement, which everybody in a room hears."""
    return (domain, service) in (ANNOUNCE, SPEAK)


def is_message(domain: str, service: str) -> bool:
    """Return whether a call is a message to people: to a phone, to a chat, or spoken in a room."""
    return domain == NOTIFY or (domain, service) == TELEGRAM or is_spoken(domain, service)


def is_vetted(domain: str, service: str, *, gated: bool = False) -> bool:
    """Return whether ha_control may call a service; `gated` lets scripts and scenes through."""
    facts = DOMAINS[domain]
    return service in facts.services and (gated or not facts.is_gated)


def is_offered(domain: str, service: str, *, gated: bool = False) -> bool:
    """Return whether any tool may call a service on entities; `gated` lets scripts and scenes through."""
    return service in DOMAINS[domain].writes or is_vetted(domain, service, gated=gated)


def target_keys(data: Mapping[Any, Any]) -> list[str]:
    """Return the keys of a call's data that would aim it at something else, however they are written."""
    return sorted(key for key in map(str, data) if key.strip().casefold() in TARGET_KEYS)
