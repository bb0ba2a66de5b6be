"""States of the past as a query answers them: what the recorder's data comes to."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from homeassistant.components.sensor import ATTR_STATE_CLASS
from homeassistant.const import ATTR_DEVICE_CLASS
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util

from ...context.states import describe_state
from ...domains import DOMAINS
from ...knowledge.house import EntityRecord
from ...safety.firewall.own_values import without_outside
from ...texts import as_number
from ...timespans import format_local
from .entity_report import as_percent, state_words, unit_of
from .filters import StateFilter
from .history_summary import HistoryKind, summarize, value_at
from .periods import is_period, parse_moment, parse_period
from .present import MAX_CHARS, NARROW, Member, Report
from .recorder_history import Wanted, async_read

MAX_HISTORY_ENTITIES: Final = 20
MAX_CHANGES: Final = 20
"""Changes listed of one entity."""
MAX_CHANGES_EACH: Final = 5
"""Changes listed of each where there are several."""
_USUAL: Final = ("on", "off", "open", "closed", "locked", "unlocked")
_KIND_OF_ANGLE: Final = "wind_direction"


async def async_history(
    hass: HomeAssistant,
    found: Sequence[Member],
    asked: Sequence[str],
    history: Mapping[str, str],
    counted: StateFilter | None,
    language: str,
) -> Report:
    """Return the recorder's data for a period, or the states at a moment; `counted` is the state to count."""
    now = dt_util.utcnow()
    aggregate = history.get("aggregate")
    chosen = found[:MAX_HISTORY_ENTITIES]
    moment, length = history.get("at", ""), history.get("duration") or "24h"
    if moment and is_period(moment, now, language):
        moment, length = "", moment
    if moment:
        period = parse_moment(moment, history.get("duration", ""), now)
        head: Report = {"at": format_local(period.start)}
    else:
        period = parse_period(length, now, language)
        head = {"period": f"{format_local(period.start)} to {format_local(period.end)}"}
    kinds = [_kind(hass, record, state, counted) for record, state in chosen]
    wanted = [
        _wanted(state, asked, aggregate, kind, at_once=bool(moment))
        for (_record, state), kind in zip(chosen, kinds, strict=True)
    ]
    series = await async_read(hass, wanted, period)
    max_changes = MAX_CHANGES if len(chosen) == 1 else MAX_CHANGES_EACH
    told: Report = {}
    for (record, state), item, kind in zip(chosen, wanted, kinds, strict=True):
        if moment:
            answer = value_at(series[item.entity_id], kind)
        else:
            answer = summarize(series[item.entity_id], period, aggregate, kind, max_changes=max_changes)
        if item.attribute is not None:
            answer["attribute"] = item.attribute
        own = without_outside(hass, state)
        report: Report = {"now": describe_state(own, record, aged=False)}
        unit = unit_of(hass, state) if item.attribute is None else _attribute_unit(hass, item.attribute)
        if unit:
            report["unit"] = unit
        told[record.entity_id] = report | answer
    return _bounded(head, told, len(found))


def _bounded(answer: Report, told: Report, total: int) -> Report:
    room = MAX_CHARS - len(json_dumps(answer))
    kept: Report = {}
    for entity_id, report in told.items():
        room -= len(json_dumps({entity_id: report}))
        if room < 0 and kept:
            break
        kept[entity_id] = report
    answer["history"] = kept
    if total > len(kept):
        answer["more"] = NARROW.format(total - len(kept))
    return answer


def _attribute_unit(hass: HomeAssistant, name: str) -> str | None:
    """Return the unit of an attribute where its name tells it."""
    if as_percent(name, 1) is not None or name.endswith("humidity"):
        return "%"
    return hass.config.units.temperature_unit if "temp" in name and "kelvin" not in name else None


def _wanted(
    state: State, asked: Sequence[str], aggregate: str | None, kind: HistoryKind, *, at_once: bool
) -> Wanted:
    """Return what to read: an asked attribute that is a number, where the state itself is none.

    Statistics hold no single readings, so these are counted and added up from states. A thermostat shows
    what it measures in an attribute, which is read where numbers are asked for.
    """
    attribute = None
    if as_number(state.state) is None:
        numeric = aggregate not in (None, "count") or at_once
        names = asked or (tuple(DOMAINS[state.domain].measures.values()) if numeric else ())
        attribute = next((name for name in names if _is_number(state.attributes.get(name))), None)
    needs_readings = {"count"} if kind.is_meter else {"count", "sum"}
    return Wanted(
        entity_id=state.entity_id,
        attribute=attribute,
        read_attribute=partial(_attribute_text, attribute or ""),
        use_statistics=state.domain == "sensor" and aggregate not in needs_readings,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _attribute_text(name: str, value: Any) -> str:
    """Return an attribute of the past as the state of a series, empty where it was missing."""
    if not _is_number(value):
        return ""
    percent = as_percent(name, value)
    return str(value if percent is None else percent)


def _kind(
    hass: HomeAssistant, record: EntityRecord, state: State, counted: StateFilter | None
) -> HistoryKind:
    """Return the kind of number of an entity; the registry knows it while the entity is unavailable."""
    state_class = state.attributes.get(ATTR_STATE_CLASS)
    if state_class is None and (entry := er.async_get(hass).async_get(state.entity_id)):
        state_class = (entry.capabilities or {}).get(ATTR_STATE_CLASS)
    facts = DOMAINS[state.domain]
    return HistoryKind(
        state_class=None if state_class is None else str(state_class),
        is_angle=state.attributes.get(ATTR_DEVICE_CLASS) == _KIND_OF_ANGLE,
        active=_counted_state(record, state, counted) or facts.active,
        passing=facts.passing,
        words=state_words(record, state),
    )


def _counted_state(record: EntityRecord, state: State, counted: StateFilter | None) -> str:
    """Return the state of an entity that a filter means, empty if it means none of the usual ones."""
    if counted is None:
        return ""
    usual = (DOMAINS[state.domain].active, state.state, *_USUAL)
    for text in filter(None, usual):
        if counted.matches(record, State(state.entity_id, text, state.attributes)):
            return text
    return ""
