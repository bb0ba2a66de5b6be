"""Targets of a query: all matches. An action has to ask which one; a query reports each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

import probatio

from homeassistant.components.alarm_control_panel.const import ATTR_CHANGED_BY
from homeassistant.core import State

from ...context.topics import language_of
from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.names import MARGIN, content_words, name_index, squash, without_article
from ...knowledge.spoken_words import domain_words
from ...languages import DEFAULT
from ..base import Speaker
from ..resolving.family_words import meant_by
from ..resolving.resolver import NO_VALUE, SLOTS, Search, Target, places_in_sentence, resolve, texts, tidy

AGGREGATES: Final = ("avg", "min", "max", "sum", "count")

PARAMETERS: Final = probatio.Schema(
    {
        probatio.Optional("entity_id", description="light.* for all of a kind"): [str],
        probatio.Optional("name"): str,
        probatio.Optional("area"): str,
        probatio.Optional("floor"): str,
        probatio.Optional("label"): str,
        probatio.Optional("kind", description="domain or device class: light, window, temperature"): str,
        probatio.Optional("state", description="only these: on, open, low, playing, unavailable, >25"): str,
        probatio.Optional("history"): {
            probatio.Optional("duration", description="24h, 7d, today, yesterday, 2026-03-29"): str,
            probatio.Optional("at", description="03:00, yesterday 3:00"): str,
            probatio.Optional("aggregate"): probatio.In(AGGREGATES),
        },
        probatio.Optional("why", description="who or what changed it"): bool,
        probatio.Optional("domain"): [str],
        probatio.Optional("device_class"): [str],
        probatio.Optional("attributes"): [str],
    }
)
UNOFFERED: Final = ("domain", "device_class", "attributes")
_HISTORY: Final = ("duration", "at", "aggregate")
LABEL: Final = "label"
_CAUSES: Final = frozenset(
    {"cause", "causes", "changed_by", "last_changed_by", "reason", "triggered_by", "who", "why"}
)
"""Names under which models ask who or what changed something."""


def in_order(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as `PARAMETERS` checks them: lists of kinds, and what is of the past within it."""
    history, attributes = args.get("history"), _listed(args.get("attributes"))
    parts = (args, history if isinstance(history, Mapping) else {})
    said = [str(part[key]).strip().casefold() for part in parts for key in _CAUSES if part.get(key)]
    why = not _CAUSES.isdisjoint(attributes) or not {*said} <= {"false", "no", "none", "null"}
    beside = {key: args[key] for key in _HISTORY if args.get(key)}
    if isinstance(history, str):
        history = {"duration": history} if texts(history) else {}
    if history is None or isinstance(history, Mapping):
        given = {**beside, **(history or {})}.items()
        history = {key: value for key, value in given if value not in (None, "") and key not in _CAUSES}
    state = args.get("state")
    if isinstance(state, bool):
        state = "on" if state else "off"
    elif isinstance(state, str) and state.strip().casefold() in NO_VALUE - {"unknown"}:
        state = None
    read = {
        **tidy(args),
        "domain": [kind for slot in ("kind", "domain") for kind in _listed(args.get(slot))],
        "device_class": _listed(args.get("device_class")),
        "attributes": attributes,
        "state": state,
        "history": history,
        "why": why,
    }
    left_out = (*SLOTS, *read, *_HISTORY, *_CAUSES, "kind")
    others = {key: value for key, value in args.items() if key not in left_out}
    return {key: value for key, value in read.items() if value} | others


def has_changed_by(asked: Sequence[str], state: State) -> bool:
    """Return whether a query names the attribute of a lock or an alarm that says who used it."""
    return ATTR_CHANGED_BY in asked and bool(state.attributes.get(ATTR_CHANGED_BY))


@cache
def with_labels() -> Mapping[str, Any]:
    """Return the parameters as JSON Schema, as a home with labels is offered them."""
    schema = probatio.to_openapi(PARAMETERS, openapi_version="3.1.0")
    offered = {name: slot for name, slot in schema["properties"].items() if name not in UNOFFERED}
    history = dict(offered["history"])
    for part in (schema, history):
        part.pop("additionalProperties", None)
    return {**schema, "properties": {**offered, "history": history}}


def _listed(value: Any) -> list[str]:
    """Return the words of a slot: a list, one word, or several with commas between them."""
    return [part.strip() for text in texts(value) for part in text.split(",") if part.strip()]


DOOR_CLASSES = frozenset({"door", "garage_door", "opening"})
"""Classes of sensors that tell whether a door is open."""
MAX_NEAR = 5
"""Entities offered for a name that fits none."""


def find_all(
    house: HouseSnapshot, target: Target, *, speaker: Speaker, sentence: str, everything: bool = False
) -> list[EntityRecord]:
    """Return the entities that a query may mean, those in the room spoken of, then in the speaker's, first.

    Without a target these are all if `everything` may be meant, else what the sentence names.
    Raises ValidationError with the nearest candidates where nothing fits.
    """
    target = replace(target, everything=True)
    if target.is_empty and not everything:
        return resolve(house, target, speaker=speaker, sentence=sentence)
    search = Search(house, target, speaker, sentence, None, None)
    found: list[EntityRecord] = []
    problem: ValidationError | None = None
    for text in target.entity_id:
        try:
            found += _by_id(search, target, text)
        except ValidationError as err:
            problem = problem or err
    if problem is not None and not found:
        raise problem
    if not target.entity_id and search.name:
        found = _by_name(search, replace(target, name=search.name))
    elif not target.entity_id:
        found = _of_kind(search, house.entities.values())
        if search.kinds.classes and not search.kinds.domains:
            # Thermostats and the like measure, too: in rooms without such a sensor.
            rooms = {record.area_id for record in found}
            found += [
                record
                for record in house.entities.values()
                if record.area_id not in rooms
                and not search.kinds.classes.isdisjoint(DOMAINS[record.domain].measures)
                and search.is_here(record)
            ]
        found = found or _resolved(search, target)
    unique = {record.entity_id: record for record in found}
    places = places_in_sentence(house, sentence, speaker.language)
    return sorted(
        unique.values(),
        key=lambda record: (
            not any(place.holds(record) for place in places),
            speaker.area_id is None or record.area_id != speaker.area_id,
            record.entity_id,
        ),
    )


def with_door_sensors(house: HouseSnapshot, records: Sequence[EntityRecord]) -> list[EntityRecord]:
    """Return the entities, before each lock the sensor of its door: a lock knows nothing of openings."""
    found = [each for record in records for each in (*_door_sensors(house, record), record)]
    return list({record.entity_id: record for record in found}.values())


def _door_sensors(house: HouseSnapshot, lock: EntityRecord) -> Sequence[EntityRecord]:
    """Return the sensors of the door of a lock: by device, by name, or the only one of its room."""
    if lock.domain != "lock":
        return ()
    sensors = [
        record
        for record in (house.in_area(lock.area_id) if lock.area_id else house.entities.values())
        if record.domain == "binary_sensor" and record.device_class in DOOR_CLASSES
    ]
    if own := [record for record in sensors if lock.device and record.device == lock.device]:
        return own
    kinds = domain_words()
    doors = [{word for word in content_words(name) if kinds.get(word) != "lock"} for name in lock.names]
    named = [
        record
        for record in sensors
        if any(door and door <= {*content_words(name)} for door in doors for name in record.names)
    ]
    return named or (sensors if lock.area_id and len(sensors) == 1 else ())


def unknown_ids(house: HouseSnapshot, target: Target, found: Iterable[EntityRecord]) -> list[str]:
    """Return the ids of a query of several that name none of the entities that were found."""
    names = [name for record in found for name in (record.entity_id, record.object_id, *record.names)]
    known = {squash(name) for name in names}
    return [
        text
        for text in target.entity_id
        if len(target.entity_id) > 1
        and "*" not in text
        and text.strip().casefold() not in house.entities
        and squash(text) not in known
        and squash(text.rpartition(".")[2]) not in known
    ]


def _by_id(search: Search, target: Target, text: str) -> list[EntityRecord]:
    entity_id = text.strip().casefold()
    if (record := search.house.entities.get(entity_id)) is not None:
        return [record]
    if "*" in entity_id:
        pattern = entity_id if "." in entity_id else f"*.{entity_id}"
        matching = [record for key, record in search.house.entities.items() if fnmatchcase(key, pattern)]
        return _of_kind(search, matching) or _resolved(search, replace(target, entity_id=(text,)))
    return _by_name(search, replace(target, entity_id=(text,)), text.rpartition(".")[2])


def _by_name(search: Search, target: Target, name: str | None = None) -> list[EntityRecord]:
    name = name or target.name or ""
    try:
        return _resolved(search, target)
    except ValidationError as err:
        problem = err
    # All entities, and all of a device, of this name.
    names = name_index(search.house)
    keys = dict.fromkeys((squash(name), squash(without_article(name))))
    tables = (names.exact, names.qualified, names.short, names.devices)
    bearing = [entity_id for key in keys for table in tables for entity_id in table.get(key, ())]
    if found := _of_kind(search, search.records(bearing)):
        return found
    spoken = (search.speaker.language, language_of(search.sentence, search.speaker.language) or DEFAULT)
    here = _of_kind(search, search.house.entities.values())
    if found := meant_by(search.house, here, name, spoken):
        return found
    near = names.near(name)
    nearest = search.records(entity_id for entity_id, score in near if near[0][1] - score < MARGIN)
    if found := _of_kind(search, nearest)[:MAX_NEAR]:
        return found
    raise problem


def _resolved(search: Search, target: Target) -> list[EntityRecord]:
    return resolve(search.house, target, speaker=search.speaker, sentence=search.sentence)


def _of_kind(search: Search, records: Iterable[EntityRecord]) -> list[EntityRecord]:
    """Return the entities of the kinds and places given; settings and diagnostics only where asked for."""
    found = [record for record in records if search.is_here(record) and search.kinds.fits(record)]
    if search.kinds.classes:
        return found
    return [record for record in found if record.category is None] or found
