"""The kind of thing that a target asks for, and targets by place and kind: what needs no names."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import override

from ...context.concepts import vocabulary
from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.name_index import NameIndex, name_index
from ...knowledge.names import squash, without_article, word_similarity
from ...knowledge.spoken_words import asks_for_all, domain_words, means_home, says_goodbye, words_of
from ...languages import languages
from ...texts import fold
from ..base import Speaker
from .candidates import MAX_ERROR, choose, listed
from .places import (
    NamedPlace,
    find_place,
    place_of_label,
    places_in_sentence,
    unknown_label,
    unknown_place,
)
from .targets import Target

ANY_DOMAIN = frozenset(("homeassistant", "all", "entity", "entities", "device", "devices", "home"))
OPENING_CLASSES = words_of("awning blind curtain damper door garage gate shade shutter window")
OPENING_DOMAINS = words_of("cover binary_sensor")
"""Classes of what opens and closes, and the domains that have them: a light called so is another thing."""
MAX_LIKELY = 100
"""Entities whose names have a word of the sentence, in the order of candidates."""


@dataclass(frozen=True, slots=True)
class EntityKinds:
    """Domains and device classes that entities must have; empty means any."""

    domains: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    repaired: bool = False
    name: str | None = None
    """The name of an entity that stood in a slot for kinds."""

    def fits(self, record: EntityRecord) -> bool:
        """Return whether an entity is of this kind."""
        return (not self.domains or record.domain in self.domains) and (
            not self.classes or record.device_class in self.classes
        )

    @override
    def __str__(self) -> str:
        """Return the kind for an error."""
        return " or ".join(sorted(self.classes or self.domains)) or "such entity"


def read_kinds(house: HouseSnapshot, names: NameIndex, target: Target) -> EntityKinds:
    """Return the kind of thing a target asks for.

    A domain among the device classes counts as a domain. A device class says nothing if no entity of
    those domains has one, and is dropped. Raises ValidationError for an unknown kind.
    """
    domains, classes, name, repaired = _read_domains(house, names, target)
    moved: set[str] = set()
    in_use = set().union(
        *(found for domain, found in names.classes.items() if not domains or domain in domains)
    )
    for text in target.device_class:
        word = fold(text).replace(" ", "_")
        if word in in_use and (domains or word not in DOMAINS):
            classes.add(word)
        elif (domain := _as_domain(text)) is not None:
            moved.add(domain)
        elif squash(text) in names.exact:
            name = name or text
            repaired = True
        elif word in OPENING_CLASSES and domains and not domains & OPENING_DOMAINS:
            raise ValidationError(
                f"device_class: a {' or '.join(sorted(domains))} is no {word}. Which is meant?"
            )
        elif not in_use or target.name or target.entity_id:
            repaired = True
        else:
            raise _unknown_kind("device_class", text, in_use)
    if domains and moved - domains:
        repaired = True
    return EntityKinds(frozenset(domains or moved), frozenset(classes), repaired, name)


def _read_domains(
    house: HouseSnapshot, names: NameIndex, target: Target
) -> tuple[set[str], set[str], str | None, bool]:
    """Return the domains, classes and a name found among them, and whether something was fixed."""
    domains: set[str] = set()
    classes: set[str] = set()
    known_classes = set().union(*names.classes.values())
    name = None
    repaired = False
    for text in target.domain:
        word = fold(text).replace(" ", "_")
        if word in known_classes and word not in DOMAINS:
            classes.add(word)
            # An entrance is not reached through the wrong slot.
            repaired = repaired or any(word in facts.guarded_classes for facts in DOMAINS.values())
        elif (domain := _as_domain(text)) is not None:
            domains.add(domain)
        elif fold(text) in ANY_DOMAIN:
            continue
        elif found := _classes_called(fold(text)) & known_classes:
            classes |= found
            repaired = True
        elif any(squash(text) in table for table in (names.exact, names.qualified, names.object_ids)):
            name, repaired = text, True
        elif target.name or target.entity_id:
            repaired = True
        else:
            raise _unknown_kind("domain", text, [*names.domains, *known_classes])
        if "." in text and not (target.name or target.entity_id) and text.casefold() in house.entities:
            name = text
    return domains, classes, name, repaired


@cache
def _class_names() -> Mapping[str, frozenset[str]]:
    """Return what device classes are called in any language: the first word for each, and its other forms."""
    found: dict[str, set[str]] = {}
    for language in languages():
        for kind, said in vocabulary(language).classes.items():
            device_class = kind.partition(".")[2]
            first, *others = map(fold, said.split())
            for word in (first, *(word for word in others if word_similarity(word, first))):
                if device_class:
                    found.setdefault(word, set()).add(device_class)
    return {word: frozenset(classes) for word, classes in found.items()}


def _classes_called(word: str) -> frozenset[str]:
    """Return the device classes that a word means, in the singular or the plural."""
    forms = (_class_names().get(form) for form in _forms(word))
    return next(filter(None, forms), frozenset())


def _unknown_kind(slot: str, text: str, known: Iterable[str]) -> ValidationError:
    """Return the error for a kind that is not there, with those that are."""
    problem = f"{slot}: there is no {text[:40]!r}. Known: "
    return ValidationError(problem + listed(sorted(known), MAX_ERROR - len(problem)))


def _as_domain(text: str) -> str | None:
    """Return the domain that a text means."""
    plain = text.strip().casefold()
    if "." in plain:
        plain = plain.partition(".")[0]
    word = fold(plain).replace(" ", "_")
    return next((form for form in _forms(word) if form in DOMAINS), None) or domain_words().get(fold(plain))


def _forms(word: str) -> Iterable[str]:
    """Yield a word as it is and without the plural."""
    yield word
    yield word.removesuffix("es")
    yield word.removesuffix("s")


def says_all(sentence: str, language: str) -> bool:
    """Return whether a sentence asks for everything of a kind."""
    return asks_for_all(fold(sentence), language)


def is_singular(record: EntityRecord) -> bool:
    """Return whether a kind of thing means one of it, as "the door" does and "the blinds" do not."""
    facts = DOMAINS[record.domain]
    return facts.is_protected and (not facts.guarded_classes or record.device_class in facts.guarded_classes)


class KindSearch:
    """One resolution: reads places and kinds, and finds what needs no name."""

    def __init__(
        self,
        house: HouseSnapshot,
        target: Target,
        speaker: Speaker,
        sentence: str,
        allowed: Collection[str] | None = None,
        exists: Callable[[str], bool] | None = None,
    ) -> None:
        """Read the places and kinds of a target."""
        self.house = house
        self.names: NameIndex = name_index(house)
        self.speaker = speaker
        self.sentence = sentence
        self.allowed = allowed
        self.exists = exists or house.entities.__contains__
        self.entity_ids = target.entity_id
        self.kinds: EntityKinds = read_kinds(house, self.names, target)
        self.name = target.name or (None if self.entity_ids else self.kinds.name)
        self.all = target.everything or says_all(sentence, speaker.language) or self._goes_dark()
        self.repaired = self.kinds.repaired
        """Whether something was guessed on the way."""
        self.places: list[NamedPlace] = self._read_places(target)

    def _goes_dark(self) -> bool:
        """Return whether lights are meant by somebody who goes to bed or leaves: those of the whole home."""
        words = fold(self.name or "").split()
        kinds = self.kinds.domains or {domain_words()[word] for word in words if word in domain_words()}
        return set(kinds) == {"light"} and says_goodbye(fold(self.sentence))

    def _read_places(self, target: Target) -> list[NamedPlace]:
        """Return the room, the floor and the label that are binding."""
        places = [self._read_label(target.label)] if target.label else []
        for slot, text in (("area", target.area), ("floor", target.floor)):
            if not text:
                continue
            place = find_place(self.house, text, slot)
            if place is None or place.repaired:
                place = place_of_label(self.house, text, exact=True) or place
            if place is not None:
                self.repaired |= place.repaired
                places.append(place)
            elif means_home(text):
                continue
            elif not self._may_drop(text, slot, target):
                raise unknown_place(self.house, text, slot)
        return places

    def _read_label(self, text: str) -> NamedPlace:
        """Return the label that is binding, or the room of that name. Raises ValidationError."""
        place = place_of_label(self.house, text)
        if place is None or place.repaired:
            room = find_place(self.house, text, "area")
            place = room if room is not None and not room.repaired else place
        if place is None:
            raise unknown_label(self.house, text)
        self.repaired |= place.repaired
        return place

    def _may_drop(self, text: str, slot: str, target: Target) -> bool:
        """Return whether an unknown place says nothing: no floors at all, or the entity's name again."""
        elsewhere = target.entity_id or target.name or target.area
        if slot == "floor" and not self.house.floors and elsewhere:
            self.repaired = True
            return True
        if squash(without_article(text)) not in self.names.exact:
            return False
        if target.name and squash(target.name) not in squash(text):
            return False
        self.name = text
        self.repaired = True
        return True

    def is_here(self, record: EntityRecord) -> bool:
        """Return whether an entity is in every place given."""
        return all(place.holds(record) for place in self.places)

    def is_allowed(self, record: EntityRecord) -> bool:
        """Return whether the action fits the domain of an entity."""
        return self.allowed is None or record.domain in self.allowed

    def records(self, entity_ids: Iterable[str]) -> list[EntityRecord]:
        """Return the records of ids, each once."""
        return [self.house.entities[entity_id] for entity_id in dict.fromkeys(entity_ids)]

    def candidates(self) -> list[EntityRecord]:
        """Return the entities of the kinds and places given, settings and diagnostics aside."""
        pool: Iterable[EntityRecord] = self.house.entities.values()
        if self.places and len(self.places[0].area_ids) == 1 and not self.places[0].floor_ids:
            pool = self.house.in_area(next(iter(self.places[0].area_ids)))
        elif self.kinds.domains:
            ids = (self.names.by_domain.get(domain, ()) for domain in self.kinds.domains)
            pool = self.records(sorted(entity_id for found in ids for entity_id in found))
        here = [record for record in pool if self.is_here(record) and self.kinds.fits(record)]
        if not self.kinds.domains:
            here = [record for record in here if self.is_allowed(record)]
        return [record for record in here if record.category is None] or here

    def by_kind(self) -> list[EntityRecord]:
        """Return the entities of a kind in a place."""
        found = self.candidates()
        if not found:
            raise self._not_found()
        if not self.kinds.domains and len({record.domain for record in found}) > 1:
            found = self._of_one_kind(found)
        if not self.places:
            found = self._near_speaker(found)
        single = [record for record in found if is_singular(record)]
        if len(single) > 1 and not self.all:
            raise choose(self.house, self._likely_first(single), "Which one? Give the entity_id")
        return found

    def _of_one_kind(self, found: Sequence[EntityRecord]) -> list[EntityRecord]:
        """Return those of the kind that the sentence names, or all that "everything" covers."""
        said = {domain_words()[word] for word in fold(self.sentence).split() if word in domain_words()}
        if len(said) == 1 and (of_kind := [record for record in found if record.domain in said]):
            self.repaired = True
            return of_kind
        if not self.all and not any(place.labels for place in self.places):
            kinds = ", ".join(sorted({record.domain for record in found}))
            raise ValidationError(f"domain: which kind of thing? There are {kinds}"[:300])
        covered = [record for record in found if DOMAINS[record.domain].is_switched_with_everything]
        if not covered:
            raise ValidationError("domain: name the kind of thing")
        return covered

    def _near_speaker(self, found: list[EntityRecord]) -> list[EntityRecord]:
        """Return the entities of a kind without a place."""
        if said := places_in_sentence(self.house, self.sentence, self.speaker.language):
            there = [record for record in found if any(place.holds(record) for place in said)]
            if not there:
                names = ", ".join(place.name[:40] for place in said)
                raise choose(self.house, found, f"None of these is in {names}")
            return there
        if self.all or len(found) == 1:
            return found
        here = [record for record in found if record.area_id and record.area_id == self.speaker.area_id]
        if not here:
            raise choose(self.house, self._likely_first(found), "Which ones? Give area or entity_id")
        return here

    def _likely_first(self, found: list[EntityRecord]) -> list[EntityRecord]:
        """Return entities in the order in which the person may mean them: by words, then by place."""
        said = {
            entity_id: rank for rank, entity_id in enumerate(self.names.likely(self.sentence, MAX_LIKELY))
        }
        speaker = self.speaker

        def rank(record: EntityRecord) -> tuple[bool, bool, bool, int, str]:
            """Return the order of one."""
            is_here = record.area_id is not None and record.area_id == speaker.area_id
            is_near = record.floor_id is not None and record.floor_id == speaker.floor_id
            place = said.get(record.entity_id, MAX_LIKELY)
            return place == MAX_LIKELY, not is_here, not is_near, place, record.entity_id

        return sorted(found, key=rank)

    def _not_found(self) -> ValidationError:
        """Return the error for a kind that is not there."""
        where = " in " + " and ".join(place.name[:40] for place in self.places) if self.places else ""
        there = [record for record in self.house.entities.values() if self.is_here(record)]
        if self.places and there:
            return choose(self.house, there, f"There is no {self.kinds}{where}. There")
        known = ", ".join(sorted(self.names.domains))
        return ValidationError(f"There is no {self.kinds}{where}. Known domains: {known}"[:300])
