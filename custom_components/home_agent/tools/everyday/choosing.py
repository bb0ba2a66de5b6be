"""Which list, calendar, weather station or camera is meant."""

from collections.abc import Callable, Iterable, Sequence

from homeassistant.core import State

from ...context.topics import language_of
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import called, squash
from ...knowledge.speaker import persons
from ...languages import DEFAULT
from ..base import ToolRun
from ..resolving.family_words import meant_by
from ..resolving.resolver import choose, find_place, places_in_sentence


def records_of(
    run: ToolRun, domain: str, able: Callable[[State], bool] = lambda _state: True
) -> list[EntityRecord]:
    """Return the exposed entities of a domain that are there and able to do what is wanted."""
    found = (record for record in run.house.entities.values() if record.domain == domain)
    return [
        record
        for record in found
        if run.guard.is_exposed(record.entity_id)
        and (state := run.hass.states.get(record.entity_id)) is not None
        and able(state)
    ]


def permitted(run: ToolRun, records: list[EntityRecord]) -> list[EntityRecord]:
    """Return the lists or calendars that the speaker may read; all if there are none, to hear why not."""
    return [record for record in records if run.reader.permits(record.entity_id)] or records


def choose_one(
    run: ToolRun,
    records: list[EntityRecord],
    said: str | None,
    slot: str,
    better: Sequence[Callable[[EntityRecord], bool]] = (),
) -> EntityRecord:
    """Return the entity of a name or a room, else the only one in the home, the sentence or the room.

    Of several each test of `better` leaves those that pass it, if any do.
    Raises ValidationError that lists what there is.
    """
    if not records:
        raise ValidationError(f"{slot}: there is none that is exposed and can do this")
    if said:
        found = named(records, said) or _in_family_words(run, records, said) or _in_place(run, records, said)
        if one := _only(found, better):
            return one
        problem = "could be several" if found else "is not known here"
        raise choose(run.house, found or records, f"{slot}: {said[:60]!r} {problem}. There are")
    if len(records) == 1:
        return records[0]
    sentence = squash(run.sentence)
    in_sentence = [item for item in records if any(squash(name) in sentence for name in item.names)]
    places = places_in_sentence(run.house, run.sentence, run.speaker.language)
    there = [item for item in records if any(place.holds(item) for place in places)]
    here = [item for item in records if item.area_id and item.area_id == run.speaker.area_id]
    for found in (in_sentence, there, [] if there else here):
        if one := _only(found, better):
            return one
    raise choose(run.house, there or records, f"{slot}: say which one")


def _only(found: list[EntityRecord], better: Sequence[Callable[[EntityRecord], bool]]) -> EntityRecord | None:
    """Return the only one, or the only one of several that is left by the tests for better ones."""
    for test in better if len(found) > 1 else ():
        found = [item for item in found if test(item)] or found
    return found[0] if len(found) == 1 else None


def _in_family_words(run: ToolRun, records: list[EntityRecord], said: str) -> list[EntityRecord]:
    """Return the entities that a name means in the words of any language: "Einkaufsliste" is Shopping."""
    language = run.speaker.language
    spoken = (language, language_of(run.sentence, language) or DEFAULT)
    return meant_by(run.house, records, said, spoken)


def _in_place(run: ToolRun, records: list[EntityRecord], said: str) -> list[EntityRecord]:
    place = find_place(run.house, said, "area")
    return [item for item in records if place and place.holds(item)]


def named(records: Iterable[EntityRecord], said: str) -> list[EntityRecord]:
    """Return the entities that an id or a name means."""
    listed = list(records)
    entity_id = said.strip().casefold()
    return [item for item in listed if item.entity_id == entity_id] or called(
        listed, said, lambda item: item.names, in_parts=True
    )


def user_of(run: ToolRun) -> str | None:
    """Return the user who speaks, or the one of the person whose device it is."""
    if (user_id := run.speaker.context.user_id) is not None:
        return user_id
    return next((person.user_id for person in persons(run.hass) if person.id == run.speaker.person_id), None)
