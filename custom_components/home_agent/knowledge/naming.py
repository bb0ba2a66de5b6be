"""What a question names in full, by the words of whole names: things, rooms and floors."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from homeassistant.core import HomeAssistant

from ..texts import words
from .documents import KnowledgeDocument
from .names import Phrases, longest
from .records import Area, EntityRecord, Floor, HouseSnapshot

SURE: Final = 2
"""Words that the name of a thing needs: one alone may be said of many."""
NAMES: Final = "names in full"
SHORTEST: Final = 3
"""Letters of a word that says what kind of thing is meant."""


@dataclass(frozen=True, slots=True)
class FullNames:
    """What a text names in full."""

    names: frozenset[frozenset[str]] = frozenset()
    entity_ids: frozenset[str] = frozenset()
    """The entities that have one of the names, or are in a room or on a floor that has one."""

    def concerns(self, document: KnowledgeDocument) -> bool:
        """Return whether a document is about what is named."""
        if not self.entity_ids.isdisjoint(document.entity_ids):
            return True
        title = set(words(document.title))
        return any(name <= title for name in self.names)


NO_NAMES: Final = FullNames()


@dataclass(frozen=True, slots=True)
class Owners:
    """The entities that a name means."""

    entity_ids: frozenset[str]
    is_place: bool = False
    """Whether they are meant because they are in a room or on a floor of that name."""


async def async_prepare_names(hass: HomeAssistant, house: HouseSnapshot) -> None:
    """Read the names of a house off the event loop, once."""
    if not house.has_derived(NAMES):
        await hass.async_add_executor_job(house.derived, NAMES, _names)


def named_in_full(house: HouseSnapshot, text: str, mentioned: Iterable[EntityRecord]) -> FullNames:
    """Return which things, rooms and floors a text names in full.

    Of names that contain each other the longer one counts: the kids' bedroom is not the bedroom. Where the
    text says what is meant in a place, as its lights, only that is; `mentioned` are the likely entities.
    """
    said = words(text)
    meanings = [(word,) for word in said]
    found = longest(house.derived(NAMES, _names).find(meanings))
    there = frozenset().union(*(one.value.entity_ids for one in found if one.value.is_place))
    beside = set(said).difference(*(one.phrase for one in found))
    domains = {record.domain for record in mentioned if record.entity_id in there and _says(beside, record)}
    if domains:
        there = frozenset(key for key in there if key.partition(".")[0] in domains)
    things = (one.value.entity_ids for one in found if not one.value.is_place)
    return FullNames(frozenset(frozenset(one.phrase) for one in found), there.union(*things))


def _says(said: Collection[str], record: EntityRecord) -> bool:
    """Return whether words are an entity's kind or a part of its name, with or without an ending."""
    parts = [part for part in (*words(record.domain), *words(record.name)) if len(part) >= SHORTEST]
    return any(word.startswith(part) for word in said for part in parts)


def _names(house: HouseSnapshot) -> Phrases[Owners]:
    """Return the names of rooms, floors and things, with the entities that are meant by each."""
    on_floor: dict[str, list[str]] = {}
    for record in house.entities.values():
        if record.floor_id is not None:
            on_floor.setdefault(record.floor_id, []).append(record.entity_id)
    named: list[tuple[EntityRecord | Area | Floor, Owners]] = []
    for area_id, area in house.areas.items():
        inside = frozenset(record.entity_id for record in house.in_area(area_id))
        named.append((area, Owners(inside, is_place=True)))
    for floor_id, floor in house.floors.items():
        named.append((floor, Owners(frozenset(on_floor.get(floor_id, ())), is_place=True)))
    named += ((record, Owners(frozenset({record.entity_id}))) for record in house.entities.values())
    return Phrases(
        (spoken, owners)
        for one, owners in named
        for name in (one.name, *one.aliases)
        if len(spoken := words(name)) >= (1 if owners.is_place else SURE)
    )
