"""The entities of one home, to be searched by words."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot, differing
from ..knowledge.name_index import place_id, place_names
from ..knowledge.names import Phrases, longest
from ..knowledge.spoken_words import ClassWords
from ..texts import words
from ..vector.lexical import Document, LexicalIndex
from .concepts import class_concepts, place_synonyms, thing_synonyms, vocabulary, wished

NAME_WEIGHT: Final = 1.6
ALIAS_WEIGHT: Final = 1.4
AREA_WEIGHT: Final = 0.9
FLOOR_WEIGHT: Final = 0.7
CLASS_WEIGHT: Final = 0.6
LABEL_WEIGHT: Final = 0.6
SYNONYM_WEIGHT: Final = 0.5
DEVICE_WEIGHT: Final = 0.4
ID_WEIGHT: Final = 0.3
DETAIL_WEIGHT: Final = 0.2

PLACE_FACTOR: Final = 2.5
"""Weight of entities in an area or on a floor that the sentence names."""
HERE_FACTOR: Final = 1.1
"""Weight of entities in the speaker's area."""
BYSTANDER_FACTOR: Final = 0.5
"""For readings of a device whose own words the sentence does not contain."""
NAMED: Final = 0.5
"""Similarity from which a word of the sentence matches a word of the index."""
PLACE_NAMED: Final = 0.65
"""The same for the name of a place; the words for rooms resemble each other."""
RERANKED: Final = 3
"""Entities ranked by these factors for each one asked for."""
READINGS: Final = frozenset(
    {"binary_sensor", "button", "device_tracker", "event", "number", "select", "sensor", "text", "update"}
)
"""Domains of which a device has many secondary entities."""
FEW: Final = 50
"""Changed entities that are put into an index in place, some milliseconds; more are read in an executor."""

type EntityKind = tuple[str, str | None]
"""Domain and device class."""


@dataclass(frozen=True, slots=True)
class SentenceMeaning:
    """What the words of a sentence mean in a home."""

    words: Mapping[str, Sequence[tuple[str, float]]]
    """Per word said: the words of the index, with their similarity."""
    covered: AbstractSet[str]
    """The words of the index that were said."""
    places: Mapping[str, Sequence[frozenset[str]]]
    """The rooms and floors named, and by which words."""


class HouseIndex:
    """The index of one snapshot, and other criteria for the order of its results."""

    def __init__(self, house: HouseSnapshot, class_words: ClassWords, languages: Sequence[str]) -> None:
        self.house = house
        self._class_words = class_words
        self._languages = languages
        self.worded = {language for language in languages if vocabulary(language).classes}
        """The languages whose everyday words are known."""
        places: list[tuple[str, Area | Floor]] = [*house.areas.items(), *house.floors.items()]
        self._synonyms = {place.name: place_synonyms(place.name, languages) for _, place in places}
        self._kinds_of_places = Phrases(
            (words(name), place) for _, place in places for name in self._synonyms[place.name]
        )
        self._concepts: dict[EntityKind, str] = {}
        self.kinds: dict[str, set[EntityKind]] = {}
        """Per word: the kinds of entities that it is a name of."""
        self._names = {key: tuple(words(record.name)) for key, record in house.entities.items()}
        self._known_names = Counter(self._names.values())
        self._own_words: dict[str, frozenset[str]] = {}
        """Per reading: the words that set it apart from the device it belongs to."""
        self._domains = {record.domain for record in house.entities.values()}
        self._index = LexicalIndex.build([self._document(record) for record in house.entities.values()])

    @property
    def all_kinds(self) -> Collection[EntityKind]:
        """Return the kinds of entities that there are."""
        return self._concepts.keys()

    def update(self, house: HouseSnapshot) -> bool:
        """Apply the differences of a newer snapshot; return False if the index has to be rebuilt."""
        old = self.house
        if house.areas != old.areas or house.floors != old.floors:
            return False
        entities = house.entities
        gone = [key for key in old.entities if key not in entities]
        changed = [entities[key] for key in differing(entities, old.entities)]
        if len(gone) + len(changed) > FEW or any(record.domain not in self._domains for record in changed):
            return False
        for key in (*gone, *(record.entity_id for record in changed)):
            if (name := self._names.pop(key, None)) is not None:
                self._known_names[name] -= 1
                if not self._known_names[name]:
                    del self._known_names[name]
            self._own_words.pop(key, None)
        for record in changed:
            name = self._names[record.entity_id] = tuple(words(record.name))
            self._known_names[name] += 1
        self.house = house
        self._index.update([self._document(record) for record in changed], gone)
        return not self._index.worn

    def explain(self, query: str) -> str:
        """Return a sentence with the names of the things that it implies."""
        return " ".join((query, *wished(query, self._languages)))

    def understand(self, query: str) -> SentenceMeaning:
        """Return the meaning of a sentence."""
        said = self._index.understand(query)
        meant = [match for matches in said.values() for match in matches]
        return SentenceMeaning(
            said,
            {word for word, similarity in meant if similarity > NAMED},
            self._named_places([_sure(said[word]) for word in words(query) if word in said]),
        )

    def rank(
        self, query: str, meaning: SentenceMeaning, limit: int, area_id: str | None
    ) -> list[tuple[str, float]]:
        """Return the ids of the entities that fit, with their scores, best first."""
        scored = [
            (-score * self.factor(entity_id, meaning, area_id), entity_id)
            for entity_id, score in self._index.search(query, limit * RERANKED)
        ]
        return [(entity_id, -score) for score, entity_id in sorted(scored)[:limit]]

    def factor(self, entity_id: str, meaning: SentenceMeaning, area_id: str | None) -> float:
        """Return by how much place and kind of an entity raise or lower its score."""
        record = self.house.entities[entity_id]
        own = self._own_words.get(entity_id)
        factor = BYSTANDER_FACTOR if own and own.isdisjoint(meaning.covered) else 1.0
        if (
            record.area_id in meaning.places
            or record.floor_id in meaning.places
            or (record.area_id is None and self._names_place(entity_id, meaning))
        ):
            factor *= PLACE_FACTOR
        if area_id is not None and record.area_id == area_id:
            factor *= HERE_FACTOR
        return factor

    def _names_place(self, entity_id: str, meaning: SentenceMeaning) -> bool:
        return any(
            said.issubset(self._names[entity_id]) for names in meaning.places.values() for said in names
        )

    def _named_places(self, meanings: Sequence[Collection[str]]) -> dict[str, list[frozenset[str]]]:
        """Return the places that a sentence names and by which words, else those of a kind that it names."""
        named = longest(place_names(self.house).find(meanings)) or self._kinds_of_places.find(meanings)
        found: dict[str, list[frozenset[str]]] = {}
        for mention in named:
            found.setdefault(place_id(mention.value), []).append(frozenset(mention.phrase))
        return found

    def _document(self, record: EntityRecord) -> Document:
        """Return the terms that an entity is found by, and record its own words."""
        concept = self._concept(record)
        if own := _own_words(record, self._known_names):
            if record.device_class:
                own = own.union(words(self._class_words.names(record)), words(concept))
            self._own_words[record.entity_id] = own
        fields = [
            *_names(record),
            *self._where(record),
            (self._class_words.names(record), CLASS_WEIGHT),
            (self._class_words.details(record), DETAIL_WEIGHT),
            (concept, SYNONYM_WEIGHT),
            (" ".join(thing_synonyms(record.name, self._languages)), SYNONYM_WEIGHT),
        ]
        return Document(record.entity_id, [field for field in fields if field[0]])

    def _concept(self, record: EntityRecord) -> str:
        """Return the everyday words for the kind of an entity, and note all names of the kind."""
        kind = (record.domain, record.device_class)
        if kind not in self._concepts:
            concept = self._concepts[kind] = class_concepts(*kind, self._languages)
            for word in (*words(concept), *words(self._class_words.names(record))):
                self.kinds.setdefault(word, set()).add(kind)
        return self._concepts[kind]

    def _where(self, record: EntityRecord) -> Iterator[tuple[str, float]]:
        area = self.house.areas.get(record.area_id or "")
        floor = self.house.floors.get(record.floor_id or "")
        places: tuple[tuple[Area | Floor | None, float], ...] = ((area, AREA_WEIGHT), (floor, FLOOR_WEIGHT))
        for place, weight in places:
            if place is not None:
                yield place.name, weight
                yield from ((alias, weight) for alias in place.aliases)
                yield " ".join(self._synonyms[place.name]), SYNONYM_WEIGHT


def _sure(matches: Iterable[tuple[str, float]]) -> Collection[str]:
    """Return the words that a word of a sentence may mean if they are the name of a place."""
    return [word for word, similarity in matches if similarity > PLACE_NAMED]


def _names(record: EntityRecord) -> Iterator[tuple[str, float]]:
    """Yield the names of an entity; its device and its id only where they add a word."""
    known: set[str] = set()
    for name, weight in ((record.name, NAME_WEIGHT), *((alias, ALIAS_WEIGHT) for alias in record.aliases)):
        known.update(words(name))
        yield name, weight
    yield from ((label, LABEL_WEIGHT) for label in record.labels)
    for text, weight in (
        (record.device or "", DEVICE_WEIGHT),
        (record.object_id.replace("_", " "), ID_WEIGHT),
    ):
        yield " ".join(word for word in words(text) if word not in known), weight


def _own_words(record: EntityRecord, names: Container[tuple[str, ...]]) -> frozenset[str]:
    if record.category is None and record.domain not in READINGS:
        return frozenset()
    parts = tuple(words(record.name))
    device = tuple(words(record.device or ""))
    if device and parts[: len(device)] == device:
        return frozenset(parts[len(device) :])
    for length in range(len(parts) - 1, 0, -1):
        if parts[:length] in names:
            return frozenset(parts[length:])
    return frozenset(parts) if record.category else frozenset()
