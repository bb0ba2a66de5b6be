"""Which list, calendar, weather station or camera is meant."""

from collections.abc import Callable, Sequence

from homeassistant.core import State

from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import squash
from ...knowledge.speaker import persons
from ..base import ToolRun
from ..resolving.resolver import Target, choose, places_in_sentence, resolve


def records_of(
    run: ToolRun, domain: str, able: Callable[[State], bool] = lambda _state: True
) -> list[EntityRecord]:
    """Return the exposed entities of a domain that are there and able to do what is wanted."""
    return [
        record
        for record in run.house.of_domain(domain)
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
    rank: Callable[[EntityRecord], tuple[bool, ...]] = lambda _record: (),
) -> EntityRecord:
    """Return the entity of a name or a room, else the only one in the home, the sentence or the room.

    Of several the one of the highest `rank` is meant.
    Raises ValidationError that lists what there is.
    """
    if not records:
        raise ValidationError(f"{slot}: there is none that is exposed and can do this")
    if not said and len(records) == 1:
        return records[0]
    listed, problem = records, f"{slot}: say which one"
    if said:
        meant = named(run, records, said)
        groups = [meant]
        listed = meant or records
        problem = f"{slot}: {said[:60]!r} {'could be several' if meant else 'is not known here'}. There are"
    else:
        sentence = squash(run.sentence)
        places = places_in_sentence(run.house, run.sentence, run.speaker.language)
        there = [record for record in records if any(place.holds(record) for place in places)]
        here = [record for record in records if record.area_id and record.area_id == run.speaker.area_id]
        in_sentence = [record for record in records if any(squash(name) in sentence for name in record.names)]
        groups = [in_sentence, there, [] if there else here]
        listed = there or records
    for group in groups:
        best = max(map(rank, group), default=None)
        left = [record for record in group if rank(record) == best]
        if len(left) == 1:
            return left[0]
    raise choose(run.house, listed, problem)


def named(run: ToolRun, records: Sequence[EntityRecord], said: str) -> list[EntityRecord]:
    """Return the entities that an id, a name or a room means."""
    target = Target(name=said, domain=tuple({record.domain for record in records}))
    try:
        meant = resolve(run.house, target, speaker=run.speaker, sentence=run.sentence, many=True)
    except ValidationError:
        return []
    return [record for record in records if record in meant]


def user_of(run: ToolRun) -> str | None:
    """Return the user who speaks, or the one of the person whose device it is."""
    if (user_id := run.speaker.context.user_id) is not None:
        return user_id
    return next((person.user_id for person in persons(run.hass) if person.id == run.speaker.person_id), None)
