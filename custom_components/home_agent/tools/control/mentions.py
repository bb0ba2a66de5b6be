"""What of a home a sentence names."""

from dataclasses import dataclass

from homeassistant.core import HomeAssistant

from ...context.named import NamesInSentence, fits, language_of, topic_reader
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.spoken_words import known_language
from ...languages import DEFAULT

NAMED, KIND, PLACE = 3, 2, 1


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
    finder = NamesInSentence(house, topic, tuple(dict.fromkeys((own, DEFAULT, topic.language))))
    said = (*topic.kinds.values(), *finder.compounds.values(), *topic.implied.values())
    return Mention(
        frozenset(one.record.entity_id for one in finder.entities()),
        frozenset(key for keys in said for key in keys),
        reader.kinds,
        frozenset(finder.places),
        topic.everything,
    )
