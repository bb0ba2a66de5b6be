"""The entities and places that a sentence names, with the words that name them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from ..domains import DOMAINS
from ..domains.base import ANY_CLASS
from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from ..knowledge.names import Phrases, common_prefix, distance, longest, place_id, squash
from ..knowledge.owned_rooms import owned_rooms, self_words
from ..knowledge.spoken_words import excepting_words, kinds_of_room
from ..languages import table
from ..languages.lexicon import Word
from ..texts import words
from .retrieval import EntityKind
from .topics import Topic, TopicReader, place_kinds, place_synonyms, thing_synonyms, topic_reader

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


MIN_STEM: Final = 4
MAX_ENDING: Final = 2
LONG_STEM: Final = 6
"""Letters of a word from which on its ending may be longer by one: sovrum, sovrummet."""
MIN_MISSPELT: Final = 5
"""Letters of a word that may be misspelt; long ones by two letters."""
LONG_WORD: Final = 8
COMMON_STEM: Final = 0.7
"""Share of the longer word that two forms of it have in common at their start."""
MIN_COVERED: Final = 0.5
"""Share of what sets a name apart that a sentence must contain."""
MORE_WORDS: Final = 0.3
"""What each further word of a name is worth."""
NEARLY_BEST: Final = 0.8
"""Share of the best score that others need which are named by the same words."""
MAX_BETWEEN: Final = 3
"""Words that may stand between those of a name: the light in the garage."""
READINGS: Final = frozenset({"sensor", "binary_sensor"})
MEASURED: Final = "sensor.temperature"
MIN_PREFIX: Final = 3
MIN_COMPOUND: Final = 7
JOINING: Final = ("", "s", "n", "en", "es")
"""Letters between the parts of a compound word."""


@dataclass(frozen=True, slots=True)
class NameForm:
    """A name of an entity by its words."""

    own: tuple[str, ...]
    """The words that set it apart."""
    kind: tuple[str, ...]
    """The words for kinds of things."""
    place: tuple[str, ...]
    says_kind: bool = False
    """Whether one of them is the kind of the entity."""
    whole: bool = False
    """Whether the sentence must contain all of it."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names of a home, to be found in the sentences of some languages."""

    forms: Mapping[str, tuple[NameForm, ...]]
    by_word: Mapping[str, Sequence[str]]
    """The entities by the words of their names."""
    places: Phrases[Area | Floor]
    other_places: Phrases[Area | Floor]
    """What else places of their kind are called."""
    owners: Phrases[Area | Floor]
    """The people whose rooms are called after them."""
    vocabulary: frozenset[str]


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that a sentence names."""

    record: EntityRecord
    score: float
    at: frozenset[int]
    """Which words of the sentence name it."""


def fits(record: EntityRecord, key: str, keys: frozenset[str]) -> bool:
    """Return whether an entity is of a kind; a domain means the classes without a key of their own."""
    domain, _, device_class = key.partition(".")
    if not device_class:
        return record.domain == domain and f"{domain}.{record.device_class}" not in keys
    if record.domain == domain and record.device_class == device_class:
        return True
    called = DOMAINS[domain].several.get(device_class)
    return called is not None and called == DOMAINS[record.domain].several.get(
        record.device_class or ANY_CLASS
    )


def names_key(languages: tuple[str, ...], *, places_only: bool) -> tuple[object, ...]:
    """Return under which key a snapshot keeps these names."""
    return ("names in sentences", languages, places_only)


def known_names(house: HouseSnapshot, languages: tuple[str, ...], *, places_only: bool = False) -> KnownNames:
    """Return the names of a home for sentences in these languages, read once.

    Some 0.1 ms for each entity, unless only rooms and floors are asked for.
    """
    key = names_key(languages, places_only=places_only)
    return house.derived(key, lambda found: _read(found, languages, places_only=places_only))


def _read(house: HouseSnapshot, languages: tuple[str, ...], *, places_only: bool) -> KnownNames:
    readers = [topic_reader(language) for language in languages]
    everywhere: list[Area | Floor] = [*house.areas.values(), *house.floors.values()]
    place_words = {
        place_id(place): frozenset(word for name in place.names for word in words(name))
        for place in everywhere
    }
    forms = {
        key: tuple(_forms(record, place_words, readers, languages))
        for key, record in house.entities.items()
        if not places_only
    }
    own = Phrases((_telling(words(name)), place) for place in everywhere for name in place.names)
    other = Phrases(
        (_telling(words(name)), place)
        for place in everywhere
        for called in place.names
        if called == place.name or kinds_of_room(called)
        for name in place_synonyms(called, languages)
    )
    by_word: dict[str, dict[str, None]] = {}
    for key, listed in forms.items():
        for form in listed:
            for word in (*form.own, *form.kind, *form.place):
                by_word.setdefault(word, {})[key] = None
    return KnownNames(
        forms,
        {word: tuple(keys) for word, keys in by_word.items()},
        own,
        other,
        room_owners(house, languages),
        frozenset(by_word.keys() | own.words | other.words),
    )


def _telling(found: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a name without single letters."""
    listed = tuple(found)
    return tuple(word for word in listed if len(word) > 1 or not word.isascii() or word.isdigit()) or listed


def _forms(
    record: EntityRecord,
    place_words: Mapping[str, frozenset[str]],
    readers: Sequence[TopicReader],
    languages: tuple[str, ...],
) -> Iterator[NameForm]:
    around = place_words.get(record.area_id or "", frozenset()) | place_words.get(
        record.floor_id or "", frozenset()
    )
    synonyms = thing_synonyms(record.name, languages)
    for name in (*record.names, *synonyms):
        found = _telling(words(name))
        kinds = {word: _kinds_of(word, readers) for word in found}
        kind = tuple(word for word in found if kinds[word])
        place = tuple(word for word in found if word in around and word not in kind)
        own = tuple(word for word in found if word not in kind and word not in place)
        says = any(fits(record, key, keys) for found in kinds.values() for key, keys in found)
        yield NameForm(own, kind, place, says, name in synonyms)


def _kinds_of(word: str, readers: Iterable[TopicReader]) -> list[tuple[str, frozenset[str]]]:
    return [(key, reader.kinds) for reader in readers for key in reader.kinds_of(word)]


def _is_like(said: str, known: str) -> bool:
    if said[0] != known[0] or not said.isalpha() or not known.isalpha():
        return False
    shorter, longer = sorted((said, known), key=len)
    if len(shorter) < MIN_STEM:
        return False
    ending = MAX_ENDING + (len(shorter) >= LONG_STEM)
    if longer.startswith(shorter) and len(longer) - len(shorter) <= ending:
        return True
    common = common_prefix(said, known)
    if common >= max(MIN_MISSPELT, COMMON_STEM * len(longer)) and len(longer) - common <= MAX_ENDING + 1:
        return True
    slips = 2 if len(shorter) >= LONG_WORD else 1
    return len(shorter) >= MIN_MISSPELT and distance(shorter, longer, slips) <= slips


class Finder:
    """Finds the names of a home in one sentence."""

    def __init__(
        self,
        house: HouseSnapshot,
        topic: Topic,
        languages: tuple[str, ...],
        *,
        places_only: bool = False,
    ) -> None:
        self._places_only = places_only
        self._house, self._topic, self._languages = house, topic, languages
        self._names = known_names(house, languages, places_only=places_only)
        self.meant: dict[int, frozenset[str]] = {}
        """Per word of the sentence: the words of names that it may mean."""
        self.compounds: dict[int, frozenset[str]] = {}
        """Per word that is a compound of a name and a kind: the kinds."""
        reader = topic_reader(topic.language)
        readers = [topic_reader(language) for language in languages]
        self._weak = topic.weak | {
            index for index, word in enumerate(topic.words) if any(one.is_weak(word) for one in readers)
        }
        """The words that name no device by themselves, in the language of the names either."""
        told = {*topic.weak, *topic.kinds, *topic.implied, *topic.measures}
        selfs = self_words(topic.words, topic.language)
        for index, word in enumerate(topic.words):
            if index in selfs and word.plain != word.folded:  # "la mía" is not Mia
                self.meant[index] = frozenset()
                continue
            if index in told:
                self.meant[index] = frozenset({word.folded} & self._names.vocabulary)
                continue
            self.meant[index] = self._like(word.folded)
            if not self.meant[index] and len(word.folded) >= MIN_COMPOUND:
                self._take_apart(index, word, reader)
        self._where: dict[str, list[int]] = {}
        for index, meant in self.meant.items():
            for known in meant:
                self._where.setdefault(known, []).append(index)
        self.places, self.place_words = self._find_places()
        self._keys = reader.kinds
        self._said_kinds = {
            key
            for found in (topic.kinds, self.compounds, topic.implied, topic.measures)
            for keys in found.values()
            for key in keys
        }
        if "climate" in self._said_kinds:
            self._said_kinds.add(MEASURED)

    def _like(self, folded: str) -> frozenset[str]:
        """Return the words of names that a word may be, misspelt or inflected."""
        if folded in self._names.vocabulary:
            return frozenset({folded})
        if folded in excepting_words():
            return frozenset()
        if len(folded) >= MIN_STEM and folded.endswith("s") and folded[:-1] in self._names.vocabulary:
            return frozenset({folded[:-1]})
        return frozenset(word for word in self._names.vocabulary if _is_like(folded, word))

    def _take_apart(self, index: int, word: Word, reader: TopicReader) -> None:
        """Read a compound such as "Küchenfenster": a word of a name or a place, and a kind."""
        for known in sorted(self._names.vocabulary, key=len, reverse=True):
            if len(known) < MIN_PREFIX or not word.folded.startswith(known):
                continue
            tail = word.folded[len(known) :]
            for joining in JOINING:
                part = tail.removeprefix(joining) if joining and tail.startswith(joining) else tail
                if keys := reader.kinds_of(part):
                    self.meant[index], self.compounds[index] = frozenset({known}), keys
                    return

    def words_of(self, record: EntityRecord) -> frozenset[str]:
        """Return the words of the names of an entity."""
        forms = self._names.forms.get(record.entity_id, ())
        return frozenset(word for form in forms for word in (*form.own, *form.place))

    def _find_places(self) -> tuple[dict[str, Area | Floor], frozenset[int]]:
        """Return the rooms and floors that are named, and the words that name them."""
        if self._topic.text:
            return places_inside(self._house, self._topic, self._languages), frozenset()
        meant = [self.meant.get(index, frozenset()) for index in range(len(self._topic.words))]
        topic = self._topic
        kinds = {key for keys in (*topic.kinds.values(), *self.compounds.values()) for key in keys}
        owners = (self._names.owners,) if kinds and kinds.isdisjoint(NOT_IN_ROOMS) else ()
        owned = owned_rooms(self._house, topic.words, topic.language)
        found: dict[str, Area | Floor] = {one.area.area_id: one.area for one in owned}
        at = frozenset(index for one in owned for index in one.at)
        for phrases in (self._names.places, self._names.other_places, *owners):
            found_there = longest(phrases.find(meant))
            mentions = [one for one in found_there if not one.at <= topic.weak | topic.nothing | at]
            if mentions:
                kept = (one for one in mentions if not one.at <= topic.excepted)
                found |= {place_id(one.value): one.value for one in kept}
                return nearest_floors(found), at.union(*(one.at for one in mentions))
        return found, at

    def entities(self) -> list[NamedEntity]:
        """Return the entities that are named, best first."""
        if self._places_only:
            return []
        if self._topic.text:
            return self._entities_inside()
        entities = self._house.entities
        said = sorted({key for word in self._where for key in self._names.by_word.get(word, ())})
        found = [one for key in said if (one := self._named(entities[key])) is not None]
        if self.places:
            here = [one for one in found if self._is_there(one.record)]
            found = here or [one for one in found if one.score >= 1.0 and not one.at <= self.place_words]
        kept = [one for one in found if not any(self._outdoes(other, one) for other in found)]
        return sorted(kept, key=lambda one: (-one.score, one.record.entity_id))

    def _outdoes(self, other: NamedEntity, one: NamedEntity) -> bool:
        """Return whether the same words name another entity much better.

        "The front door" is the lock of that name, and its contact too: a door is what it tells about.
        """
        if not other.at & one.at or one.score >= NEARLY_BEST * other.score:
            return False
        return not any(
            fits(one.record, key, self._keys) and not fits(other.record, key, self._keys)
            for key in self._said_kinds
        )

    def _entities_inside(self) -> list[NamedEntity]:
        """Return the entities whose whole name a sentence without spaces contains, the longest names."""
        found = {
            record.entity_id: (max(map(len, names)), record)
            for record in self._house.entities.values()
            if (names := [name for name in map(squash, record.names) if name and name in self._topic.text])
        }
        longest_name = max((length for length, _record in found.values()), default=0)
        return [
            NamedEntity(record, float(length), frozenset({0}))
            for length, record in found.values()
            if length == longest_name
        ]

    def _is_there(self, record: EntityRecord) -> bool:
        return record.area_id in self.places or record.floor_id in self.places

    def _named(self, record: EntityRecord) -> NamedEntity | None:
        """Return how well a sentence names an entity; None if it does not."""
        best: NamedEntity | None = None
        for form in self._names.forms[record.entity_id]:
            if form.says_kind and record.domain in READINGS and not self._says_kind(record, form):
                continue
            scored = self._score(form)
            if scored is not None and (best is None or scored[0] > best.score):
                best = NamedEntity(record, *scored)
        return best

    def _says_kind(self, record: EntityRecord, form: NameForm) -> bool:
        """Return whether a sentence says what a reading measures; a door's name is not its battery's."""
        return any(fits(record, key, self._keys) for key in self._said_kinds) or all(
            word in self._where for word in (*form.own, *form.kind)
        )

    def _score(self, form: NameForm) -> tuple[float, frozenset[int]] | None:
        """Return how much of a name a sentence contains, and where."""
        weak = self._weak
        own = {word: self._where[word] for word in form.own if word in self._where}
        beside = {word: self._where[word] for word in (*form.kind, *form.place) if word in self._where}
        at = frozenset(index for found in (*own.values(), *beside.values()) for index in found)
        if not form.own:
            parts = len({*form.kind, *form.place})
            together = at and max(at) - min(at) < parts + MAX_BETWEEN
            return (1.0 + len(beside) / 10, at) if together and len(beside) == parts > 1 else None
        strong = {word for word, found in own.items() if any(index not in weak for index in found)}
        for word in own.keys() - strong:  # "night" in "night light", not in "last night"
            if any(abs(index - other) == 1 for index in own[word] for other in at - set(own[word])):
                strong.add(word)
        covered = len(strong) / len(form.own)
        if covered < (1.0 if form.whole else MIN_COVERED) or not strong:
            return None
        letters = sum(map(len, strong)) / sum(map(len, form.own))
        if not beside and letters < MIN_COVERED:  # "Tom" alone is no lamp of his
            return None
        named = frozenset(index for word in strong for index in own[word])
        score = covered + MORE_WORDS * (len(strong) - 1) + len(beside) / 10
        return score, named | frozenset(i for found in beside.values() for i in found)


PERSON: Final = "person"
PRESENCE: Final = ("binary_sensor.occupancy", "binary_sensor.presence", "binary_sensor.motion")


class MeantKinds:
    """Finds the kinds that one sentence is about."""

    def __init__(self, house: HouseSnapshot, topic: Topic, finder: Finder) -> None:
        self._house, self._topic, self._finder = house, topic, finder
        self.keys = topic_reader(topic.language).kinds
        self.implied: set[str] = set()
        """The kinds that were found to be implied, not named."""

    def kinds(self, taken: Collection[int]) -> set[str]:
        """Return the kinds that are named beside the entities, and those that are implied."""
        topic = self._topic
        spoken = self._without_places({**topic.kinds, **self._finder.compounds}, taken)
        named = set(
            self._most_specific({key for index, keys in spoken.items() if index not in taken for key in keys})
        )
        if PERSON in named:
            named = self._people(named, taken)
        if topic.everything:
            return named
        self.implied = self._meant({*spoken, *taken}, named)
        return named | self.implied

    def _without_places(
        self, spoken: Mapping[int, frozenset[str]], taken: Collection[int]
    ) -> Mapping[int, frozenset[str]]:
        """Return the words for kinds without those that only tell a room: the light in the garage."""
        places = self._finder.place_words
        others = {key for index, keys in spoken.items() if index not in places for key in keys}
        if not any(index not in places for index in taken) and not any(map(self._is_there, others)):
            return spoken
        return {index: keys for index, keys in spoken.items() if index not in places}

    def _is_there(self, key: str) -> bool:
        places = self._finder.places
        return any(not places or one.area_id in places or one.floor_id in places for one in self.all_of(key))

    def _people(self, named: AbstractSet[str], taken: Collection[int]) -> set[str]:
        """Return the kinds for a question about people; in a room, sensors know whether anybody is there."""
        others = set(named) - {PERSON}
        if self._finder.places:
            return others | ({key for key in PRESENCE if self._is_there(key)} or {PERSON})
        return others if self._topic.rest - set(taken) else set(named)

    def _meant(self, told: AbstractSet[int], named: AbstractSet[str]) -> set[str]:
        """Return the kinds that words imply; a question about warmth is about temperatures.

        `told` are the words that name something, `named` the kinds. Beside them only a part of its own
        implies something: "turn on the light and tell me how warm it is there".
        """
        topic = self._topic
        clauses = {topic.clauses[index] for index in told if index < len(topic.clauses)}
        parts = {topic.parts[index] for index in told if index < len(topic.parts)}
        ordering = {topic.parts[index] for index in topic.commands}
        asked = (topic.is_asked or topic.asks_which) and not topic.commands
        domains = {
            key.partition(".")[0] for keys in (topic.kinds.get(index, ()) for index in told) for key in keys
        }
        domains |= {key.partition(".")[0] for key in named}
        found: set[str] = set()
        for index in sorted({*topic.implied, *topic.measures} - self._finder.place_words):
            part = topic.parts[index]
            asks = asked or part in topic.asking
            if topic.clauses[index] in clauses and (
                part in parts or not (part in topic.asking or part in ordering)
            ):
                continue
            implied = topic.implied.get(index, frozenset())
            if asks and (measured := set(filter(self._is_there, topic.measures.get(index, ())))):
                found |= measured
            elif asks and "climate" in implied:
                found.add(MEASURED)
            else:
                found |= {key for key in implied if key.partition(".")[0] not in domains}
        return found

    def _most_specific(self, kinds: Collection[str]) -> list[str]:
        """Return kinds without the domain of which a class is meant: curtains are covers too."""
        known = {key for key in kinds if "." in key and any(True for _ in self.all_of(key))}
        specific = {key.partition(".")[0] for key in known}
        return [key for key in kinds if key not in specific]

    def all_of(self, key: str) -> Iterable[EntityRecord]:
        """Return the entities of a kind; thermostats measure temperatures too."""
        for (domain, _device_class), records in by_kind(self._house).items():
            if fits(records[0], key, self.keys) or (
                key == MEASURED and "temperature" in DOMAINS[domain].measures
            ):
                yield from records


def by_kind(house: HouseSnapshot) -> Mapping[EntityKind, Sequence[EntityRecord]]:
    """Return the entities of a home by domain and device class."""
    return house.derived("entities by kind", _read_kinds)


def _read_kinds(house: HouseSnapshot) -> Mapping[EntityKind, Sequence[EntityRecord]]:
    found: dict[EntityKind, list[EntityRecord]] = {}
    for record in house.entities.values():
        found.setdefault((record.domain, record.device_class), []).append(record)
    return found


MAX_NAMED: Final = 2
"""Words that may name another entity like those of the turn before."""
MAX_BEFORE: Final = 4
"""Entities of the turn before that a sentence may go on about."""


class Earlier:
    """The entities that the turn before was about, as one sentence goes on about them."""

    def __init__(
        self,
        house: HouseSnapshot,
        topic: Topic,
        finder: Finder,
        meant: MeantKinds,
        before: Sequence[EntityRecord],
    ) -> None:
        self._house, self._topic, self._finder, self._meant = house, topic, finder, meant
        self.before = before

    def room(self) -> Mapping[str, Area]:
        """Return the room that all of them are in; empty if there is no such room."""
        rooms = {one.area_id or "" for one in self.before}
        return {key: self._house.areas[key] for key in rooms if len(rooms) == 1 and key in self._house.areas}

    def fits_before(self, record: EntityRecord, kinds: Iterable[str]) -> bool:
        """Return whether an entity is of one of some kinds; a domain means all its classes."""
        return any(key == record.domain or fits(record, key, self._meant.keys) for key in kinds)

    def same_kinds(self, before: Sequence[EntityRecord]) -> list[EntityRecord]:
        """Return what is in the place that is named: of the same kinds, else of the same domains."""
        places = self._finder.places
        asks = self._topic.is_asked or self._topic.asks_which
        if asks and any(fits(one, MEASURED, self._meant.keys) or one.domain == "climate" for one in before):
            kinds = [set(self._meant.all_of(MEASURED))]
        else:
            known = {(one.domain, one.device_class) for one in before}
            domains = {one.domain for one in before if DOMAINS[one.domain].actions}
            listed = by_kind(self._house).items()
            kinds = [
                {record for kind, records in listed if kind in known for record in records},
                {record for kind, records in listed if kind[0] in domains for record in records},
            ]
        for found in kinds:
            if there := [one for one in found if one.area_id in places or one.floor_id in places]:
                return sorted(there, key=lambda record: record.entity_id)
        return []

    def alike(self) -> list[EntityRecord]:
        """Return other entities of these kinds that a sentence names in part: "Tom's too"."""
        topic, finder = self._topic, self._finder
        rest = [index for index in topic.rest - finder.place_words if len(topic.words[index].folded) > 1]
        if not self.before or finder.places or not 0 < len(rest) <= MAX_NAMED:
            return []
        said = [finder.meant.get(index, frozenset()) for index in rest]
        others = self.others(self.before, everywhere=True)
        return [one for one in others if all(map(finder.words_of(one).intersection, said))][:MAX_BEFORE]

    def others(self, before: Sequence[EntityRecord], *, everywhere: bool = False) -> list[EntityRecord]:
        """Return the other entities of the same kinds, those of the same rooms if there are any."""
        known = {(one.domain, one.device_class) for one in before}
        ids = {one.entity_id for one in before}
        found = [
            record
            for kind in sorted(known, key=str)
            for record in by_kind(self._house).get(kind, ())
            if record.entity_id not in ids
        ]
        rooms = {one.area_id for one in before}
        return found if everywhere else [one for one in found if one.area_id in rooms] or found
