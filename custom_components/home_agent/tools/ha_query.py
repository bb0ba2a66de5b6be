"""ha_query: what the home is like now, and what it was like before."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ..context.kind_lines import is_active
from ..errors import ValidationError
from ..knowledge.house import HouseSnapshot
from ..knowledge.labels import labels_in
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
from .query.targets import (
    AGGREGATES,
    LABEL,
    PARAMETERS,
    UNOFFERED,
    find_all,
    has_changed_by,
    in_order,
    unknown_ids,
    with_door_sensors,
    with_labels,
)
from .resolving.resolver import NO_TARGET, Target

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
