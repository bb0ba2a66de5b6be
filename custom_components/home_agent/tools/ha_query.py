"""ha_query: what the home is like now, and what it was like before."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any, Final, override

import probatio

from homeassistant.components.alarm_control_panel.const import ATTR_CHANGED_BY
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ..context.kind_lines import is_active
from ..context.named import language_of
from ..domains import DOMAINS
from ..errors import ValidationError
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..knowledge.names import MARGIN, content_words, labels_in, name_index, squash, without_article
from ..knowledge.speaker import Speaker
from ..knowledge.spoken_words import domain_words
from ..languages import DEFAULT
from ..safety.firewall.own_values import is_name, texts_in
from ..texts import one_line
from .base import HomeAgentTool, ToolRun
from .causes import PRIVATE, async_add_causes, async_explain_now, async_happened, async_why
from .control.mentions import Mention, mention
from .query.past import MAX_HISTORY_ENTITIES, async_history
from .query.present import (
    ATTRIBUTES,
    COUNT_FROM,
    MAX_CHARS,
    MAX_ENTITIES,
    Member,
    StateFilter,
    StateQuestion,
    async_read_filter,
    present,
)
from .resolving.family_words import meant_by
from .resolving.resolver import (
    NO_TARGET,
    NO_VALUE,
    SLOTS,
    Search,
    Target,
    places_in_sentence,
    resolve,
    texts,
    tidy,
)

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


__all__ = ["AGGREGATES", "MAX_CHARS", "MAX_ENTITIES", "MAX_HISTORY_ENTITIES", "QueryTool"]

_OUR_KEYS: Final = frozenset({"attribute", "counted", "error", "note", "now", "of", "unit"})
"""What a history says in our own words."""
MAX_ID, MAX_UNKNOWN = 60, 8
"""Characters of an unknown id, and how many of them are named."""
SLICE: Final = 200
"""Entities looked at before the event loop gets its turn."""
KNOWLEDGE: Final = "retrieve_knowledge"
"""The tool for what is not exposed, which is built on this one."""
TOLD_ELSEWHERE: Final = frozenset({"automation", "script", "scene"})
ELSEWHERE: Final = f"only exposed ones; {KNOWLEDGE} knows all of them"
"""Domains whose entities are mostly not exposed, while texts about all of them can be found."""


class QueryTool(HomeAgentTool):
    """Reads states, attributes and history; changes nothing."""

    name = "ha_query"
    title = "Query the house"
    description = "Read the current state or the history of devices and sensors, by id, name, area or kind."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = PARAMETERS
    unoffered = (LABEL, *UNOFFERED)

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the slots of the past within `history`, and the kinds as a list."""
        return in_order(args)

    @override
    def parameters_in(self, hass: HomeAssistant, house: HouseSnapshot) -> Mapping[str, Any] | None:
        """Return the parameters with the slot for labels in a home that has some."""
        return with_labels() if labels_in(house) else None

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Answer one query; entities that the speaker may not see do not exist."""
        target = Target.from_args(args)
        history, said, why = args.get("history"), args.get("state"), bool(args.get("why"))
        doors = bool((history and not why) or target.name)
        try:
            found = await async_found(target, run, with_doors=doors, everything=bool(said))
        except ValidationError as err:
            if not why or not str(err).startswith(NO_TARGET):
                raise
            said_of = mention(run.hass, run.house, run.sentence, run.sentence, run.speaker.language)
            found = await async_found(target, run, with_doors=doors, everything=True)
            found = _meant(found, said_of)
            is_whole = not (said_of.entity_ids or said_of.kinds)
        else:
            is_whole = not (target.entity_id or target.name or target.domain or target.device_class)
        state: StateFilter | None = None
        if said:
            broad = not (target.entity_id or target.name or target.domain or target.device_class)
            state = await async_read_filter(run.hass, said, found, run.speaker.language, broad=broad)
        asked = args.get("attributes", [])
        if why and is_whole and state is None and len(found) > 1:
            return await async_happened(run, found, history or {})
        if why and not any(has_changed_by(asked, state) for _record, state in found):
            return await async_why(run, found, history or {}, state)
        if history:
            past = await async_history(run.hass, found, asked, history, state, run.speaker.language)
            await async_add_causes(run, found, history, past)
            return past
        question = StateQuestion(
            hass=run.hass,
            areas=run.house.areas,
            attributes=asked,
            state=state,
            named=frozenset(text.strip().casefold() for text in target.entity_id),
        )
        answer = present(question, found)
        if unknown := unknown_ids(run.house, target, (record for record, _state in found)):
            answer["unknown"] = [one_line(text, MAX_ID) for text in unknown[:MAX_UNKNOWN]]
        if len(found) == 1 and state is None:
            by = await async_explain_now(run, found[0][1])
            if by is not None:
                answer["changed_by"] = by
        if KNOWLEDGE in run.calls.tools and any(record.domain in TOLD_ELSEWHERE for record, _state in found):
            answer["note"] = ELSEWHERE
        return answer

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return titles, messages and other free text of the entities."""
        if not isinstance(result, dict):
            return
        for part in (ATTRIBUTES, "history"):
            told = result.get(part)
            for entity_id, report in told.items() if isinstance(told, dict) else ():
                if not isinstance(report, dict):
                    continue
                told_of = {key: value for key, value in report.items() if key not in _OUR_KEYS}
                yield from texts_in(hass, entity_id, {part: told_of} if part == "history" else report)
        for key in ("unknown_attributes", "known_attributes"):
            names = result.get(key)
            yield from (
                (str(name) for name in names if not is_name(str(name))) if isinstance(names, list) else ()
            )


def _meant(found: list[Member], said: Mention) -> list[Member]:
    """Return the entities that a sentence names best; all if it names none, or only people."""
    fits = {record.entity_id: said.fit(record) for record, _state in found if record.domain not in PRIVATE}
    best = max(fits.values(), default=0)
    return [member for member in found if fits.get(member[0].entity_id) == best] if best else found


async def async_found(target: Target, run: ToolRun, *, with_doors: bool, everything: bool) -> list[Member]:
    """Return the entities that are meant, exposed and there, most telling first."""
    search = partial(
        find_all, run.house, target, speaker=run.speaker, sentence=run.sentence, everything=everything
    )
    try:
        records = await run.hass.async_add_executor_job(search)
    except ValidationError as err:
        if KNOWLEDGE in run.calls.tools and TOLD_ELSEWHERE.intersection(target.domain):
            raise ValidationError(f"{str(err)[:200]}. {KNOWLEDGE} knows those that are not exposed") from err
        raise
    if with_doors:
        records = with_door_sensors(run.house, records)
    found: list[Member] = []
    for index, record in enumerate(records, 1):
        state = run.hass.states.get(record.entity_id)
        if state is not None and run.reader.sees(record.entity_id):
            found.append((record, state))
        if index % SLICE == 0:
            await asyncio.sleep(0)
    if not found:
        raise ValidationError("No entity that the assistant may see fits this query")
    if len(found) > COUNT_FROM:
        found.sort(key=lambda pair: not is_active(pair[1]))
    return found
