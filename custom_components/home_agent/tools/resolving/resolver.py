"""Which entities a call means: by id, name, place, label or kind; for commands and for questions."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final, NamedTuple, Self

from homeassistant.core import HomeAssistant

from ...context.named import (
    NamesInSentence,
    fits,
    language_of,
    read_topic,
    topic_reader,
    vocabulary,
)
from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from ...knowledge.names import (
    MARGIN,
    SURE,
    NameIndex,
    content_words,
    distance,
    find_label,
    label_and_rest,
    labels_in,
    name_index,
    owned_in,
    phrase_similarity,
    place_id,
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
    known_language,
    means_home,
    room_words,
    says_goodbye,
    stop_words,
    without_idioms,
    words_of,
)
from ...languages import DEFAULT, languages, table
from ...regex import lazy_regex
from ...texts import fold, one_line, parsed, words

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
MAX_TEXTS: Final = 100
MAX_TEXT: Final = 200
MAX_ERROR: Final = 300
MAX_NAME: Final = 40
MORE_CHARS: Final = 12
"""Room for " +1234 more"."""
MAX_LISTED: Final = 6
_STRUCTURE = lazy_regex(r"[\"`<>{}]|(?<!\w)'|'(?!\w)")
"""Characters that could be read as structure; an apostrophe within a word is none."""


class Target(NamedTuple):
    """What a call is aimed at. All that is given must hold."""

    entity_id: tuple[str, ...] = ()
    name: str | None = None
    area: str | None = None
    floor: str | None = None
    label: str | None = None
    domain: tuple[str, ...] = ()
    device_class: tuple[str, ...] = ()

    @classmethod
    def from_args(cls, args: Mapping[str, Any]) -> Self:
        """Read a tool's arguments: strings or lists, empty or null where nothing is meant."""
        given: dict[str, Any] = {
            slot: tuple(value) if slot in LISTS else value for slot, value in tidy(args).items()
        }
        return cls(**given)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is aimed at."""
        return not any(getattr(self, slot) for slot in SLOTS)


def tidy(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of a target that say something: ids and kinds as lists, names as one text."""
    given = {slot: value for slot in SLOTS if (value := texts(args.get(slot)))}
    return {slot: list(value) if slot in LISTS else ", ".join(value) for slot, value in given.items()}


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts in a value: one, a list, a list written as JSON text; without the empty ones."""
    if isinstance(value, str):
        value = value.strip()
        if value[:1] in "[\"'":
            literal = parsed(value)
            is_read = isinstance(literal, (str, list)) and literal is not value
            value = literal if is_read else value.strip("[]\"' ")
    if isinstance(value, str):
        return () if value.casefold() in NO_VALUE else (value[:MAX_TEXT],)
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(dict.fromkeys(text for item in list(value)[:MAX_TEXTS] for text in texts(item)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (str(value),)
    return ()


def protected(record: EntityRecord) -> bool:
    """Return whether an entity must be named exactly."""
    return DOMAINS[record.domain].is_protected


def plain(name: str) -> str:
    """Return a name on one line, without what could be read as structure, cut to length."""
    return one_line(_STRUCTURE.sub(" ", name), MAX_NAME)


def describe(house: HouseSnapshot, record: EntityRecord) -> str:
    """Return an entity's id, name and room."""
    area = house.areas.get(record.area_id) if record.area_id else None
    return f"{record.entity_id} ({plain(record.name)}{f', {plain(area.name)}' if area else ''})"


def listed(names: Sequence[str], room: int) -> str:
    """Return names that fit in some characters, and how many more there are."""
    return _joined(map(plain, names), len(names), room, ", ")


def choose(house: HouseSnapshot, records: Iterable[EntityRecord], problem: str) -> ValidationError:
    """Return an error that lists entities to choose from."""
    candidates = list(records)
    entries = (describe(house, record) for record in candidates)
    shown = _joined(entries, len(candidates), MAX_ERROR - len(problem) - 2, "; ")
    error = ValidationError(f"{problem}: {shown}"[:MAX_ERROR])
    error.names = tuple(dict.fromkeys(plain(record.name) for record in candidates[:MAX_LISTED]))
    return error


def _joined(entries: Iterable[str], total: int, room: int, separator: str) -> str:
    text = ""
    for index, entry in enumerate(entries):
        longer = f"{text}{separator if text else ''}{entry}"
        if len(longer) > room - MORE_CHARS:
            return f"{text} +{total - index} more"
        text = longer
    return text or "none"


def _unknown(slot: str, text: str, names: Sequence[str]) -> ValidationError:
    problem = f"{slot}: there is no {slot} {text[:40]!r}. Known: "
    return ValidationError(problem + listed(names, MAX_ERROR - len(problem)))


MIN_LIKENESS: Final = 0.75
MIN_LENGTH: Final = 5
"""Shorter names are not compared letter by letter."""


class NamedPlace(NamedTuple):
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

    A kind of room counts in any language if there is one of it: "Küche" is the room called Kitchen, and a
    Guest Bathroom is a guess for "Bad". Returns None for what is neither a name nor near to exactly one.
    """
    groups: list[Sequence[Area | Floor]] = [[*house.areas.values()], [*house.floors.values()]]
    if slot == "floor":
        groups.reverse()
    key = squash(without_article(text))
    for group in groups:
        named = [
            place
            for place in group
            if key
            and key in {squash(place_id(place)), *(squash(without_article(name)) for name in place.names)}
        ]
        if named:
            return _place(text, named, repaired=False)
    owned, rest = owned_in(house, text)
    if len(owned) == 1 and all(word.folded in stop_words() or len(word.folded) == 1 for word in rest):
        return _place(text, list(owned.values()), repaired=False)
    exact = kinds_of_room(text)
    kinds = exact or inflected_kinds_of_room(text)
    of_kind = (
        (same, not exact or kinds_of is _kinds_inside)
        for kinds_of in (kinds_of_room, _kinds_inside)
        for group in groups
        if kinds and (same := [each for each in group if any(kinds & kinds_of(name) for name in each.names)])
    )
    same, repaired = next(of_kind, ([], False))
    if len(same) == 1:  # of several none is meant, but one may have nearly this name
        return _place(same[0].name, same, repaired=repaired)
    for group in groups:
        ranked = _by_likeness(text, group)
        best, second = [*(score for score, _near in ranked[:2]), 0.0, 0.0][:2]
        if best >= MIN_LIKENESS and best - second >= MARGIN:
            return _place(text, [ranked[0][1]], repaired=True)
    return None


def _kinds_inside(name: str) -> frozenset[str]:
    """Return the kinds of rooms that the last words of a name mean."""
    name_words = fold(name).split()
    return frozenset().union(*(kinds_of_room(" ".join(name_words[at:])) for at in range(1, len(name_words))))


def _by_likeness(text: str, places: Iterable[Area | Floor]) -> list[tuple[float, Area | Floor]]:
    """Return places by how like their names are to a text, the likest first."""
    asked = content_words(text)
    scored = [(max(_likeness(asked, name) for name in place.names), place) for place in places]
    return sorted(scored, key=lambda pair: -pair[0])


def _likeness(asked: Sequence[str], name: str) -> float:
    parts = content_words(name)
    own, other = "".join(asked), "".join(parts)
    has_digits = any(char.isdigit() for char in own + other)
    if len(own) >= MIN_LENGTH and own[:1] == other[:1] and not has_digits:
        limit = 1 + len(own) // 8
        if distance(own, other, limit) <= limit:
            return 0.95
    return phrase_similarity(asked, parts)


def unknown_place(house: HouseSnapshot, text: str, slot: str) -> ValidationError:
    """Return the error for a room or floor that is not there, with the nearest that are."""
    places: Collection[Area | Floor] = (house.areas if slot == "area" else house.floors).values()
    return _unknown(slot, text, [place.name for _score, place in _by_likeness(text, places)])


def _label(house: HouseSnapshot, text: str, *, exact: bool = False) -> NamedPlace | None:
    """Return the label that a text names, as a place; None if there is none."""
    label = find_label(house, text)
    if label is None or (exact and label.repaired):
        return None
    return NamedPlace(label.name, labels=frozenset((label.name,)), repaired=label.repaired)


def places_in_sentence(house: HouseSnapshot, sentence: str, language: str = "") -> list[NamedPlace]:
    """Return the rooms, else the floors, that a sentence names, also by the words of a language for them."""
    languages, topic = name_languages(house, sentence, language), read_topic(sentence, language)
    places = [*NamesInSentence(house, topic, languages, places_only=True).places.values()]
    areas = [place for place in places if isinstance(place, Area)]
    if places:
        return [_place(place.name, [place], repaired=False) for place in areas or places]
    said = without_idioms(sentence)
    rooms = [word for word in room_words(language) if f" {word} " in said]
    longest = [word for word in rooms if not any(word != other and word in other for other in rooms)]
    named = filter(None, (find_place(house, word, "area") for word in longest))
    return [*{place.name: place for place in named}.values()]


def _place(text: str, places: Sequence[Area | Floor], *, repaired: bool) -> NamedPlace:
    return NamedPlace(
        text if repaired else places[0].name,
        frozenset(place.area_id for place in places if isinstance(place, Area)),
        frozenset(place.floor_id for place in places if isinstance(place, Floor)),
        repaired,
    )


ANY_DOMAIN: Final = frozenset(("homeassistant", "all", "entity", "entities", "device", "devices", "home"))
OPENING_CLASSES: Final = words_of("awning blind curtain damper door garage gate shade shutter window")
OPENING_DOMAINS: Final = words_of("cover binary_sensor")
"""Classes of what opens and closes, and the domains that have them: a light called so is another thing."""


class EntityKinds(NamedTuple):
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


def read_kinds(house: HouseSnapshot, target: Target) -> EntityKinds:
    """Return the kind of thing a target asks for.

    A domain among the device classes counts as a domain, and the other way round. A device class says nothing
    if no entity of those domains has one, and is dropped. Raises ValidationError for an unknown kind.
    """
    names = name_index(house)
    domains: set[str] = set()
    moved: set[str] = set()
    classes: set[str] = set()
    name, repaired, is_named = None, False, bool(target.name or target.entity_id)
    slots = [("domain", text) for text in target.domain]
    for slot, text in slots + [("device_class", text) for text in target.device_class]:
        word, is_class = fold(text).replace(" ", "_"), slot == "device_class"
        head = fold(text.partition(".")[0])
        forms = [form.replace(" ", "_") for form in (head, head.removesuffix("es"), head.removesuffix("s"))]
        domain = next((form for form in forms if form in DOMAINS), None) or domain_words().get(head)
        of_domains = [names.classes.get(domain, set()) for domain in domains if is_class]
        in_use: set[str] = set().union(*(of_domains or names.classes.values()))
        if word in in_use and (word not in DOMAINS or of_domains):
            classes.add(word)
            # An entrance is not reached through the wrong slot.
            is_guarded = any(word in facts.guarded_classes for facts in DOMAINS.values())
            repaired |= is_guarded and not is_class
        elif domain is not None:
            (moved if is_class else domains).add(domain)
            if text.casefold() in house.entities and not is_class and not is_named:
                name = text
        elif fold(text) in ANY_DOMAIN and not is_class:
            continue
        elif translated := frozenset[str]().union(*(_class_names().get(form, ()) for form in forms)) & in_use:
            classes |= translated
            repaired = True
        elif any(squash(text) in table for table in (names.exact, names.qualified, names.object_ids)):
            name, repaired = name or text, True
        elif word in OPENING_CLASSES and domains and not domains & OPENING_DOMAINS:
            raise ValidationError(f"{slot}: a {' or '.join(sorted(domains))} is no {word}. Which is meant?")
        elif is_named or not in_use:
            repaired = True
        else:
            raise _unknown(slot, text, sorted(in_use if is_class else {*names.domains, *in_use}))
    repaired |= bool(domains and moved - domains)
    return EntityKinds(frozenset(domains or moved), frozenset(classes), repaired, name)


@cache
def _class_names() -> Mapping[str, frozenset[str]]:
    """Return what device classes are called in any language: the first word for each, and its other forms."""
    names: dict[str, frozenset[str]] = {}
    for language in languages():
        for kind, spoken in vocabulary(language).classes.items():
            device_class = kind.partition(".")[2]
            first, *others = map(fold, spoken.split())
            for word in (first, *(word for word in others if word_similarity(word, first))):
                if device_class:
                    names[word] = names.get(word, frozenset()) | {device_class}
    return names


MAX_LIKELY: Final = 100
"""Entities whose names have a word of the sentence, in the order of candidates."""
MIN_PARTS: Final = 2
MAX_PARTS: Final = 20
MAX_NAME_WORDS: Final = 6
MAX_NEAR: Final = 5
"""Entities that a question is answered with for a name that fits none."""
LANGUAGE: Final = "language of the rooms"
MAX_ROOMS: Final = 20
"""Rooms of which the names are looked at for that."""
NO_TARGET: Final = "Name a target: entity_id, name, or area with domain"
_SEPARATORS: Final = str.maketrans(dict.fromkeys(',;/|()[]"\n', "\n"))


def resolve(
    house: HouseSnapshot,
    target: Target,
    *,
    speaker: Speaker,
    sentence: str,
    allowed_domains: Collection[str] | None = None,
    exists: Callable[[str], bool] | None = None,
    many: bool = False,
) -> list[EntityRecord]:
    """Return the entities that are meant, sorted by id, at least one.

    `allowed_domains` are those that the action fits; `exists` tells whether an unexposed entity id
    exists, which is never treated as misspelt. With `many`, all that may be meant are returned where
    a command would have to ask: a question harms nothing. Raises ValidationError with the nearest candidates.
    """
    search = _Search(
        house, target, speaker, sentence, allowed_domains, exists or house.entities.__contains__, many
    )
    return sorted(search.run(), key=lambda record: record.entity_id)


def name_languages(house: HouseSnapshot, sentence: str, spoken: str) -> tuple[str, ...]:
    """Return the languages in which names are read.

    These are that of the assistant, English, that of the sentence, and that of the names of most rooms.
    """

    def of_rooms(house: HouseSnapshot) -> str:
        rooms = [*house.areas.values()][:MAX_ROOMS]
        known = [(language, vocabulary(language).places) for language in languages()]
        counts = Counter(language for room in rooms for language, places in known if places.find(room.name))
        return max(counts, key=lambda language: (counts[language], language == DEFAULT), default=DEFAULT)

    own, said = known_language(spoken).partition("-")[0], language_of(sentence, spoken) or DEFAULT
    return tuple(dict.fromkeys((own, DEFAULT, said, house.derived(LANGUAGE, of_rooms))))


@dataclass(slots=True)
class _Search:
    """One resolution. `places`, `kinds` and `repaired` tell what is known of the target so far."""

    house: HouseSnapshot
    target: Target
    speaker: Speaker
    sentence: str
    allowed: Collection[str] | None
    exists: Callable[[str], bool]
    many: bool
    places: list[NamedPlace] = field(default_factory=list)
    names: NameIndex = field(init=False)
    kinds: EntityKinds = field(init=False)
    name: str | None = field(init=False)
    all: bool = field(init=False)
    repaired: bool = field(init=False)
    """Whether something was guessed on the way."""

    def __post_init__(self) -> None:
        target = self.target
        self.names = name_index(self.house)
        self.kinds = read_kinds(self.house, target)
        self.name = target.name or (None if target.entity_id else self.kinds.name)
        self.repaired = self.kinds.repaired
        # Somebody who goes to bed or leaves means the lights of the whole home.
        spoken, name_words = fold(self.sentence), fold(self.name or "").split()
        kinds = self.kinds.domains or {domain_words()[word] for word in name_words if word in domain_words()}
        goes_dark = {*kinds} == {"light"} and says_goodbye(spoken)
        self.all = self.many or goes_dark or asks_for_all(spoken, self.speaker.language)
        elsewhere = target.entity_id or target.name or target.area
        for slot in ("label", "area", "floor"):  # each in the slot of another one too
            if not (text := getattr(target, slot)):
                continue
            label = _label(self.house, text, exact=slot != "label")
            place = find_place(self.house, text, "area" if slot == "label" else slot)
            if place is None or place.repaired:
                place = label if slot == "label" else label or place
            elif label is not None and slot == "label" and not label.repaired:
                place = label
            if place is not None:
                self.repaired |= place.repaired
                self.places.append(place)
            elif slot == "label":
                raise _unknown(slot, text, list(labels_in(self.house)))
            elif means_home(text):
                continue
            elif slot == "floor" and not self.house.floors and elsewhere:
                self.repaired = True
            else:
                is_name = squash(without_article(text)) in self.names.exact
                if not is_name or (target.name and squash(target.name) not in squash(text)):
                    raise unknown_place(self.house, text, slot)
                self.name, self.repaired = text, True

    @property
    def _languages(self) -> tuple[str, ...]:
        return name_languages(self.house, self.sentence, self.speaker.language)

    def run(self) -> list[EntityRecord]:
        """Return the entities that are meant, unless a protected one was guessed. Raises ValidationError."""
        if self.target.is_empty and not self.many:
            found = self._in_sentence()
        elif self.target.entity_id:
            hits: dict[str, EntityRecord] = {}
            problems = []
            for text in self.target.entity_id:
                try:
                    hits |= {record.entity_id: record for record in self._by_id(text)}
                except ValidationError as err:
                    problems.append(err)
            if problems and not (self.many and hits):  # a question with several may have unknown ones
                raise problems[0]
            found = [*hits.values()]
        elif self.name:
            found = self._by_name(self.name)
        else:
            found = self._by_kind()
        risky = [record for record in found if protected(record)]
        if self.repaired and risky and not self.many:
            problem = "Too uncertain for a lock, cover, valve or alarm. Give its entity_id"
            raise choose(self.house, risky, problem)
        return found

    def _is_here(self, record: EntityRecord) -> bool:
        return all(place.holds(record) for place in self.places)

    def _is_allowed(self, record: EntityRecord) -> bool:
        return self.allowed is None or record.domain in self.allowed

    def _records(self, entity_ids: Iterable[str]) -> list[EntityRecord]:
        return [self.house.entities[entity_id] for entity_id in dict.fromkeys(entity_ids)]

    def _only_allowed(self) -> frozenset[str]:
        """Return the domain that the action fits if it is the only one in this home."""
        there = frozenset(self.allowed or ()).intersection(self.names.domains)
        return there if len(there) == 1 else frozenset()

    def _several(self, records: Sequence[EntityRecord], problem: str) -> list[EntityRecord]:
        """Return entities of which a command has to know which are meant. Raises ValidationError."""
        if self.many:
            return list(records)
        raise choose(self.house, records, problem)

    def _missing(
        self, text: str, problem: str, fits: Callable[[EntityRecord], bool] = lambda _record: True
    ) -> ValidationError:
        """Return the error for something that is not there, with what comes nearest."""
        near = [entity_id for entity_id, _score in self.names.near(text)]
        near += self.names.likely(text, 3 * MAX_LISTED)
        nearest = [record for record in self._records(near) if self._is_here(record) and fits(record)]
        if not nearest and self.places:
            nearest = [each for each in self.house.entities.values() if self._is_here(each) and fits(each)]
        nearest = nearest or self._records(near)
        if not nearest:
            return ValidationError(f"{problem}. Search with another name, or ask"[:MAX_ERROR])
        return choose(self.house, nearest[:MAX_LISTED], f"{problem}. Nearest")

    def _candidates(self) -> list[EntityRecord]:
        """Return the entities of the kinds and places given, settings and diagnostics aside."""
        pool: Iterable[EntityRecord] = self.house.entities.values()
        if self.places and len(self.places[0].area_ids) == 1 and not self.places[0].floor_ids:
            pool = self.house.in_area(next(iter(self.places[0].area_ids)))
        elif self.kinds.domains:
            ids = (self.names.by_domain.get(domain, ()) for domain in self.kinds.domains)
            pool = self._records(sorted(entity_id for each in ids for entity_id in each))
        here = [record for record in pool if self._is_here(record) and self.kinds.fits(record)]
        if not self.kinds.domains:
            here = [record for record in here if self._is_allowed(record)]
        if self.many and self.kinds.classes:
            return here
        return [record for record in here if record.category is None] or here

    def _by_kind(self) -> list[EntityRecord]:
        found = self._candidates()
        if self.many and self.kinds.classes and not self.kinds.domains:
            # Thermostats and the like measure, too: in rooms without such a sensor.
            rooms = {record.area_id for record in found}
            found += [
                record
                for record in self.house.entities.values()
                if record.area_id not in rooms
                and not self.kinds.classes.isdisjoint(DOMAINS[record.domain].measures)
                and self._is_here(record)
            ]
        if not found:
            kind = " or ".join(sorted(self.kinds.classes or self.kinds.domains)) or "such entity"
            where = " in " + " and ".join(place.name[:40] for place in self.places) if self.places else ""
            there = [record for record in self.house.entities.values() if self._is_here(record)]
            if self.places and there:
                raise choose(self.house, there, f"There is no {kind}{where}. There")
            domains = ", ".join(sorted(self.names.domains))
            raise ValidationError(f"There is no {kind}{where}. Known domains: {domains}"[:MAX_ERROR])
        if self.many and not self.name:
            return found
        if not self.kinds.domains and len({record.domain for record in found}) > 1:
            spoken = {domain_words()[word] for word in fold(self.sentence).split() if word in domain_words()}
            of_kind = [record for record in found if len(spoken) == 1 and record.domain in spoken]
            if not of_kind and not self.all and not any(place.labels for place in self.places):
                kinds = ", ".join(sorted({record.domain for record in found}))
                raise ValidationError(f"domain: which kind of thing? There are {kinds}"[:MAX_ERROR])
            self.repaired |= bool(of_kind)
            found = of_kind or [each for each in found if DOMAINS[each.domain].is_switched_with_everything]
            if not found:
                raise ValidationError("domain: name the kind of thing")
        if not self.places:
            found = self._near(found)
        # "the door" means one of it, "the blinds" do not
        single = []
        for record in found:
            guarded = DOMAINS[record.domain].guarded_classes
            if protected(record) and (not guarded or record.device_class in guarded):
                single.append(record)
        if len(single) > 1 and not self.all:
            raise choose(self.house, self._likely_first(single), "Which one? Give the entity_id")
        return found

    def _near(self, found: list[EntityRecord]) -> list[EntityRecord]:
        """Return the entities in the rooms of the sentence, else in the room of the speaker."""
        if places := places_in_sentence(self.house, self.sentence, self.speaker.language):
            there = [record for record in found if any(place.holds(record) for place in places)]
            names = ", ".join(place.name[:40] for place in places)
            return there or self._several(found, f"None of these is in {names}")
        if self.all or len(found) == 1:
            return found
        here = [record for record in found if record.area_id and record.area_id == self.speaker.area_id]
        return here or self._several(self._likely_first(found), "Which ones? Give area or entity_id")

    def _likely_first(self, records: Iterable[EntityRecord]) -> list[EntityRecord]:
        """Return entities in the order in which the person may mean them: by words, then by place."""
        ranks = {
            entity_id: rank for rank, entity_id in enumerate(self.names.likely(self.sentence, MAX_LIKELY))
        }
        speaker = self.speaker

        def order(record: EntityRecord) -> tuple[bool, bool, bool, int, str]:
            is_here = record.area_id is not None and record.area_id == speaker.area_id
            is_near = record.floor_id is not None and record.floor_id == speaker.floor_id
            rank = ranks.get(record.entity_id, MAX_LIKELY)
            return rank == MAX_LIKELY, not is_here, not is_near, rank, record.entity_id

        return sorted(records, key=order)

    def _in_sentence(self) -> list[EntityRecord]:
        """Return the one entity that the sentence names, for an action that was given no target."""
        words = fold(self.sentence).split()
        named: dict[str, None] = {}
        for length in range(MAX_NAME_WORDS, 0, -1):
            for start in range(len(words) - length + 1):
                key = "".join(words[start : start + length])
                named |= dict.fromkeys(self.names.exact.get(key, ()))
            if named:
                break
        found = [record for record in self._records(named) if self._is_allowed(record)]
        if not named and (domains := self._only_allowed()):
            self.kinds = EntityKinds(domains)
            found = self._candidates()
        if self.allowed is None or not found:
            raise ValidationError(NO_TARGET)
        if len(found) > 1:
            raise choose(self.house, self._likely_first(found), "Name a target by its entity_id")
        self.repaired = True
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
        # An almost right id: "light.living_room" means lights of the room, not the thermostat of this id.
        before = self.kinds
        self.kinds = EntityKinds(frozenset((domain,)), before.classes)
        if not (found := self._named(rest.replace("_", " "))):
            problem = f"entity_id: there is no {text[:60]!r}"
            raise self._missing(rest, problem, lambda record: record.domain == domain)
        self.kinds = before
        return found

    def _by_pattern(self, pattern: str) -> list[EntityRecord]:
        """Return the entities that a wildcard matches; those that are not exposed are not there."""
        domain, dot, rest = pattern.partition(".")
        if not dot:
            domain, rest = "*", pattern
        rest = rest.strip().replace(" ", "_")
        if not rest.strip("*"):
            of_pattern = frozenset(key for key in self.names.domains if fnmatchcase(key, domain))
            self.kinds = EntityKinds(self.kinds.domains if domain == "*" else of_pattern, self.kinds.classes)
            return self._by_kind()
        self.repaired |= domain == "*"
        found = [
            record
            for record in self.house.entities.values()
            if fnmatchcase(record.domain, domain)
            and any(
                fnmatchcase(name, rest) for name in (record.object_id, fold(record.name).replace(" ", "_"))
            )
            and self._is_here(record)
            and self.kinds.fits(record)
            and (domain != "*" or self._is_allowed(record))
        ]
        if not found:
            raise self._missing(rest.replace("*", " "), f"entity_id: nothing matches {pattern[:60]!r}")
        return [record for record in found if record.category is None] or found

    def _placed(self, record: EntityRecord, text: str) -> EntityRecord:
        """Return the entity, unless it is elsewhere than the place that was given."""
        is_here = self._is_here(record)
        if not is_here and record.area_id is not None:
            self._several([record], f"{text[:60]!r} is not in {self.places[0].name[:40]!r}. It")
        self.repaired |= not is_here or not self.kinds.fits(record)
        return record

    def _by_name(self, name: str) -> list[EntityRecord]:
        """Return the entities of a name. Raises ValidationError with those that come near."""
        if "*" in name:
            return self._by_pattern(name.casefold())
        if name.partition(".")[0].strip().casefold() in DOMAINS and "." in name and "," not in name:
            return self._by_id(name)
        if found := self._named(name):
            return found
        problem = f"name: nothing is called {name[:60]!r}"
        elsewhere = self._records(self.names.exact.get(squash(name), ()))
        if not elsewhere:
            raise self._missing(name, problem)
        raise choose(self.house, elsewhere, f"{problem} in {self.places[0].name[:40]!r}. Elsewhere")

    def _named(self, name: str) -> list[EntityRecord]:
        """Return the entities of a name by the first of the steps that finds any, the surest step first."""
        return (
            self._by_spelling(name)
            or self._by_parts(name)
            or self._by_label(name)
            or self._by_meaning(name)
            or self._by_spelling(name, strict=False)
            or self._by_nearness(name)
        )

    def _by_spelling(self, name: str, *, strict: bool = True) -> list[EntityRecord]:
        """Return the entity of exactly this name; if not strict, whatever its kind."""
        keys = dict.fromkeys((squash(name), squash(without_article(name))))
        names = self.names
        tables = [(names.exact, False), (names.qualified, False), (names.object_ids, True)]
        if strict:
            tables += [(names.short, not self.places), (names.devices, True)]
        for by_name, is_guess in tables:
            found = self._records(entity_id for key in keys for entity_id in by_name.get(key, ()))
            here = [record for record in found if self._is_here(record)]
            homeless = [] if here else [record for record in found if record.area_id is None]
            fitting = [record for record in here or homeless if not strict or self.kinds.fits(record)]
            if any(
                not strict or self._is_allowed(record) or (protected(record) and not is_guess)
                for record in fitting
            ):
                self.repaired |= not strict or is_guess or bool(homeless)
                return self._of_one_name(fitting, name)
        return []

    def _of_one_name(self, records: list[EntityRecord], name: str) -> list[EntityRecord]:
        """Return the entities of one name that the action fits: one, or all if all were asked for."""
        fitting = [record for record in records if self._is_allowed(record)]
        others = [record for record in records if protected(record) and record not in fitting]
        if fitting and others and not self.kinds.domains:
            raise choose(
                self.house, [*others, *fitting], f"Several are called {name[:40]!r}. Give the entity_id"
            )
        records = fitting or records
        if self.all and len({record.domain for record in records}) == 1:
            return records
        # Of several the one that is no setting, or is where the speaker is.
        area_id, floor_id = self.speaker.area_id, self.speaker.floor_id
        for kept in (
            [record for record in records if record.category is None],
            [record for record in records if record.area_id is not None and record.area_id == area_id],
            [record for record in records if record.floor_id is not None and record.floor_id == floor_id],
        ):
            records = [record for record in records if record in kept] or records
        if len(records) == 1:
            return records
        return self._several(records, f"Several are called {name[:40]!r}. Ask which, or give the entity_id")

    def _by_parts(self, name: str) -> list[EntityRecord]:
        """Return the entities of a list of names, of which some may be the places of the others."""
        parts = [part.strip() for part in name.translate(_SEPARATORS).split("\n") if part.strip()]
        if not MIN_PARTS <= len(parts) <= MAX_PARTS:
            return []
        known = ((part, find_place(self.house, part, "area")) for part in parts)
        places = {part: place for part, place in known if place is not None and not place.repaired}
        if len(places) == len(parts):
            places = {}
        found: dict[str, EntityRecord] = {}
        for part in parts:
            if part not in places:
                record = self.house.entities.get(part.casefold())
                hits = self._by_spelling(part) if record is None else [self._placed(record, part)]
                if not hits:
                    return []
                found |= {hit.entity_id: hit for hit in hits}
        if any(not place.holds(record) for place in places.values() for record in found.values()):
            raise choose(self.house, found.values(), f"{name[:60]!r} names a place where this is not")
        return list(found.values())

    def _by_label(self, name: str) -> list[EntityRecord]:
        """Return the entities of a label in place of a name: "Party", "party lights", "label Party"."""
        if (whole := _label(self.house, name, exact=True)) is not None:
            return self._among(whole, self.kinds.domains)
        if (label := label_and_rest(self.house, name)) is None:
            return []
        kinds = frozenset(domain_words()[word] for word in label[1] if word in domain_words())
        wanted = all_words(self.speaker.language)
        others = [word for word in label[1] if word not in domain_words() and word not in wanted]
        if len(kinds) > 1 or any(word in self.names.by_word for word in others):
            return []
        place = NamedPlace(label[0], labels=frozenset((label[0],)))
        return self._among(place, self.kinds.domains or kinds)

    def _among(self, place: NamedPlace | None, domains: frozenset[str]) -> list[EntityRecord]:
        """Return the entities of some domains in a further place; if there are none, nothing is narrowed."""
        before = self.places, self.kinds
        self.places = [*self.places, *([place] if place else [])]
        self.kinds = EntityKinds(domains, self.kinds.classes)
        if self._candidates():
            return self._by_kind()
        self.places, self.kinds = before
        return []

    def _by_meaning(self, name: str) -> list[EntityRecord]:
        """Return what a name means in the words of a language for rooms and things: "kitchen lights".

        A home whose devices have English names is spoken to in German, and models pass on the word that was
        said: "Badheizung" is the thermostat of the Bathroom.
        Where the words fit several entities, a kind of thing in a room means all of them there.
        """
        if all_words(self.speaker.language).issuperset(fold(name).split()):
            if not self.all:
                raise ValidationError(
                    f"name: {name[:40]!r}, but the person did not say all. Name the entity or the area"
                )
            return self._by_kind()
        own = language_of(self.sentence, self.speaker.language) or DEFAULT
        meant = (self._meant(name, language) for language in dict.fromkeys((own, *self._languages)))
        records, is_kind, is_placed = next((each for each in meant if each[0]), ([], False, False))
        found = [record for record in records if self._is_allowed(record)]
        self.repaired |= bool(found)
        if len(found) == 1 or (found and is_kind and is_placed):
            return found
        if found and is_kind:
            self.kinds = EntityKinds(frozenset(record.domain for record in found), self.kinds.classes)
            return self._by_kind()
        if found or any(protected(record) for record in records):
            problem = f"name: {name[:40]!r} may be {'several' if found else 'something else'}"
            return self._several(found or records, f"{problem}. Ask which, or give the entity_id")
        return []

    def _meant(self, name: str, language: str) -> tuple[list[EntityRecord], bool, bool]:
        """Return what a name means in a language, whether it is only of a kind, and whether in a room.

        Each word has to tell something: the name, the kind or the room of an entity.
        """
        reader = topic_reader(language)
        topic = reader.read(name)
        finder = NamesInSentence(self.house, topic, self._languages)
        kinds = {**topic.kinds, **finder.compounds}
        told = frozenset(range(len(topic.words))) - topic.weak - finder.place_words
        here = [record for record in self.house.entities.values() if self._is_here(record)]
        here = [record for record in here if record.category is None and self.kinds.fits(record)]

        def is_there(record: EntityRecord) -> bool:
            return not {record.area_id, record.floor_id}.isdisjoint(finder.places)

        def is_of(record: EntityRecord, index: int) -> bool:
            return any(fits(record, key, reader.kinds) for key in kinds.get(index, ()))

        def is_in_name(record: EntityRecord, index: int) -> bool:
            """Return whether a word is of a name of an entity, in whatever form."""
            own, word = finder.words(record), topic.words[index].folded
            return not own.isdisjoint(finder.meant[index]) or any(
                word_similarity(word, other) >= SURE for other in own
            )

        asked = self.kinds.domains or {key for keys in kinds.values() for key in keys}
        if asked and LISTED.issuperset(asked) and (purposes := purposes_in(name)):
            lists = [record for record in here if purposes & purposes_in(*record.names)]
            if lists:
                return lists, False, False
        named = [
            entity
            for entity in finder.entities()
            if entity.record in here
            and all(
                index in entity.at or is_of(entity.record, index) or is_in_name(entity.record, index)
                for index in told
            )
        ]
        if named:
            return [entity.record for entity in named if entity.score == named[0].score], False, False
        # "Stehlampe" is the lamp that is called a floor lamp, in whatever language.
        known = [vocabulary(each).things for each in self._languages]
        said = " ".join(topic.words[index].plain for index in sorted(told))
        meant = {kind for each in known for kind, length in each.find(said).items() if length == len(told)}
        things = [
            record
            for record in here
            if meant
            and any(not meant.isdisjoint(each.find(name)) for each in known for name in record.names)
            and (not finder.places or is_there(record))
        ]
        if things:
            return things, False, False
        if topic.text and not finder.places and fold(name) not in domain_words():
            return [], False, False  # without spaces between words nothing tells what is left over
        for index in told - kinds.keys():
            if (domain := domain_words().get(topic.words[index].folded)) is not None:
                kinds[index] = frozenset((domain,))
        rest = " ".join(topic.words[index].plain for index in sorted(told - kinds.keys()))
        place = find_place(self.house, rest, "area") if rest else None
        domains = () if kinds else self.kinds.domains or self._only_allowed()
        if (rest and place is None) or not (kinds or domains):
            return [], False, False
        records = [
            record
            for record in here
            if (record.domain in domains or (kinds and all(is_of(record, index) for index in kinds)))
            and (place is None or place.holds(record))
            and (not finder.places or is_there(record))
        ]
        return records, True, bool(finder.places or place)

    def _by_nearness(self, name: str) -> list[EntityRecord]:
        narrowed = self.places or self.kinds.domains
        pool = {record.entity_id for record in self._candidates()} if narrowed else None
        near = self.names.near(name, pool)
        if not near:
            return []
        self.repaired = True
        tied = self._records(key for key, score in near if near[0][1] - score < MARGIN)
        if not any(protected(record) for record in tied):
            tied = [record for record in tied if self._is_allowed(record)] or tied
        if len({squash(record.name) for record in tied}) == 1:
            return self._of_one_name(tied, name)
        problem = f"name: {name[:40]!r} may be several. Ask which, or give the entity_id"
        return self._several(tied, problem)[:MAX_NEAR]


LISTED: Final = frozenset(("todo", "calendar"))
"""Domains of which the names say what an entity is for."""


def purposes_in(*names: str) -> frozenset[str]:
    """Return what lists or calendars are for, by the words of any language in their names."""
    text = "".join(f" {' '.join(words(name))}" for name in names)
    return frozenset(purpose for phrase, purpose in _purposes().items() if f" {phrase}" in text)


@cache
def _purposes() -> Mapping[str, str]:
    return {
        " ".join(words(entry)): purpose
        for language in languages()
        for purpose, entries in (table(language, "names.lists") or {}).items()
        for entry in entries
    }


NAMED, KIND, PLACE = 3, 2, 1


class Mentioned(NamedTuple):
    """The entities, kinds and places that a sentence names."""

    entity_ids: frozenset[str]
    kinds: frozenset[str]
    known_kinds: frozenset[str]
    places: frozenset[str]
    """Ids of rooms and floors."""
    everything: bool

    def __bool__(self) -> bool:
        """Return whether it names anything."""
        return bool(self.entity_ids or self.kinds or self.places or self.everything)

    def fit(self, record: EntityRecord) -> int:
        """Return how surely an entity is meant; 0 if it is not."""
        if record.entity_id in self.entity_ids:
            return NAMED
        here = not self.places or not self.places.isdisjoint((record.area_id, record.floor_id))
        if self.kinds:
            return KIND if here and any(fits(record, key, self.known_kinds) for key in self.kinds) else 0
        return PLACE if here and not self.entity_ids and (self.places or self.everything) else 0


def mention(hass: HomeAssistant, house: HouseSnapshot, sentence: str, language: str) -> Mentioned:
    """Return what a sentence names, without a call that tells what is meant."""
    topic = read_topic(sentence, language)
    own = known_language(hass.config.language).partition("-")[0]
    finder = NamesInSentence(house, topic, tuple(dict.fromkeys((own, DEFAULT, topic.language))))
    kinds = (*topic.kinds.values(), *finder.compounds.values(), *topic.implied.values())
    return Mentioned(
        frozenset(named.record.entity_id for named in finder.entities()),
        frozenset(key for keys in kinds for key in keys),
        topic_reader(topic.language).kinds,
        frozenset(finder.places),
        topic.everything,
    )
