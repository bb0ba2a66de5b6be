"""timer: timers and reminders, announced where they were set; lists and cancels all that is planned."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, time
from functools import cache
import re
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.named import class_concepts
from ...domains.base import words as words_of
from ...errors import ValidationError
from ...knowledge.names import called
from ...knowledge.spoken_words import all_words, domain_words, stop_words
from ...languages import DEFAULT, find, languages, table, words as phrases
from ...languages.sentence import Mood, read
from ...memory.sentences import is_own_words
from ...planned.records import REMIND, SNOOZE, Giver, PlannedItem, Schedule, read_schedule
from ...planned.scheduler import MAX_TIMERS, Cancellation, Scheduler
from ...regex import lazy_regex
from ...texts import fold, leaves, one_line, words
from ...timespans import format_local, format_span, told_days
from ...when import (
    FORMS,
    read as read_time,
    read_clock,
    read_days,
    read_length,
    read_moment,
    times_named,
)
from ..base import HomeAgentTool, ToolOutput, ToolRun
from ..control.arguments import TIME_SLOT_WORDS
from ..control.asked import is_planted, named_by_person
from ..control.later import async_read_schedule, async_waits_again
from ..control.telling import tell_names
from ..pending import registry_ids
from ..resolving.resolver import listed
from ..results import ToldAct, ToldTime, ToldValue, ValueKind
from .choosing import user_of

YEARS_AHEAD: Final = 2
WHEN_FORMS: Final = f"10 minutes, 2 hours, {FORMS}"
SAY_LENGTH: Final = "when: say by how much, such as 5 minutes, or until when"
MORNING: Final = time(9)
"""The time of day of a reminder that has only a date."""
WAKE: Final = "wake"
"""Sets an alarm. The word alarm would make numbers beside it look like codes."""
MEANT: Final = {
    **dict.fromkeys(("alarm", "set_alarm", "create_alarm", "add_alarm", "wake_up", "wake_me"), WAKE),
    **dict.fromkeys(("stop", "dismiss", "stop_alarm", "cancel_alarm", "turn_off"), "cancel"),
    **dict.fromkeys(("snooze", "snooze_alarm"), "extend"),
}
"""Actions by what models call them."""
ALARMS: Final = words_of("alarm wecker reveil alarma despertador sveglia wekker budzik") | {
    "alarm clock",
    "wake up",
}
"""Names by which models mean that a timer is an alarm."""
SLOT_WORDS: Final = {
    **TIME_SLOT_WORDS,
    **dict.fromkeys(("time", "length", "duration"), "when"),
    **dict.fromkeys(("days", "weekdays", "recurring", "recurrence"), "repeat"),
    **dict.fromkeys(("label", "title", "alarm_name"), "name"),
}
"""Slots by what models call them."""
_CLOCK: Final = lazy_regex(r"(?<![\d-])T?(\d{1,2})(?::(\d{2}))?(?::00)?( ?[ap]m)?(?![\d:-])", re.IGNORECASE)


class TimerTool(HomeAgentTool):
    """Sets, lists, cancels and extends timers."""

    name = "timer"
    title = "Timers and reminders"
    description = (
        "Timers, alarms (wake) and reminders, which only announce. Lists, cancels commands for later."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    slot_words = SLOT_WORDS
    parameters = probatio.Schema(
        {
            probatio.Required("action"): probatio.In(("set", WAKE, "list", "cancel", "extend")),
            probatio.Optional("when", description="10 minutes, 18:30, tomorrow 7:00"): str,
            probatio.Optional("if"): str,
            probatio.Optional("name"): str,
            probatio.Optional("repeat"): str,
        }
    )

    def __init__(self, planned: Scheduler) -> None:
        self._planned = planned

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with the action by its own name, and what is repeated as a text."""
        action = str(args.get("action")).casefold().replace(" ", "_")
        args = {**args, "action": MEANT.get(action, args.get("action"))}
        if isinstance(repeat := args.get("repeat"), bool):
            args["repeat"] = str(repeat).lower()
        if args["action"] == "set" and fold(str(args.get("name") or "").replace("-", " ")) in ALARMS:
            args |= {"action": WAKE, "name": ""}
        return args

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        return args.get("action") == "list"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        if not isinstance(result, dict):
            return []
        parts = ("timers", "commands", "cancelled_commands")
        return [text for part in parts for text in outside_rows(result.get(part))]

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        name, when = one_line((args.get("name") or "").strip(), 200), args.get("when") or ""
        speaker = run.speaker
        is_alarm = args["action"] == WAKE
        if args["action"] == "set" or is_alarm:
            if len(self._planned.timers()) >= MAX_TIMERS:
                raise ValidationError(f"There are {MAX_TIMERS} timers already; cancel some first")
            args = _with_clock(args, speaker.language) if is_alarm else args
            schedule = await async_read_schedule(
                args, run, accepted=WHEN_FORMS, years=YEARS_AHEAD, clock=None if is_alarm else MORNING
            )
            if schedule is None or not when.strip():
                raise ValidationError("when: say when, such as 10 minutes, 18:30 or 2026-03-29 18:30")
            own_words = (is_own_words(name, text, speaker.person or "") for text in run.calls.origins.said)
            is_foreign = name and run.tainted and not run.confirmed and not any(own_words)
            is_foreign = is_foreign or (is_alarm and _is_planted_alarm(schedule.due, run))
            if is_foreign or (schedule.days and is_planted(run, (), repeats=True)):
                due = schedule.due if name or is_alarm else None
                event = schedule.event.clause if schedule.event else None
                run.ask_first(self, {**args, "name": name}, due=due, days=schedule.days, event=event)
            user_id = user_of(run)
            timer = PlannedItem(
                verb=REMIND,
                told=name,
                is_alarm=is_alarm,
                schedule=schedule,
                registered=registry_ids(run.hass, schedule.watched),
                owner=replace(Giver.of(speaker, user_id), user_id=user_id, outside=run.tainted),
            )
            if is_alarm:  # said twice, it rings once
                mine = user_id, speaker.device_id
                same = (one for one in self._planned.timers() if one.is_alarm and one.schedule == schedule)
                await self._planned.async_cancel(
                    [one.id for one in same if (one.owner.user_id, one.owner.device_id) == mine]
                )
            counts = not is_alarm and read_length(when, speaker.language) is not None
            await self._planned.async_add(timer, counts=counts)
            result: dict[str, JsonValueType] = {"set": planned_row(timer, run)}
            is_order = read(name, speaker.language).kind is Mood.ORDER
            if notes := await async_waits_again(schedule, run):
                result["note"] = notes[0]
            elif is_order or not domain_words().keys().isdisjoint(fold(name).split()):
                result["note"] = "This only reminds: nothing will be switched. ha_control switches things"
            return result
        self._planned.look(run.speaker.device_id, run.speaker.language)
        items, ringing = self._planned.seen_by(run.speaker), self._planned.ringing(run.speaker)
        timers = [item for item in items if item.is_timer]
        if args["action"] == "list":
            others = [item for item in items if not item.is_timer]
            rows: dict[str, JsonValueType] = {
                "timers": planned_rows(timers[:MAX_LISTED], run),
                "commands": planned_rows(others[:MAX_LISTED], run),
            }
            nothing = "None of yours: this person and this device have no timer, reminder or planned command."
            return {part: each for part, each in rows.items() if each} or nothing
        if args["action"] == "cancel":
            is_all = means_all(name, run.speaker.language)
            if not is_all and ringing and not name and not when:
                meant = ringing
            else:
                meant = items if is_all else meant_items(items, name, when, run)
            commands: list[JsonValueType] = [planned_row(item, run) for item in meant if not item.is_timer]
            ended: list[JsonValueType] = [planned_row(item, run) for item in meant if item.is_timer]
            self._check_unplanted(args, meant, run)
            if meant:
                await self._planned.async_cancel([item.id for item in meant])
                owner = Giver.of(run.speaker, None)
                self._planned.cancelled.append(Cancellation(owner=owner, items=meant))
            cancelled: dict[str, JsonValueType] = {"cancelled": ended} if ended or not commands else {}
            rung = {item.created for item in meant if item.rings_since}
            left = [item for item in self._planned.timers() if item.created in rung]
            cancelled |= {"note": f"{told_timer(left[0])} stays set; id {left[0].id}"} if left else {}
            return cancelled | ({"cancelled_commands": commands} if commands else {})
        if not when and not ringing:
            raise ValidationError(SAY_LENGTH)
        meant = ringing if ringing and not name else meant_items(timers or items, name, "", run)
        timer, now = meant[0], dt_util.utcnow()
        if not when and not timer.rings_since:
            raise ValidationError(SAY_LENGTH)
        if not timer.is_timer or timer.schedule.event is not None:
            raise ValidationError("name: what is planned so has no length; cancel it, and plan it again")
        self._check_unplanted(args, meant, run)
        length = read_length(when, run.speaker.language) if when else SNOOZE
        if length is None:
            schedule = read_schedule(
                run.hass,
                when.strip(),
                timer.schedule.days or None,
                run.speaker.language,
                accepted=WHEN_FORMS,
                years=YEARS_AHEAD,
                clock=MORNING,
            )
        elif timer.rings_since:
            schedule = Schedule(due=now + length)
        else:
            schedule = replace(timer.schedule, due=timer.due + length, clock=None)
        if schedule.due <= now:
            raise ValidationError("when: that would be over already")
        for each in meant[1:]:
            await self._planned.async_cancel([each.id])  # they ring together from now on
        timer = replace(timer, schedule=schedule, rings_since=None)
        await self._planned.async_add(timer)
        return {"now": planned_row(timer, run)}

    def _check_unplanted(self, args: Mapping[str, Any], items: Sequence[PlannedItem], run: ToolRun) -> None:
        """Ask before what is planned ends or moves that only somebody else's text has named."""
        if is_unasked(items, run):
            run.ask_first(self, args)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        if not isinstance(result, Mapping):
            return ()
        if "cancelled_commands" in result:
            is_alone = result.keys() == {"cancelled_commands"} and are_entities(result["cancelled_commands"])
            if not is_alone:
                return ()
            return tell_names("plan_cancelled", entities_of(result["cancelled_commands"]), run)
        timer = result.get("set")
        if result.keys() == {"set"} and isinstance(timer, Mapping) and "rings" in timer:
            alarm = next((one for one in self._planned.timers() if one.id == timer["id"]), None)
            return (ToldAct(key="alarm", when=ToldTime.of(alarm.schedule)),) if alarm else ()
        if result.keys() == {"set"} and isinstance(timer, Mapping) and not args.get("repeat"):
            # A length or a time is told in the person's own words, which are in their language.
            when = str(args.get("when") or "").strip()
            due = str(timer["due"]).split()[1:] if "in" in timer else []
            numbers = re.findall(r"\d+", when)
            beside = re.search(rf"(?<!\w){numbers[0]} \w+", run.sentence) if len(numbers) == 1 else None
            if beside and read_length(when, "") is not None:
                spoken = beside[0]
            elif when and fold(when) in fold(run.sentence):
                spoken = when[when.find(numbers[0]) :] if numbers else when  # without "at" and the like
            elif due and due[0] == dt_util.now().date().isoformat():
                spoken = due[-1]
            else:
                return ()
            called_so = (str(timer["name"]),) if "name" in timer else ()
            key, values = f"{'reminder' if called_so else 'timer'}_set", (ToldValue(ValueKind.TEXT, spoken),)
            return (ToldAct(key=key, names=called_so, values=values),)
        cancelled = result.get("cancelled")
        if not isinstance(cancelled, list) or not cancelled:
            return ()
        if all("rings" in timer for timer in cancelled):
            return (ToldAct(key="alarm_off", referents=len(cancelled)),)
        names = [str(timer["name"]) for timer in cancelled if "name" in timer]
        if len(names) < len(cancelled):
            return (ToldAct(key="timer_cancelled"),) if len(cancelled) == 1 else ()
        return (ToldAct(key="cancelled", names=names, referents=len(names)),)


def _with_clock(args: dict[str, Any], language: str) -> dict[str, Any]:
    """Return the arguments of an alarm with a bare hour as a time of day, and days beside one as `repeat`."""
    when = str(args.get("when") or "").strip()
    clock = _CLOCK.fullmatch(when)
    if clock is None and not args.get("repeat") and read_time(when, language) is None:
        clock = _CLOCK.search(when)
    if clock is None:
        return args
    times = {"when": f"{clock[1]}:{clock[2] or '00'}{clock[3] or ''}"}
    if days := f"{when[: clock.start()]} {when[clock.end() :]}".strip():
        try:
            read_days(days, language)
        except ValidationError:
            return args
        times["repeat"] = days
    return {**args, **times}


def _is_planted_alarm(due: datetime, run: ToolRun) -> bool:
    """Return whether somebody else's text may want an alarm: in a marked turn the person says its hour."""
    if not run.tainted or run.confirmed:
        return False
    hour = dt_util.as_local(due).hour
    said = times_named(run.calls.origins.said, run.speaker.language)
    return said.isdisjoint((str(hour), str(hour % 12 or 12)))


# What is planned, as the model reads it, and which of it is meant

OUTSIDE: Final = "a text from outside"
"""Where the words of a timer or a message come from that was planned after such a text was read."""
MAX_LISTED = 20
MAX_LIST_CHARS = 130
"""Errors have 300 characters, with what was asked for; a list in one must not be cut off."""
WHICH: Final = "which one is meant? Give the name and the time of one of:"


def planned_rows(items: Iterable[PlannedItem], run: ToolRun) -> list[JsonValueType]:
    """Return items as the model reads them, without those that have no exposed entity any more."""
    return [row for item in items if (row := planned_row(item, run))]


def planned_row(item: PlannedItem, run: ToolRun) -> dict[str, JsonValueType]:
    """Return an item as the model reads it; empty if none of its entities is exposed any more."""
    now = dt_util.utcnow()
    origin: dict[str, JsonValueType] = {"from": OUTSIDE} if item.owner.outside else {}
    if item.is_timer:
        row: dict[str, JsonValueType] = {"id": item.id}
        if item.is_alarm:
            since = item.rings_since and f"since {dt_util.as_local(item.rings_since):%H:%M}"
            row["rings"] = since or "until stopped"
        if item.schedule.event is not None or item.schedule.conditions:
            row["due"] = item.schedule.told(now)
        else:
            row["due"] = f"{dt_util.as_local(item.due):%a} {format_local(item.due)}"
            row["in"] = format_span(max(0, (item.due - now).total_seconds()))
        if item.told:
            row |= {"name": item.told} | origin
        if repeat := item.schedule.repeat:
            row["repeat"] = told_days(item.schedule.days) if repeat == "weekly" else repeat
        return row
    if item.message is not None:
        return {"id": item.id, "planned": _told_message(item, run), **origin}
    shown: dict[str, JsonValueType] = {
        key: item.told_for(key, now) for key in item.entity_ids if run.reader.sees(key)
    }
    origin = origin if any(isinstance(value, str) for value in item.given.values()) else {}
    return {"id": item.id, "planned": shown, **origin} if shown else {}


def _told_message(item: PlannedItem, run: ToolRun) -> str:
    """Return a planned message with its time; its words only to the one who planned it, not to a guest."""
    assert item.message is not None
    own = item.owner.user_id in (None, run.speaker.context.user_id) or given_by(item.owner, run)
    told = item.told_at(dt_util.utcnow())
    return f"{told}: {item.message.text}" if own and not item.message.private else told


def told_timer(timer: PlannedItem) -> str:
    """Return a timer with its name and time, as the model reads it."""
    name = timer.told or ("alarm" if timer.is_alarm else "timer")
    return f"{name} {'rings now' if timer.rings_since else timer.schedule.told(dt_util.utcnow())}"


def _rows(rows: object) -> list[Mapping[str, JsonValueType]]:
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def outside_rows(rows: object) -> list[str]:
    """Return what is said by all that was planned after text from outside was read."""
    told = (row.get("planned", row.get("name")) for row in _rows(rows) if row.get("from") == OUTSIDE)
    return [str(leaf) for each in told for leaf in leaves(each)]


def are_entities(rows: object) -> bool:
    """Return whether all of some rows are actions on entities, and none is a message."""
    return all(isinstance(row.get("planned"), Mapping) for row in _rows(rows))


def entities_of(rows: object) -> list[str]:
    """Return the entities of planned commands as `planned_row` shows them."""
    return [each for row in _rows(rows) if isinstance(shown := row.get("planned"), Mapping) for each in shown]


def given_by(owner: Giver, run: ToolRun) -> bool:
    """Return whether the speaker planned it: in this conversation, as this person, or at this device."""
    speaker = run.speaker
    if speaker.conversation_id and owner.conversation_id == speaker.conversation_id:
        return True
    if (user_id := speaker.context.user_id) is not None:
        return owner.user_id == user_id
    return owner.device_id is not None and owner.device_id == speaker.device_id


def meant_items(items: Sequence[PlannedItem], name: str, when: str, run: ToolRun) -> list[PlannedItem]:
    """Return the one timer, or the commands, of an id, a name or a time; else what is the newest.

    Without either the only timer is meant, or the commands of the last turn that planned any, whichever came
    last. Raises ValidationError that lists what there is.
    """
    language = run.speaker.language
    timers = [item for item in items if item.is_timer]
    commands = [item for item in items if not item.is_timer]
    if not items:
        raise ValidationError("No timer, reminder or planned command of yours is set")
    problem = WHICH
    if "alarm" in fold(name).split():
        timers = [item for item in timers if item.is_alarm] or timers
    # The ids begin with the time at which they were made.
    last = max((command.id for command in commands), default="")
    # "den Timer", "10 minutes"
    if name and _without_kind(name) and read_length(name, language) is None:
        meant = _called([*timers, *commands], name, run)
        problem = WHICH if meant else "nothing is called so, and nothing was changed. There is:"
    elif when and (read_length(when, language) is None or len(items) > 1):
        meant = _due_at([*timers, *commands], when, language)
    elif last and all(timer.id < last for timer in timers):
        newest = max(commands, key=lambda command: command.created)
        meant = [command for command in commands if command.owner.turn_id == newest.owner.turn_id]
        here = run.speaker.conversation_id
        if len(commands) > len(meant) and not (here and newest.owner.conversation_id == here):
            raise ValidationError(f"name: {WHICH} {_listed(commands, run)}")
    else:
        meant = timers
    meant = [item for item in meant if item.rings_since] or meant
    if not meant or (meant[0].is_timer and len(meant) > 1 and not meant[0].rings_since):
        listed = meant or [*timers, *commands]
        err = ValidationError(f"name: {problem} {_listed(listed, run)}")
        err.quotes = any(item.owner.outside for item in listed)
        raise err
    return meant


def is_unasked(items: Iterable[PlannedItem], run: ToolRun) -> bool:
    """Return whether somebody else's text may want to end or move what is planned.

    In a marked turn the person says so: names a timer, something that is planned, or says stop.
    """
    if not run.tainted or run.confirmed:
        return False
    said = [word for text in run.calls.origins.said for word in words(text)]
    if any(word.startswith(kind) or word.endswith(kind) for word in said for kind in _kind_words()):
        return False
    ends = map(fold, phrases(find(run.speaker.language) or DEFAULT, "answers.no"))
    sentence = f" {' '.join(words(run.sentence))} "
    if any(f" {end} " in sentence for end in ends):
        return False
    is_named = named_by_person(run.hass, run.house, run.calls)
    return not all(
        {*words(item.told)}.issubset(said) if item.is_timer else any(map(is_named, item.entity_ids))
        for item in items
    )


def means_all(name: str, language: str) -> bool:
    """Return whether a name is a word for everything."""
    return name.strip() == "*" or fold(name) in all_words(language)


def _due_at(items: Sequence[PlannedItem], when: str, language: str) -> list[PlannedItem]:
    """Return what is due at a time or on a day, be it repeatedly: timers, else commands."""
    moment = read_moment(when, language, "when")
    local = dt_util.as_local(moment) if isinstance(moment, datetime) else None

    def is_then(item: PlannedItem) -> bool:
        days = item.schedule.days
        if local is not None:
            return local == item.due or (local.weekday() in days and local.time() == item.schedule.clock)
        return dt_util.as_local(item.due).date() == moment or moment.weekday() in days

    meant = [item for item in items if item.schedule.event is None and is_then(item)]
    clock = read_clock(when)
    meant = meant or [item for item in items if item.is_timer and clock and item.schedule.clock == clock]
    return [item for item in meant if item.is_timer] or meant


def _without_kind(name: str) -> str:
    """Return a name without the words for timers and reminders of all languages, also at a word's end."""
    kinds = _kind_words()
    kept = [word for word in fold(name).split() if word not in kinds and word not in stop_words()]
    ends = (next((kind for kind in kinds if word.endswith(kind)), "") for word in kept)
    return " ".join(word.removesuffix(end) for word, end in zip(kept, ends, strict=True))


@cache
def _kind_words() -> frozenset[str]:
    tables = (table(language, "topics.kinds") or {} for language in languages())
    return frozenset(fold(word) for kinds in tables for word in kinds.get("timer", ()) if word.isalpha())


def _called(items: Sequence[PlannedItem], name: str, run: ToolRun) -> list[PlannedItem]:
    """Return what an id, a name, a description or a time means; a "Pizzatimer" is called Pizza."""
    if by_id := [item for item in items if item.id == name]:
        return by_id
    spoken, now = tuple(dict.fromkeys((find(run.speaker.language) or DEFAULT, DEFAULT))), dt_util.utcnow()

    def names(item: PlannedItem) -> Iterator[str]:
        yield from (item.told, *item.entity_ids)
        if item.message is not None:
            yield from (item.message.receiver, item.message.text)
        described = [item.told or "timer", item.schedule.told(now)]
        entity_ids = (*item.entity_ids, *item.schedule.watched)
        for record in filter(None, map(run.house.entities.get, entity_ids)):
            yield from record.names
            area = run.house.areas.get(record.area_id or "")
            kinds = class_concepts(record.domain, record.device_class, spoken)
            described += [kinds, *record.names, *(area.names if area else ())]
        yield " ".join(described)

    for likely in (
        [item for item in items if item.is_timer],
        [item for item in items if not item.is_timer],
    ):
        for asked in (name, _without_kind(name)):
            if meant := called(likely, asked, names, in_parts=True):
                return meant
    for asked in (name, _without_kind(name)):
        with suppress(ValidationError):
            return _due_at(items, asked, run.speaker.language)
    return []


def _listed(items: Collection[PlannedItem], run: ToolRun) -> str:
    """Return items by name and time, with whole entries only."""
    now = dt_util.utcnow()
    rows: list[str] = []
    for item in items:
        deeds: dict[str, list[str]] = {}
        for entity_id in item.entity_ids:
            if run.reader.sees(entity_id) and (record := run.house.entities.get(entity_id)) is not None:
                deeds.setdefault(item.told_for(entity_id, now), []).append(record.name)
        if item.is_timer:
            rows.append(told_timer(item))
        elif item.message is not None:
            rows.append(_told_message(item, run))
        elif deeds:
            rows.append(", ".join(f"{listed(names, 60)} {deed}" for deed, names in deeds.items()))
    kept = rows[:1]
    for row in rows[1:5]:
        if len("; ".join((*kept, row))) > MAX_LIST_CHARS:
            break
        kept.append(row)
    more = [f"and {len(rows) - len(kept)} more"] if len(rows) > len(kept) else []
    return "; ".join((*kept, *more))
