"""The names of a home's entities, to be found by spelling: the same, or nearly the same."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

from ..vector.lexical import SimilarWords
from .house import Area, EntityRecord, Floor, HouseSnapshot
from .names import Phrases, content_words, phrase_similarity, squash, word_similarity
from .spoken_words import domain_words

MAX_NEAR: Final = 40
MAX_FOUND: Final = 1024
TABLES: Final = ("exact", "qualified", "object_ids", "short", "devices")
MIN_SHARE: Final = 0.6
"""How much of what the best hit has in common others need to be looked at."""
SURROUNDINGS: Final = 0.9
"""Worth of a word that tells the room, the device or the kind instead of the name."""
MIN_COMPOUND_PART: Final = 3
NAMES: Final = "names"
PLACE_NAMES: Final = "names of places"


@dataclass(slots=True)
class NameIndex:
    """All names of a home, to be found by spelling."""

    exact: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed name or alias: entity ids."""
    qualified: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed room and name, or device and name: entity ids."""
    object_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed object id: entity ids."""
    short: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed name without the area or device at its beginning: entity ids."""
    devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed name of a device: entity ids."""
    forms: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Entity id: the words of each of its names."""
    places: dict[str, frozenset[str]] = field(default_factory=dict)
    """Entity id: words of its room and its device, which may be beside a name."""
    by_word: dict[str, set[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    similar: SimilarWords = field(default_factory=SimilarWords)
    """Finds numbers of words that resemble a word."""
    _found: dict[str, Sequence[tuple[str, float]]] = field(default_factory=dict)
    """The known words that a word may be meant for, as they were found before."""
    by_domain: dict[str, list[str]] = field(default_factory=dict)
    classes: dict[str, set[str]] = field(default_factory=dict)
    """Domain: the device classes in use."""

    @property
    def domains(self) -> Collection[str]:
        """Return the domains in use."""
        return self.by_domain.keys()

    def near(self, text: str, allowed: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Return entities whose names come near a text, best first, with their scores."""
        asked = self._asked(text)
        scored = ((key, self._score(asked, key)) for key in self._hits(asked, allowed, MAX_NEAR))
        return sorted(((key, score) for key, score in scored if score), key=lambda pair: (-pair[1], pair[0]))

    def likely(self, text: str, limit: int) -> list[str]:
        """Return entities whose names have anything in common with a text, the most common first."""
        return self._hits(self._asked(text), None, limit)

    def _asked(self, text: str) -> list[str]:
        return [part for word in content_words(text) for part in self._parts(word)]

    def _hits(self, asked: Sequence[str], allowed: Collection[str] | None, limit: int) -> list[str]:
        """Return the entities whose names contain any of the words, those with most of them first."""
        hits: dict[str, float] = {}
        for word in dict.fromkeys(asked):
            for known, similarity in self.similar_words(word):
                weight = similarity * len(word)
                for entity_id in self.by_word[known]:
                    hits[entity_id] = hits.get(entity_id, 0.0) + weight
        if allowed is not None:
            hits = {key: weight for key, weight in hits.items() if key in allowed}
        floor = max(hits.values(), default=0.0) * MIN_SHARE
        promising = [key for key, weight in hits.items() if weight >= floor]
        return nsmallest(limit, promising, key=lambda key: (-hits[key], key))

    def similar_words(self, word: str) -> Sequence[tuple[str, float]]:
        """Return the known words that a word may be meant for, with their similarity."""
        if (found := self._found.get(word)) is None:
            if len(self._found) >= MAX_FOUND:
                self._found.clear()
            near = [self.words[number] for number in self.similar.find(word)]
            near = [word, *near] if word in self.by_word and word not in near else near
            found = [(known, similarity) for known in near if (similarity := word_similarity(word, known))]
            self._found[word] = found
        return found

    def _parts(self, word: str) -> Iterator[str]:
        if word not in self.by_word and word not in domain_words():
            for cut in range(MIN_COMPOUND_PART, len(word) - MIN_COMPOUND_PART + 1):
                if word[:cut] not in self.by_word:
                    continue
                for tail in (word[cut:], word[cut + 1 :]):
                    if len(tail) >= MIN_COMPOUND_PART and (tail in self.by_word or tail in domain_words()):
                        yield from (word[:cut], tail)
                        return
        yield word

    def _score(self, asked: Sequence[str], entity_id: str) -> float:
        domain = entity_id.partition(".")[0]
        around = self.places[entity_id]
        best = 0.0
        for form in self.forms[entity_id]:
            own = [
                word
                for word in asked
                if any(word_similarity(word, part) for part in form) or not _belongs(word, around, domain)
            ]
            length, whole = sum(map(len, own)), sum(map(len, asked))
            score = phrase_similarity(own, form) if own else 0.0
            best = max(best, score and (score * length + SURROUNDINGS * (whole - length)) / whole)
        return best


def _belongs(word: str, around: frozenset[str], domain: str) -> bool:
    return domain_words().get(word) == domain or any(word_similarity(word, other) for other in around)


def build_name_index(house: HouseSnapshot) -> NameIndex:
    """Return the index of all names; about 0.1 s for 5,000 entities, so not on the event loop."""
    index = NameIndex()
    tables: dict[str, dict[str, dict[str, None]]] = {name: {} for name in TABLES}
    for entity_id, record in house.entities.items():
        index.by_domain.setdefault(record.domain, []).append(entity_id)
        if record.device_class:
            index.classes.setdefault(record.domain, set()).add(record.device_class)
        area = house.areas.get(record.area_id) if record.area_id else None
        area_names = area.names if area else ()
        for table, form in _spellings(record, area_names):
            tables[table].setdefault(form, {})[entity_id] = None
        index.places[entity_id] = frozenset(
            word for name in (*area_names, record.device or "") for word in content_words(name)
        )
        forms = dict.fromkeys(content_words(name) for name in (*record.names, record.object_id))
        index.forms[entity_id] = tuple(filter(None, forms))
        for word in {word for form in forms for word in form}:
            index.by_word.setdefault(word, set()).add(entity_id)
    for table, spellings in tables.items():
        getattr(index, table).update((form, tuple(ids)) for form, ids in spellings.items() if form)
    index.words += index.by_word
    index.similar.add(index.words)
    return index


def _spellings(record: EntityRecord, area_names: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "object_ids", squash(record.object_id)
    if record.device:
        yield "devices", squash(record.device)
    prefixes = [squash(name) for name in (*area_names, *((record.device,) if record.device else ()))]
    for name in record.names:
        own = squash(name)
        yield "exact", own
        for prefix in prefixes:
            if own.startswith(prefix):
                if own[len(prefix) :] not in domain_words():
                    yield "short", own[len(prefix) :]
            else:
                yield "qualified", prefix + own


def name_index(house: HouseSnapshot) -> NameIndex:
    """Return the index of a snapshot, built once."""
    return house.derived(NAMES, build_name_index)


def place_names(house: HouseSnapshot) -> Phrases[Area | Floor]:
    """Return the names of rooms and floors, to be found in sentences."""
    return house.derived(PLACE_NAMES, _place_names)


def _place_names(house: HouseSnapshot) -> Phrases[Area | Floor]:
    places: tuple[Area | Floor, ...] = (*house.areas.values(), *house.floors.values())
    return Phrases((content_words(name), place) for place in places for name in place.names)


def place_id(place: Area | Floor) -> str:
    """Return the id of a room or a floor."""
    return place.area_id if isinstance(place, Area) else place.floor_id
