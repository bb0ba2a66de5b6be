"""Who or what changed an entity, as a query answers it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from homeassistant.util import dt as dt_util

from ...context.formats import describe_state
from ...domains import DOMAINS
from ...errors import PermissionDenied, RefusedByRule
from ...knowledge.house import EntityRecord
from ...safety.firewall.own_values import without_outside
from ...texts import as_number
from ...timespans import format_local
from ..base import ServiceCall, ToolRun
from ..causes.finding import PRIVATE, async_explain, async_not_done
from ..causes.recorded import Asked
from .past import MAX_CHANGES
from .periods import Period, is_period, parse_moment, parse_period
from .present import Member, Report, StateFilter

MAX_ENTITIES: Final = 5
"""Entities whose changes are explained at once."""
AROUND: Final = timedelta(minutes=30)
"""Time before and after a moment within which a change belongs to it."""
LATELY: Final = timedelta(days=1)
"""How long ago an automation may have been stopped if no period is asked about."""
MOST_ALONE: Final = 4
"""Changes that are told of one entity where no period is asked about."""
MOST_IN_PERIOD: Final = 10
MOST_IN_HOME: Final = 12
"""Devices of which the last change is told where none is asked about."""
MOST_LOOKED_AT: Final = 24
"""Devices whose changes are read for that; not all of them have changed."""
MOST_EACH: Final = 2
"""Changes that are told of each of several entities."""
MAX_IN_HISTORY: Final = 2
"""Entities whose history names who or what changed them without being asked."""
FOLLOWS: Final = (
    "nobody sets this: it follows where a person or a device is. What people did: ask without a target"
)
MEASURED: Final = "a measurement, which nobody sets"
NO_CHANGE: Final = "no change of this kind is recorded in this time"
NOTHING: Final = "no change of this kind is recorded"


async def async_why(
    run: ToolRun,
    found: Sequence[Member],
    history: Mapping[str, str],
    wanted: StateFilter | None,
) -> Report:
    """Return the last changes of entities, or those of a period, with what brought them about.

    `wanted` is the state that they got. Raises ValidationError for a period that is not understood.
    """
    period = _period(history, run.speaker.language)
    members = [member for member in found if wanted is None or wanted.matches(*member)] or found
    members = sorted(members, key=lambda member: member[1].last_changed, reverse=True)[:MAX_ENTITIES]
    asked = [
        Asked(
            entity_id=record.entity_id,
            start=period.start.timestamp() if period else None,
            end=(period.end if period else dt_util.utcnow()).timestamp(),
            most=MOST_EACH if len(members) > 1 else MOST_IN_PERIOD if period else MOST_ALONE,
            fits=partial(wanted.matches, record) if wanted else None,
        )
        for record, _state in members
    ]
    explained = await async_explain(run, asked)
    answer: Report = {}
    if period:
        answer["period"] = f"{format_local(period.start)} to {format_local(period.end)}"
    answer["states"] = {
        record.entity_id: describe_state(without_outside(run.hass, state), record)
        for record, state in members
    }
    answer["why"] = {
        record.entity_id: [MEASURED]
        if record.domain == "sensor" and as_number(state.state) is not None
        else [FOLLOWS]
        if record.domain in PRIVATE
        else [each.facts for each in explained.get(record.entity_id, ())]
        or [NO_CHANGE if period else NOTHING]
        for record, state in members
    }
    if len(members) == 1:
        begin = period.start if period else dt_util.utcnow() - LATELY
        nothing = not explained and members[0][0].domain not in PRIVATE
        asked_of, since = members[0][0].entity_id, begin.timestamp()
        if stopped := await async_not_done(run, asked_of, since, with_idle=nothing):
            answer["not_done"] = list(stopped)
        if rule := await _async_rule(run, members[0][0]):
            answer["rule"] = rule
    if len(found) > len(members):
        answer["more"] = f"+{len(found) - len(members)} more; ask about fewer"
    return answer


async def _async_rule(run: ToolRun, record: EntityRecord) -> str | None:
    for service in sorted({str(action.service) for action in DOMAINS[record.domain].actions.values()}):
        call = ServiceCall(domain=record.domain, service=service, entity_ids=(record.entity_id,))
        try:
            await run.guard.async_foresee([call], run.speaker)
        except RefusedByRule as err:
            return str(err)
        except PermissionDenied:
            continue
    return None


async def async_happened(run: ToolRun, found: Sequence[Member], history: Mapping[str, str]) -> Report:
    """Return what happened in the home: the last change of each device, the newest last.

    Raises ValidationError for a period that is not understood.
    """
    period = _period({"duration": "24h", **history}, run.speaker.language)
    assert period is not None
    begin, end = period.start.timestamp(), period.end.timestamp()
    changed = [
        (record, state)
        for record, state in found
        if record.domain not in PRIVATE
        and not DOMAINS[record.domain].is_gated
        and as_number(state.state) is None
        and state.last_updated.timestamp() >= begin
    ]
    changed.sort(key=lambda member: member[1].last_updated, reverse=True)
    ids = [record.entity_id for record, _state in changed[:MOST_LOOKED_AT]]
    asked = [Asked(entity_id=entity_id, start=begin, end=end, most=1) for entity_id in ids]
    explained = await async_explain(run, asked)
    told = sorted((some[-1] for some in explained.values()), key=lambda each: each.change.at)
    answer: Report = {"period": f"{format_local(period.start)} to {format_local(period.end)}"}
    answer["why"] = {each.change.after.entity_id: each.facts for each in told[-MOST_IN_HOME:]} or NO_CHANGE
    if len({record.area_id for record, _state in found}) == 1:
        first = next((record for record, _state in found if DOMAINS[record.domain].actions), None)
        if first and (rule := await _async_rule(run, first)):
            answer["rule"] = rule
    if (left := len(told) - MOST_IN_HOME) > 0 or len(changed) > MOST_LOOKED_AT:
        answer["more"] = f"{max(left, 1)} or more earlier; ask about a kind or an area"
    return answer


def _period(history: Mapping[str, str], language: str) -> Period | None:
    """Return the time that is asked about; None for the last changes, whenever they were."""
    now = dt_util.utcnow()
    moment, length = history.get("at", ""), history.get("duration", "")
    if moment and is_period(moment, now, language):
        moment, length = "", moment
    if moment:
        at = parse_moment(moment, length, now)
        return Period(at.start - AROUND, min(now, at.end + AROUND))
    return parse_period(length, now, language) if length else None


async def async_add_causes(
    run: ToolRun, found: Sequence[Member], history: Mapping[str, str], answer: Report
) -> None:
    """Add to the listed changes of one or two entities who or what brought them about, where it is known."""
    told = answer.get("history")
    period = _period({"duration": "24h", **history}, run.speaker.language)
    if not isinstance(told, dict) or len(found) > MAX_IN_HISTORY or period is None:
        return
    states = {record.entity_id: state for record, state in found if record.domain not in PRIVATE}
    rows = {
        entity_id: changes
        for entity_id, report in told.items()
        if isinstance(report, dict)
        and isinstance(changes := report.get("changes"), list)
        and entity_id in states
        and as_number(states[entity_id].state) is None
    }
    start, end = period.start.timestamp(), period.end.timestamp()
    asked = [Asked(entity_id=entity_id, start=start, end=end, most=MAX_CHANGES) for entity_id in rows]
    for entity_id, some in (await async_explain(run, asked)).items() if asked else ():
        causes = {format_local(each.change.at): each.cause for each in some if each.change.is_of_state}
        for row in rows[entity_id]:
            if isinstance(row, list) and (cause := causes.get(str(row[0]))):
                row.append(cause)
