"""Entities by the words of people's own languages for them: "Badheizung" is the thermostat of the Bathroom.

A home whose devices have English names is spoken to in German, and models pass on the word that was said. A
name is taken apart into words for kinds of things, rooms and objects of any language, and into words of the
home's own names. An entity is meant if it accounts for all of them; nothing is guessed from a part of a name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.names import COMMON_STEM, SURE, common_prefix, word_similarity
from ...knowledge.owned_rooms import owned_in
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


def meant_by(
    house: HouseSnapshot, records: Iterable[EntityRecord], name: str, spoken: Sequence[str]
) -> list[EntityRecord]:
    """Return the entities that account for every word of a name; `spoken` are the languages of the person.

    Of several those that the words tell best: "Lautsprecher" is the speaker, not the television.
    """
    owned, rest = owned_in(house, name, spoken[0] if spoken else "")
    if owned:
        records = [record for record in records if record.area_id in owned]
        name = " ".join(word.plain for word in rest)
    pool = {record.entity_id: record for record in records}
    if len(pool) <= FEW and not house.has_derived(TRAITS):
        traits: Mapping[str, Traits] = {key: _traits_of(house, record) for key, record in pool.items()}
    else:
        traits = known_traits(house)
    parts = read_parts(name, spoken, frozenset().union(*(each.words for each in traits.values())))
    scores = {key: _score(parts, traits[key]) for key in pool} if parts else {}
    best = max(scores.values(), default=0)
    return [pool[key] for key in sorted(scores) if best and scores[key] == best]


def known_traits(house: HouseSnapshot) -> Mapping[str, Traits]:
    """Return what the entities of a home are known by, read once: about 0.2 ms for each."""
    return house.derived(
        TRAITS,
        lambda snapshot: {key: _traits_of(snapshot, record) for key, record in snapshot.entities.items()},
    )


def means_kinds(parts: Iterable[NamePart]) -> bool:
    """Return whether a name has words for kinds of things and rooms only, so that it means all of them."""
    meanings = [part.meanings for part in parts]
    return all(each and not any(one.startswith((THING, LIST)) for one in each) for each in meanings)


def names_room(parts: Iterable[NamePart]) -> bool:
    """Return whether a part of a name is a room or a floor."""
    return any(meaning.startswith(ROOM) for part in parts for meaning in part.meanings)


def read_parts(name: str, spoken: Sequence[str], own: Collection[str] = ()) -> Sequence[NamePart]:
    """Return the parts of a name, the longest phrases first; none if there are too many words.

    `own` are words of the names of a home.
    """
    name_words = words(name)
    if len(name_words) > MAX_WORDS:
        return ()
    languages_spoken = tuple(dict.fromkeys(filter(None, map(find, spoken))))
    return tuple(_parts(name_words, languages_spoken, own))


def _parts(name_words: Sequence[str], spoken: tuple[str, ...], own: Collection[str]) -> Iterator[NamePart]:
    at = 0
    while at < len(name_words):
        word, length = name_words[at], 1
        for longer in range(min(MAX_PHRASE, len(name_words) - at), 0, -1):
            phrase = tuple(name_words[at : at + longer])
            if meanings := _meanings(" ".join(phrase), spoken):
                length = longer
                yield NamePart(phrase, meanings | (_inflected(word, spoken) if length == 1 else frozenset()))
                break
        else:
            if word in own:
                yield NamePart((word,))
            elif word not in _silent():
                if meanings := _inflected(word, spoken):
                    yield NamePart((word,), meanings)
                elif parts := _compound(word, spoken, own):
                    yield from parts
                else:
                    rooms = frozenset(f"{ROOM}{kind}" for kind in inflected_kinds_of_room(word))
                    yield NamePart((word,), rooms)
        at += length


def _meanings(phrase: str, spoken: tuple[str, ...]) -> frozenset[str]:
    """Return what a phrase means in the languages of the person, else in any."""
    by_language = _phrases().get(phrase, {})
    meanings = [by_language[language] for language in spoken if language in by_language]
    if not meanings and " " not in phrase:
        meanings = [
            frozenset(
                kind
                for stem, kind in _stems(language)
                if phrase.startswith(stem) and len(phrase) - len(stem) <= MAX_ENDING + 1
            )
            for language in spoken
        ]
    foreign = by_language.values() if len(phrase) >= MIN_FOREIGN and not any(meanings) else ()
    return frozenset().union(*meanings, *foreign)


def _compound(word: str, spoken: tuple[str, ...], own: Collection[str]) -> Sequence[NamePart]:
    """Return the parts of a compound word; none if it is not made of known words."""
    if len(word) < MIN_COMPOUND or not word.isalpha():
        return ()
    for cut in range(len(word) - MIN_PART, MIN_PART - 1, -1):
        head = word[:cut]
        if not (meanings := _meanings(head, spoken)) and head not in own:
            continue
        tails = [word[cut + len(joining) :] for joining in JOINING if word.startswith(joining, cut)]
        if word[cut - 1] == word[cut - 2]:  # one of three equal letters is left out: hallampa
            tails.append(word[cut - 1 :])
        for tail in tails:
            if len(tail) < MIN_PART:
                continue
            meanings_of_tail = _meanings(tail, spoken) or _inflected(tail, spoken)
            is_word = bool(meanings_of_tail) or tail in own
            rest = (NamePart((tail,), meanings_of_tail),) if is_word else _compound(tail, spoken, own)
            if rest:
                return (NamePart((head,), meanings), *rest)
    return ()


def _score(parts: Sequence[NamePart], traits: Traits) -> int:
    """Return how well the parts of a name tell an entity; 0 if it does not account for one of them."""
    total = 0
    for part in parts:
        rooms = {meaning for meaning in part.meanings if meaning.startswith(ROOM)}
        shared = part.meanings & traits.meanings
        kinds = part.meanings & traits.kinds
        if any(meaning.startswith((THING, LIST)) for meaning in shared) or all(
            any(_is_word(said, own, part) for own in traits.words) for said in part.words
        ):
            total += OWN
        elif rooms & shared or any("." in kind for kind in kinds):
            total += CLASS
        elif kinds:
            total += DOMAIN
        elif rooms & traits.inside or any(" " not in meaning for meaning in shared):
            total += NEARLY
        else:
            return 0
    return total


def _is_word(said: str, own: str, part: NamePart) -> bool:
    """Return whether a word is a word of a name, with the ending of a possessive too: Toms, Anny."""
    if said == own or said.removesuffix("s") == own:
        return True
    if part.meanings or said[0] != own[0] or abs(len(said) - len(own)) > MAX_ENDING:
        return False
    return word_similarity(said, own) >= SURE


def _traits_of(house: HouseSnapshot, record: EntityRecord) -> Traits:
    area = house.areas.get(record.area_id or "")
    floor = house.floors.get(record.floor_id or "")
    names = (*record.names, *((record.device,) if record.device else ()))
    rooms = (*(area.names if area else ()), *(floor.names if floor else ()))
    meanings = {meaning for name in names for part in _parts_of(name) for meaning in part.meanings}
    inside = {meaning for name in rooms for part in _parts_of(name) for meaning in part.meanings}
    whole = {f"{ROOM}{kind}" for name in rooms for kind in kinds_of_room(name)}
    kinds = {record.domain} | ({f"{record.domain}.{record.device_class}"} if record.device_class else set())
    own_words = {word for name in (*names, *rooms) for word in words(name) if word not in stop_words()}
    inside = {meaning for meaning in inside | meanings if meaning.startswith(ROOM)} - whole
    return Traits(
        frozenset(own_words), frozenset(kinds), frozenset(meanings) - inside | whole, frozenset(inside)
    )


@lru_cache(maxsize=8192)
def _parts_of(name: str) -> tuple[NamePart, ...]:
    """Return the parts of a name of the home, whose language is not known."""
    return tuple(_parts(words(name), (DEFAULT,), ()))


@cache
def _phrases() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the words for kinds, things, rooms and lists: folded, by language, with their meanings."""
    phrases: dict[str, dict[str, frozenset[str]]] = {}
    for language in languages():
        for name, prefix in TABLES.items():
            for meaning, entries in (table(language, name) or {}).items():
                for entry in entries:
                    if not entry.endswith("*"):
                        by_language = phrases.setdefault(" ".join(words(entry)), {})
                        by_language[language] = by_language.get(language, frozenset()) | {prefix + meaning}
    return phrases


@cache
def _stems(language: str) -> Sequence[tuple[str, str]]:
    """Return the beginnings of words for kinds that may have any ending, each with its kind."""
    kinds = (table(language, "topics.kinds") or {}).items()
    return [
        (fold(entry.removesuffix("*")), kind)
        for kind, entries in kinds
        for entry in entries
        if entry.endswith("*") and " " not in entry
    ]


@lru_cache(maxsize=4096)
def _inflected(word: str, spoken: tuple[str, ...]) -> frozenset[str]:
    """Return the meanings of the words that differ from a word in an ending of at most two letters."""
    if len(word) < MIN_INFLECTED or not word.isalpha():
        return frozenset()
    meanings: set[str] = set()
    for phrase, by_language in _phrases().items():
        longer = max(len(word), len(phrase))
        common = common_prefix(word, phrase)
        if " " not in phrase and common >= max(MIN_STEM, COMMON_STEM * longer, longer - MAX_ENDING):
            meanings.update(*(by_language[language] for language in spoken if language in by_language))
    return frozenset(meanings)


@cache
def _silent() -> frozenset[str]:
    """Return the words that name nothing, in all languages: articles, prepositions and the like."""
    weak = (entry for language in languages() for entry in entries_of(language, "topics.weak"))
    return stop_words() | frozenset(fold(entry) for entry in weak if " " not in entry)
