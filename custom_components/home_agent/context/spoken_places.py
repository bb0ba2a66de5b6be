"""Rooms and floors in sentences: what a language without spaces says, and which floor of a name is meant."""

from collections.abc import Iterable, Mapping

from ..knowledge.house import Area, Floor, HouseSnapshot
from ..knowledge.name_index import place_id
from ..knowledge.names import squash
from ..languages import table
from .concepts import place_kinds
from .topics import Topic


def nearest_floors(found: Mapping[str, Area | Floor]) -> dict[str, Area | Floor]:
    """Return places without the floors that are farther from the ground than another one of the same name.

    A first floor is the ground floor in one country and the floor above in the other.
    """
    levels = [
        abs(place.level) for place in found.values() if isinstance(place, Floor) and place.level is not None
    ]
    return {
        key: place
        for key, place in found.items()
        if not isinstance(place, Floor)
        or place.level is None
        or len(levels) < len(found)
        or abs(place.level) == min(levels)
    }


def places_inside(house: HouseSnapshot, topic: Topic, languages: Iterable[str]) -> dict[str, Area | Floor]:
    """Return the places in a sentence of a language without spaces between words, by their ids."""
    text, listed = topic.text, tuple(languages)
    called = table(topic.language, "topics.places") or {}
    everywhere: list[Area | Floor] = [*house.areas.values(), *house.floors.values()]
    found = {
        place_id(place): place for place in everywhere if any(squash(name) in text for name in place.names)
    }
    if not found:
        for place in everywhere:
            kinds = place_kinds(place.name, listed)
            if any(name in text for kind in kinds for name in called.get(kind, ())):
                found[place_id(place)] = place
    return nearest_floors(found)
