"""Entities and places that the data of a call names, however Home Assistant may read them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..regex import lazy_regex
from ..texts import leaves

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
