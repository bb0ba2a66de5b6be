"""Which entities a call means: by ID, name, place, label or kind."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final, Self, override

from ...context.named import language_of, vocabulary
from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from ...knowledge.names import (
    MARGIN,
    NameIndex,
    content_words,
    distance,
    find_label,
    label_and_rest,
    label_said,
    labels_in,
    longest,
    name_index,
    owned_in,
    phrase_similarity,
    place_id,
    place_names,
    squash,
    without_article,
    word_similarity,
)
from ...knowledge.speaker import Speaker
from ...knowledge.spoken_words import (
    all_words,
    asks_for_all,
    domain_words,
    inflected_kinds_of_room,
    kinds_of_room,
    means_home,
    room_words,
    said_words,
    says_goodbye,
    stop_words,
    without_idioms,
    words_of,
)
from ...languages import DEFAULT, languages
from ...regex import lazy_regex
from ...texts import fold, one_line, parsed
from .family_words import meant_by, names_room, read_parts, room_and_kinds

NO_VALUE: Final = frozenset(("", "null", "none", "nil", "n/a", "undefined", "unknown", "any"))
"""What models write where they mean nothing."""
SLOTS: Final = ("entity_id", "name", "area", "floor", "label", "domain", "device_class")
LISTS: Final = ("entity_id", "domain", "device_class")
SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("target_device", "target_entity", "entity", "entity_ids", "entities"), "entity_id"),
    **dict.fromkeys(("names", "friendly_name"), "name"),
    **dict.fromkeys(("area_id", "areas", "room"), "area"),
    **dict.fromkeys(("floor_id", "floors"), "floor"),
    **dict.fromkeys(("label_id", "labels", "tag", "tags"), "label"),
    "domains": "domain",
    "device_classes": "device_class",
}
"""Slots of any tool by what models call them; tools add their own."""
MAX_TEXTS = 100
MAX_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a call is aimed at. All that is given must hold."""

    entity_id: tuple[str, ...] = ()
    name: str | None = None
    area: str | None = None
    floor: str | None = None
    label: str | None = None
    domain: tuple[str, ...] = ()
    device_class: tuple[str, ...] = ()
    everything: bool = False
    """Whether all that fits is meant; from a person, never from a model."""

    @classmethod
    def from_args(cls, args: Mapping[str, Any]) -> Self:
        """Read a tool's arguments: strings or lists, empty or null where nothing is meant."""
        return cls(
            entity_id=texts(args.get("entity_id")),
            name=", ".join(texts(args.get("name"))) or None,
            area=", ".join(texts(args.get("area"))) or None,
            floor=", ".join(texts(args.get("floor"))) or None,
            label=", ".join(texts(args.get("label"))) or None,
            domain=texts(args.get("domain")),
            device_class=texts(args.get("device_class")),
        )

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is aimed at."""
        given = (self.entity_id, self.name, self.area, self.floor, self.label, self.domain, self.device_class)
        return not any(given)


def tidy(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of a target that say something: ids and kinds as lists, names as one text."""
    given = {slot: found for slot in SLOTS if (found := texts(args.get(slot)))}
    return {slot: list(found) if slot in LISTS else ", ".join(found) for slot, found in given.items()}


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts in a value: one, a list, a list written as JSON text; without the empty ones."""
    if isinstance(value, str):
        value = value.strip()
        if value[:1] in "[\"'":
            value = _unquoted(value)
    if isinstance(value, str):
        return () if value.casefold() in NO_VALUE else (value[:MAX_TEXT],)
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(dict.fromkeys(text for item in list(value)[:MAX_TEXTS] for text in texts(item)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (str(value),)
    return ()


def _unquoted(value: str) -> Any:
    found = parsed(value)
    return found if isinstance(found, (str, list)) and found is not value else value.strip("[]\"' ")


MAX_ERROR = 300
MAX_NAME = 40
MORE_CHARS = 12
"""Room for " +1234 more"."""
MAX_LISTED = 6
MIN_SPELLED = 4
"""Letters of an id that count if they are in another one."""
_STRUCTURE = lazy_regex(r"[\"`<>{}]|(?<!\w)'|'(?!\w)")
"""Characters that could be read as structure; an apostrophe within a word is none."""


def protected(record: EntityRecord) -> bool:
    """Return whether an entity must be named exactly."""
    return DOMAINS[record.domain].is_protected


def plain(name: str) -> str:
    """Return a name on one line, without what could be read as structure, cut to length."""
    return one_line(_STRUCTURE.sub(" ", name), MAX_NAME)


def choose(house: HouseSnapshot, records: Iterable[EntityRecord], problem: str) -> ValidationError:
    """Return an error that lists entities to choose from."""
    text = problem
    names: dict[str, None] = {}
    chosen = list(records)
    for index, (separator, record) in enumerate(zip(_separators(), chosen, strict=False)):
        entry = f"{separator}{describe(house, record)}"
        if len(text) + len(entry) > MAX_ERROR - MORE_CHARS:
            text += f" +{len(chosen) - index} more"
            break
        text += entry
        names[plain(record.name)] = None
    error = ValidationError(text[:MAX_ERROR])
    error.names = tuple(names)[:MAX_LISTED]
    return error


def listed(names: Sequence[str], room: int) -> str:
    """Return names that fit in some characters, and how many more there are."""
    text = ""
    for index, name in enumerate(names):
        entry = f"{', ' if text else ''}{plain(name)}"
        if len(text) + len(entry) > room - MORE_CHARS:
            return f"{text} +{len(names) - index} more"
        text += entry
    return text or "none"


def describe(house: HouseSnapshot, record: EntityRecord) -> str:
    """Return an entity's id, name and room."""
    area = house.areas.get(record.area_id) if record.area_id else None
    return f"{record.entity_id} ({plain(record.name)}{f', {plain(area.name)}' if area else ''})"


def _separators() -> Iterable[str]:
    yield ": "
    while True:
        yield "; "


def _spelled_in(names: NameIndex, text: str) -> list[str]:
    """Return the entities whose whole id is in an invented one, as "hallway" is in "hall_way_lamp"."""
    key = squash(text)
    spelled = [known for known in names.object_ids if len(known) >= MIN_SPELLED and known in key]
    return [
        entity_id
        for known in sorted(spelled, key=lambda known: (-len(known), known))
        for entity_id in names.object_ids[known]
    ]


def missing(
    house: HouseSnapshot,
    names: NameIndex,
    text: str,
    problem: str,
    *,
    domains: Collection[str] | None = None,
    wanted: Callable[[EntityRecord], bool] | None = None,
) -> ValidationError:
    """Return the error for something that is not there, with what comes nearest."""
    near = [house.entities[entity_id] for entity_id in _spelled_in(names, text)]
    near += [house.entities[entity_id] for entity_id, _ in names.near(text)]
    near += [house.entities[entity_id] for entity_id in names.likely(text, 3 * MAX_LISTED)]
    first = [
        record
        for record in near
        if (not domains or record.domain in domains) and (wanted is None or wanted(record))
    ]
    if not first:
        pool = (record for record in house.entities.values() if not domains or record.domain in domains)
        first = [record for record in pool if wanted is not None and wanted(record)] or near
    if not first:
        return ValidationError(f"{problem}. Search with another name, or ask"[:MAX_ERROR])
    return choose(house, list(dict.fromkeys(first))[:MAX_LISTED], f"{problem}. Nearest")


MIN_LIKENESS = 0.75
INFLECTED = 0.88
"""How alike a word of a sentence and a word of a name must be."""
MIN_LENGTH = 5
"""Shorter names are not compared letter by letter."""


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """Rooms or floors that a word means, or a label; an entity in any of them is there."""

    name: str
    area_ids: frozenset[str] = frozenset()
    floor_ids: frozenset[str] = frozenset()
    repaired: bool = False
    """Whether the word is not one of the names, only near to one."""
    labels: frozenset[str] = frozenset()

    def holds(self, record: EntityRecord) -> bool:
        """Return whether an entity is here."""
        is_there = record.area_id in self.area_ids or record.floor_id in self.floor_ids
        return is_there or not self.labels.isdisjoint(record.labels)


def find_place(house: HouseSnapshot, text: str, slot: str) -> NamedPlace | None:
    """Return the place that a text names; `slot` ("area" or "floor") goes first.

    Returns None for what is neither a name nor near to exactly one.
    """
    groups: list[Iterable[Area | Floor]] = [house.areas.values(), house.floors.values()]
    if slot == "floor":
        groups.reverse()
    key = squash(without_article(text))
    for group in groups:
        if found := [place for place in group if key and key in _keys(place)]:
            return _place(text, found, repaired=False)
    owned, rest = owned_in(house, text)
    if len(owned) == 1 and all(word.folded in stop_words() or len(word.folded) == 1 for word in rest):
        return _place(text, list(owned.values()), repaired=False)
    if (place := _of_kind(text, groups)) is not None:
        return place
    for group in groups:
        if near := _near(text, group):
            return _place(text, [near], repaired=True)
    return None


def _of_kind(text: str, groups: Sequence[Iterable[Area | Floor]]) -> NamedPlace | None:
    """Return the only place that is the kind of room or floor that a text names in any language.

    "Küche" is the room called Kitchen. A room called Guest Bathroom is a guess for "Bad".
    """
    exact = kinds_of_room(text)
    if not (kinds := exact or inflected_kinds_of_room(text)):
        return None
    for group in groups:
        same = [place for place in group if any(kinds & kinds_of_room(name) for name in place.names)]
        if len(same) == 1:
            return _place(same[0].name, same, repaired=not exact)
        if same:
            return None
    for group in groups:
        near = [place for place in group if any(kinds & _kinds_inside(name) for name in place.names)]
        if len(near) == 1:
            return _place(near[0].name, near, repaired=True)
        if near:
            return None
    return None


def _kinds_inside(name: str) -> frozenset[str]:
    """Return the kinds of rooms that the last words of a name mean."""
    found = fold(name).split()
    return frozenset().union(*(kinds_of_room(" ".join(found[at:])) for at in range(1, len(found))))


def unknown_place(house: HouseSnapshot, text: str, slot: str) -> ValidationError:
    """Return the error for a room or floor that is not there, with the nearest that are."""
    places: Sequence[Area | Floor] = [*(house.areas if slot == "area" else house.floors).values()]
    asked = content_words(text)
    ranked = sorted(places, key=lambda place: -max(_likeness(asked, name) for name in place.names))
    problem = f"{slot}: there is no {slot} {text[:40]!r}. Known: "
    return ValidationError(problem + listed([place.name for place in ranked], MAX_ERROR - len(problem)))


def unknown_label(house: HouseSnapshot, text: str) -> ValidationError:
    """Return the error for a label that no exposed entity has, with those that some have."""
    problem = f"label: there is no label {text[:40]!r}. Known: "
    return ValidationError(problem + listed(list(labels_in(house)), MAX_ERROR - len(problem)))


def place_of_label(house: HouseSnapshot, text: str, *, exact: bool = False) -> NamedPlace | None:
    """Return the label that a text names, as a place; None if there is none."""
    found = find_label(house, text)
    if found is None or (exact and found.repaired):
        return None
    return NamedPlace(found.name, labels=frozenset((found.name,)), repaired=found.repaired)


def places_in_sentence(house: HouseSnapshot, sentence: str, language: str = "") -> list[NamedPlace]:
    """Return the rooms, else the floors, that a sentence names, also by the words of a language for them."""
    owned, others = owned_in(house, without_idioms(sentence), language)
    sentence = " ".join(word.plain for word in others)
    of_owners = [_place(area.name, [area], repaired=False) for area in owned.values()]
    names = place_names(house)
    meanings = [
        [known for known in names.words if word_similarity(word, known) >= INFLECTED]
        for word in content_words(sentence)
    ]
    found = names.find(meanings, in_a_row=True)
    areas = [one for one in found if isinstance(one.value, Area)]
    unique = {id(one.value): one.value for one in longest(areas or found)}
    named = [_place(place.name, [place], repaired=False) for place in unique.values()]
    found_there = named or list(_in_words_of(house, sentence, language))
    return list({place.name: place for place in (*of_owners, *found_there)}.values())


def _in_words_of(house: HouseSnapshot, sentence: str, language: str) -> Iterable[NamedPlace]:
    said = said_words(sentence)
    found = {word for word in room_words(language) if f" {word} " in said}
    longest_words = (word for word in found if not any(word != other and word in other for other in found))
    places = (find_place(house, word, "area") for word in longest_words)
    return {place.name: place for place in places if place is not None}.values()


def _place(text: str, found: Sequence[Area | Floor], *, repaired: bool) -> NamedPlace:
    return NamedPlace(
        text if repaired else found[0].name,
        frozenset(place.area_id for place in found if isinstance(place, Area)),
        frozenset(place.floor_id for place in found if isinstance(place, Floor)),
        repaired,
    )


def _keys(place: Area | Floor) -> set[str]:
    return {squash(without_article(name)) for name in place.names} | {squash(place_id(place))}


def _near[T: Area | Floor](text: str, group: Iterable[T]) -> T | None:
    """Return the only place whose name comes near."""
    asked = content_words(text)
    scored = sorted(
        (
            (max(_likeness(asked, name) for name in place.names), index, place)
            for index, place in enumerate(group)
        ),
        key=lambda entry: (-entry[0], entry[1]),
    )
    if not scored or scored[0][0] < MIN_LIKENESS:
        return None
    if len(scored) > 1 and scored[0][0] - scored[1][0] < MARGIN:
        return None
    return scored[0][2]


def _likeness(asked: Sequence[str], name: str) -> float:
    parts = content_words(name)
    own, other = "".join(asked), "".join(parts)
    has_digits = any(char.isdigit() for char in own + other)
    if len(own) >= MIN_LENGTH and own[:1] == other[:1] and not has_digits:
        limit = 1 + len(own) // 8
        if distance(own, other, limit) <= limit:
            return 0.95
    return phrase_similarity(asked, parts)


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
    forms = (_class_names().get(form) for form in _forms(word))
    return next(filter(None, forms), frozenset())


def _unknown_kind(slot: str, text: str, known: Iterable[str]) -> ValidationError:
    """Return the error for a kind that is not there, with those that are."""
    problem = f"{slot}: there is no {text[:40]!r}. Known: "
    return ValidationError(problem + listed(sorted(known), MAX_ERROR - len(problem)))


def _as_domain(text: str) -> str | None:
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


__all__ = ["Target", "resolve", "says_all"]

MIN_PARTS = 2
MAX_PARTS = 20
MAX_NAME_WORDS = 6
NO_TARGET = "Name a target: entity_id, name, or area with domain"
_SEPARATORS = str.maketrans(dict.fromkeys(',;/|()[]"\n', "\n"))


def resolve(
    house: HouseSnapshot,
    target: Target,
    *,
    speaker: Speaker,
    sentence: str,
    allowed_domains: Collection[str] | None = None,
    exists: Callable[[str], bool] | None = None,
) -> list[EntityRecord]:
    """Return the entities that are meant, sorted by id, at least one.

    `allowed_domains` are those that the action fits; `exists` tells whether an unexposed entity id
    exists, which is never treated as misspelt. Raises ValidationError with the nearest candidates.
    """
    search = Search(house, target, speaker, sentence, allowed_domains, exists)
    found = search.from_sentence() if target.is_empty else search.run()
    return sorted(found, key=lambda record: record.entity_id)


class Search:
    """One resolution, by id, by name, by label or by kind."""

    def __init__(
        self,
        house: HouseSnapshot,
        target: Target,
        speaker: Speaker,
        sentence: str,
        allowed: Collection[str] | None = None,
        exists: Callable[[str], bool] | None = None,
    ) -> None:
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
        """Return the entities of a kind in a place; a label that only the sentence has is asked for."""
        if not any(place.labels for place in self.places) and not self.kinds.name:
            said = label_said(self.house, self.sentence, self.speaker.language)
            if said is not None and not self._is_part_of_place(said):
                raise ValidationError(
                    f"{said[:40]!r} in the sentence is a label. Give label {said[:40]!r}, or entity_id"
                )
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

    def by_label(self, name: str) -> list[EntityRecord]:
        """Return the entities of a label in place of a name: "Party", "party lights", "label Party"."""
        if (whole := place_of_label(self.house, name, exact=True)) is not None:
            return self._of_label(whole, frozenset())
        if (found := label_and_rest(self.house, name)) is None:
            return []
        label, rest = found
        kinds = frozenset(domain_words()[word] for word in rest if word in domain_words())
        wanted = all_words(self.speaker.language)
        others = [word for word in rest if word not in domain_words() and word not in wanted]
        if len(kinds) > 1 or any(word in self.names.by_word for word in others):
            return []
        return self._of_label(NamedPlace(label, labels=frozenset((label,))), kinds)

    def _of_label(self, label: NamedPlace, kinds: frozenset[str]) -> list[EntityRecord]:
        """Return the entities of a label and a kind; nothing if the label has none that the action fits."""
        before = self.places, self.kinds
        self.places = [*self.places, label]
        self.kinds = EntityKinds(self.kinds.domains or kinds, self.kinds.classes)
        if self.candidates():
            return self.by_kind()
        self.places, self.kinds = before
        return []

    def _is_part_of_place(self, label: str) -> bool:
        return any(label.casefold() in place.name.casefold() for place in self.places)

    def run(self) -> list[EntityRecord]:
        """Return the entities that are meant."""
        if self.entity_ids:
            each = {one.entity_id: one for text in self.entity_ids for one in self._by_id(text)}
            found = list(each.values())
        elif self.name:
            found = self._by_name(self.name)
        else:
            found = self.by_kind()
        return self._certain(found)

    def from_sentence(self) -> list[EntityRecord]:
        """Return the one entity that the sentence names, for an action that was given no target."""
        words = fold(self.sentence).split()
        named: dict[str, None] = {}
        for length in range(MAX_NAME_WORDS, 0, -1):
            for start in range(len(words) - length + 1):
                key = "".join(words[start : start + length])
                named |= dict.fromkeys(self.names.exact.get(key, ()))
            if named:
                break
        found = [record for record in self.records(named) if self.is_allowed(record)]
        if not named and (domains := self._only_allowed()):
            self.kinds = EntityKinds(domains)
            found = self.candidates()
        if self.allowed is None or not found:
            raise ValidationError(NO_TARGET)
        if len(found) > 1:
            raise choose(self.house, self._likely_first(found), "Name a target by its entity_id")
        self.repaired = True
        return self._certain(found)

    def _certain(self, found: list[EntityRecord]) -> list[EntityRecord]:
        """Return the found entities, unless a protected one was guessed."""
        risky = [record for record in found if protected(record)]
        if self.repaired and risky:
            problem = "Too uncertain for a lock, cover, valve or alarm. Give its entity_id"
            raise choose(self.house, risky, problem)
        return found

    def _by_id(self, text: str) -> list[EntityRecord]:
        entity_id = text.strip().casefold()
        if "*" in entity_id:
            return self._by_pattern(entity_id)
        if (record := self.house.entities.get(entity_id)) is not None:
            return [self._placed(record, text)]
        if self.exists(entity_id):
            raise ValidationError(f"entity_id: {text[:60]!r} does not exist or is not exposed")
        domain, dot, rest = entity_id.partition(".")
        domain = domain.strip()
        if not dot or domain not in DOMAINS:
            return self._by_name(text)
        if found := self._by_id_parts(domain, rest):
            return [self._placed(found, text)]
        raise missing(self.house, self.names, rest, f"entity_id: there is no {text[:60]!r}", domains={domain})

    def _by_id_parts(self, domain: str, rest: str) -> EntityRecord | None:
        """Return the entity whose id or name an almost right id spells.

        "light.living_room" means lights of the room, not the thermostat whose id is the name of the room.
        """
        key = squash(rest)
        tables = (self.names.exact, self.names.qualified, self.names.object_ids)
        spelled = self.records(entity_id for table in tables for entity_id in table.get(key, ()))
        if own := [record for record in spelled if record.domain == domain]:
            return self._one(own, rest)
        self.repaired = True
        if len(spelled) == 1 and self.is_allowed(spelled[0]):
            place = find_place(self.house, rest.replace("_", " "), "area")
            if place is None or place.repaired:
                return spelled[0]
        near = self.names.near(rest, frozenset(self.names.by_domain.get(domain, ())))
        return self.house.entities[near[0][0]] if _leads(near) else None

    def _by_pattern(self, pattern: str) -> list[EntityRecord]:
        """Return the entities that a wildcard matches; those that are not exposed are not there."""
        domain, dot, rest = pattern.partition(".")
        if not dot:
            domain, rest = "*", pattern
        rest = rest.strip().replace(" ", "_")
        if not rest.strip("*"):
            of_pattern = frozenset(key for key in self.names.domains if fnmatchcase(key, domain))
            domains = self.kinds.domains if domain == "*" else of_pattern
            self.kinds = EntityKinds(domains, self.kinds.classes)
            return self.by_kind()
        self.repaired |= domain == "*"
        found = [
            record
            for record in self.house.entities.values()
            if fnmatchcase(record.domain, domain)
            and (
                fnmatchcase(record.object_id, rest) or fnmatchcase(fold(record.name).replace(" ", "_"), rest)
            )
            and self.is_here(record)
            and self.kinds.fits(record)
            and (domain != "*" or self.is_allowed(record))
        ]
        if not found:
            stem = rest.replace("*", " ")
            raise missing(self.house, self.names, stem, f"entity_id: nothing matches {pattern[:60]!r}")
        return [record for record in found if record.category is None] or found

    def _placed(self, record: EntityRecord, said: str) -> EntityRecord:
        """Return the entity, unless it is elsewhere than the place that was given."""
        if not self.is_here(record):
            if record.area_id is not None and not self._place_is_doubtful(record):
                place = self.places[0].name
                raise choose(self.house, [record], f"{said[:60]!r} is not in {place[:40]!r}. It")
            self.repaired = True
        if not self.kinds.fits(record):
            self.repaired = True
        return record

    def _place_is_doubtful(self, record: EntityRecord) -> bool:
        """Return whether an entity by its exact name or id is surer than the place, which nobody said."""
        if not self.sentence or protected(record) or not self.is_allowed(record):
            return False
        named = (self.house.entities.get(text.strip().casefold()) for text in self.entity_ids)
        if any(one is not None and self.is_here(one) for one in named):
            return False
        said = places_in_sentence(self.house, self.sentence, self.speaker.language)
        return not any(
            place.area_ids & given.area_ids or place.floor_ids & given.floor_ids
            for place in said
            for given in self.places
        )

    def _by_name(self, name: str) -> list[EntityRecord]:
        """Return the entities of a name: as written, as a list, as an area and a kind, or approximately."""
        if "*" in name:
            return self._by_pattern(name.casefold())
        if name.partition(".")[0].strip().casefold() in DOMAINS and "." in name and "," not in name:
            return self._by_id(name)
        if self._means_all(name):
            return self._everything(name)
        steps = (self._by_spelling, self._by_parts, self.by_label, self._of_owner, self._in_family_words)
        for step in (*steps, self._by_room_and_kind):
            if found := step(name):
                return found
        if found := self._by_spelling(name, strict=False):
            self.repaired = True
            return found
        return self._by_nearness(name) or self._elsewhere(name)

    def _elsewhere(self, name: str) -> list[EntityRecord]:
        """Return the only entity of a name, where only the model gave another room for it."""
        problem = f"name: nothing is called {name[:60]!r}"
        if elsewhere := self.records(self.names.exact.get(squash(name), ())):
            if len(elsewhere) == 1 and self._place_is_doubtful(elsewhere[0]):
                self.repaired = True
                return elsewhere
            raise choose(self.house, elsewhere, f"{problem} in {self.places[0].name[:40]!r}. Elsewhere")
        raise missing(self.house, self.names, name, problem, wanted=self.is_here if self.places else None)

    def _by_spelling(self, name: str, *, strict: bool = True) -> list[EntityRecord]:
        """Return the entity of exactly this name; if not strict, whatever its kind."""
        keys = dict.fromkeys((squash(name), squash(without_article(name))))
        tables = [(self.names.exact, False), (self.names.qualified, False), (self.names.object_ids, True)]
        if strict:
            tables += [(self.names.short, not self.places), (self.names.devices, True)]
        for table, is_guess in tables:
            found = self.records(entity_id for key in keys for entity_id in table.get(key, ()))
            here = [record for record in found if self.is_here(record)]
            homeless = [] if here else [record for record in found if record.area_id is None]
            fitting = [record for record in here or homeless if not strict or self.kinds.fits(record)]
            if any(
                not strict or self.is_allowed(record) or (protected(record) and not is_guess)
                for record in fitting
            ):
                self.repaired |= is_guess or bool(homeless)
                return self._named(fitting, name)
        return []

    def _named(self, records: list[EntityRecord], name: str) -> list[EntityRecord]:
        """Return the entities of one name that the action fits: one, or all if all were asked for."""
        fitting = [record for record in records if self.is_allowed(record)]
        others = [record for record in records if protected(record) and record not in fitting]
        if fitting and others and not self.kinds.domains:
            raise choose(
                self.house, [*others, *fitting], f"Several are called {name[:40]!r}. Give the entity_id"
            )
        records = fitting or records
        if self.all and len({record.domain for record in records}) == 1:
            return records
        return [self._one(records, name)]

    def _one(self, records: Sequence[EntityRecord], name: str) -> EntityRecord:
        area_id, floor_id = self.speaker.area_id, self.speaker.floor_id
        narrower: tuple[Callable[[EntityRecord], bool], ...] = (
            lambda record: record.category is None,
            lambda record: record.area_id is not None and record.area_id == area_id,
            lambda record: record.floor_id is not None and record.floor_id == floor_id,
        )
        for keeps in narrower:
            records = [record for record in records if keeps(record)] or records
        if len(records) > 1:
            raise choose(
                self.house, records, f"Several are called {name[:40]!r}. Ask which, or give the entity_id"
            )
        return records[0]

    def _by_parts(self, name: str) -> list[EntityRecord]:
        parts = [part.strip() for part in name.translate(_SEPARATORS).split("\n") if part.strip()]
        if not MIN_PARTS <= len(parts) <= MAX_PARTS:
            return []
        places = {part: place for part in parts if (place := self._exact_place(part)) is not None}
        if len(places) == len(parts):
            places = {}
        found: list[EntityRecord] = []
        for part in parts:
            if part in places:
                continue
            record = self.house.entities.get(part.casefold())
            hits = self._by_spelling(part) if record is None else [self._placed(record, part)]
            if not hits:
                return []
            found.extend(hits)
        if any(not place.holds(record) for place in places.values() for record in found):
            raise choose(self.house, found, f"{name[:60]!r} names a place where this is not")
        return list({record.entity_id: record for record in found}.values())

    def _exact_place(self, text: str) -> NamedPlace | None:
        place = find_place(self.house, text, "area")
        return None if place is None or place.repaired else place

    def _by_room_and_kind(self, name: str) -> list[EntityRecord]:
        words = [word for word in fold(name).split() if word not in stop_words()]
        kinds = frozenset(domain_words()[word] for word in words if word in domain_words())
        rest = " ".join(word for word in words if word not in domain_words())
        place = self._exact_place(rest) if rest else None
        if (rest and place is None) or len(kinds) > 1:
            return []
        domains = self.kinds.domains or kinds or self._only_allowed()
        if not domains or not kinds <= domains:
            return []
        before = self.places, self.kinds
        self.places = [*self.places, *([place] if place else [])]
        self.kinds = EntityKinds(kinds or domains, self.kinds.classes)
        if self.candidates():
            self.repaired = True
            return self.by_kind()
        self.places, self.kinds = before
        return []

    def _of_owner(self, name: str) -> list[EntityRecord]:
        """Return the entities of a kind in the room of a person: "lumière de la chambre de Léo"."""
        owned, rest = owned_in(self.house, name, self.speaker.language)
        if len(owned) != 1 or not rest:
            return []
        before = self.places
        self.places = [*before, NamedPlace(next(iter(owned.values())).name, frozenset(owned))]
        if found := self._in_family_words(" ".join(word.plain for word in rest)):
            return found
        self.places = before
        return []

    def _in_family_words(self, name: str) -> list[EntityRecord]:
        """Return the entity that a name means in the words of any language for rooms and things.

        Where the words fit several entities, a kind of thing in a room means all of them there.
        """
        spoken = (self.speaker.language, language_of(self.sentence, self.speaker.language) or DEFAULT)
        parts = read_parts(name, spoken)
        is_kind = room_and_kinds(parts)
        if is_kind and (found := self._by_room_and_kind(name)):
            return found
        here = [record for record in self.house.entities.values() if self.is_here(record)]
        here = [record for record in here if record.category is None and self.kinds.fits(record)]
        found = meant_by(self.house, filter(self.is_allowed, here), name, spoken)
        others = [] if found else meant_by(self.house, here, name, spoken)
        self.repaired |= bool(found)
        if len(found) == 1 or (found and is_kind and names_room(parts)):
            return found
        if found and is_kind:
            self.kinds = EntityKinds(frozenset(record.domain for record in found), self.kinds.classes)
            return self.by_kind()
        if found or any(protected(record) for record in others):
            problem = f"name: {name[:40]!r} may be {'several' if found else 'something else'}"
            raise choose(self.house, found or others, f"{problem}. Ask which, or give the entity_id")
        return []

    def _only_allowed(self) -> frozenset[str]:
        """Return the domain that the action fits if it is the only one in this home."""
        there = frozenset(self.allowed or ()).intersection(self.names.domains)
        return there if len(there) == 1 else frozenset()

    def _by_nearness(self, name: str) -> list[EntityRecord]:
        pool = (
            {record.entity_id for record in self.candidates()} if self.places or self.kinds.domains else None
        )
        near = self.names.near(name, pool)
        if not near:
            return []
        self.repaired = True
        tied = self.records(key for key, score in near if near[0][1] - score < MARGIN)
        if not any(protected(record) for record in tied):
            tied = [record for record in tied if self.is_allowed(record)] or tied
        if len({squash(record.name) for record in tied}) == 1:
            return self._named(tied, name)
        raise choose(
            self.house, tied, f"name: {name[:40]!r} may be several. Ask which, or give the entity_id"
        )

    def _means_all(self, name: str) -> bool:
        words = [word for word in fold(name).split() if word not in stop_words()]
        wanted = all_words(self.speaker.language)
        return (
            not wanted.isdisjoint(words)
            and all(word in wanted or word in domain_words() for word in words)
            and squash(name) not in self.names.exact
        )

    def _everything(self, name: str) -> list[EntityRecord]:
        if not self.all:
            raise ValidationError(
                f"name: {name[:40]!r}, but the person did not say all. Name the entity or the area"
            )
        kinds = frozenset(domain_words()[word] for word in fold(name).split() if word in domain_words())
        self.kinds = EntityKinds(self.kinds.domains or kinds, self.kinds.classes)
        return self.by_kind()


def _leads(near: Sequence[tuple[str, float]]) -> bool:
    """Return whether the first hit is clearly better than the second."""
    return bool(near) and (len(near) == 1 or near[0][1] - near[1][1] >= MARGIN)
