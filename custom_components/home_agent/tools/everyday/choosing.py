"""Which list, calendar, weather station or camera is meant."""

from collections.abc import Callable, Iterable, Sequence

from homeassistant.core import State

from ...context.named import language_of
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
    if not said and len(records) == 1:
        return records[0]
    language = run.speaker.language
    listed, problem = records, f"{slot}: say which one"
    if said:
        # In the words of any language: "Einkaufsliste" is Shopping.
        spoken = (language, language_of(run.sentence, language) or DEFAULT)
        meant = named(records, said) or meant_by(run.house, records, said, spoken)
        if not meant and (place := find_place(run.house, said, "area")):
            meant = [record for record in records if place.holds(record)]
        groups = [meant]
        listed = meant or records
        problem = f"{slot}: {said[:60]!r} {'could be several' if meant else 'is not known here'}. There are"
    else:
        sentence = squash(run.sentence)
        places = places_in_sentence(run.house, run.sentence, language)
        there = [record for record in records if any(place.holds(record) for place in places)]
        here = [record for record in records if record.area_id and record.area_id == run.speaker.area_id]
        in_sentence = [record for record in records if any(squash(name) in sentence for name in record.names)]
        groups = [in_sentence, there, [] if there else here]
        listed = there or records
    for group in groups:
        left = group
        for test in better if len(group) > 1 else ():
            left = [record for record in left if test(record)] or left
        if len(left) == 1:
            return left[0]
    raise choose(run.house, listed, problem)


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
