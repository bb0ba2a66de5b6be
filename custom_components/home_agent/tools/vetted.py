"""The vetted services: what may be called at all, as the facts about the domains state it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..domains import DOMAINS
from ..errors import PermissionDenied
from ..regex import lazy_regex
from ..safety.frozen import ServiceCall
from ..texts import leaves

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


PLACES: Final = ("area_id", "device_id", "floor_id", "label_id")
_ENTITY_ID = lazy_regex(r"(?<![a-z0-9_])[a-z0-9_]+\.[a-z0-9_]+(?![a-z0-9_])")
_REGISTRY_ID = lazy_regex(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
MAX_DEPTH: Final = 20


@callback
def entities_in(hass: HomeAssistant, value: Any) -> Iterator[str]:
    """Yield the entities that any text in a value names: alone, in a list of several, or in an address."""
    registry = er.async_get(hass)
    for text in leaves(value, keys=True):
        folded = text.lower() if isinstance(text, str) else ""
        for found in _ENTITY_ID.finditer(folded):
            if hass.states.get(found[0]) is not None or registry.async_get(found[0]) is not None:
                yield found[0]
        for found in _REGISTRY_ID.finditer(folded):
            if (entry := registry.entities.get_entry(found[0])) is not None:
                yield entry.entity_id


@callback
def places_in(hass: HomeAssistant, value: Any) -> Iterator[frozenset[str]]:
    """Yield the entities of each area, device, floor and label that a value names as a target."""
    for key, named in _targets(value, MAX_DEPTH):
        for one in named if isinstance(named, list | tuple | set) else (named,):
            found = async_extract_referenced_entity_ids(hass, TargetSelection({key: [str(one)]}))
            yield frozenset(found.referenced | found.indirectly_referenced)


def _targets(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            if key in PLACES and item:
                yield key, item
            else:
                yield from _targets(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for item in value:
            yield from _targets(item, depth - 1)


@callback
def registry_ids(hass: HomeAssistant, entity_ids: Iterable[str]) -> dict[str, str | None]:
    """Return the registry's id of each entity, None for one that is not registered."""
    registry = er.async_get(hass)
    return {
        entity_id: entry.id if (entry := registry.entities.get(entity_id)) else None
        for entity_id in entity_ids
    }
