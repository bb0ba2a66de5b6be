"""timer: timers and reminders, announced where they were set."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import cache
import re
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import ConfirmationNeeded, ValidationError
from ...knowledge.names import called
from ...knowledge.speaker import Speaker
from ...knowledge.spoken_words import all_words, domain_words, stop_words
from ...languages import languages, table
from ...languages.sentence import Mood, read
from ...memory.sentences import is_own_words
from ...planned.commands import Cancellation, PlannedCommands
from ...planned.records import Owner, PlannedCommand
from ...regex import lazy_regex
from ...safety.frozen import FrozenTool
from ...texts import fold, one_line, words
from ...timers.timers import DAYS, MAX_TIMERS, Repeat, Timer, Timers, told_days
from ...timespans import format_local, format_span
from ...when import FORMS, Period, at_clock, read as read_when, read_days, read_length, read_moment
from ..base import HomeAgentTool, ToolOutput, ToolRun
from ..control.asked import is_planted
from ..control.telling import tell_names
from ..planned_rows import (
    OUTSIDE,
    are_entities,
    called_so,
    entities_of,
    is_described,
    listed_plans,
    newest_of,
    outside_rows,
    planned_row,
    planned_rows,
)
from ..results import ToldAct, ToldValue, ValueKind
from ..waiting import freeze
from .choosing import user_of

ACTIONS: Final = ("set", "list", "cancel", "extend")
REPEATS: Final = {days: repeat for repeat, days in DAYS.items()}
"""Repetitions that have a name of their own, by their days."""
MAX_NAME: Final = 200
NOTHING: Final = "None of yours: this person and this device have no timer, reminder or planned command."
ONLY_REMINDS: Final = "This only reminds: nothing will be switched. ha_control switches things"
"""Told where a timer is named after devices or after what is to be done with one."""
MAX_LISTED: Final = 20
WHICH: Final = "which one is meant? Give the name and the time of one of:"
NOT_CALLED: Final = "nothing is called so, and nothing was changed. There is:"
MAX_AHEAD: Final = timedelta(days=2 * 366)
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
            probatio.Required("action"): probatio.In(ACTIONS),
            probatio.Optional("when", description="10 minutes, 18:30, tomorrow 7:00"): str,
            probatio.Optional("name"): str,
            probatio.Optional("repeat"): str,
        }
    )

    def __init__(self, timers: Timers, planned: PlannedCommands) -> None:
        self._timers = timers
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
        found = result.get("timers")
        timers = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        messages = [
            text for key in ("commands", "cancelled_commands") for text in outside_rows(result.get(key))
        ]
        return [*(str(one["name"]) for one in timers if one.get("from") == OUTSIDE), *messages]

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do one thing. Raises ValidationError for a time or a timer that is not clear."""
        action, said = args["action"], one_line((args.get("name") or "").strip(), MAX_NAME)
        if action == "set":
            return await self._async_set(args, said, run)
        self._timers.look(run.speaker.device_id, run.speaker.language)
        own = [timer for timer in self._timers.all() if _may_see(timer, run.speaker)]
        if action == "list":
            listed: list[JsonValueType] = [_as_result(timer) for timer in own[:MAX_LISTED]]
            planned = planned_rows(self._planned, run)
            found: dict[str, JsonValueType] = {"timers": listed} if listed else {}
            return found | ({"commands": planned} if planned else {}) or NOTHING
        if action == "cancel":
            when = args.get("when") or ""
            if commands := self._commands(args, said, own, run):
                rows: list[JsonValueType] = [planned_row(command, run) for command in commands]
                timers = own if _means_all(said, run.speaker.language) else []
                await self._async_cancel(timers, commands, run)
                if not timers:
                    return {"cancelled_commands": rows}
                return {"cancelled": [_as_result(timer) for timer in own], "cancelled_commands": rows}
            meant = own if _means_all(said, run.speaker.language) else [self._meant(own, said, when, run)]
            await self._async_cancel(meant, [], run)
            return {"cancelled": [_as_result(timer) for timer in meant]}
        return await self._async_extend(args, said, own, run)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        """Return what was set for today, or cancelled."""
        if not isinstance(result, Mapping):
            return ()
        if "cancelled_commands" in result:
            is_alone = result.keys() == {"cancelled_commands"} and are_entities(result["cancelled_commands"])
            return tell_names("cancelled", entities_of(result["cancelled_commands"]), run) if is_alone else ()
        if (
            result.keys() == {"set"}
            and isinstance(timer := result["set"], Mapping)
            and not args.get("repeat")
        ):
            return _told_set(timer, str(args.get("when") or ""), run.sentence)
        cancelled = result.get("cancelled")
        if not isinstance(cancelled, list) or not cancelled:
            return ()
        names = [str(timer["name"]) for timer in cancelled if "name" in timer]
        if len(names) < len(cancelled):
            return (ToldAct(key="timer_cancelled"),) if len(cancelled) == 1 else ()
        return (ToldAct(key="cancelled", names=names, referents=len(names)),)

    def _commands(
        self, args: Mapping[str, Any], said: str, own: list[Timer], run: ToolRun
    ) -> list[PlannedCommand]:
        """Return the planned commands that are to be cancelled; none if a timer is meant."""
        commands = self._planned.seen_by(run.speaker)
        if _means_all(said, run.speaker.language):
            return commands
        if said and not _is_no_name(said, run.speaker.language):
            is_timer = _called(own, said) or _described(own, said, run.speaker.language)
            return [] if is_timer else called_so(commands, said, run)
        when, language = args.get("when") or "", run.speaker.language
        if when and (read_length(when, language) is None or len(commands) + len(own) > 1):
            moment = read_moment(when, language, "when")
            if any(_is_at(moment, one.due, one.on_days, one.clock) for one in own):
                return []
            return [one for one in commands if _is_at(moment, one.due, one.schedule.days, one.schedule.clock)]
        # The ids of both begin with the time at which they were made.
        last = max((command.id for command in commands), default="")
        is_newest = bool(last) and all(timer.id < last for timer in own)
        return newest_of(commands, run) if is_newest else []

    async def _async_cancel(self, timers: list[Timer], commands: list[PlannedCommand], run: ToolRun) -> None:
        """Cancel timers and commands, so that an undo can set them again."""
        if commands:
            await self._planned.async_cancel([command.id for command in commands])
        if timers:
            await self._timers.async_cancel([timer.id for timer in timers])
        if timers or commands:
            owner = Owner.of(run.speaker, None)
            self._planned.cancelled.append(
                Cancellation(owner=owner, timers=timers, commands=commands, kept_in=self._timers)
            )

    def _meant(self, own: list[Timer], said: str, when: str | None, run: ToolRun) -> Timer:
        """Return the timer that is meant: of this id, name or time; the only one if none is given.

        Raises ValidationError that lists what there is.
        """
        commands = self._planned.seen_by(run.speaker)
        if not own and not commands:
            raise ValidationError("No timer, reminder or planned command of yours is set")
        found = own
        if said and not _is_no_name(said, run.speaker.language):
            found = _called(own, said) or _described(own, said, run.speaker.language)
            problem = WHICH if found else NOT_CALLED
        else:
            problem = WHICH
            language = run.speaker.language
            if when and (read_length(when, language) is None or len(own) > 1):
                moment = read_moment(when, language, "when")
                found = [one for one in own if _is_at(moment, one.due, one.on_days, one.clock)]
        if len(found) != 1:
            shown = [f"{one.name or 'timer'} {_told_time(one)}" for one in found or own]
            raise ValidationError(f"name: {problem} {listed_plans([] if found else commands, run, *shown)}")
        return found[0]

    async def _async_set(self, args: Mapping[str, Any], name: str, run: ToolRun) -> JsonValueType:
        if self._timers.full:
            raise ValidationError(f"There are {MAX_TIMERS} timers already; cancel some first")
        speaker = run.speaker
        repeat, days = _repeat(args.get("repeat") or "", speaker.language)
        when = args.get("when") or ""
        timer = _timer(when, repeat, days, speaker.language)
        if _is_planted(name, run) or (repeat and is_planted(run, (), repeats=True)):
            item = FrozenTool(
                tool=self,
                args={**args, "name": name},
                llm_context=run.calls.llm_context,
                due=timer.due if name else None,
                days=timer.on_days,
            )
            raise ConfirmationNeeded(freeze(run.hass, run.draft, item))
        timer = replace(
            timer,
            name=name,
            language=speaker.language,
            user_id=user_of(run),
            device_id=speaker.device_id,
            chat=speaker.chat,
            outside=run.tainted,
        )
        await self._timers.async_set(timer, counts=read_length(when, speaker.language) is not None)
        result: dict[str, JsonValueType] = {"set": _as_result(timer)}
        is_order = read(name, speaker.language).kind is Mood.ORDER
        if is_order or not domain_words().keys().isdisjoint(fold(name).split()):
            result["note"] = ONLY_REMINDS
        return result

    async def _async_extend(
        self, args: Mapping[str, Any], said: str, own: list[Timer], run: ToolRun
    ) -> JsonValueType:
        when, language = args.get("when") or "", run.speaker.language
        if not when:
            raise ValidationError("when: say by how much, such as 5 minutes, or until when")
        timer = self._meant(own, said, None, run)
        by = read_length(when, language)
        moved = (
            Timer(due=timer.due + by) if by is not None else _timer(when, timer.repeat, timer.days, language)
        )
        if moved.due <= dt_util.utcnow():
            raise ValidationError("when: that would be over already")
        timer = replace(timer, due=moved.due, clock=moved.clock)
        await self._timers.async_set(timer)
        return {"now": _as_result(timer)}


def _is_planted(name: str, run: ToolRun) -> bool:
    """Return whether the name of a reminder may be somebody else's words."""
    if not name or not run.tainted or run.confirmed:
        return False
    return not any(is_own_words(name, text, run.speaker.person or "") for text in run.calls.origins.said)


def _told_set(timer: Mapping[str, Any], when: str, sentence: str) -> tuple[ToldAct, ...]:
    """Return that a timer was set: for the length or the time that was said, or until a time of today."""
    said = _as_said(when.strip(), sentence)
    if not said:
        due, today = str(timer["due"]).split()[1:], dt_util.now().date().isoformat()
        if not due or due[0] != today:
            return ()
        said = due[-1]
    values = (ToldValue(ValueKind.TEXT, said),)
    names = (str(timer["name"]),) if "name" in timer else ()
    return (ToldAct(key="reminder_set" if names else "timer_set", names=names, values=values),)


def _as_said(when: str, sentence: str) -> str:
    """Return a length or a time in the person's own words, which are in their language; empty if unknown."""
    if when and fold(when) in fold(sentence):
        return when
    numbers = _NUMBER.findall(when)
    found = re.search(rf"(?<!\w){numbers[0]} \w+", sentence) if len(numbers) == 1 else None
    return found[0] if found and read_length(when, "") is not None else ""


def _repeat(text: str, language: str) -> tuple[Repeat | None, tuple[int, ...]]:
    """Return how often a reminder is repeated, and the days of a weekly one. Raises ValidationError."""
    days = read_days(text, language)
    if days is None or days in REPEATS:
        return (REPEATS[days] if days else None), ()
    return Repeat.WEEKLY, days


def _timer(when: str, repeat: Repeat | None, days: tuple[int, ...], language: str) -> Timer:
    """Return a timer for a time. Raises ValidationError for an unclear or past time."""
    text = when.strip()
    if not text:
        raise ValidationError("when: say when, such as 10 minutes, 18:30 or 2026-03-29 18:30")
    now = dt_util.utcnow()
    moment = read_when(text, language)
    if isinstance(moment, timedelta):
        timer = Timer(due=now + moment, repeat=repeat, days=days)
    else:
        day = moment.start.date() if isinstance(moment, Period) else moment
        if not isinstance(day, date):
            raise ValidationError(f"when: {text[:40]!r} is not understood; give 10 minutes, 2 hours, {FORMS}")
        moment = day if isinstance(day, datetime) else at_clock(day, MORNING)
        timer = Timer(
            due=dt_util.as_utc(moment), repeat=repeat, days=days, clock=dt_util.as_local(moment).time()
        )
    due = timer.due
    if repeat is not None and (due <= now or dt_util.as_local(due).weekday() not in timer.on_days):
        due = timer.next_after(now) or due
    if due <= now:
        raise ValidationError(f"when: {text[:40]!r} is over already; it is {format_local(now)}")
    if due - now > MAX_AHEAD:
        raise ValidationError("when: at most two years ahead")
    return replace(timer, due=due)


def _may_see(timer: Timer, speaker: Speaker) -> bool:
    known = speaker.context.user_id
    here = timer.device_id is not None and timer.device_id == speaker.device_id
    return timer.user_id is None or here or timer.user_id == known


def _is_at(moment: date | datetime, due: datetime, days: Collection[int], clock: time | None) -> bool:
    """Return whether something is due at a local time, or on a day, be it repeatedly."""
    if isinstance(moment, datetime):
        local = dt_util.as_local(moment)
        return moment == due or (local.weekday() in days and local.time() == clock)
    return dt_util.as_local(due).date() == moment or moment.weekday() in days


def _told_time(timer: Timer) -> str:
    """Return when a timer is due, and how it is repeated."""
    if timer.repeat:
        return f"{told_days(timer.on_days)} at {timer.clock:%H:%M}"
    return f"{dt_util.as_local(timer.due):%a} {format_local(timer.due)}"


def _is_no_name(said: str, language: str) -> bool:
    """Return whether a text only says that a timer is meant, or how long: "den Timer", "10 minutes"."""
    return not _without_kind(said) or read_length(said, language) is not None


def _described(own: list[Timer], said: str, language: str) -> list[Timer]:
    """Return the timers of a time, such as a weekday, with or without words of their names."""
    return [
        timer
        for timer in own
        if is_described(said, language, timer.due, timer.on_days, {*words(timer.name), *_kind_words()})
    ]


def _called(own: list[Timer], said: str) -> list[Timer]:
    """Return the timers of an id or a name; "Pizzatimer" and "temporizador de la pizza" are Pizza."""

    def names(timer: Timer) -> tuple[str]:
        return (timer.name,)

    found = [timer for timer in own if timer.id == said] or called(own, said, names)
    return found or (called(own, bare, names) if (bare := _without_kind(said)) else [])


def _without_kind(said: str) -> str:
    """Return a name without the words for timers and reminders of all languages, also at a word's end."""
    kinds = _kind_words()
    kept = [word for word in fold(said).split() if word not in kinds and word not in stop_words()]
    ends = (next((kind for kind in kinds if word.endswith(kind)), "") for word in kept)
    return " ".join(word.removesuffix(end) for word, end in zip(kept, ends, strict=True))


@cache
def _kind_words() -> frozenset[str]:
    tables = (table(language, "topics.kinds") or {} for language in languages())
    return frozenset(fold(word) for kinds in tables for word in kinds.get("timer", ()) if word.isalpha())


def _as_result(timer: Timer) -> dict[str, JsonValueType]:
    left = (timer.due - dt_util.utcnow()).total_seconds()
    result: dict[str, JsonValueType] = {
        "id": timer.id,
        "due": f"{dt_util.as_local(timer.due):%a} {format_local(timer.due)}",
        "in": format_span(max(0, left)),
    }
    if timer.name:
        result["name"] = timer.name
        if timer.outside:
            result["from"] = OUTSIDE
    if timer.repeat:
        result["repeat"] = told_days(timer.on_days) if timer.repeat is Repeat.WEEKLY else timer.repeat.value
    return result


def _means_all(name: str, language: str) -> bool:
    return name.strip() == "*" or fold(name) in all_words(language)
