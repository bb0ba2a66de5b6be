"""Entities and places that the data of a call names, however Home Assistant may read them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..regex import lazy

PLACES: Final = ("area_id", "device_id", "floor_id", "label_id")
_ENTITY_ID = lazy(r"(?<![a-z0-9_])[a-z0-9_]+\.[a-z0-9_]+(?![a-z0-9_])")
_REGISTRY_ID = lazy(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
MAX_DEPTH: Final = 20


@callback
def entities_in(hass: HomeAssistant, value: Any) -> Iterator[str]:
    """Yield the entities that any text in a value names: alone, in a list of several, or in an address."""
    registry = er.async_get(hass)
    for text in _texts(value, MAX_DEPTH):
        folded = text.lower()
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


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Yield all texts in a value, also those that are keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield from _texts(key, depth - 1)
            yield from _texts(item, depth - 1)
    elif isinstance(value, list | tuple | set) and depth:
        for item in value:
            yield from _texts(item, depth - 1)


def _targets(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the keys that name a place or a device, with their values."""
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            if key in PLACES and item:
                yield key, item
            else:
                yield from _targets(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for item in value:
            yield from _targets(item, depth - 1)
