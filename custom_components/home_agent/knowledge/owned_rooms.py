"""Rooms that are called by their owner and a word for a room: "la chambre de Mia" is the area Mia's Room."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from ..languages import find, languages, languages_with, table, words as entries_of
from ..languages.lexicon import Word, clauses
from ..texts import fold, plain, words
from .house import Area, HouseSnapshot
from .names import Mention, Phrases, longest
from .spoken_words import inflected_kinds_of_room, stop_words

OWNERS: Final = "owners of rooms"
PERSONAL: Final = frozenset({"bedroom", "kids_room"})
"""The kinds of rooms that belong to one person; "the kitchen of Mia" is not Mia's Room."""
MAX_BETWEEN: Final = 2
"""Words such as "of" between an owner and the word for a room."""
MIN_OWNER: Final = 2
MAX_OWNERS: Final = 2
"""Words of a name beside the word for a room; more of them are no names of people."""


@dataclass(frozen=True, slots=True)
class OwnedName:
    """One name of a room that tells whose it is."""

    area: Area
    kinds: frozenset[str]
    """The kinds of rooms that the name contains; none of "Mia's Room"."""
    owners: int
    """The number of owners."""

    def may_be(self, kinds: Collection[str]) -> bool:
        """Return whether a word for these kinds of rooms, or for any room, may mean it."""
        if not kinds or not self.kinds.isdisjoint(kinds):
            return True
        return not PERSONAL.isdisjoint(kinds) and (not self.kinds or not PERSONAL.isdisjoint(self.kinds))


@dataclass(frozen=True, slots=True)
class OwnedRoom:
    """A room that a sentence names by its owner."""

    area: Area
    at: frozenset[int]
    """Which words of the sentence name it."""


def owned_rooms(house: HouseSnapshot, said: Sequence[Word], language: str) -> list[OwnedRoom]:
    """Return the rooms that words name by an owner and a word for a room, in any language.

    "Mias Zimmer" and "the bedroom of Mia" are Mia's Room even where another area is called Bedroom.
    """
    known = _owners(house)
    selfs = self_words(said, language)
    owners = {
        at: called
        for at, word in enumerate(said)
        if (at not in selfs or (at > 0 and at + 1 not in selfs and said[at - 1].folded in _linking()))
        and (called := [one for form in _forms(word.folded, language) for one in known.get(form, ())])
    }
    if not owners:
        return []
    rooms = _room_words(said, owners)
    found = []
    for at, called in owners.items():
        beside = [room for room in rooms if at not in room.at and _are_beside(at, room.at, said)]
        for room in beside[:1]:
            if fitting := _best(one for one in called if one.may_be(room.value)):
                said_there = frozenset(range(min(at, *room.at), max(at, *room.at) + 1))
                found += [OwnedRoom(one.area, said_there) for one in fitting]
    return found


def rooms_of_owner(house: HouseSnapshot, name: str) -> frozenset[str]:
    """Return the ids of the areas that are called after a person, by the first word of the person's name."""
    called = words(name)[:1]
    return frozenset(one.area.area_id for word in called for one in _owners(house).get(word, ()))


def owned_in(house: HouseSnapshot, text: str, language: str = "") -> tuple[Mapping[str, Area], list[Word]]:
    """Return the rooms of owners that a text names, by their ids, and its other words."""
    said = [word for clause in clauses(text) for word in clause.words]
    found = owned_rooms(house, said, language)
    taken = frozenset(index for one in found for index in one.at)
    rest = [word for index, word in enumerate(said) if index not in taken]
    return {one.area.area_id: one.area for one in found}, rest


def self_words(said: Sequence[Word], language: str) -> frozenset[int]:
    """Return which words mean the speaker, spelt exactly so: "la mía" is not Mia."""
    entries = _self_words(find(language) or "")
    if _first_self_words(find(language) or "").isdisjoint(word.plain for word in said):
        return frozenset()
    return frozenset(
        index
        for entry in entries
        for start in range(len(said) - len(entry) + 1)
        if all(word.plain == wanted for word, wanted in zip(said[start:], entry, strict=False))
        for index in range(start, start + len(entry))
    )


@cache
def _self_words(language: str) -> Sequence[tuple[str, ...]]:
    return [tuple(plain(entry).split()) for entry in entries_of(language, "memory.self")]


@cache
def _first_self_words(language: str) -> frozenset[str]:
    """Return the first of these words of each entry."""
    return frozenset(entry[0] for entry in _self_words(language))


def _owners(house: HouseSnapshot) -> Mapping[str, Sequence[OwnedName]]:
    return house.derived(OWNERS, _read)


def _read(house: HouseSnapshot) -> Mapping[str, Sequence[OwnedName]]:
    """Read the owners from the names of rooms: the words beside those for kinds of rooms."""
    found: dict[str, list[OwnedName]] = {}
    for area in house.areas.values():
        for name in area.names:
            said = words(name)
            rooms = _rooms_in(said)
            taken = {index for room in rooms for index in room.at}
            silent = stop_words() | _linking()
            own = [word for at, word in enumerate(said) if at not in taken and word not in silent]
            own = [word for word in own if word.isalpha() and len(word) >= MIN_OWNER]
            if rooms and 0 < len(own) <= MAX_OWNERS:
                kinds = frozenset().union(*(room.value for room in rooms))
                for word in own:
                    found.setdefault(word, []).append(OwnedName(area, kinds, len(own)))
    return found


def _best(found: Iterable[OwnedName]) -> list[OwnedName]:
    """Return the names with the fewest owners: Mia's Room before that of Mia and Leo."""
    listed = list(found)
    fewest = min((one.owners for one in listed), default=0)
    return list({one.area.area_id: one for one in listed if one.owners == fewest}.values())


def _are_beside(owner: int, room: frozenset[int], said: Sequence[Word]) -> bool:
    """Return whether only words such as "of" are between an owner and a word for a room."""
    first, last = min(room), max(room)
    between = said[last + 1 : owner] if owner > last else said[owner + 1 : first]
    return len(between) <= MAX_BETWEEN and all(word.folded in _linking() for word in between)


def _room_words(said: Sequence[Word], owners: Collection[int]) -> list[Mention[frozenset[str]]]:
    """Return the words for rooms near owners, in any form; those of more words first."""
    folded = [word.folded for word in said]
    found = _rooms_in(folded)
    taken = {index for room in found for index in room.at}
    for at, word in enumerate(folded):
        near = any(0 < abs(at - owner) <= MAX_BETWEEN + 1 for owner in owners)
        if near and at not in taken and at not in owners and (kinds := inflected_kinds_of_room(word)):
            found.append(Mention((word,), kinds, frozenset({at})))
    return sorted(found, key=lambda room: -len(room.at))


def _rooms_in(said: Sequence[str]) -> list[Mention[frozenset[str]]]:
    found = _phrases().find([(word,) for word in said], in_a_row=True)
    return longest([one for one in found if one.at])


@cache
def _phrases() -> Phrases[frozenset[str]]:
    """Return the words for rooms in all languages, each with its kinds; none for a room of any kind."""
    kinds: dict[tuple[str, ...], set[str]] = {}
    for language in languages():
        for kind, names in (table(language, "concepts.places") or {}).items():
            for name in names:
                kinds.setdefault(tuple(words(name)), set()).add(kind)
        for name in entries_of(language, "names.rooms"):
            kinds.setdefault(tuple(words(name)), set())
    return Phrases((phrase, frozenset(found)) for phrase, found in kinds.items())


@cache
def _linking() -> frozenset[str]:
    return frozenset(fold(entry) for language in languages() for entry in entries_of(language, "names.of"))


@lru_cache(maxsize=4096)
def _forms(word: str, language: str) -> Sequence[str]:
    """Return the names that a word may be a form of: "mias" of Mia, "mii" in Polish, in Latin letters too."""
    latin = word if word.isascii() else "".join(_letters().get(letter, "") for letter in word)
    listed = dict.fromkeys((word, latin or word))
    for said in tuple(listed):
        if len(said) > MIN_OWNER + 1 and said.endswith("s"):
            listed[said[:-1]] = None
        listed |= dict.fromkeys(_nominatives(said, find(language) or ""))
    return tuple(listed)


def _nominatives(word: str, language: str) -> Iterator[str]:
    """Yield the names of which a word may be an inflected form in a language, in any if it is not known."""
    for each in (language,) if language else languages_with("names.endings"):
        for ending, others in (table(each, "names.endings") or {}).items():
            for other in others:
                stem = word.removesuffix(fold(other))
                if stem != word and len(stem) >= MIN_OWNER:
                    yield stem + fold(ending)


@cache
def _letters() -> Mapping[str, str]:
    return {
        fold(letter): latin
        for language in languages()
        for letter, latin in (table(language, "names.latin") or {}).items()
    }
