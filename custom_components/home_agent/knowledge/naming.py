"""What a question names in full, by the words of whole names: things, rooms and floors."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from homeassistant.core import HomeAssistant

from ..texts import words
from .documents import KnowledgeDocument
from .records import Area, EntityRecord, Floor, HouseSnapshot

SURE: Final = 2
"""Words that the name of a thing needs: one alone may be said of many."""
PLACES: Final = "place names"
THINGS: Final = "thing names"

SHORTEST: Final = 3
"""Letters of a word that says what kind of thing is meant."""

type Names = Mapping[frozenset[str], frozenset[str]]
"""The entities that are meant, by the words of a name."""


@dataclass(frozen=True, slots=True)
class Named:
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


NOTHING: Final = Named()


async def async_prepare_names(hass: HomeAssistant, house: HouseSnapshot) -> None:
    """Read the names of a house off the event loop, once."""
    if not house.has_derived(THINGS):
        places, things = await hass.async_add_executor_job(lambda: (_places(house), _things(house)))
        house.derived(PLACES, lambda _: places)
        house.derived(THINGS, lambda _: things)


def named_in_full(house: HouseSnapshot, text: str, mentioned: Iterable[EntityRecord]) -> Named:
    """Return which things, rooms and floors a text names in full.

    Of names that contain each other the longer one counts: the kids' bedroom is not the bedroom. Where the
    text says what is meant in a place, as its lights, only that is; `mentioned` are the likely entities.
    """
    said = set(words(text))
    places = {name: ids for name, ids in house.derived(PLACES, _places).items() if name <= said}
    things = {name: ids for name, ids in house.derived(THINGS, _things).items() if name <= said}
    names = {*places, *things}
    longest = frozenset(name for name in names if not any(name < other for other in names))
    there = frozenset().union(*(places[name] for name in longest & places.keys()))
    beside = said.difference(*longest)
    domains = {record.domain for record in mentioned if record.entity_id in there and _says(beside, record)}
    if domains:
        there = frozenset(key for key in there if key.partition(".")[0] in domains)
    return Named(longest, there.union(*(things[name] for name in longest & things.keys())))


def _says(said: Collection[str], record: EntityRecord) -> bool:
    """Return whether words are an entity's kind or a part of its name, with or without an ending."""
    parts = [part for part in (*words(record.domain), *words(record.name)) if len(part) >= SHORTEST]
    return any(word.startswith(part) for word in said for part in parts)


def _places(house: HouseSnapshot) -> Names:
    """Return what is in each room and on each floor."""
    on_floor: dict[str, list[str]] = {}
    for record in house.entities.values():
        if record.floor_id is not None:
            on_floor.setdefault(record.floor_id, []).append(record.entity_id)
    found: dict[frozenset[str], frozenset[str]] = {}
    for area_id, area in house.areas.items():
        _add(found, area, (record.entity_id for record in house.in_area(area_id)))
    for floor_id, floor in house.floors.items():
        _add(found, floor, on_floor.get(floor_id, ()))
    return found


def _things(house: HouseSnapshot) -> Names:
    """Return the entities by their own names."""
    found: dict[frozenset[str], frozenset[str]] = {}
    for record in house.entities.values():
        _add(found, record, (record.entity_id,), least=SURE)
    return found


def _add(
    found: dict[frozenset[str], frozenset[str]],
    named: EntityRecord | Area | Floor,
    entity_ids: Iterable[str],
    least: int = 1,
) -> None:
    """Add what has a name under all of its names; names may be shared."""
    added = frozenset(entity_ids)
    for name in (named.name, *named.aliases):
        if len(key := frozenset(words(name))) >= least:
            found[key] = found.get(key, frozenset()) | added
