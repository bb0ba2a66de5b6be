"""Updates the word index of a home, and searches changed entities directly during a long update."""

import asyncio
from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Final

from homeassistant.core import HomeAssistant

from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot, differing
from ..knowledge.spoken_words import async_class_words
from ..texts import words
from .house_index import HouseIndex

MAX_INDEXES: Final = 4
"""Indexes kept, one for each set of languages."""
INDEX_WAIT_SECONDS: Final = 0.25
"""Seconds to wait for the index of the newest snapshot before its changes are looked through directly."""
MAX_RECENT: Final = 60
"""Changed entities that are indexed immediately for a sentence: those that share most words with it."""


class IndexCache:
    """Indexes of one home. An index of thousands of entities takes a second or more in a worker thread."""

    def __init__(self) -> None:
        self._built: dict[Sequence[str], HouseIndex] = {}
        self._building: dict[Sequence[str], asyncio.Task[HouseIndex]] = {}

    async def async_get(
        self, hass: HomeAssistant, house: HouseSnapshot, languages: tuple[str, ...], query: str
    ) -> tuple[HouseIndex, ...]:
        """Return the indexes to search for a query, the most current one first.

        Usually that is one, which knows the whole snapshot. While it is being built there are two: a small
        one of the changed entities that share a word with the query, and the one of an earlier snapshot.
        """
        if index := self._current(house, languages):
            return (index,)
        task = self._building.get(languages)
        if task is None or task.done():
            task = self._building[languages] = hass.async_create_background_task(
                self._async_build(hass, house, languages), "home_agent word index", eager_start=True
            )
        await asyncio.wait([task], timeout=INDEX_WAIT_SECONDS)
        if index := self._current(house, languages):
            return (index,)
        earlier = self._built.get(languages)
        known = None if earlier is None else earlier.house
        class_words = await async_class_words(hass, house, languages)
        recent = await hass.async_add_executor_job(
            lambda: HouseIndex(_recent(house, known, query), class_words, languages)
        )
        return (recent,) if earlier is None else (recent, earlier)

    def _current(self, house: HouseSnapshot, languages: tuple[str, ...]) -> HouseIndex | None:
        built = self._built.get(languages)
        if built is not None and (built.house is house or built.update(house)):
            return built
        return None

    async def _async_build(
        self, hass: HomeAssistant, house: HouseSnapshot, languages: tuple[str, ...]
    ) -> HouseIndex:
        class_words = await async_class_words(hass, house, languages)
        index = await hass.async_add_executor_job(HouseIndex, house, class_words, languages)
        self._built.pop(languages, None)
        while len(self._built) >= MAX_INDEXES:
            del self._built[next(iter(self._built))]
        self._built[languages] = index
        self._building.pop(languages, None)
        return index


def _recent(house: HouseSnapshot, earlier: HouseSnapshot | None, query: str) -> HouseSnapshot:
    """Return the part of a home that changed since an earlier snapshot and that a query may be about."""
    said = set(words(query))
    everywhere: list[tuple[str, Area | Floor]] = [*house.areas.items(), *house.floors.items()]
    places = {
        place_id: frozenset(word for name in place.names for word in words(name))
        for place_id, place in everywhere
    }

    def shared(record: EntityRecord) -> int:
        """Return how many words of the query an entity, its room or its floor is called by."""
        own = {word for name in (*record.names, record.object_id) for word in words(name)}
        where = places.get(record.area_id or "", frozenset()) | places.get(record.floor_id or "", frozenset())
        return len(said & (own | where))

    counted = ((shared(record), record) for record in _changed(house, earlier or HouseSnapshot()))
    best = nlargest(MAX_RECENT, (pair for pair in counted if pair[0]), key=lambda pair: pair[0])
    return HouseSnapshot(
        entities={record.entity_id: record for _, record in best}, areas=house.areas, floors=house.floors
    )


def _changed(house: HouseSnapshot, earlier: HouseSnapshot) -> Iterator[EntityRecord]:
    """Yield the entities that are new or changed, and those whose area or floor is."""
    changed = {*differing(house.entities, earlier.entities)}
    moved = {*differing(house.areas, earlier.areas), *differing(house.floors, earlier.floors)}
    for entity_id, record in house.entities.items():
        if entity_id in changed or not moved.isdisjoint((record.area_id, record.floor_id)):
            yield record
