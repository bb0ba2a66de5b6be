"""Finds the entities that a sentence is about: by words, by meaning where known, by place and kind."""

import asyncio
from collections.abc import (
    Container,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
    Set as AbstractSet,
)
from typing import Final, NamedTuple, cast

from homeassistant.core import HomeAssistant

from ..domains import DOMAINS
from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot, is_exposed
from ..knowledge.names import Phrases, longest, place_id, place_names
from ..knowledge.spoken_words import (
    ClassWords,
    asks_for_all,
    async_class_words,
    domain_words,
    everything_words,
    known_language,
)
from ..texts import fold, words
from ..vector.lexical import Document, LexicalIndex, fuse
from .named import EntityKind, class_concepts, place_synonyms, thing_synonyms, vocabulary, wished

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


class SentenceMeaning(NamedTuple):
    """What the words of a sentence mean in a home."""

    words: Mapping[str, Sequence[tuple[str, float]]]
    """Per word said: the words of the index, with their similarity."""
    covered: AbstractSet[str]
    """The words of the index that were said."""
    places: AbstractSet[str]
    """The ids of the rooms and floors named."""
    place_names: AbstractSet[frozenset[str]]
    """The words by which they are named."""


class HouseIndex:
    """The index of one snapshot, and other criteria for the order of its results."""

    def __init__(self, house: HouseSnapshot, class_words: ClassWords, languages: Sequence[str]) -> None:
        self.house = house
        self._class_words = class_words
        self.languages = languages
        self.worded = {language for language in languages if vocabulary(language).classes}
        """The languages whose everyday words are known."""
        places: list[tuple[str, Area | Floor]] = [*house.areas.items(), *house.floors.items()]
        self._synonyms = {place.name: place_synonyms(place.name, languages) for _, place in places}
        self._kinds_of_places = Phrases(
            (words(name), place) for _, place in places for name in self._synonyms[place.name]
        )
        self.concepts: dict[EntityKind, str] = {}
        """Per kind of entities that there is: the everyday words for it."""
        self.kinds: dict[str, set[EntityKind]] = {}
        """Per word: the kinds of entities that it is a name of."""
        names = {key: tuple(words(record.name)) for key, record in house.entities.items()}
        self._names = {key: frozenset(name) for key, name in names.items()}
        self._known_names = frozenset(names.values())
        self._own_words: dict[str, frozenset[str]] = {}
        """Per reading: the words that set it apart from the device it belongs to."""
        self._index = LexicalIndex.build([self._document(record) for record in house.entities.values()])

    def understand(self, query: str) -> SentenceMeaning:
        """Return the meaning of a sentence."""
        said = self._index.understand(query)
        meant = [match for matches in said.values() for match in matches]
        meanings = [
            [known for known, similarity in said[word] if similarity > PLACE_NAMED]
            for word in words(query)
            if word in said
        ]
        named = longest(place_names(self.house).find(meanings)) or self._kinds_of_places.find(meanings)
        return SentenceMeaning(
            said,
            {word for word, similarity in meant if similarity > NAMED},
            {place_id(mention.value) for mention in named},
            {frozenset(mention.phrase) for mention in named},
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
            or (record.area_id is None and any(map(self._names[entity_id].issuperset, meaning.place_names)))
        ):
            factor *= PLACE_FACTOR
        if area_id is not None and record.area_id == area_id:
            factor *= HERE_FACTOR
        return factor

    def _document(self, record: EntityRecord) -> Document:
        """Return the terms that an entity is found by; note its own words, and all names of its kind."""
        kind = (record.domain, record.device_class)
        if kind not in self.concepts:
            self.concepts[kind] = class_concepts(*kind, self.languages)
            for word in words(f"{self.concepts[kind]} {self._class_words.names(record)}"):
                self.kinds.setdefault(word, set()).add(kind)
        concept = self.concepts[kind]
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
            (" ".join(thing_synonyms(record.name, self.languages)), SYNONYM_WEIGHT),
        ]
        return Document(record.entity_id, [field for field in fields if field[0]])

    def _where(self, record: EntityRecord) -> Iterator[tuple[str, float]]:
        area = self.house.areas.get(record.area_id or "")
        floor = self.house.floors.get(record.floor_id or "")
        places: tuple[tuple[Area | Floor | None, float], ...] = ((area, AREA_WEIGHT), (floor, FLOOR_WEIGHT))
        for place, weight in places:
            if place is not None:
                yield place.name, weight
                yield from ((alias, weight) for alias in place.aliases)
                yield " ".join(self._synonyms[place.name]), SYNONYM_WEIGHT


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


MAX_INDEXES: Final = 4
"""Indexes kept, one for each set of languages."""
INDEX_WAIT_SECONDS: Final = 0.5
"""Seconds to wait for the index of the newest snapshot before an earlier one is searched."""


class IndexCache:
    """Indexes of one home. An index of thousands of entities takes a second or more in a worker thread."""

    def __init__(self) -> None:
        self._built: dict[Sequence[str], HouseIndex] = {}
        self._building: dict[Sequence[str], asyncio.Task[HouseIndex]] = {}

    async def async_get(
        self, hass: HomeAssistant, house: HouseSnapshot, languages: tuple[str, ...]
    ) -> HouseIndex:
        """Return the index of a snapshot; where that takes long, the one of an earlier snapshot, if any."""
        built = self._built.get(languages)
        if built is not None and built.house is house:
            return built

        async def build() -> HouseIndex:
            class_words = await async_class_words(hass, house, languages)
            index = await hass.async_add_executor_job(HouseIndex, house, class_words, languages)
            self._built.pop(languages, None)
            while len(self._built) >= MAX_INDEXES:
                del self._built[next(iter(self._built))]
            self._built[languages] = index
            return index

        task = self._building.get(languages)
        if task is None or task.done():
            task = self._building[languages] = hass.async_create_background_task(
                build(), "home_agent word index", eager_start=True
            )
        await asyncio.wait([task], timeout=None if built is None else INDEX_WAIT_SECONDS)
        return task.result() if built is None or task.done() else built


MANY: Final = 60
"""Entities that are returned if a sentence means many at once, regardless of the limit."""
SEMANTIC_WEIGHT: Final = 0.3
"""Weight of a place in the ranking by meaning, against one in the ranking by words."""
FOREIGN_WEIGHT: Final = 1.0
"""The same for a sentence in a language whose everyday words are not known here."""
WISH_FACTOR: Final = 0.3
"""Weight of implied things: the lists of everyday words are more precise than the embedders."""
KEPT_BY_MEANING: Final = 3
"""The closest in meaning are always among the results, however well others fit by words."""
SEMANTIC_FACTOR: Final = 0.25
"""Power of place and kind in the ranking by meaning, where scores lie closer together."""
SAID: Final = 0.7
"""Similarity from which a word of the sentence names a kind."""
KEPT: Final = 0.6
"""Share of the best kind's score that another kind needs."""


async def async_retrieve(
    hass: HomeAssistant,
    house: HouseSnapshot,
    query: str,
    limit: int,
    area_id: str | None = None,
    *,
    language: str | None = None,
    cut: float = 0.0,
    semantic: Sequence[tuple[str, float]] = (),
    scores: MutableMapping[str, float] | None = None,
) -> list[EntityRecord]:
    """Return the entities that a sentence is about, best first; exposed ones only.

    `area_id` is where the speaker is, it breaks ties. The words of the home's language, of English
    and of the speaker's `language` are understood. `cut` leaves out what scores less than this share of
    the best. `semantic` is what was found by meaning: entity ids with their similarity, best first.
    Where a sentence means many at once, as "all lights upstairs", all of them are returned, up to MANY.
    `scores` takes the scores by words of what was found by them.
    """
    spoken = known_language(language or hass.config.language)
    languages = tuple(dict.fromkeys((known_language(hass.config.language), "en", spoken)))
    cache = house.carried.setdefault(IndexCache, IndexCache())
    index = await cast(IndexCache, cache).async_get(hass, house, languages)
    noted: MutableMapping[str, float] = {} if scores is None else scores
    ids = _find(index, query, limit, area_id, language=spoken, cut=cut, semantic=semantic, scores=noted)
    found = (house.entities.get(entity_id) for entity_id in ids)
    return [record for record in found if record is not None and is_exposed(hass, record.entity_id)]


def _find(
    index: HouseIndex,
    query: str,
    limit: int,
    area_id: str | None,
    *,
    language: str,
    cut: float,
    semantic: Sequence[tuple[str, float]],
    scores: MutableMapping[str, float],
) -> list[str]:
    """Return entity ids, best first; `scores` takes those by words."""
    explained = " ".join((query, *wished(query, index.languages)))
    meaning = index.understand(explained)
    ranked = index.rank(explained, meaning, limit, area_id)
    scores.update(ranked)
    found = [entity_id for entity_id, score in ranked if score >= cut * ranked[0][1]]
    if semantic:
        entities = index.house.entities
        close = sorted(
            (-similarity * index.factor(key, meaning, area_id) ** SEMANTIC_FACTOR, key)
            for key, similarity in semantic
            if key in entities
        )
        closest = [key for _, key in close]
        weight = SEMANTIC_WEIGHT if language in index.worded else FOREIGN_WEIGHT
        if explained != query:
            weight *= WISH_FACTOR
        fused = fuse([(found, 1.0), (closest, weight)])
        reserved = closest[: min(KEPT_BY_MEANING, limit // 3)]
        kept = {*fused[: limit - len(reserved)], *reserved}
        found = list(dict.fromkeys((*(key for key in fused if key in kept), *fused)))[:limit]
    group, many = find_group(index, query, meaning, area_id, language)
    if many:
        members = set(group)
        found.sort(key=lambda key: key not in members)
        first = [key for key in found if key in members]
        found = [*dict.fromkeys((*first, *group)), *found[len(first) :]]
        return found[: max(limit, min(len(group), MANY))]
    return found if cut else list(dict.fromkeys((*found, *group)))[: max(limit, MANY)]


def find_group(
    index: HouseIndex, query: str, meaning: SentenceMeaning, area_id: str | None, language: str
) -> tuple[Sequence[str], bool]:
    """Return the entities of the kinds and places that a sentence names, and whether all were asked for.

    None if it names too little. "Everything" without a place is everything in the room of the speaker.
    """
    folded = fold(query)
    every = asks_for_all(folded, language)
    everything = every and not everything_words().isdisjoint(folded.split())
    places: AbstractSet[str] = meaning.places
    kinds = _kinds(index, meaning)
    if not places and (everything or (every and not kinds)):
        places = {area_id} if area_id else set()
        everything = True
    if not (kinds or every) or not (places or (every and kinds)):
        return (), False
    house = index.house
    there = [*(house.in_places(places) if places else house.entities.values())]
    found = [record for record in there if (record.domain, record.device_class) in kinds]
    found = [record for record in found if record.category is None] or found
    if everything or not kinds:
        of_everything = (record for record in there if DOMAINS[record.domain].in_everything)
        found += [record for record in of_everything if record.category is None]
    # What can be switched first, then area by area.
    found.sort(key=lambda one: (not DOMAINS[one.domain].in_everything, one.area_id or "", one.name))
    many = every or len(places) > 1 or not house.floors.keys().isdisjoint(places)
    return list(dict.fromkeys(record.entity_id for record in found)), many


def _kinds(index: HouseIndex, meaning: SentenceMeaning) -> set[EntityKind]:
    """Return the kinds that a sentence names; words that name many kinds, or a place, say little."""
    spoken = {word for name in meaning.place_names for word in name}
    scores: dict[EntityKind, float] = {}
    domains = domain_words()
    for said, matches in meaning.words.items():
        if any(word in spoken for word, similarity in matches if similarity > PLACE_NAMED):
            continue
        named: dict[EntityKind, float] = {}
        for word, similarity in matches:
            if similarity >= SAID:
                for kind in index.kinds.get(word, ()):
                    named[kind] = max(similarity, named.get(kind, 0.0))
        if (domain := domains.get(said)) is not None:
            named.update((kind, 2.0) for kind in index.concepts if kind[0] == domain)
        for kind, similarity in named.items():
            scores[kind] = scores.get(kind, 0.0) + similarity * similarity / len(named)
    best = max(scores.values(), default=0.0)
    return {kind for kind, score in scores.items() if score >= KEPT * best}
