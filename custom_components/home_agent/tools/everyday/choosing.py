"""Which list, calendar, weather station or camera is meant."""

from collections.abc import Callable, Iterable

from homeassistant.core import State

from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ..base import ToolRun
from ..candidates import choose
from ..matching import content_words, fold, phrase_similarity, squash

SURE = 0.8
"""How like a name a word must be that is only near to it."""


def records_of(
    run: ToolRun, domain: str, able: Callable[[State], bool] = lambda _state: True
) -> list[EntityRecord]:
    """Return the exposed entities of a domain that are there and able to do what is wanted."""
    found = (record for record in run.house.entities.values() if record.domain == domain)
    return [
        record
        for record in found
        if run.is_exposed(record.entity_id)
        and (state := run.hass.states.get(record.entity_id)) is not None
        and able(state)
    ]


def choose_one(run: ToolRun, records: list[EntityRecord], said: str | None, slot: str) -> EntityRecord:
    """Return the entity that a name means, else the only one, the one in the sentence or in the room.

    Raises ValidationError that lists what there is.
    """
    if not records:
        raise ValidationError(f"{slot}: there is none that is exposed and can do this")
    if said:
        found = named(records, said)
        if len(found) == 1:
            return found[0]
        raise choose(run.house, found or records, f"{slot}: {said[:60]!r} is not clear. There are")
    if len(records) == 1:
        return records[0]
    sentence = squash(run.sentence)
    in_sentence = [item for item in records if any(squash(name) in sentence for name in _names(item))]
    here = [item for item in records if item.area_id and item.area_id == run.speaker.area_id]
    for found in (in_sentence, here):
        if len(found) == 1:
            return found[0]
    raise choose(run.house, records, f"{slot}: say which one")


def named(records: Iterable[EntityRecord], said: str) -> list[EntityRecord]:
    """Return the entities that a name means: by id or as written, by its words, else by what is near."""
    listed = list(records)
    wanted = squash(said)
    exact = [
        item
        for item in listed
        if said.strip().casefold() == item.entity_id or any(squash(name) == wanted for name in _names(item))
    ]
    if exact:
        return exact
    words = set(content_words(said))
    within = [item for item in listed if any(_shares(words, name) for name in _names(item))]
    if within:
        return within
    asked = fold(said).split()
    return [
        item
        for item in listed
        if any(phrase_similarity(asked, fold(name).split()) >= SURE for name in _names(item))
    ]


def _shares(words: set[str], name: str) -> bool:
    """Return whether one name holds all words of the other."""
    other = set(content_words(name))
    return bool(words) and bool(other) and (words <= other or other <= words)


def _names(record: EntityRecord) -> tuple[str, ...]:
    """Return what an entity is called."""
    return tuple(name for name in (record.name, *record.aliases) if name)
