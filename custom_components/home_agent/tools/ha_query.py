"""ha_query: what the home is like now, and what it was like before."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, override

import probatio

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.sensor import ATTR_STATE_CLASS
from homeassistant.const import ATTR_DEVICE_CLASS
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..domains import DOMAINS
from ..errors import ValidationError
from ..knowledge.house import EntityRecord
from ..safety.firewall.own_values import is_name, is_plain, texts_in
from ..texts import one_line
from ..timespans import format_local
from .base import HomeAgentTool, ToolRun, as_list
from .query.entity_report import (
    as_percent,
    attribute_names,
    describe,
    state_words,
    unit_of,
    unknown_attributes,
)
from .query.history_summary import HistoryKind, as_number, summarize
from .query.periods import parse_period
from .query.recorder_history import Wanted, async_read
from .query.targets import find_all, with_door_sensors
from .resolving.targets import Target

MAX_ENTITIES: Final = 50
MAX_HISTORY_ENTITIES: Final = 20
MAX_CHARS: Final = 4000
MAX_CHANGES: Final = 20
"""Changes listed of one entity."""
MAX_CHANGES_EACH: Final = 5
"""Changes listed of each where there are several."""
SLICE: Final = 200
"""Entities looked at before the event loop gets its turn."""
COUNT_FROM: Final = 6
"""From this many entities on the answer counts them by state: models do not count well."""

AGGREGATES: Final = ("avg", "min", "max", "sum", "count")
_AT_REST = frozenset(
    {"off", "closed", "locked", "idle", "standby", "docked", "not_home", "unavailable", "unknown"}
)
_DROPPED_FIRST = ("area",)
_ALWAYS = frozenset({"entity_id", "name", "state", "means", "unit", "changed", "history", "cut"})
_KIND_OF_ANGLE = "wind_direction"

type Report = dict[str, JsonValueType]


class QueryTool(HomeAgentTool):
    """Reads states, attributes and history; changes nothing."""

    name = "ha_query"
    title = "Query the house"
    description = "Read the current state or the history of devices and sensors, by id, name, area or kind."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Optional(
                "entity_id", description="one or several; light.* for all of a kind"
            ): probatio.Any(str, [str]),
            probatio.Optional("name"): str,
            probatio.Optional("area"): str,
            probatio.Optional("floor"): str,
            probatio.Optional("domain"): probatio.Any(str, [str]),
            probatio.Optional("device_class"): probatio.Any(str, [str]),
            probatio.Optional("attributes", description="only these"): [str],
            probatio.Optional("history"): {
                probatio.Required("duration", description="1h, 24h, 7d, today, yesterday"): str,
                probatio.Optional("aggregate"): probatio.In(AGGREGATES),
            },
        }
    )

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Answer one query; entities that the speaker may not see do not exist."""
        found = await _async_targets(args, run)
        asked = as_list(args.get("attributes"))
        if history := args.get("history"):
            return await _async_history(run, found, asked, history)
        return _current(run, found, asked)

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return titles, messages and other free text of the entities."""
        if not isinstance(result, dict):
            return
        counted = result.get("by_state")
        yield from (state for state in counted if not is_plain(state)) if isinstance(counted, dict) else ()
        reports = result.get("entities")
        for report in reports if isinstance(reports, list) else ():
            if isinstance(report, dict):
                yield from texts_in(hass, str(report.get("entity_id")), report)
        for key in ("unknown_attributes", "known_attributes"):
            names = result.get(key)
            yield from (
                (str(name) for name in names if not is_name(str(name))) if isinstance(names, list) else ()
            )


async def _async_targets(args: dict[str, Any], run: ToolRun) -> list[tuple[EntityRecord, State]]:
    """Return the entities that are meant, exposed and there, most telling first."""
    search = partial(find_all, run.house, Target.from_args(args), speaker=run.speaker, sentence=run.sentence)
    records = await run.hass.async_add_executor_job(search)
    if args.get("history"):
        records = with_door_sensors(run.house, records)
    may_read = await async_read_permission(run)
    found = []
    for index, record in enumerate(records, 1):
        state = run.hass.states.get(record.entity_id)
        if state is not None and run.is_exposed(record.entity_id) and may_read(record.entity_id):
            found.append((record, state))
        if index % SLICE == 0:
            await asyncio.sleep(0)
    if not found:
        raise ValidationError("No entity that the assistant may see fits this query")
    if len(found) > COUNT_FROM:
        found.sort(key=lambda pair: pair[1].state in _AT_REST)
    return found


async def async_read_permission(run: ToolRun) -> Callable[[str], bool]:
    """Return a check whether the speaker may read an entity; satellites have no user."""
    if (user_id := run.speaker.context.user_id) is None:
        return lambda _entity_id: True
    user = await run.hass.auth.async_get_user(user_id)
    if user is None or not user.is_active:
        return lambda _entity_id: False
    return lambda entity_id: user.permissions.check_entity(entity_id, POLICY_READ)


def _current(run: ToolRun, found: Sequence[tuple[EntityRecord, State]], asked: Sequence[str]) -> Report:
    """Return the states of now."""
    now = dt_util.utcnow()
    reports = [
        _report(run, record, state, now, asked, alone=len(found) == 1)
        for record, state in found[:MAX_ENTITIES]
    ]
    answer: Report = {}
    if len(found) >= COUNT_FROM:
        answer["total"] = len(found)
        answer["by_state"] = _by_state([state for _record, state in found])
    states = [state for _record, state in found[:MAX_ENTITIES]]
    if unknown := unknown_attributes(states, asked):
        answer["unknown_attributes"] = list(unknown[:10])
        answer["known_attributes"] = list(attribute_names(states[0])[:30])
    return _bounded(answer, reports, len(found))


def _report(
    run: ToolRun, record: EntityRecord, state: State, now: datetime, asked: Sequence[str], *, alone: bool
) -> Report:
    """Return one entity of the answer."""
    return describe(run.hass, record, state, now, areas=run.house.areas, asked=asked, alone=alone)


def _by_state(states: Sequence[State]) -> Report:
    """Return how many entities are in which state, measurements left aside."""
    counts = Counter(state.state for state in states if as_number(state.state) is None)
    return {one_line(state, 40): count for state, count in counts.most_common(8)}


async def _async_history(
    run: ToolRun, found: Sequence[tuple[EntityRecord, State]], asked: Sequence[str], history: dict[str, str]
) -> Report:
    """Return the recorder's data for a period."""
    now = dt_util.utcnow()
    period = parse_period(history["duration"], now)
    aggregate = history.get("aggregate")
    chosen = found[:MAX_HISTORY_ENTITIES]
    kinds = [_kind(run, record, state) for record, state in chosen]
    wanted = [
        _wanted(state, asked, aggregate, kind) for (_record, state), kind in zip(chosen, kinds, strict=True)
    ]
    series = await async_read(run.hass, wanted, period)
    max_changes = MAX_CHANGES if len(chosen) == 1 else MAX_CHANGES_EACH
    reports = []
    for (record, state), item, kind in zip(chosen, wanted, kinds, strict=True):
        report = _report(run, record, state, now, (), alone=False)
        answer = summarize(series[item.entity_id], period, aggregate, kind, max_changes=max_changes)
        if item.attribute is not None:
            answer["attribute"] = item.attribute
        reports.append(_history_report(run, report, state, item, answer))
    head: Report = {"period": f"{format_local(period.start)} to {format_local(period.end)}"}
    return _bounded(head, reports, len(found))


def _history_report(run: ToolRun, report: Report, state: State, item: Wanted, history: Report) -> Report:
    """Return the entity with its history and no more of now than its state."""
    kept: Report = {key: report[key] for key in ("entity_id", "name", "state", "means") if key in report}
    unit = unit_of(run.hass, state) if item.attribute is None else _attribute_unit(run, item.attribute)
    if unit:
        kept["unit"] = unit
    return kept | {"history": history}


def _attribute_unit(run: ToolRun, name: str) -> str | None:
    """Return the unit of an attribute where its name tells it."""
    if as_percent(name, 1) is not None or name.endswith("humidity"):
        return "%"
    return run.hass.config.units.temperature_unit if "temp" in name and "kelvin" not in name else None


def _wanted(state: State, asked: Sequence[str], aggregate: str | None, kind: HistoryKind) -> Wanted:
    """Return what to read: an asked attribute that is a number, where the state itself is none.

    Statistics hold no single readings, so these are counted and added up from states.
    """
    attribute = None
    if as_number(state.state) is None:
        attribute = next((name for name in asked if _is_number(state.attributes.get(name))), None)
    needs_readings = {"count"} if kind.is_meter else {"count", "sum"}
    return Wanted(
        entity_id=state.entity_id,
        attribute=attribute,
        read_attribute=partial(_attribute_text, attribute or ""),
        use_statistics=state.domain == "sensor" and aggregate not in needs_readings,
    )


def _is_number(value: Any) -> bool:
    """Return whether an attribute can be averaged."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _attribute_text(name: str, value: Any) -> str:
    """Return an attribute of the past as the state of a series, empty where it was missing."""
    if not _is_number(value):
        return ""
    percent = as_percent(name, value)
    return str(value if percent is None else percent)


def _kind(run: ToolRun, record: EntityRecord, state: State) -> HistoryKind:
    """Return the kind of number of an entity; the registry knows it while the entity is unavailable."""
    state_class = state.attributes.get(ATTR_STATE_CLASS)
    if state_class is None and (entry := er.async_get(run.hass).async_get(state.entity_id)):
        state_class = (entry.capabilities or {}).get(ATTR_STATE_CLASS)
    facts = DOMAINS[state.domain]
    return HistoryKind(
        state_class=None if state_class is None else str(state_class),
        is_angle=state.attributes.get(ATTR_DEVICE_CLASS) == _KIND_OF_ANGLE,
        active=facts.active,
        passing=facts.passing,
        words=state_words(record, state),
    )


def _bounded(answer: Report, reports: list[Report], total: int) -> Report:
    """Return the answer with as many entities as fit, saying how many do not."""
    room = MAX_CHARS - len(json_dumps(answer))
    if sum(map(_size, reports)) > room:
        reports = [
            {key: value for key, value in report.items() if key not in _DROPPED_FIRST} for report in reports
        ]
    kept: list[JsonValueType] = []
    for report in reports:
        if not kept:
            _shorten(report, room)
        room -= _size(report)
        if room < 0 and kept:
            break
        kept.append(report)
    answer["entities"] = kept
    if total > len(kept):
        answer["left_out"] = total - len(kept)
        answer["hint"] = "narrow the query by area, domain or name"
    return answer


def _shorten(report: Report, room: int) -> None:
    """Drop attributes from the end until the entity fits, and say so."""
    extra = [key for key in report if key not in _ALWAYS]
    while extra and _size(report) > room:
        del report[extra.pop()]
        report["cut"] = True


def _size(report: Report) -> int:
    """Return how many characters an entity takes in the answer."""
    return len(json_dumps(report)) + 1
