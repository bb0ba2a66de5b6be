"""Finds the entities that a sentence is about, by words."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from homeassistant.core import HomeAssistant
from homeassistant.generated.languages import LANGUAGES
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util.language import matches

from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot, is_exposed
from ..vector.lexical import Document, LexicalIndex
from ..vector.text import words
from .concepts import class_concepts, place_synonyms, thing_synonyms

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
"""For what is in a room or on a floor that the sentence names."""
HERE_FACTOR: Final = 1.1
"""For what is in the room of the speaker."""
BYSTANDER_FACTOR: Final = 0.5
"""For readings of a device whose own words the sentence does not contain."""
NAMED: Final = 0.5
"""Similarity from which a word of the sentence stands for a word of the index."""
PLACE_NAMED: Final = 0.65
"""The same for the name of a place; the words for rooms resemble each other."""
RERANKED: Final = 3
"""Entities ranked by these factors for each one asked for."""
READINGS: Final = frozenset(
    {"binary_sensor", "button", "device_tracker", "event", "number", "select", "sensor", "text", "update"}
)
"""Domains of which a device has many beside what it is for."""
MAX_INDEXES: Final = 4
"""Indexes kept, one for each set of languages."""
PATIENCE: Final = 0.25
"""Seconds to wait for a new index while an older one could answer."""


class ClassWords:
    """What Home Assistant itself calls domains, classes, their states and attributes."""

    def __init__(self, translations: Iterable[Mapping[str, str]]) -> None:
        """Sort translations by domain and class."""
        self._names: dict[tuple[str, str], list[str]] = {}
        self._details: dict[tuple[str, str], list[str]] = {}
        for key, text in ((key, text) for strings in translations for key, text in strings.items()):
            _, domain, *path = key.split(".")
            if path == ["title"]:
                self._names.setdefault((domain, "_"), []).append(text)
            elif path[0] == "entity_component" and path[2:] == ["name"]:
                self._names.setdefault((domain, path[1]), []).append(text)
            elif path[0] == "entity_component" and (path[2] == "state" or path[-1] == "name"):
                self._details.setdefault((domain, path[1]), []).append(text)

    def names(self, record: EntityRecord) -> str:
        """Return the names of an entity's class, else of its domain."""
        return self._look_up(self._names, record)

    def details(self, record: EntityRecord) -> str:
        """Return the names of the states and attributes of an entity's class, else of its domain."""
        return self._look_up(self._details, record)

    @staticmethod
    def _look_up(table: Mapping[tuple[str, str], Sequence[str]], record: EntityRecord) -> str:
        """Return the texts of the class or of the domain."""
        found = table.get((record.domain, record.device_class or "_")) or table.get((record.domain, "_"), ())
        return " ".join(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """The words of the names of a room or a floor."""

    own: Sequence[frozenset[str]]
    """Of its name and aliases."""
    kind: Sequence[frozenset[str]]
    """Of other names for what it is."""


@dataclass(frozen=True, slots=True)
class HouseIndex:
    """The index of one snapshot, and what the order of its answers depends on beside words."""

    house: HouseSnapshot
    index: LexicalIndex
    own_words: Mapping[str, frozenset[str]]
    """Per reading: the words that set it apart from the device it belongs to."""
    names: Mapping[str, frozenset[str]]
    """Per entity: the words of its name."""
    places: Mapping[str, PlaceNames]
    """Per area and floor: what it is called."""

    def search(self, query: str, limit: int, area_id: str | None = None, *, cut: float = 0.0) -> list[str]:
        """Return entity ids, best first; `cut` is the share of the best score that a hit needs."""
        hits = self.index.search(query, limit * RERANKED)
        meant = self.index.covered(query)
        covered = {word for word, similarity in meant.items() if similarity > NAMED}
        named = self._named_places({word for word, similarity in meant.items() if similarity > PLACE_NAMED})
        phrases = [said for names in named.values() for said in names]
        scored = []
        for entity_id, score in hits:
            record = self.house.entities[entity_id]
            own = self.own_words.get(entity_id)
            factor = BYSTANDER_FACTOR if own and own.isdisjoint(covered) else 1.0
            if (
                record.area_id in named
                or record.floor_id in named
                or (record.area_id is None and any(said <= self.names[entity_id] for said in phrases))
            ):
                factor *= PLACE_FACTOR
            if area_id is not None and record.area_id == area_id:
                factor *= HERE_FACTOR
            scored.append((-score * factor, entity_id))
        best = sorted(scored)[:limit]
        return [entity_id for score, entity_id in best if score <= cut * best[0][0]]

    def _named_places(self, covered: AbstractSet[str]) -> dict[str, list[frozenset[str]]]:
        """Return the places that a sentence names and by which words.

        The longest name counts: who says "Kids Bedroom" does not mean the bedroom. Where no place is
        named by its own name, those of the kind are meant.
        """
        said = {words for names in self.places.values() for words in names.own if words <= covered}
        longest = {words for words in said if not any(words < other for other in said)}
        found: dict[str, list[frozenset[str]]] = {}
        for place, names in self.places.items():
            spoken = [words for words in names.own if words in longest] if longest else []
            if not longest:
                spoken = [words for words in names.kind if words <= covered]
            if spoken:
                found[place] = spoken
        return found


class IndexCache:
    """Indexes of one house, built off the event loop; an old one serves until the new one is there."""

    def __init__(self) -> None:
        """Start empty."""
        self._built: dict[Sequence[str], HouseIndex] = {}
        self._building: dict[Sequence[str], asyncio.Task[HouseIndex]] = {}

    async def async_get(
        self, hass: HomeAssistant, house: HouseSnapshot, languages: tuple[str, ...]
    ) -> HouseIndex:
        """Return the index of this snapshot, or of an earlier one while that takes long."""
        built = self._built.get(languages)
        if built is not None and built.house is house:
            return built
        task = self._building.get(languages)
        if task is None or task.done():
            task = self._building[languages] = hass.async_create_background_task(
                self._async_build(hass, house, languages), "home_agent word index", eager_start=True
            )
        if built is None:
            return await asyncio.shield(task)
        await asyncio.wait([task], timeout=PATIENCE)
        return self._built[languages]

    async def _async_build(
        self, hass: HomeAssistant, house: HouseSnapshot, languages: tuple[str, ...]
    ) -> HouseIndex:
        """Build an index and keep it."""
        domains = sorted({record.domain for record in house.entities.values()})
        translations = [
            await async_get_translations(hass, language, category, domains)
            for language in languages
            for category in ("title", "entity_component")
        ]
        index = await hass.async_add_executor_job(build_index, house, translations, languages)
        self._built.pop(languages, None)
        while len(self._built) >= MAX_INDEXES:
            del self._built[next(iter(self._built))]
        self._built[languages] = index
        self._building.pop(languages, None)
        return index


@lru_cache(maxsize=256)
def _known(language: str) -> str:
    """Return the language that Home Assistant has words for and that comes closest."""
    return next(iter(matches(language, LANGUAGES)), "en")


async def async_retrieve(
    hass: HomeAssistant,
    house: HouseSnapshot,
    query: str,
    limit: int,
    area_id: str | None = None,
    *,
    language: str | None = None,
    cut: float = 0.0,
) -> list[EntityRecord]:
    """Return the entities that a sentence is about, best first; exposed ones only.

    `area_id` is where the speaker is, it breaks ties. The words of the house's language, of English
    and of the speaker's `language` are understood. `cut` leaves out what scores less than this share of
    the best.
    """
    languages = tuple(dict.fromkeys((_known(hass.config.language), "en", _known(language or "en"))))
    cache = house.carried.setdefault(IndexCache, IndexCache())
    index = await cast(IndexCache, cache).async_get(hass, house, languages)
    found = (house.entities.get(entity_id) for entity_id in index.search(query, limit, area_id, cut=cut))
    return [record for record in found if record is not None and is_exposed(hass, record.entity_id)]


def build_index(
    house: HouseSnapshot, translations: Iterable[Mapping[str, str]], languages: Sequence[str]
) -> HouseIndex:
    """Build the index of a snapshot; takes seconds with thousands of entities."""
    class_words = ClassWords(translations)
    names = {record.entity_id: tuple(words(record.name)) for record in house.entities.values()}
    all_names = frozenset(names.values())
    places: list[tuple[str, Area | Floor]] = [*house.areas.items(), *house.floors.items()]
    synonyms = {place.name: place_synonyms(place.name, languages) for _, place in places}
    place_names = {
        place_id: PlaceNames(_word_sets((place.name, *place.aliases)), _word_sets(synonyms[place.name]))
        for place_id, place in places
    }
    concepts = {
        (record.domain, record.device_class): class_concepts(record.domain, record.device_class, languages)
        for record in house.entities.values()
    }
    documents = []
    own_words = {}
    for record in house.entities.values():
        kind = concepts[record.domain, record.device_class]
        fields = [
            *((name, weight) for name, weight in _names(record)),
            *_places(record, house, synonyms),
            (class_words.names(record), CLASS_WEIGHT),
            (class_words.details(record), DETAIL_WEIGHT),
            (kind, SYNONYM_WEIGHT),
            (" ".join(thing_synonyms(record.name, languages)), SYNONYM_WEIGHT),
        ]
        documents.append(Document(record.entity_id, [field for field in fields if field[0]]))
        if own := _own_words(record, all_names):
            if record.device_class:
                own = own.union(words(class_words.names(record)), words(kind))
            own_words[record.entity_id] = own
    return HouseIndex(
        house,
        LexicalIndex.build(documents),
        own_words,
        {key: frozenset(name) for key, name in names.items()},
        place_names,
    )


def _word_sets(names: Iterable[str]) -> list[frozenset[str]]:
    """Return the words of each name that has any."""
    return [frozenset(found) for name in names if (found := words(name))]


def _names(record: EntityRecord) -> Iterator[tuple[str, float]]:
    """Yield what an entity is called; its device and its id only where they add a word."""
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


def _places(
    record: EntityRecord, house: HouseSnapshot, synonyms: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, float]]:
    """Yield where an entity is."""
    area = house.areas.get(record.area_id or "")
    floor = house.floors.get(record.floor_id or "")
    for place, weight in ((area, AREA_WEIGHT), (floor, FLOOR_WEIGHT)):
        if place is not None:
            yield place.name, weight
            yield from ((alias, weight) for alias in place.aliases)
            yield " ".join(synonyms[place.name]), SYNONYM_WEIGHT


def _own_words(record: EntityRecord, names: Collection[tuple[str, ...]]) -> frozenset[str]:
    """Return the words that set a reading apart from the device whose name it begins with."""
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
