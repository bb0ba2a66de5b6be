"""Which memories and profile entries fit a sentence: those it touches, and what a person asks about oneself.

A command has nothing beside it that only says something about the person who gives it.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from ..languages import words
from ..languages.lexicon import Lexicon, clauses
from .topics import Topic, language_of, read_topic

RELEVANT: Final = 0.2
"""Least relevance of a memory, so that a word in common by chance is not enough."""
CLEAR: Final = 0.5
"""The lowest similarity in meaning of a memory that is sent with a command."""
TABLES: Final = {
    "person": ("memory.self", "memory.group", "memory.own_words"),
    "food": ("topics.food",),
    "diet": ("memory.diet",),
    "is": ("questions.copulas",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalFit:
    """How a sentence is compared with what is known of people."""

    words: str
    """The words to search for; none if only words without a matter of their own were said."""
    meaning: float
    """The least likeness in meaning."""
    about_person: bool
    """Whether what matters most of the person fits although no word of it was said."""
    about_food: bool


@lru_cache(maxsize=64)
def personal_fit(sentence: str, spoken: str) -> PersonalFit:
    """Return how a sentence is compared; `spoken` is the language that the assistant is set to."""
    language = language_of(sentence, spoken)
    topic = read_topic(sentence, spoken)
    if language is None or topic.text:  # nothing is known of its words
        return PersonalFit(words=sentence, meaning=RELEVANT, about_person=True, about_food=True)
    found = _lexicon(language).all_matches(topic.words)
    orders, house = bool(topic.commands), _is_about_house(topic, opens_with_is=0 in found["is"])
    said = {at + offset for at, match in found["person"].items() for offset in range(match.words)}
    return PersonalFit(
        words=_content(topic, said) if orders or house else sentence,
        meaning=CLEAR if orders else RELEVANT,
        about_person=topic.is_asked and bool(said) and not (orders or house or topic.elsewhere),
        about_food=bool(found["food"]),
    )


def is_about_diet(text: str, spoken: str) -> bool:
    """Return whether a text says what somebody does not eat."""
    language = language_of(text, spoken)
    said = tuple(word for clause in clauses(text) for word in clause.words)
    return language is None or bool(_lexicon(language).matches("diet", said))


def _is_about_house(topic: Topic, *, opens_with_is: bool) -> bool:
    """Return whether a sentence names kinds of devices, or asks for a state.

    Words such as "on" are a state only where one is asked for, or where they end a sentence.
    """
    states = {at for found in topic.states.values() for at in found}
    asks_state = bool(states) and (opens_with_is or topic.asks_which or len(topic.words) - 1 in states)
    return asks_state or bool(topic.kinds or topic.implied or topic.everything)


def _content(topic: Topic, beside: set[int]) -> str:
    states = {at for found in topic.states.values() for at in found}
    empty = {*topic.weak, *topic.commands, *states, *beside}
    return " ".join(word.plain for at, word in enumerate(topic.words) if at not in empty)


@cache
def _lexicon(language: str) -> Lexicon:
    return Lexicon(
        {name: [entry for key in keys for entry in words(language, key)] for name, keys in TABLES.items()}
    )
