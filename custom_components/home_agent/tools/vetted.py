"""The vetted services: what may be called at all, as the facts about the domains state it."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..domains import DOMAINS
from ..errors import PermissionDenied
from .base import ServiceCall

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

ADMINISTRATOR: Final = "Only an administrator may do this, in a chat where they are signed in"
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


def check_administrator(hass: HomeAssistant, call: ServiceCall, user: User | None) -> None:
    """Raise PermissionDenied for what Home Assistant lets only administrators do.

    It lets somebody unknown, such as a person at a satellite, do the same; not so with its own parts.
    """
    facts = DOMAINS[call.domain]
    if call.service not in facts.admin_services or (user is not None and user.is_admin):
        return
    registry = er.async_get(hass)
    entries = (registry.async_get(entity_id) for entity_id in call.entity_ids)
    if user is not None or any(entry and entry.platform in facts.system_platforms for entry in entries):
        raise PermissionDenied(ADMINISTRATOR)


def target_keys(data: Mapping[Any, Any]) -> list[str]:
    """Return the keys of a call's data that would aim it at something else, however they are written."""
    return sorted(key for key in map(str, data) if key.strip().casefold() in TARGET_KEYS)
