"""Rooms and floors by what people call them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...errors import ValidationError
from ...knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from ...knowledge.labels import find_label, labels_in
from ...knowledge.name_index import place_id, place_names
from ...knowledge.names import (
    MARGIN,
    content_words,
    distance,
    longest,
    phrase_similarity,
    squash,
    without_article,
    word_similarity,
)
from ...knowledge.owned_rooms import owned_in
from ...knowledge.spoken_words import (
    inflected_kinds_of_room,
    kinds_of_room,
    room_words,
    said_words,
    stop_words,
    without_idioms,
)
from ...texts import fold
from .candidates import MAX_ERROR, listed

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
    """Yield the places that a sentence names by words for rooms of a language."""
    said = said_words(sentence)
    found = {word for word in room_words(language) if f" {word} " in said}
    longest_words = (word for word in found if not any(word != other and word in other for other in found))
    places = (find_place(house, word, "area") for word in longest_words)
    return {place.name: place for place in places if place is not None}.values()


def _place(text: str, found: Sequence[Area | Floor], *, repaired: bool) -> NamedPlace:
    """Return the place made of areas or floors of one name."""
    return NamedPlace(
        text if repaired else found[0].name,
        frozenset(place.area_id for place in found if isinstance(place, Area)),
        frozenset(place.floor_id for place in found if isinstance(place, Floor)),
        repaired,
    )


def _keys(place: Area | Floor) -> set[str]:
    """Return the squashed spellings of a place."""
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
    """Return how near a name comes to the words asked for."""
    parts = content_words(name)
    own, other = "".join(asked), "".join(parts)
    has_digits = any(char.isdigit() for char in own + other)
    if len(own) >= MIN_LENGTH and own[:1] == other[:1] and not has_digits:
        limit = 1 + len(own) // 8
        if distance(own, other, limit) <= limit:
            return 0.95
    return phrase_similarity(asked, parts)
