"""timer: timers and reminders, announced where they were set; lists and cancels all that is planned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import time
import re
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import ValidationError
from ...knowledge.spoken_words import domain_words
from ...languages.sentence import Mood, read
from ...memory.sentences import is_own_words
from ...planned.records import REMIND, Giver, PlannedItem, Schedule, read_schedule
from ...planned.scheduler import MAX_TIMERS, Cancellation, Scheduler
from ...regex import lazy_regex
from ...texts import fold, one_line
from ...when import FORMS, read_days, read_length
from ..base import HomeAgentTool, ToolOutput, ToolRun
from ..control.asked import is_planted
from ..control.telling import tell_names
from ..planned_rows import (
    MAX_LISTED,
    are_entities,
    entities_of,
    is_unasked,
    means_all,
    meant_items,
    outside_rows,
    planned_row,
    planned_rows,
)
from ..results import ToldAct, ToldValue, ValueKind
from .choosing import user_of

MAX_NAME: Final = 200
NOTHING: Final = "None of yours: this person and this device have no timer, reminder or planned command."
ONLY_REMINDS: Final = "This only reminds: nothing will be switched. ha_control switches things"
"""Told where a timer is named after devices or after what is to be done with one."""
YEARS_AHEAD: Final = 2
WHEN_FORMS: Final = f"10 minutes, 2 hours, {FORMS}"
_NUMBER: Final = lazy_regex(r"\d+")
MORNING: Final = time(9)
"""The time of day of a reminder that has only a date."""


class TimerTool(HomeAgentTool):
    """Sets, lists, cancels and extends timers."""

    name = "timer"
    title = "Timers and reminders"
    description = "Timers and reminders, which only announce. Lists and cancels commands for later."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("action"): probatio.In(("set", "list", "cancel", "extend")),
            probatio.Optional("when", description="10 minutes, 18:30, tomorrow 7:00"): str,
            probatio.Optional("name"): str,
            probatio.Optional("repeat"): str,
        }
    )

    def __init__(self, planned: Scheduler) -> None:
        self._planned = planned

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether timers are only listed."""
        return args.get("action") == "list"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the names that were given after text from outside was read."""
        if not isinstance(result, dict):
            return []
        parts = ("timers", "commands", "cancelled_commands")
        return [text for part in parts for text in outside_rows(result.get(part))]

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do one thing. Raises ValidationError for a time or a timer that is not clear."""
        name, when = one_line((args.get("name") or "").strip(), MAX_NAME), args.get("when") or ""
        if args["action"] == "set":
            return await self._async_set(args, name, when, run)
        self._planned.look(run.speaker.device_id, run.speaker.language)
        items = self._planned.seen_by(run.speaker)
        timers = [item for item in items if item.is_timer]
        if args["action"] == "list":
            others = [item for item in items if not item.is_timer]
            listed: dict[str, JsonValueType] = {
                "timers": planned_rows(timers[:MAX_LISTED], run),
                "commands": planned_rows(others[:MAX_LISTED], run),
            }
            return {part: rows for part, rows in listed.items() if rows} or NOTHING
        if args["action"] == "cancel":
            is_all = means_all(name, run.speaker.language)
            meant = items if is_all else meant_items(items, name, when, run)
            commands: list[JsonValueType] = [planned_row(item, run) for item in meant if not item.is_timer]
            ended: list[JsonValueType] = [planned_row(item, run) for item in meant if item.is_timer]
            self._check_unplanted(args, meant, run)
            if meant:
                await self._planned.async_cancel([item.id for item in meant])
                owner = Giver.of(run.speaker, None)
                self._planned.cancelled.append(Cancellation(owner=owner, items=meant))
            cancelled: dict[str, JsonValueType] = {"cancelled": ended} if ended or not commands else {}
            return cancelled | ({"cancelled_commands": commands} if commands else {})
        if not when:
            raise ValidationError("when: say by how much, such as 5 minutes, or until when")
        timer = meant_items(timers or items, name, "", run)[0]
        if not timer.is_timer:
            raise ValidationError("name: a planned command has no length; cancel it, and plan it again")
        self._check_unplanted(args, [timer], run)
        language = run.speaker.language
        if (length := read_length(when, language)) is not None:
            schedule = replace(timer.schedule, due=timer.due + length, clock=None)
        else:
            schedule = _schedule(when, timer.schedule.days or None, run)
        if schedule.due <= dt_util.utcnow():
            raise ValidationError("when: that would be over already")
        timer = replace(timer, schedule=schedule)
        await self._planned.async_add(timer)
        return {"now": planned_row(timer, run)}

    def _check_unplanted(self, args: Mapping[str, Any], items: Sequence[PlannedItem], run: ToolRun) -> None:
        """Ask before what is planned ends or moves that only somebody else's text has named."""
        if is_unasked(items, run):
            run.ask_first(self, args)

    async def _async_set(self, args: Mapping[str, Any], name: str, when: str, run: ToolRun) -> JsonValueType:
        if len(self._planned.timers()) >= MAX_TIMERS:
            raise ValidationError(f"There are {MAX_TIMERS} timers already; cancel some first")
        speaker = run.speaker
        schedule = _schedule(when, read_days(args.get("repeat") or "", speaker.language), run)
        own_words = (is_own_words(name, text, speaker.person or "") for text in run.calls.origins.said)
        is_foreign = name and run.tainted and not run.confirmed and not any(own_words)
        if is_foreign or (schedule.days and is_planted(run, (), repeats=True)):
            due = schedule.due if name else None
            run.ask_first(self, {**args, "name": name}, due=due, days=schedule.days)
        user_id = user_of(run)
        timer = PlannedItem(
            verb=REMIND,
            told=name,
            schedule=schedule,
            owner=replace(Giver.of(speaker, user_id), user_id=user_id, outside=run.tainted),
        )
        await self._planned.async_add(timer, counts=read_length(when, speaker.language) is not None)
        result: dict[str, JsonValueType] = {"set": planned_row(timer, run)}
        is_order = read(name, speaker.language).kind is Mood.ORDER
        if is_order or not domain_words().keys().isdisjoint(fold(name).split()):
            result["note"] = ONLY_REMINDS
        return result

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        """Return what was set for today, or cancelled."""
        if not isinstance(result, Mapping):
            return ()
        if "cancelled_commands" in result:
            is_alone = result.keys() == {"cancelled_commands"} and are_entities(result["cancelled_commands"])
            return tell_names("cancelled", entities_of(result["cancelled_commands"]), run) if is_alone else ()
        timer = result.get("set")
        if result.keys() == {"set"} and isinstance(timer, Mapping) and not args.get("repeat"):
            return _told_set(timer, str(args.get("when") or ""), run.sentence)
        cancelled = result.get("cancelled")
        if not isinstance(cancelled, list) or not cancelled:
            return ()
        names = [str(timer["name"]) for timer in cancelled if "name" in timer]
        if len(names) < len(cancelled):
            return (ToldAct(key="timer_cancelled"),) if len(cancelled) == 1 else ()
        return (ToldAct(key="cancelled", names=names, referents=len(names)),)


def _schedule(when: str, days: tuple[int, ...] | None, run: ToolRun) -> Schedule:
    """Return when a timer is due. Raises ValidationError for an unclear or past time."""
    if not when.strip():
        raise ValidationError("when: say when, such as 10 minutes, 18:30 or 2026-03-29 18:30")
    language = run.speaker.language
    return read_schedule(
        run.hass, when.strip(), days, language, accepted=WHEN_FORMS, years=YEARS_AHEAD, clock=MORNING
    )


def _told_set(timer: Mapping[str, Any], when: str, sentence: str) -> tuple[ToldAct, ...]:
    """Return that a timer was set: for the length or the time that was said, or until a time of today.

    A length or a time is told in the person's own words, which are in their language.
    """
    when, numbers = when.strip(), _NUMBER.findall(when)
    beside = re.search(rf"(?<!\w){numbers[0]} \w+", sentence) if len(numbers) == 1 else None
    if when and fold(when) in fold(sentence):
        spoken = when
    elif beside and read_length(when, "") is not None:
        spoken = beside[0]
    else:
        due = str(timer["due"]).split()[1:]
        if not due or due[0] != dt_util.now().date().isoformat():
            return ()
        spoken = due[-1]
    names = (str(timer["name"]),) if "name" in timer else ()
    values = (ToldValue(ValueKind.TEXT, spoken),)
    return (ToldAct(key="reminder_set" if names else "timer_set", names=names, values=values),)
