"""Whether a clause is about an entity, about something else, or does not say."""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import cache
from typing import Final

from ...context.concepts import class_concepts, vocabulary
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.names import content_words, word_similarity
from ...languages import DEFAULT, find
from ...languages.lexicon import Word
from ...texts import words as words_in
from ..resolving.candidates import protected
from ..resolving.places import places_in_sentence

SAME: Final = 0.88
"""How alike two forms of a word are."""
MIN_PART: Final = 3
"""The fewest letters of a word inside a compound: "Haustür" ends with "Tür"."""


class About(Enum):
    """What a clause is about."""

    TARGET = auto()
    OTHER = auto()
    UNKNOWN = auto()


def what_about(said: Sequence[Word], record: EntityRecord, house: HouseSnapshot, language: str) -> About:
    """Return whether some words name an entity, or something else: a device, a room or a kind."""
    spoken = [word.folded for word in said]
    languages = tuple(dict.fromkeys((find(language) or DEFAULT, DEFAULT)))
    own = _named(spoken, _words_of(record, languages))
    places = places_in_sentence(house, " ".join(word.plain for word in said), language)
    if any(place.holds(record) for place in places):
        own |= {index for index, word in enumerate(spoken) for place in places if _same(word, place.name)}
    elif places and not own:
        return About.OTHER
    for other in house.entities.values():
        if other.entity_id == record.entity_id or not protected(other):
            continue
        if _named(spoken, _words_of(other, languages)) > own:
            return About.OTHER
    if own or any(place.holds(record) for place in places):
        return About.TARGET
    has_kind = record.domain != "cover" or record.device_class is not None
    is_kind = any(word_similarity(word, kind) >= SAME for word in spoken for kind in _kinds(languages))
    return About.OTHER if has_kind and is_kind else About.UNKNOWN


def words_for(record: EntityRecord, language: str) -> frozenset[str]:
    """Return the words of an entity's names and of its kind, in a language and in English."""
    return _words_of(record, tuple(dict.fromkeys((find(language) or DEFAULT, DEFAULT))))


def _named(spoken: Sequence[str], known: Iterable[str]) -> set[int]:
    """Return which of some words are among the known ones, in any form."""
    names = list(known)
    return {index for index, word in enumerate(spoken) if any(_same(word, name) for name in names)}


def _same(said: str, known: str) -> bool:
    """Return whether two folded words are the same, one in another form or at the end of a compound."""
    if word_similarity(said, known) >= SAME:
        return True
    shorter, longer = sorted((said, known), key=len)
    return len(shorter) >= MIN_PART and longer.endswith(shorter)


def _words_of(record: EntityRecord, languages: tuple[str, ...]) -> frozenset[str]:
    """Return the words of an entity's names and of its kind."""
    named = {word for name in record.names for word in content_words(name)}
    return _class_words(record.domain, record.device_class, languages) | named


@cache
def _class_words(domain: str, device_class: str | None, languages: tuple[str, ...]) -> frozenset[str]:
    """Return what people call a kind of device."""
    return frozenset(words_in(class_concepts(domain, device_class, languages)))


@cache
def _kinds(languages: tuple[str, ...]) -> frozenset[str]:
    """Return what people call all kinds of devices."""
    return frozenset(
        word
        for language in languages
        for text in vocabulary(language).classes.values()
        for word in words_in(text)
    )
