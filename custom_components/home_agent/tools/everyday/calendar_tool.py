"""calendar: what is planned, and planning something."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...domains.features import supports
from ...errors import PermissionDenied, ToolExecutionError, ValidationError
from ...knowledge.house import EntityRecord
from ...safety.frozen import ServiceCall
from ...texts import one_line
from ...timespans import format_local
from ...when import Period, end_of, forms, read, read_clock, read_iso, read_moment, start_of
from ..base import HomeAgentTool, ToolRun
from .choosing import choose_one, named, permitted, records_of

DOMAIN: Final = "calendar"
MAX_EVENTS: Final = 30
MAX_TITLE: Final = 200
MAX_DESCRIPTION: Final = 200
ONCE: Final = frozenset({"", "none", "no", "never", "once", "false"})

type Event = tuple[datetime, EntityRecord, Mapping[str, Any]]


class CalendarTool(HomeAgentTool):
    """Reads a period, or creates an event. Whoever sends an invitation writes into a calendar."""

    name = "calendar"
    max_text = 4 * MAX_TITLE
    title = "Calendar"
    description = "Read events; with a title, create one."
    unoffered = ("repeat", "calendar")
    domain = DOMAIN
    untrusted = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Optional("start", description="today, friday 15:00, 2026-03-29, this week"): str,
            probatio.Optional("end"): str,
            probatio.Optional("title"): str,
            probatio.Optional("repeat"): str,
            probatio.Optional("calendar"): str,
        }
    )

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        return not str(args.get("title") or "").strip()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        language, name = run.speaker.language, args.get("calendar")
        text, until = ((args.get(key) or "").strip() for key in ("start", "end"))
        title = one_line(str(args.get("title") or "").strip(), MAX_TITLE)
        if not title and isinstance(period := read(text, language), Period):
            ends = _end(until, period.start, language) or period.end
            return await _async_read(run, period.start, ends, name)
        start = read_moment(text, language, "start") if text else None
        end = _end(until, start, language)
        if not title:
            return await _async_read(run, start, end, name)
        if start is None:
            raise ValidationError("start: say when it begins")
        if (args.get("repeat") or "").strip().casefold() not in ONCE:
            raise ValidationError(
                "repeat: Home Assistant creates single events only. Say so, and offer the first one, "
                "or a reminder that is repeated"
            )
        able = records_of(run, DOMAIN, lambda state: supports(state, "CREATE_EVENT"))
        chosen = choose_one(run, able, name, "calendar")
        if not isinstance(start, datetime) and not isinstance(end, datetime):
            # In calendars the last day of an event is the one before its end.
            last = max(end, start) if end else start
            times = {"start_date": start.isoformat(), "end_date": (last + timedelta(days=1)).isoformat()}
            begin, finish = start_of(start), end_of(last)
            shown = start.isoformat() if last == start else f"{start.isoformat()} to {last.isoformat()}"
        else:
            begin = start_of(start)
            finish = start_of(end) if end is not None else begin + timedelta(hours=1)
            if finish <= begin:
                raise ValidationError("end: must be later than start")
            times = {"start_date_time": begin.isoformat(), "end_date_time": finish.isoformat()}
            shown = f"{format_local(begin)} to {format_local(finish)}"
        everywhere = records_of(run, DOMAIN)
        try:
            others = await async_events(run, everywhere, begin, finish)
        except PermissionDenied, ToolExecutionError:  # not all calendars can be read
            others = []
        data = {"summary": title, **times}
        ids = (chosen.entity_id,)
        await run.call(ServiceCall(domain=DOMAIN, service="create_event", entity_ids=ids, data=data))
        result: dict[str, JsonValueType] = {
            "created": title,
            "when": shown,
            "calendar": one_line(chosen.name, MAX_TITLE),
        }
        if others:
            result["at_the_same_time"] = as_events(others[:5], everywhere)
        return result


async def _async_read(
    run: ToolRun, start: date | datetime | None, until: date | datetime | None, name: str | None
) -> JsonValueType:
    """Return the events of a period, those that are going on too, in their order."""
    begin = start_of(start) if start else dt_util.now()
    end = end_of(until or dt_util.as_local(begin).date())
    if end <= begin:
        raise ValidationError("end: must be later than start")
    if end - begin > timedelta(days=366):
        raise ValidationError("end: a period of at most a year")
    records = records_of(run, DOMAIN)
    if not records:
        raise ValidationError("calendar: there is none that is exposed")
    chosen = permitted(run, records)
    if name:
        chosen = named(run, records, name) or [choose_one(run, records, name, "calendar")]
    rows = await async_events(run, chosen, begin, end)
    result: dict[str, JsonValueType] = {
        "period": f"{format_local(begin)} to {format_local(end)}",
        "events": as_events(rows[:MAX_EVENTS], chosen),
    }
    if len(rows) > MAX_EVENTS:
        result["left_out"] = len(rows) - MAX_EVENTS
    if start is None and not rows:
        after = await async_events(run, chosen, end, end + timedelta(days=31))
        result |= {"next": as_events(after[:1], chosen)[0]} if after else {}
    return result


async def async_events(
    run: ToolRun, chosen: Sequence[EntityRecord], begin: datetime, end: datetime
) -> list[Event]:
    """Return the events of calendars in a period, in order."""
    call = ServiceCall(
        domain=DOMAIN,
        service="get_events",
        entity_ids=tuple(record.entity_id for record in chosen),
        data={"start_date_time": begin.isoformat(), "end_date_time": end.isoformat()},
    )
    answer = await run.read(call)
    rows = [
        (start_of(starts), record, event)
        for record in chosen
        for event in (answer.get(record.entity_id) or {}).get("events") or ()
        if (starts := read_iso(str(event.get("start") or ""))) is not None
    ]
    return sorted(rows, key=lambda row: row[0])


def _end(text: str, start: date | datetime | None, language: str) -> date | datetime | None:
    """Return the end that was given: a time, a day, or a length from the start."""
    if not text:
        return None
    end = read(text, language)
    if isinstance(end, timedelta) and end > timedelta():
        return (start_of(start) if start else dt_util.now()) + end
    if isinstance(start, datetime) and any(read_clock(form) for form in forms(text, language)):
        end = read(text, language, start)
    return end if isinstance(end, date) else read_moment(text, language, "end")


def as_events(rows: Sequence[Event], calendars: Sequence[EntityRecord]) -> list[JsonValueType]:
    """Return events as the model reads them; of one that takes whole days the end is its last day.

    The calendar is named where the events are of several.
    """
    events: list[JsonValueType] = []
    for _, record, event in rows:
        start, end = read_iso(str(event.get("start") or "")), read_iso(str(event.get("end") or ""))
        shown: dict[str, JsonValueType] = {"title": one_line(str(event.get("summary") or ""), MAX_TITLE)}
        if isinstance(start, datetime):
            shown["start"] = format_local(start)
            if isinstance(end, datetime):
                shown["end"] = format_local(end)
        elif start is not None:
            shown["day"] = start.isoformat()
            if end is not None and not isinstance(end, datetime) and end - start > timedelta(days=1):
                shown["last_day"] = (end - timedelta(days=1)).isoformat()
        for key, limit in (("location", MAX_TITLE), ("description", MAX_DESCRIPTION)):
            if text := str(event.get(key) or "").strip():
                shown[key] = one_line(text, limit)
        if len(calendars) > 1:
            shown["calendar"] = one_line(record.name, MAX_TITLE)
        events.append(shown)
    return events
