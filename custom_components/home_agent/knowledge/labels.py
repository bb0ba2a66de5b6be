"""The labels of exposed entities, by the words that a household has given them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..regex import lazy_regex
from ..texts import fold
from .house import EntityRecord, HouseSnapshot
from .names import MARGIN, content_words, phrase_similarity, squash, without_article
from .spoken_words import all_words, domain_words, stop_words

DERIVED: Final = "labels"
MIN_LIKENESS: Final = 0.85
MAX_PREPOSITION: Final = 2
"""Letters of words that may stand between a kind of thing and its label: luci di Natale."""
_CLAUSES: Final = lazy_regex(r"[,.;:!?\u3001\u3002\uff0c]+")


@dataclass(frozen=True, slots=True)
class NamedLabel:
    """A label that a word means."""

    name: str
    repaired: bool = False
    """Whether the word is not its name, only near to it."""


def labels_in(house: HouseSnapshot) -> Mapping[str, Sequence[EntityRecord]]:
    """Return the labels of a home with the entities of each, by name."""
    return house.derived(DERIVED, _read)


def _read(house: HouseSnapshot) -> Mapping[str, Sequence[EntityRecord]]:
    found: dict[str, list[EntityRecord]] = {}
    for record in house.entities.values():
        for label in record.labels:
            found.setdefault(label, []).append(record)
    return {label: found[label] for label in sorted(found)}


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
    found = [(len(own), at, name, own) for name, own in _spelled(house) for at in _places(words, own)]
    if not found:
        return None
    length, at, name, _ = max(found, key=lambda one: one[0])
    return name, [*words[:at], *words[at + length :]]


def label_said(house: HouseSnapshot, sentence: str, language: str) -> str | None:
    """Return the label that a sentence uses to say which things it means, as in "the party lights".

    Its name is beside a word for a kind of thing or for all; elsewhere the same word is only a word.
    """
    kinds = {*domain_words(), *all_words(language)}
    for clause in _CLAUSES.split(sentence):
        said = (word for word in fold(clause).split() if word not in stop_words())
        words = [word for word in said if len(word) > MAX_PREPOSITION]
        for name, own in _spelled(house):
            for at in _places(words, own):
                beside = {*words[max(at - 1, 0) : at], *words[at + len(own) : at + len(own) + 1]}
                if beside & kinds:
                    return name
    return None


def _spelled(house: HouseSnapshot) -> Iterator[tuple[str, list[str]]]:
    """Yield labels with their words; not those that only have words for kinds of things."""
    for name in labels_in(house):
        words = [word for word in fold(name).split() if word not in stop_words()]
        if words and not all(word in domain_words() for word in words):
            yield name, words


def _places(words: Sequence[str], own: Sequence[str]) -> Iterator[int]:
    for at in range(len(words) - len(own) + 1):
        if list(words[at : at + len(own)]) == list(own):
            yield at
