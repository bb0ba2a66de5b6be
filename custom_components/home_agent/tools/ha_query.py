"""ha_query: what the home is like now, and what it was like before."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any, Final, override

import probatio

from homeassistant.components.alarm_control_panel.const import ATTR_CHANGED_BY
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..context.kind_lines import is_active
from ..errors import ValidationError
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..knowledge.names import labels_in, squash
from ..knowledge.speaker import Speaker
from ..safety.firewall.own_values import texts_in
from ..texts import one_line
from .base import HomeAgentTool, ToolRun
from .causes import Asked, async_explain, async_happened, async_why
from .query.past import async_history
from .query.present import ATTRIBUTES, COUNT_FROM, Member, StateQuestion, present, read_filter
from .resolving.resolver import (
    NO_TARGET,
    NO_VALUE,
    SLOTS,
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
_CAUSES: Final = frozenset(
    {"cause", "causes", "changed_by", "last_changed_by", "reason", "triggered_by", "who", "why"}
)
"""Names under which models ask who or what changed something."""
_OUR_KEYS: Final = frozenset({"attribute", "counted", "error", "note", "now", "of", "unit"})
"""What a history says in our own words."""
MAX_ID, MAX_UNKNOWN = 60, 8
"""Characters of an unknown id, and how many of them are named."""
KNOWLEDGE: Final = "retrieve_knowledge"
"""The tool for what is not exposed, which is built on this one."""
TOLD_ELSEWHERE: Final = frozenset({"automation", "script", "scene"})
"""Domains whose entities are mostly not exposed, while texts about all of them can be found."""


@cache
def with_labels() -> Mapping[str, Any]:
    """Return the parameters as JSON Schema, as a home with labels is offered them."""
    schema = probatio.to_openapi(PARAMETERS, openapi_version="3.1.0")
    offered = {name: slot for name, slot in schema["properties"].items() if name not in UNOFFERED}
    history = dict(offered["history"])
    for part in (schema, history):
        part.pop("additionalProperties", None)
    return {**schema, "properties": {**offered, "history": history}}


class QueryTool(HomeAgentTool):
    """Reads states, attributes and history; changes nothing."""

    name = "ha_query"
    title = "Query the house"
    description = "Read the current state or the history of devices and sensors, by id, name, area or kind."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = PARAMETERS
    unoffered = ("label", *UNOFFERED)

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return lists of kinds, and what is of the past within `history`."""

        def listed(*slots: str) -> list[str]:
            parts = (part for slot in slots for text in texts(args.get(slot)) for part in text.split(","))
            return [part.strip() for part in parts if part.strip()]

        history, attributes = args.get("history"), listed(ATTRIBUTES)
        parts = (args, history if isinstance(history, Mapping) else {})
        causes = {str(part[key]).strip().casefold() for part in parts for key in _CAUSES if part.get(key)}
        if isinstance(history, str):
            history = {"duration": history} if texts(history) else {}
        if history is None or isinstance(history, Mapping):
            given = {**{key: args[key] for key in _HISTORY if args.get(key)}, **(history or {})}
            history = {k: v for k, v in given.items() if v not in (None, "") and k not in _CAUSES}
        state = args.get("state")
        if isinstance(state, bool):
            state = "on" if state else "off"
        elif isinstance(state, str) and state.strip().casefold() in NO_VALUE - {"unknown"}:
            state = None
        read = {
            **tidy(args),
            "domain": listed("kind", "domain"),
            "device_class": listed("device_class"),
            ATTRIBUTES: attributes,
            "state": state,
            "history": history,
            "why": not _CAUSES.isdisjoint(attributes) or not causes <= {"false", "no", "none", "null"},
        }
        left_out = (*SLOTS, *read, *_HISTORY, *_CAUSES, "kind")
        others = {key: value for key, value in args.items() if key not in left_out}
        return {key: value for key, value in read.items() if value} | others

    @override
    def parameters_in(self, hass: HomeAssistant, house: HouseSnapshot) -> Mapping[str, Any] | None:
        return with_labels() if labels_in(house) else None

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        target = Target.from_args(args)
        history, said, why = args.get("history"), args.get("state"), bool(args.get("why"))
        is_whole = is_broad = not (target.entity_id or target.name or target.domain or target.device_class)
        found = await async_found(target, run, everything=bool(said) or why)
        counted = read_filter(run.hass, said, found, broad=is_broad) if said else None
        asked = args.get(ATTRIBUTES, [])
        if why and is_whole and counted is None and len(found) > 1:
            return await async_happened(run, found, history or {})
        says_who = ATTR_CHANGED_BY in asked and any(
            state.attributes.get(ATTR_CHANGED_BY) for _record, state in found
        )
        if why and not says_who:
            return await async_why(run, found, history or {}, counted)
        if history:
            return await async_history(run.hass, found, asked, history, counted, run.speaker.language)
        question = StateQuestion(
            hass=run.hass,
            areas=run.house.areas,
            attributes=asked,
            state=counted,
            named=frozenset(text.strip().casefold() for text in target.entity_id),
        )
        answer = present(question, found)
        if len(target.entity_id) > 1:
            records = [record for record, _state in found]
            names = {squash(name) for one in records for name in (one.entity_id, one.object_id, *one.names)}
            ids = (text for text in target.entity_id if "*" not in text)
            unknown = [
                text for text in ids if names.isdisjoint((squash(text), squash(text.rpartition(".")[2])))
            ]
            if unknown:
                answer["unknown"] = [one_line(text, MAX_ID) for text in unknown[:MAX_UNKNOWN]]
        if len(found) == 1 and counted is None:
            entity_id = found[0][0].entity_id
            last = Asked(entity_id=entity_id, end=dt_util.utcnow().timestamp())
            for _at, facts in (await async_explain(run, [last], is_of_past=False)).get(entity_id, ()):
                answer["changed_by"] = {key: facts[key] for key in facts if key not in ("at", "change")}
        if KNOWLEDGE in run.calls.tools and any(record.domain in TOLD_ELSEWHERE for record, _state in found):
            answer["note"] = f"only exposed ones; {KNOWLEDGE} knows all of them"
        return answer

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        if not isinstance(result, dict):
            return
        for part in (ATTRIBUTES, "history"):
            reports = result.get(part)
            for entity_id, report in reports.items() if isinstance(reports, dict) else ():
                if isinstance(report, dict):
                    others = {key: value for key, value in report.items() if key not in _OUR_KEYS}
                    yield from texts_in(hass, entity_id, {part: others} if part == "history" else report)


async def async_found(target: Target, run: ToolRun, *, everything: bool) -> list[Member]:
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
    found: list[Member] = []
    for index, record in enumerate(records, 1):
        state = run.hass.states.get(record.entity_id)
        if state is not None and run.reader.sees(record.entity_id):
            found.append((record, state))
        if index % 200 == 0:
            await asyncio.sleep(0)
    if not found:
        raise ValidationError("No entity that the assistant may see fits this query")
    if len(found) > COUNT_FROM:
        found.sort(key=lambda pair: not is_active(pair[1]))
    return found


def find_all(
    house: HouseSnapshot, target: Target, *, speaker: Speaker, sentence: str, everything: bool = False
) -> list[EntityRecord]:
    """Return the entities that a query may mean, those in the room spoken of, then in the speaker's, first.

    Without a target these are all if `everything` may be meant.
    Raises ValidationError with the nearest candidates where nothing fits.
    """
    if target.is_empty and not everything:
        raise ValidationError(NO_TARGET)
    records = resolve(house, target, speaker=speaker, sentence=sentence, many=True)
    places = places_in_sentence(house, sentence, speaker.language)
    return sorted(
        records,
        key=lambda record: (
            not any(place.holds(record) for place in places),
            speaker.area_id is None or record.area_id != speaker.area_id,
            record.entity_id,
        ),
    )
