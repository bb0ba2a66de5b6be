"""calendar: what is planned, and planning something."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final, override

import probatio

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ..base import HomeAgentTool, ServiceCall, ToolRun
from ..durations import format_local
from ..plain_values import one_line
from .choosing import choose_one, named, records_of
from .moments import at_clock, end_of, read_clock, read_length, read_moment, start_of

DOMAIN: Final = "calendar"
CREATE_EVENT: Final = 1
"""The bit of `supported_features` of a calendar that takes events."""
MAX_EVENTS: Final = 30
MAX_PERIOD: Final = timedelta(days=366)
MAX_TITLE: Final = 200
MAX_DESCRIPTION: Final = 200
USUAL_LENGTH: Final = timedelta(hours=1)


class CalendarTool(HomeAgentTool):
    """Reads a period, or creates an event. Whoever sends an invitation writes into a calendar."""

    name = "calendar"
    title = "Calendar"
    description = "Read events from start to end; with a title, create one."
    domain = DOMAIN
    untrusted = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Optional("start", description="date, or date and time"): str,
            probatio.Optional("end"): str,
            probatio.Optional("title"): str,
            probatio.Optional("calendar"): str,
        }
    )

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether no event is created."""
        return not str(args.get("title") or "").strip()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Read or create. Raises ValidationError for a time or a calendar that is not clear."""
        start = read_moment(args["start"], "start") if (args.get("start") or "").strip() else None
        if self.only_reads(args):
            return await _async_read(run, start, args)
        if start is None:
            raise ValidationError("start: say when it begins")
        return await _async_create(run, start, args)


async def _async_read(run: ToolRun, start: date | datetime | None, args: Mapping[str, Any]) -> JsonValueType:
    """Return the events of a period, those that are going on too, in their order."""
    begin = start_of(start) if start else dt_util.now()
    end = end_of(_end(args, start) or _same_day(begin))
    if end <= begin:
        raise ValidationError("end: must be later than start")
    if end - begin > MAX_PERIOD:
        raise ValidationError("end: a period of at most a year")
    chosen = _calendars(run, args.get("calendar"))
    call = ServiceCall(
        domain=DOMAIN,
        service="get_events",
        entity_ids=tuple(record.entity_id for record in chosen),
        data={"start_date_time": begin.isoformat(), "end_date_time": end.isoformat()},
    )
    answer = await run.read(call)
    found = [
        (start_of(starts), record, event)
        for record in chosen
        for event in (answer.get(record.entity_id) or {}).get("events") or ()
        if (starts := _moment(event.get("start"))) is not None
    ]
    found.sort(key=lambda item: item[0])
    events: list[JsonValueType] = [
        _told(event, record if len(chosen) > 1 else None) for _, record, event in found[:MAX_EVENTS]
    ]
    told: dict[str, JsonValueType] = {
        "period": f"{format_local(begin)} to {format_local(end)}",
        "events": events,
    }
    if more := len(found) - len(events):
        told["left_out"] = more
    return told


def _calendars(run: ToolRun, said: str | None) -> list[EntityRecord]:
    """Return the calendar of a name, all where none is named."""
    records = records_of(run, DOMAIN)
    if not records:
        raise ValidationError("calendar: there is none that is exposed")
    if said and (found := named(records, said)):
        return found
    return [choose_one(run, records, said, "calendar")] if said else records


def _end(args: Mapping[str, Any], start: date | datetime | None) -> date | datetime | None:
    """Return the end that was given: a time, a day, or a length from the start."""
    text = (args.get("end") or "").strip()
    if not text:
        return None
    if (length := read_length(text)) is not None and length > timedelta():
        return (start_of(start) if start else dt_util.now()) + length
    if isinstance(start, datetime) and (clock := read_clock(text)) is not None:
        end = at_clock(start.date(), clock)
        return end if end > start else at_clock(start.date() + timedelta(days=1), clock)
    return read_moment(text, "end")


def _same_day(begin: datetime) -> date:
    """Return the day on which a period begins."""
    return dt_util.as_local(begin).date()


async def _async_create(run: ToolRun, start: date | datetime, args: Mapping[str, Any]) -> JsonValueType:
    """Create an event: of one hour, or of the whole day, where no end is given."""

    def able(state: State) -> bool:
        return bool(state.attributes.get(ATTR_SUPPORTED_FEATURES, 0) & CREATE_EVENT)

    chosen = choose_one(run, records_of(run, DOMAIN, able), args.get("calendar"), "calendar")
    end = _end(args, start)
    if not isinstance(start, datetime) and not isinstance(end, datetime):
        # In calendars the last day of an event is the one before its end.
        last = max(end, start) if end else start
        times = {"start_date": start.isoformat(), "end_date": (last + timedelta(days=1)).isoformat()}
        shown = start.isoformat() if last == start else f"{start.isoformat()} to {last.isoformat()}"
    else:
        begin = start_of(start)
        until = start_of(end) if end is not None else begin + USUAL_LENGTH
        if until <= begin:
            raise ValidationError("end: must be later than start")
        times = {"start_date_time": begin.isoformat(), "end_date_time": until.isoformat()}
        shown = f"{format_local(begin)} to {format_local(until)}"
    title = one_line(args["title"].strip(), MAX_TITLE)
    call = ServiceCall(
        domain=DOMAIN,
        service="create_event",
        entity_ids=(chosen.entity_id,),
        data={"summary": title, **times},
    )
    await run.call(call)
    return {"created": title, "when": shown, "calendar": one_line(chosen.name, MAX_TITLE)}


def _told(event: Mapping[str, Any], record: EntityRecord | None) -> dict[str, JsonValueType]:
    """Return an event as the model reads it; the end of one that takes whole days is its last day."""
    start, end = _moment(event.get("start")), _moment(event.get("end"))
    told: dict[str, JsonValueType] = {"title": one_line(str(event.get("summary") or ""), MAX_TITLE)}
    if isinstance(start, datetime):
        told["start"] = format_local(start)
        if isinstance(end, datetime):
            told["end"] = format_local(end)
    elif start is not None:
        told["day"] = start.isoformat()
        if end is not None and not isinstance(end, datetime) and end - start > timedelta(days=1):
            told["last_day"] = (end - timedelta(days=1)).isoformat()
    for key, limit in (("location", MAX_TITLE), ("description", MAX_DESCRIPTION)):
        if text := str(event.get(key) or "").strip():
            told[key] = one_line(text, limit)
    if record is not None:
        told["calendar"] = one_line(record.name, MAX_TITLE)
    return told


def _moment(value: object) -> date | datetime | None:
    """Return a day or a time as the service writes them."""
    text = str(value or "")
    try:
        if day := dt_util.parse_date(text):
            return day
        moment = dt_util.parse_datetime(text)
    except ValueError:
        return None
    return dt_util.as_local(moment) if moment else None
