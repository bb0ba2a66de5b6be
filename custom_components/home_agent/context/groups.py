"""Requests that mean many entities at once: "all lights upstairs", "everything in the kitchen"."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ..knowledge.house import EntityRecord
from ..knowledge.spoken_words import asks_for_all, domain_words, everything_words
from ..texts import fold
from .house_index import PLACE_NAMED, HouseIndex, Kind, Meaning

SAID: Final = 0.7
"""Similarity from which a word of the sentence names a kind."""
KEPT: Final = 0.6
"""Share of the best kind's score that another kind needs."""
SWITCHABLE: Final = frozenset(
    {
        "climate",
        "cover",
        "fan",
        "humidifier",
        "input_boolean",
        "lawn_mower",
        "light",
        "lock",
        "media_player",
        "remote",
        "siren",
        "switch",
        "vacuum",
        "valve",
        "water_heater",
    }
)
"""Domains that "everything" covers."""


@dataclass(frozen=True, slots=True)
class Group:
    """The entities that a sentence means by place and kind."""

    entity_ids: Sequence[str] = ()
    many: bool = False
    """Whether all of them were asked for, not one of them."""


def find_group(index: HouseIndex, query: str, meaning: Meaning, area_id: str | None, language: str) -> Group:
    """Return the entities of the kinds and places that a sentence names, none where it names too little.

    "Everything" without a place is everything in the room of the speaker.
    """
    folded = fold(query)
    every = asks_for_all(folded, language)
    everything = every and not everything_words().isdisjoint(folded.split())
    places: Collection[str] = meaning.places
    kinds = _kinds(index, meaning)
    if not places and (everything or (every and not kinds)):
        places = {area_id} if area_id else ()
        everything = True
    if not (kinds or every) or not (places or (every and kinds)):
        return Group()
    entities = index.house.entities
    there = [
        record
        for record in entities.values()
        if not places or record.area_id in places or record.floor_id in places
    ]
    found = [record for record in there if (record.domain, record.device_class) in kinds]
    found = [record for record in found if record.category is None] or found
    if everything or not kinds:
        found += [record for record in there if record.domain in SWITCHABLE and record.category is None]
    found.sort(key=_where)
    many = every or len(places) > 1 or not index.house.floors.keys().isdisjoint(places)
    return Group(list(dict.fromkeys(record.entity_id for record in found)), many)


def _where(record: EntityRecord) -> tuple[bool, str, str]:
    """Return the order within a group: what can be switched first, then room by room."""
    return record.domain not in SWITCHABLE, record.area_id or "", record.name


def _kinds(index: HouseIndex, meaning: Meaning) -> set[Kind]:
    """Return the kinds that a sentence names; words that name many kinds, or a place, say little."""
    spoken = {word for names in meaning.places.values() for name in names for word in name}
    scores: dict[Kind, float] = {}
    for said, matches in meaning.words.items():
        if any(word in spoken for word, similarity in matches if similarity > PLACE_NAMED):
            continue
        named: dict[Kind, float] = {}
        for word, similarity in matches:
            if similarity >= SAID:
                for kind in index.kinds.get(word, ()):
                    named[kind] = max(similarity, named.get(kind, 0.0))
        if (domain := domain_words().get(said)) is not None:
            named.update((kind, 2.0) for kind in index.all_kinds if kind[0] == domain)
        for kind, similarity in named.items():
            scores[kind] = scores.get(kind, 0.0) + similarity * similarity / len(named)
    best = max(scores.values(), default=0.0)
    return {kind for kind, score in scores.items() if score >= KEPT * best}
