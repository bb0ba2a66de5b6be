"""Entities by the words of people's own languages for them: "Badheizung" is the thermostat of the Bathroom.

A home whose devices have English names is spoken to in German, and models pass on the word that was said. A
name is taken apart into words for kinds of things, rooms and objects of any language, and into words of the
home's own names. An entity is meant if it accounts for all of them; nothing is guessed from a part of a name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.names import COMMON_STEM, SURE, common_prefix, owned_in, word_similarity
from ...knowledge.spoken_words import inflected_kinds_of_room, kinds_of_room, stop_words
from ...languages import DEFAULT, find, languages, table, words as entries_of
from ...texts import fold, words

TRAITS: Final = "traits of entities"
THING: Final = "thing "
ROOM: Final = "room "
LIST: Final = "list "
"""Prefixes of meanings that are no kind of entity."""
TABLES: Final = {
    "names.domains": "",
    "topics.kinds": "",
    "concepts.things": THING,
    "concepts.places": ROOM,
    "names.lists": LIST,
}
MAX_PHRASE: Final = 5
FEW: Final = 50
"""Entities of which only the names are read, not all of the home."""
MAX_WORDS: Final = 12
MIN_PART: Final = 3
MIN_COMPOUND: Final = 6
MIN_INFLECTED: Final = 5
MIN_STEM: Final = 4
MAX_ENDING: Final = 2
JOINING: Final = ("", "s", "e", "n", "en", "es", "er")
"""Letters between the parts of a compound word."""
MIN_FOREIGN: Final = 4
"""Letters of a word that may be of a language that the person does not speak."""
OWN, CLASS, DOMAIN, NEARLY = 4, 3, 2, 1
"""How well a word tells an entity: by its name, its class or room, its domain, or a kind in its name."""


@dataclass(frozen=True, slots=True)
class NamePart:
    """A part of a spoken name."""

    words: tuple[str, ...]
    meanings: frozenset[str] = frozenset()
    """Kinds of entities (`light`, `cover.curtain`), and things, rooms and lists by their prefix."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What the names, the room and the kind of an entity say about it."""

    words: frozenset[str]
    kinds: frozenset[str]
    """Its domain and its class."""
    meanings: frozenset[str]
    """What the words of its name and the names of its room mean."""
    inside: frozenset[str] = frozenset()
    """Rooms that are only a part of one of these names: "Mia's bedroom" is no answer to "bedroom"."""


@dataclass(frozen=True, slots=True)
class KnownTraits:
    """What entities are known by."""

    traits: Mapping[str, Traits]
    words: Mapping[str, AbstractSet[str]]
    """The words of names, each with its entities."""
    meanings: Mapping[str, AbstractSet[str]]

    def reached(self, part: NamePart) -> AbstractSet[str]:
        """Return the entities that a part of a name may mean."""
        found: set[str] = set()
        for meaning in part.meanings:
            found |= self.meanings.get(meaning, set())
        for said in part.words:
            for known, keys in self.words.items():
                if _is_word(said, known, part):
                    found |= keys
        return found


def meant_by(
    house: HouseSnapshot, records: Iterable[EntityRecord], said: str, spoken: Sequence[str]
) -> list[EntityRecord]:
    """Return the entities that account for every word of a name; `spoken` are the languages of the person.

    Of several those that the words tell best: "Lautsprecher" is the speaker, not the television.
    """
    owned, rest = owned_in(house, said, spoken[0] if spoken else "")
    if owned:
        records = [record for record in records if record.area_id in owned]
        said = " ".join(word.plain for word in rest)
    pool = {record.entity_id: record for record in records}
    few = len(pool) <= FEW and not house.has_derived(TRAITS)
    known = _read(house, pool) if few or not pool.keys() <= house.entities.keys() else known_traits(house)
    parts = read_parts(said, spoken, known.words.keys())
    reached = pool.keys() if parts else set()
    for part in parts:
        reached = reached & known.reached(part)
    scored = {key: score for key in reached if (score := _score(parts, known.traits[key]))}
    best = max(scored.values(), default=0)
    return [pool[key] for key in sorted(scored) if scored[key] == best]


def read_parts(said: str, spoken: Sequence[str], own: Collection[str] = ()) -> Sequence[NamePart]:
    """Return the parts of a name; none if there are too many. `own` are words of names."""
    found = words(said)
    if len(found) > MAX_WORDS:
        return ()
    reader = _Reader(tuple(dict.fromkeys(filter(None, map(find, spoken)))), own)
    return tuple(reader.parts(found))


def room_and_kinds(parts: Iterable[NamePart]) -> bool:
    """Return whether a name has kinds of things and rooms only, so that it means all of them there."""
    listed = list(parts)
    return all(
        any(not meaning.startswith((THING, LIST)) for meaning in part.meanings)
        and not any(meaning.startswith((THING, LIST)) for meaning in part.meanings)
        for part in listed
    )


def names_room(parts: Iterable[NamePart]) -> bool:
    """Return whether a part of a name is a room or a floor."""
    return any(meaning.startswith(ROOM) for part in parts for meaning in part.meanings)


class _Reader:
    """Takes one name apart."""

    def __init__(self, spoken: tuple[str, ...], own: Collection[str]) -> None:
        self._spoken, self._own = spoken, own

    def parts(self, found: Sequence[str]) -> Iterator[NamePart]:
        """Yield the parts of a name, the longest phrases first."""
        at = 0
        while at < len(found):
            length, parts = self._longest(found, at)
            yield from parts
            at += length

    def _longest(self, found: Sequence[str], at: int) -> tuple[int, Sequence[NamePart]]:
        """Return how many words the next part takes, and the part; nothing for a word that names nothing."""
        word = found[at]
        for length in range(min(MAX_PHRASE, len(found) - at), 0, -1):
            phrase = tuple(found[at : at + length])
            if meanings := self._meanings(" ".join(phrase)):
                forms = self._inflected(word) if length == 1 else frozenset()
                return length, (NamePart(phrase, meanings | forms),)
        if word in self._own:
            return 1, (NamePart((word,)),)
        if word in _silent():
            return 1, ()
        if meanings := self._inflected(word):
            return 1, (NamePart((word,), meanings),)
        if parts := self._compound(word):
            return 1, parts
        return 1, (NamePart((word,), frozenset(f"{ROOM}{kind}" for kind in inflected_kinds_of_room(word))),)

    def _meanings(self, phrase: str) -> frozenset[str]:
        """Return what a phrase means in the languages of the person, else in any."""
        known = _phrases().get(phrase, {})
        own = [known[each] for each in self._spoken if each in known]
        stems = [_stemmed(phrase, each) for each in self._spoken] if not own and " " not in phrase else []
        foreign = known.values() if len(phrase) >= MIN_FOREIGN else ()
        return frozenset().union(*(own or [*filter(None, stems)] or foreign))

    def _inflected(self, word: str) -> frozenset[str]:
        return _inflected(word, self._spoken)

    def _compound(self, word: str) -> Sequence[NamePart]:
        """Return the parts of a compound word; none if it is not made of known words."""
        if len(word) < MIN_COMPOUND or not word.isalpha():
            return ()
        for cut in range(len(word) - MIN_PART, MIN_PART - 1, -1):
            if (head := self._part(word[:cut])) is None:
                continue
            for tail in _tails(word, cut):
                last = self._part(tail, inflected=True)
                if rest := ((last,) if last else self._compound(tail)):
                    return (head, *rest)
        return ()

    def _part(self, word: str, *, inflected: bool = False) -> NamePart | None:
        """Return a part of a compound; None for a word that is not known."""
        meanings = self._meanings(word) or (self._inflected(word) if inflected else frozenset())
        return NamePart((word,), meanings) if meanings or word in self._own else None


def _tails(word: str, cut: int) -> Iterator[str]:
    """Yield what may be the second part of a compound; one of three equal letters is left out: hallampa."""
    tails = [word[cut + len(joining) :] for joining in JOINING if word.startswith(joining, cut)]
    if word[cut - 1] == word[cut - 2]:
        tails.append(word[cut - 1 :])
    yield from (tail for tail in tails if len(tail) >= MIN_PART)


def _score(parts: Sequence[NamePart], traits: Traits) -> int:
    scores = [_worth(part, traits) for part in parts]
    return sum(scores) if all(scores) else 0


def _worth(part: NamePart, traits: Traits) -> int:
    if part.meanings & {each for each in traits.meanings if each.startswith((THING, LIST))}:
        return OWN
    if all(any(_is_word(said, known, part) for known in traits.words) for said in part.words):
        return OWN
    rooms = {each for each in part.meanings if each.startswith(ROOM)}
    if rooms & traits.meanings or any("." in each for each in part.meanings & traits.kinds):
        return CLASS
    if part.meanings & traits.kinds:
        return DOMAIN
    kinds = {each for each in part.meanings & traits.meanings if " " not in each}
    return NEARLY if kinds or rooms & traits.inside else 0


def _is_word(said: str, known: str, part: NamePart) -> bool:
    """Return whether a word is a word of a name, with the ending of a possessive too: Toms, Anny."""
    if said == known or said.removesuffix("s") == known:
        return True
    if part.meanings or said[0] != known[0] or abs(len(said) - len(known)) > MAX_ENDING:
        return False
    return word_similarity(said, known) >= SURE


def known_traits(house: HouseSnapshot) -> KnownTraits:
    """Return what the entities of a home are known by, read once: about 0.2 ms for each."""
    return house.derived(TRAITS, lambda found: _read(found, found.entities))


def _read(house: HouseSnapshot, pool: Mapping[str, EntityRecord]) -> KnownTraits:
    traits = {key: _traits_of(house, record) for key, record in pool.items()}
    of_words: dict[str, set[str]] = {}
    of_meanings: dict[str, set[str]] = {}
    for key, one in traits.items():
        for word in one.words:
            of_words.setdefault(word, set()).add(key)
        for meaning in (*one.kinds, *one.meanings, *one.inside):
            of_meanings.setdefault(meaning, set()).add(key)
    return KnownTraits(traits, of_words, of_meanings)


def _traits_of(house: HouseSnapshot, record: EntityRecord) -> Traits:
    area = house.areas.get(record.area_id or "")
    floor = house.floors.get(record.floor_id or "")
    names = (*record.names, *((record.device,) if record.device else ()))
    rooms = (*(area.names if area else ()), *(floor.names if floor else ()))
    meanings = {meaning for name in names for part in _parts_of(name) for meaning in part.meanings}
    inside = {meaning for name in rooms for part in _parts_of(name) for meaning in part.meanings}
    whole = {f"{ROOM}{kind}" for name in rooms for kind in kinds_of_room(name)}
    kinds = {record.domain} | ({f"{record.domain}.{record.device_class}"} if record.device_class else set())
    of_names = frozenset(
        word for name in (*names, *rooms) for word in words(name) if word not in stop_words()
    )
    inside = {meaning for meaning in inside | meanings if meaning.startswith(ROOM)} - whole
    return Traits(of_names, frozenset(kinds), frozenset(meanings) - inside | whole, frozenset(inside))


@lru_cache(maxsize=8192)
def _parts_of(name: str) -> tuple[NamePart, ...]:
    """Return the parts of a name of the home, whose language is not known."""
    return tuple(_Reader((DEFAULT,), ()).parts(words(name)))


@cache
def _phrases() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the words for kinds, things, rooms and lists: folded, by language, with their meanings."""
    found: dict[str, dict[str, set[str]]] = {}
    for language in languages():
        for name, prefix in TABLES.items():
            for meaning, said in (table(language, name) or {}).items():
                for entry in said:
                    if not entry.endswith("*"):
                        phrase = " ".join(words(entry))
                        found.setdefault(phrase, {}).setdefault(language, set()).add(prefix + meaning)
    return {
        phrase: {language: frozenset(meanings) for language, meanings in known.items()}
        for phrase, known in found.items()
    }


@cache
def _stems(language: str) -> Sequence[tuple[str, str]]:
    """Return the beginnings of words for kinds that may have any ending, each with its kind."""
    kinds = (table(language, "topics.kinds") or {}).items()
    return [
        (fold(entry.removesuffix("*")), kind)
        for kind, said in kinds
        for entry in said
        if entry.endswith("*") and " " not in entry
    ]


def _stemmed(word: str, language: str) -> frozenset[str]:
    return frozenset(
        kind
        for stem, kind in _stems(language)
        if word.startswith(stem) and len(word) - len(stem) <= MAX_ENDING + 1
    )


@lru_cache(maxsize=4096)
def _inflected(word: str, spoken: tuple[str, ...]) -> frozenset[str]:
    if len(word) < MIN_INFLECTED or not word.isalpha():
        return frozenset()
    return frozenset().union(
        *(
            known[language]
            for phrase, known in _phrases().items()
            if " " not in phrase and _same_stem(word, phrase)
            for language in spoken
            if language in known
        )
    )


def _same_stem(first: str, second: str) -> bool:
    """Return whether two words differ in an ending of at most two letters."""
    longer = max(len(first), len(second))
    common = common_prefix(first, second)
    return common >= max(MIN_STEM, COMMON_STEM * longer) and longer - common <= MAX_ENDING


@cache
def _silent() -> frozenset[str]:
    """Return the words that name nothing, in all languages: articles, prepositions and the like."""
    weak = (entry for language in languages() for entry in entries_of(language, "topics.weak"))
    return stop_words() | frozenset(fold(entry) for entry in weak if " " not in entry)
