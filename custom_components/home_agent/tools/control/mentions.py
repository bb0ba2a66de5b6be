"""What of a home a part of a sentence names, and which part of a sentence a call is about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from homeassistant.core import HomeAssistant

from ...context.named import Finder, fits
from ...context.topics import language_of, topic_reader
from ...knowledge.class_words import known_language
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...languages import DEFAULT, words
from ...languages.later import Order
from ...texts import fold

TARGET: Final = "xtargetx"
"""Stands for the name of a target in a sentence."""
NAMED, KIND, PLACE = 3, 2, 1
MIN_STEM: Final = 5
"""Letters of a verb that may have another ending."""


@dataclass(frozen=True, slots=True)
class Mention:
    """The entities, kinds and places that a text names."""

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


def mention(hass: HomeAssistant, house: HouseSnapshot, text: str, sentence: str, language: str) -> Mention:
    """Return what a part of a sentence names."""
    reader = topic_reader(language_of(sentence, language) or DEFAULT)
    topic = reader.read(text)
    own = known_language(hass.config.language).partition("-")[0]
    finder = Finder(house, topic, tuple(dict.fromkeys((own, DEFAULT, topic.language))))
    said = (*topic.kinds.values(), *finder.compounds.values(), *topic.implied.values())
    return Mention(
        frozenset(one.record.entity_id for one in finder.entities()),
        frozenset(key for keys in said for key in keys),
        reader.kinds,
        frozenset(finder.places),
        topic.everything,
    )


def order_of(
    orders: Sequence[Order],
    records: Iterable[EntityRecord],
    verb: str,
    *,
    hass: HomeAssistant,
    house: HouseSnapshot,
    sentence: str,
    language: str,
) -> list[Order]:
    """Return the parts of a sentence that a call on entities may be about: one if that is clear."""
    targets = list(records)
    scores: list[int] = []
    for order in orders:
        if TARGET in order.text.split():
            scores.append(NAMED + 1)
            continue
        found = mention(hass, house, order.text, sentence, language)
        if not found and scores:  # "and turn it off": what was named before
            scores.append(scores[-1])
            continue
        scores.append(max((found.fit(record) for record in targets), default=0))
    best = max(scores, default=0)
    meant = [order for order, score in zip(orders, scores, strict=True) if score == best]
    if len(meant) > 1:
        own = language_of(sentence, language) or DEFAULT
        meant = [order for order in meant if _commands(order.text, verb, own)] or meant
    return meant


def _commands(text: str, verb: str, language: str) -> bool:
    """Return whether a text has a word for an action."""
    said = f" {' '.join(fold(text).split())} "
    phrases = [*words(language, f"actions.{verb}"), *words(language, f"actions.{verb.removeprefix('turn_')}")]
    # "Enciéndela" and "apagas" are forms of "enciende" and "apaga".
    return any(
        (f" {folded}" if len(folded) >= MIN_STEM else f" {folded} ") in said for folded in map(fold, phrases)
    )
