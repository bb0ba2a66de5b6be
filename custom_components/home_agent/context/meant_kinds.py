"""The kinds of things that a sentence is about: those that it names, and those that its words imply."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from typing import Final

from ..domains import DOMAINS
from ..knowledge.house import EntityRecord, HouseSnapshot
from .house_index import EntityKind
from .named import MEASURED, Finder, fits
from .topics import Topic, topic_reader

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
