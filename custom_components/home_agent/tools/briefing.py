"""A briefing: what somebody should know of today, from what they may read."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..const import LOGGER
from ..context.kind_lines import is_active
from ..errors import HomeAgentError
from ..planned.records import PlannedItem
from ..planned.scheduler import Scheduler
from ..texts import leaves, one_line
from ..timespans import format_local
from ..when import end_of
from .base import ToolRun
from .causes import async_happened
from .everyday.calendar_tool import MAX_EVENTS, as_events, async_events
from .everyday.choosing import permitted, records_of
from .everyday.timer_tool import given_by, outside_rows, planned_rows
from .everyday.weather_tool import WeatherTool
from .query.present import Member

MAX_ROWS: Final = 12
OPENINGS: Final[Mapping[str, frozenset[str] | None]] = {
    "binary_sensor": frozenset(("door", "garage_door", "opening", "window")),
    "cover": frozenset(("door", "garage", "gate", "window")),
    "lock": None,
    "valve": None,
}
"""What may be left open, by domain the device classes; None for all."""


async def async_briefing(run: ToolRun, planned: Scheduler | None) -> dict[str, JsonValueType]:
    """Return the events of today, the weather, what is open, what happened in the night, and what is planned.

    Outsiders may have written events. What cannot be read, or is nothing, is left out.
    """
    facts: dict[str, JsonValueType] = {}
    parts: Mapping[str, Callable[[ToolRun], Awaitable[JsonValueType]]] = {
        "calendar": _async_calendar,
        "weather": _async_weather,
        "happened": _async_happened,
    }
    for name, read in parts.items():
        try:
            facts[name] = await read(run)
        except HomeAgentError as err:
            LOGGER.debug("A briefing goes without %s: %s", name, type(err).__name__)
    opened: list[JsonValueType] = [
        {
            "name": one_line(record.name, 60),
            "kind": record.device_class or record.domain,
            "since": format_local(state.last_changed),
        }
        for record, state in _openings(run)
        if is_active(state)
    ]
    facts["open"] = opened[:MAX_ROWS]
    tonight = end_of(dt_util.now().date())
    items = _own_plans(run, planned) if planned is not None else ()
    facts["planned"] = planned_rows(
        [item for item in items if not item.restores and item.due < tonight][:MAX_ROWS], run
    )
    return {name: value for name, value in facts.items() if value}


def outside_texts(facts: Mapping[str, JsonValueType]) -> list[str]:
    """Return the texts of a briefing that outsiders may have written."""
    return [*outside_rows(facts.get("planned")), *map(str, leaves(facts.get("calendar", [])))]


def _own_plans(run: ToolRun, planned: Scheduler) -> list[PlannedItem]:
    """Return what the speaker planned; of a voice nobody knows, what was planned in the same place."""
    if user_id := run.speaker.context.user_id:
        return planned.of_user(user_id)
    return [item for item in planned.all() if given_by(item.owner, run)]


def _openings(run: ToolRun) -> list[Member]:
    """Return what may be left open, as far as the speaker may know of it, with its states."""
    return [
        (record, state)
        for domain, classes in OPENINGS.items()
        for record in run.house.of_domain(domain)
        if (classes is None or record.device_class in classes)
        and run.reader.sees(record.entity_id)
        and (state := run.hass.states.get(record.entity_id)) is not None
    ]


async def _async_calendar(run: ToolRun) -> JsonValueType:
    now = dt_util.now()
    calendars = permitted(run, records_of(run, "calendar"))
    return as_events((await async_events(run, calendars, now, end_of(now.date())))[:MAX_EVENTS], calendars)


async def _async_weather(run: ToolRun) -> JsonValueType:
    """Return the forecast of today of the first place that the speaker may know of."""
    places = [record for record in records_of(run, "weather") if run.reader.sees(record.entity_id)]
    if not places:
        return {}
    args = {"day": dt_util.now().date().isoformat(), "type": "daily", "name": places[0].entity_id}
    return await WeatherTool().async_run(args, run)


async def _async_happened(run: ToolRun) -> JsonValueType:
    """Return what last happened to each door, window and lock in the night."""
    happened = (await async_happened(run, _openings(run), {"duration": "12h"}))["why"]
    return happened if isinstance(happened, dict) else {}
