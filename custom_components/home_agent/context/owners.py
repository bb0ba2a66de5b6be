"""The people whose rooms are called after them, so that "Mia's light" is the light in Mia's Room."""

from collections.abc import Iterator
from typing import Final

from ..knowledge.house import Area, Floor, HouseSnapshot
from ..knowledge.names import Phrases
from ..languages.lexicon import Word
from ..texts import words
from .concepts import place_kinds
from .topics import topic_reader

NOT_IN_ROOMS: Final = frozenset({"person", "calendar", "todo", "timer"})
"""Kinds that belong to a person without being in the person's room."""


def room_owners(house: HouseSnapshot, languages: tuple[str, ...]) -> Phrases[Area | Floor]:
    """Return the names of people with the rooms that are called after them."""
    return Phrases((word, area) for area in house.areas.values() for word in _owners(area, languages))


def _owners(area: Area, languages: tuple[str, ...]) -> Iterator[tuple[str]]:
    """Yield the name of the person whose room this is, if it names no kind of room: "Mia" of "Mia's Room"."""
    readers = [topic_reader(language) for language in languages]
    if place_kinds(area.name, languages):
        return
    for name in area.names:
        found = words(name)
        telling = [word for word in found if not any(one.is_weak(Word(word, word)) for one in readers)]
        if len(telling) == 1 and not any(one.kinds_of(telling[0]) for one in readers):
            yield (telling[0],)
