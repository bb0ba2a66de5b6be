"""What a question names in full, by the words of whole names: things, rooms and floors."""

from collections.abc import Collection, Iterable, Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from homeassistant.core import HomeAssistant

from ..texts import words
from .documents import KnowledgeDocument
from .house import EntityRecord, HouseSnapshot
from .name_index import place_id, place_names
from .names import Phrases, content_words, longest

SURE: Final = 2
"""Words that the name of a thing needs: a single one may describe many things."""
THINGS: Final = "names of things"
SHORTEST: Final = 3
"""Letters of a word that says what kind of thing is meant."""


@dataclass(frozen=True, slots=True)
class FullNames:
    """What a text names in full."""

    names: frozenset[frozenset[str]] = frozenset()
    entity_ids: AbstractSet[str] = frozenset()
    """The entities that have one of the names, or are in a room or on a floor that has one."""

    def concerns(self, document: KnowledgeDocument) -> bool:
        """Return whether a document is about what is named."""
        if not self.entity_ids.isdisjoint(document.entity_ids):
            return True
        title = set(words(document.title))
        return any(name <= title for name in self.names)


NO_NAMES: Final = FullNames()


async def async_prepare_names(hass: HomeAssistant, house: HouseSnapshot) -> None:
    """Read the names of a home off the event loop, once."""
    if not house.has_derived(THINGS):
        await hass.async_add_executor_job(house.derived, THINGS, _things)


def named_in_full(house: HouseSnapshot, text: str, mentioned: Iterable[EntityRecord]) -> FullNames:
    """Return which things, rooms and floors a text names in full.

    Of names that contain each other the longer one counts: the kids' bedroom is not the bedroom. Where the
    text says what is meant in a place, as its lights, only that is; `mentioned` are the likely entities.
    """
    said = words(text)
    meanings = [(word,) for word in said]
    found = longest((*place_names(house).find(meanings), *house.derived(THINGS, _things).find(meanings)))
    named = frozenset(frozenset(one.phrase) for one in found)
    places = {place_id(one.value) for one in found if not isinstance(one.value, EntityRecord)}
    there = {record.entity_id for record in house.entities.values() if places and _is_in(places, record)}
    beside = set(said).difference(*named)
    domains = {record.domain for record in mentioned if record.entity_id in there and _says(beside, record)}
    if domains:
        there = {key for key in there if key.partition(".")[0] in domains}
    things = (one.value.entity_id for one in found if isinstance(one.value, EntityRecord))
    return FullNames(named, there.union(things))


def _is_in(places: Collection[str], record: EntityRecord) -> bool:
    return record.area_id in places or record.floor_id in places


def _says(said: Collection[str], record: EntityRecord) -> bool:
    """Return whether words are an entity's kind or a part of its name, with or without an ending."""
    spoken = (*words(record.domain), *content_words(record.name))
    return any(word.startswith(part) for word in said for part in spoken if len(part) >= SHORTEST)


def _things(house: HouseSnapshot) -> Phrases[EntityRecord]:
    return Phrases(
        (spoken, record)
        for record in house.entities.values()
        for name in record.names
        if len(spoken := words(name)) >= SURE
    )
