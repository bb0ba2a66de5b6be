"""What a home's things, places and labels are called, and which of these names a text contains."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from heapq import nsmallest
from math import ceil
from typing import Final, NamedTuple

from ..languages import find, languages, languages_with, table, words as entries_of
from ..languages.lexicon import Word, clauses
from ..texts import fold, plain, words
from ..vector.lexical import SimilarWords
from .house import Area, EntityRecord, Floor, HouseSnapshot
from .spoken_words import (
    domain_words,
    excepting_words,
    inflected_kinds_of_room,
    stop_words,
    without_articles,
)

MIN_COVERAGE: Final = 0.72
"""Fraction of the query that a similar match must cover."""
MARGIN: Final = 0.04
"""By how much the best near match must lead to be the only one."""
SURE: Final = 0.8
"""How like a name a word must be that is only near to it."""
COMMON_STEM: Final = 0.7
"""Share of the longer word that two forms of it have in common at their start."""
MIN_STEM: Final = 4
MAX_ENDING: Final = 4
LONG_WORD: Final = 7
MAX_TYPOS: Final = 2


@lru_cache(maxsize=16384)
def squash(text: str) -> str:
    """Return folded text without spaces, so that different spellings of a name are equal."""
    return fold(text).replace(" ", "")


@lru_cache(maxsize=16384)
def content_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a text that name something."""
    found = words(text)
    return tuple(word for word in found if word not in stop_words()) or tuple(found)


def without_article(text: str) -> str:
    """Return folded text without the articles at its head."""
    return without_articles(fold(text))


@lru_cache(maxsize=65536)
def word_similarity(first: str, second: str) -> float:
    """Return how surely two folded words are the same, misspelt or inflected: 0 or 0.75 to 1."""
    if first == second:
        return 1.0
    if first.isdigit() or second.isdigit():
        return 0.0
    if not excepting_words().isdisjoint((first, second)):  # "außer" is not "außen"
        return 0.0
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) >= MIN_STEM and longer.startswith(shorter) and len(longer) - len(shorter) <= MAX_ENDING:
        return 0.92
    stem = max(MIN_STEM, ceil(COMMON_STEM * len(longer)))
    if shorter[:stem] == longer[:stem]:
        return 0.88
    same_start = shorter[:1] == longer[:1]
    if len(shorter) >= MIN_STEM + (not same_start) and distance(shorter, longer, 1) <= 1:
        return 0.86
    if same_start and len(shorter) >= LONG_WORD - 1 and len(longer) >= LONG_WORD:
        return 0.78 if distance(shorter, longer, MAX_TYPOS) <= MAX_TYPOS else 0.0
    return 0.0


def distance(first: str, second: str, limit: int) -> int:
    """Return the edits (insert, delete, replace, swap neighbours) between two words, at most limit + 1."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, 1):
        previous, row = row, [i]
        for j, right in enumerate(second, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (left != right))
            if i > 1 and j > 1 and left == second[j - 2] and right == first[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before = previous
    return min(row[-1], limit + 1)


def numbers(words: Iterable[str]) -> frozenset[str]:
    """Return the words that are numbers: they are never near another."""
    return frozenset(word for word in words if not word.isalpha() and any(char.isdigit() for char in word))


def phrase_similarity(asked: Sequence[str], name: Sequence[str]) -> float:
    """Return how well a name accounts for all words asked for, 0 if it does not."""
    if not asked or not name or not numbers(asked) <= numbers(name):
        return 0.0
    total = sum(map(len, asked))
    used: set[str] = set()
    score = 0.0
    for word in asked:
        best = max(name, key=lambda other: word_similarity(word, other))
        if similarity := word_similarity(word, best):
            score += similarity * len(word)
            used.add(best)
    coverage = score / total
    if coverage < MIN_COVERAGE:
        return 0.0
    return 0.75 * coverage + 0.25 * sum(map(len, used)) / sum(map(len, name))


def called[T](
    items: Iterable[T],
    said: str,
    names: Callable[[T], Iterable[str]],
    *,
    sure: float = SURE,
    in_parts: bool = False,
) -> list[T]:
    """Return the items of a name: exact matches, else those with all its words, else similar ones.

    `names` returns the names of an item. `sure` is the least similarity of a match that is only similar.
    With `in_parts`, a name also matches if all of its words were said.
    """
    listed = [(item, tuple(filter(None, names(item)))) for item in items]
    wanted, words, asked = squash(said), {*content_words(said)}, fold(said).split()

    def bears(name: str) -> bool:
        own = {*content_words(name)}
        return bool(words and own) and (words <= own or (in_parts and own <= words))

    tests: tuple[Callable[[str], bool], ...] = (
        lambda name: squash(name) == wanted,
        bears,
        lambda name: phrase_similarity(asked, fold(name).split()) >= sure,
    )
    for fits in tests:
        if found := [item for item, own in listed if any(map(fits, own))]:
            return found
    return []


@dataclass(frozen=True, slots=True)
class NameMatch[T]:
    """A phrase that a text contains."""

    phrase: tuple[str, ...]
    value: T
    at: frozenset[int]
    """Which words of the text say it."""


class Phrases[T]:
    """Phrases with their meanings, to be found in texts."""

    def __init__(self, phrases: Iterable[tuple[Iterable[str], T]]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], T]]] = {}
        self.words: set[str] = set()
        for spoken, value in phrases:
            if phrase := tuple(spoken):
                self._by_first.setdefault(phrase[0], []).append((phrase, value))
                self.words.update(phrase)

    def find(self, meanings: Sequence[Collection[str]], *, in_a_row: bool = False) -> list[NameMatch[T]]:
        """Return the phrases that a text contains, all their words in any order or `in_a_row`.

        `meanings` has the words of phrases that each word of the text may mean.
        """
        where: dict[str, list[int]] = {}
        for index, meant in enumerate(meanings):
            for word in meant:
                where.setdefault(word, []).append(index)

        def spread(phrase: tuple[str, ...], start: int) -> frozenset[int]:
            """Return the words of the text that say a phrase, those closest to its first word."""
            at = [start]
            for ahead, word in enumerate(phrase[1:], 1):
                wanted = start + ahead if in_a_row else start
                after = bisect_left(where[word], wanted)
                near = where[word][max(0, after - 1) : after + 1]
                at.append(min(near, key=lambda place: abs(place - wanted)))
            return frozenset(() if in_a_row and at != list(range(start, start + len(phrase))) else at)

        found = [
            NameMatch(phrase, value, at)
            for first, starts in where.items()
            for phrase, value in self._by_first.get(first, ())
            if all(word in where for word in phrase)
            for start in starts
            if (at := spread(phrase, start))
        ]
        return sorted(found, key=lambda mention: min(mention.at))


def longest[T](mentions: Iterable[NameMatch[T]]) -> list[NameMatch[T]]:
    """Return the mentions that are not a part of a longer one: "Kids Bedroom" does not mean the bedroom."""
    by_place: dict[int, list[NameMatch[T]]] = {}
    for one in (found := list(mentions)):
        for place in one.at:
            by_place.setdefault(place, []).append(one)
    return [one for one in found if not any(one.at < other.at for other in by_place[min(one.at)])]


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
        for spelling, form in _spellings(record, area_names):
            tables[spelling].setdefault(form, {})[entity_id] = None
        index.places[entity_id] = frozenset(
            word for name in (*area_names, record.device or "") for word in content_words(name)
        )
        forms = dict.fromkeys(content_words(name) for name in (*record.names, record.object_id))
        index.forms[entity_id] = tuple(filter(None, forms))
        for word in {word for form in forms for word in form}:
            index.by_word.setdefault(word, set()).add(entity_id)
    for kind, spellings in tables.items():
        getattr(index, kind).update((form, tuple(ids)) for form, ids in spellings.items() if form)
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
    places: tuple[Area | Floor, ...] = (*house.areas.values(), *house.floors.values())
    return house.derived(
        PLACE_NAMES,
        lambda _house: Phrases((content_words(name), place) for place in places for name in place.names),
    )


def place_id(place: Area | Floor) -> str:
    """Return the id of a room or a floor."""
    return place.area_id if isinstance(place, Area) else place.floor_id


DERIVED: Final = "labels"
MIN_LIKENESS: Final = 0.85


class NamedLabel(NamedTuple):
    """A label that a word means."""

    name: str
    repaired: bool = False
    """Whether the word is not its name, only near to it."""


def labels_in(house: HouseSnapshot) -> Mapping[str, Sequence[EntityRecord]]:
    """Return the labels of a home with the entities of each, by name."""

    def read(_house: HouseSnapshot) -> Mapping[str, Sequence[EntityRecord]]:
        labelled: dict[str, list[EntityRecord]] = {}
        for record in house.entities.values():
            for label in record.labels:
                labelled.setdefault(label, []).append(record)
        return {label: labelled[label] for label in sorted(labelled)}

    return house.derived(DERIVED, read)


def find_label(house: HouseSnapshot, text: str) -> NamedLabel | None:
    """Return the label that a text names; None for what is neither a name nor near to exactly one."""
    key = squash(without_article(text.strip().removeprefix("label.").lstrip("#")))
    known = labels_in(house)
    if exact := next((name for name in known if key and squash(name) == key), None):
        return NamedLabel(exact)
    asked = content_words(text)
    scored = sorted(((phrase_similarity(asked, content_words(name)), name) for name in known), reverse=True)
    if (
        not scored
        or scored[0][0] < MIN_LIKENESS
        or (len(scored) > 1 and scored[0][0] - scored[1][0] < MARGIN)
    ):
        return None
    return NamedLabel(scored[0][1], repaired=True)


def label_and_rest(house: HouseSnapshot, text: str) -> tuple[str, Sequence[str]] | None:
    """Return the label whose whole name a text contains, and its other words; None if there is none."""
    words = fold(text).split()
    found: list[tuple[int, int, str]] = []
    for name in labels_in(house):
        own = [word for word in fold(name).split() if word not in stop_words()]
        if all(word in domain_words() for word in own):  # words for kinds of things alone are no label
            continue
        places = (at for at in range(len(words) - len(own) + 1) if words[at : at + len(own)] == own)
        found += [(len(own), at, name) for at in places]
    if not found:
        return None
    length, at, name = max(found, key=lambda one: one[0])
    return name, [*words[:at], *words[at + length :]]


OWNERS: Final = "owners of rooms"
PERSONAL: Final = frozenset({"bedroom", "kids_room"})
"""The kinds of rooms that belong to one person; "the kitchen of Mia" is not Mia's Room."""
MAX_BETWEEN: Final = 2
"""Words such as "of" between an owner and the word for a room."""
MIN_OWNER: Final = 2
MAX_OWNERS: Final = 2
"""Words of a name beside the word for a room; more of them are no names of people."""


class OwnedName(NamedTuple):
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


def owned_rooms(house: HouseSnapshot, said: Sequence[Word], language: str) -> list[NameMatch[Area]]:
    """Return the rooms that words name by an owner and a word for a room, in any language.

    "Mias Zimmer" and "the bedroom of Mia" are Mia's Room even where another area is called Bedroom.
    """
    known, linking = _owners(house), _linking()
    selfs = self_words(said, language)
    owners = {
        at: called
        for at, word in enumerate(said)
        if (at not in selfs or (at > 0 and at + 1 not in selfs and said[at - 1].folded in linking))
        and (called := [one for form in _owner_forms(word.folded, language) for one in known.get(form, ())])
    }
    if not owners:
        return []
    # The words for rooms near owners, in any form; those of more words first.
    folded = [word.folded for word in said]
    rooms = _rooms_in(folded)
    taken = {index for room in rooms for index in room.at}
    for at, word in enumerate(folded):
        near = any(0 < abs(at - owner) <= MAX_BETWEEN + 1 for owner in owners)
        if near and at not in taken and at not in owners and (kinds := inflected_kinds_of_room(word)):
            rooms.append(NameMatch((word,), kinds, frozenset({at})))
    rooms.sort(key=lambda room: -len(room.at))
    found = []
    for at, called in owners.items():
        for room in rooms:
            first, last = min(room.at), max(room.at)
            between = said[last + 1 : at] if at > last else said[at + 1 : first]
            # Only words such as "of" are between an owner and a word for a room.
            if at in room.at or len(between) > MAX_BETWEEN or any(w.folded not in linking for w in between):
                continue
            listed = [one for one in called if one.may_be(room.value)]
            fewest = min((one.owners for one in listed), default=0)
            areas = {one.area.area_id: one.area for one in listed if one.owners == fewest}
            said_there = frozenset(range(min(at, *room.at), max(at, *room.at) + 1))
            found += [NameMatch((), area, said_there) for area in areas.values()]
            break
    return found


def rooms_of_owner(house: HouseSnapshot, name: str) -> frozenset[str]:
    """Return the ids of the areas that are called after a person, by the first word of the person's name."""
    called = words(name)[:1]
    return frozenset(one.area.area_id for word in called for one in _owners(house).get(word, ()))


def sole_owners(house: HouseSnapshot) -> Iterator[tuple[str, Area]]:
    """Yield the names of people with their rooms, where these are of no kind of their own: Mia's Room."""
    for word, named in _owners(house).items():
        yield from ((word, one.area) for one in named if not one.kinds and one.owners == 1)


def owned_in(house: HouseSnapshot, text: str) -> tuple[Mapping[str, Area], list[Word]]:
    """Return the rooms of owners that a text names, by their ids, and its other words."""
    said = [word for clause in clauses(text) for word in clause.words]
    found = owned_rooms(house, said, "")
    taken = frozenset(index for one in found for index in one.at)
    rest = [word for index, word in enumerate(said) if index not in taken]
    return {one.value.area_id: one.value for one in found}, rest


def self_words(said: Sequence[Word], language: str) -> frozenset[int]:
    """Return which words mean the speaker, spelt exactly so: "la mía" is not Mia."""
    return frozenset(
        index
        for entry in _self_words(find(language) or "")
        for start in range(len(said) - len(entry) + 1)
        if all(word.plain == wanted for word, wanted in zip(said[start:], entry, strict=False))
        for index in range(start, start + len(entry))
    )


@cache
def _self_words(language: str) -> Sequence[tuple[str, ...]]:
    return [tuple(plain(entry).split()) for entry in entries_of(language, "memory.self")]


def _owners(house: HouseSnapshot) -> Mapping[str, Sequence[OwnedName]]:
    """Return the owners of rooms: the words of their names beside those for kinds of rooms."""

    def read(_house: HouseSnapshot) -> Mapping[str, Sequence[OwnedName]]:
        found: dict[str, list[OwnedName]] = {}
        silent = stop_words() | _linking()
        for area, name in [(one, name) for one in house.areas.values() for name in one.names]:
            said = words(name)
            rooms = _rooms_in(said)
            taken = {index for room in rooms for index in room.at}
            own = [word for at, word in enumerate(said) if at not in taken and word not in silent]
            own = [word for word in own if word.isalpha() and len(word) >= MIN_OWNER]
            if rooms and 0 < len(own) <= MAX_OWNERS:
                kinds = frozenset().union(*(room.value for room in rooms))
                for word in own:
                    found.setdefault(word, []).append(OwnedName(area, kinds, len(own)))
        return found

    return house.derived(OWNERS, read)


def _rooms_in(said: Sequence[str]) -> list[NameMatch[frozenset[str]]]:
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
def _owner_forms(word: str, language: str) -> Sequence[str]:
    """Return the names that a word may be a form of: "mias" of Mia, "mii" in Polish, in Latin letters too."""
    latin = word if word.isascii() else "".join(_letters().get(letter, "") for letter in word)
    listed = dict.fromkeys((word, latin or word))
    for said in tuple(listed):
        if len(said) > MIN_OWNER + 1 and said.endswith("s"):
            listed[said[:-1]] = None
        for each in (known,) if (known := find(language)) else languages_with("names.endings"):
            for ending, others in (table(each, "names.endings") or {}).items():
                for other in others:
                    stem = said.removesuffix(fold(other))
                    if stem != said and len(stem) >= MIN_OWNER:
                        listed[stem + fold(ending)] = None
    return tuple(listed)


@cache
def _letters() -> Mapping[str, str]:
    return {
        fold(letter): latin
        for language in languages()
        for letter, latin in (table(language, "names.latin") or {}).items()
    }
