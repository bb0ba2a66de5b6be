"""What is planned: as the model reads it, and which of it is meant where something is to be cancelled."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import Final

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..context.named import class_concepts
from ..errors import ValidationError
from ..knowledge.names import called, content_words, word_similarity
from ..knowledge.spoken_words import all_words, stop_words
from ..languages import DEFAULT, find, languages, table, words as phrases
from ..planned.records import Giver, PlannedItem
from ..texts import fold, leaves, words
from ..timespans import WEEKDAYS, format_local, format_span, told_days
from ..when import forms, read_clock, read_length, read_moment
from .base import ToolRun
from .control.asked import named_by_person

SAME: Final = 0.88
"""How alike two forms of a word are."""
_BESIDE: Final = frozenset({"at", "on", "in", "for", "every", "oclock", "next", "this"})
"""English words beside a time that name nothing."""
OUTSIDE: Final = "a text from outside"
"""Where the words of a timer or a message come from that was planned after such a text was read."""
MAX_LISTED = 20
MAX_NAMED = 5
MAX_NAMES = 3
MAX_LIST_CHARS = 130
"""Errors have 300 characters, with what was asked for; a list in one must not be cut off."""
WHICH: Final = "which one is meant? Give the name and the time of one of:"
NOT_CALLED: Final = "nothing is called so, and nothing was changed. There is:"


def planned_rows(items: Iterable[PlannedItem], run: ToolRun) -> list[JsonValueType]:
    """Return items as the model reads them, without those that have no exposed entity any more."""
    return [row for item in items if (row := planned_row(item, run))]


def planned_row(item: PlannedItem, run: ToolRun) -> dict[str, JsonValueType]:
    """Return an item as the model reads it; empty if none of its entities is exposed any more."""
    now = dt_util.utcnow()
    origin: dict[str, JsonValueType] = {"from": OUTSIDE} if item.owner.outside else {}
    if item.is_timer:
        row: dict[str, JsonValueType] = {
            "id": item.id,
            "due": f"{dt_util.as_local(item.due):%a} {format_local(item.due)}",
            "in": format_span(max(0, (item.due - now).total_seconds())),
        }
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
    """Return a planned message with its time; its words only to the one who planned it.

    The person who asks about the plans of a device may be a guest.
    """
    assert item.message is not None
    own = item.owner.user_id in (None, run.speaker.context.user_id) or given_by(item.owner, run)
    told = item.told_at(dt_util.utcnow())
    return f"{told}: {item.message.text}" if own and not item.message.private else told


def told_timer(timer: PlannedItem) -> str:
    """Return a timer with its name and time, as the model reads it."""
    schedule = timer.schedule
    if schedule.days:
        return f"{timer.told or 'timer'} {schedule.told(dt_util.utcnow())}"
    return f"{timer.told or 'timer'} {dt_util.as_local(timer.due):%a} {format_local(timer.due)}"


def outside_rows(rows: object) -> list[str]:
    """Return what is said by all that was planned after text from outside was read."""
    listed = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    told = (row.get("planned", row.get("name")) for row in listed if row.get("from") == OUTSIDE)
    return [str(leaf) for each in told for leaf in leaves(each)]


def are_entities(rows: object) -> bool:
    """Return whether all of some rows are actions on entities, and none is a message."""
    listed = rows if isinstance(rows, list) else []
    return all(isinstance(row, Mapping) and isinstance(row.get("planned"), Mapping) for row in listed)


def entities_of(rows: object) -> list[str]:
    """Return the entities of planned commands as `planned_row` shows them."""
    listed = (
        [row.get("planned") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    )
    return [entity_id for planned in listed if isinstance(planned, Mapping) for entity_id in planned]


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
    # The ids begin with the time at which they were made.
    last = max((command.id for command in commands), default="")
    # "den Timer", "10 minutes"
    if name and _without_kind(name) and read_length(name, language) is None:
        meant = _called_timers(timers, name) or [one for one in timers if _is_described(one, name, run)]
        meant = meant or _called_commands(commands, name, run)
        problem = WHICH if meant else NOT_CALLED
    elif when and (read_length(when, language) is None or len(items) > 1):
        moment = read_moment(when, language, "when")
        meant = [item for item in timers if _is_at(moment, item)]
        meant = meant or [item for item in commands if _is_at(moment, item)]
    elif last and all(timer.id < last for timer in timers):
        newest = max(commands, key=lambda command: command.created)
        meant = [command for command in commands if command.owner.turn_id == newest.owner.turn_id]
        here = run.speaker.conversation_id
        if len(commands) > len(meant) and not (here and newest.owner.conversation_id == here):
            raise ValidationError(f"name: {WHICH} {_listed(commands, run)}")
    else:
        meant = timers
    if not meant or (meant[0].is_timer and len(meant) > 1):
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


def _is_at(moment: date | datetime, item: PlannedItem) -> bool:
    """Return whether something is due at a local time, or on a day, be it repeatedly."""
    if isinstance(moment, datetime):
        local = dt_util.as_local(moment)
        is_repeated = local.weekday() in item.schedule.days and local.time() == item.schedule.clock
        return moment == item.due or is_repeated
    return dt_util.as_local(item.due).date() == moment or moment.weekday() in item.schedule.days


def _called_timers(timers: Sequence[PlannedItem], name: str) -> list[PlannedItem]:
    """Return the timers of an id or a name; "Pizzatimer" and "temporizador de la pizza" are Pizza."""

    def names(timer: PlannedItem) -> tuple[str]:
        return (timer.told,)

    if by_id := [timer for timer in timers if timer.id == name]:
        return by_id
    return called(timers, name, names) or called(timers, _without_kind(name), names)


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


def _called_commands(commands: Sequence[PlannedItem], name: str, run: ToolRun) -> list[PlannedItem]:
    """Return the commands of an id, of the name of an entity, or of an action in words."""
    if by_id := [command for command in commands if command.id == name]:
        return by_id
    wanted = fold(name)
    meant: list[PlannedItem] = []
    for command in commands:
        names = {*map(fold, command.entity_ids)}
        if command.message is not None:
            names |= {fold(command.message.receiver), fold(command.message.text)}
        for entity_id in command.entity_ids:
            if (record := run.house.entities.get(entity_id)) is not None:
                names.update(map(fold, record.names))
        is_named = any(each and (each in wanted or wanted in each) for each in names)
        if wanted and (wanted == fold(command.told) or is_named):
            meant.append(command)
    described = [] if meant else [command for command in commands if _is_described(command, name, run)]
    return meant or (described if len(described) == 1 else [])


def _is_described(item: PlannedItem, text: str, run: ToolRun) -> bool:
    """Return whether each word is of a name, of an entity's kind or room, of the action, or of the time.

    Words for times may be of any language: "das am Samstag".
    """
    language, schedule = run.speaker.language, item.schedule
    named = {*words(item.told)}
    if item.is_timer:
        named |= _kind_words()
    else:
        named |= {*words(schedule.told(dt_util.utcnow()))}
    if item.message is not None:
        named |= {*words(item.message.text)}
    for entity_id in item.entity_ids:
        if (record := run.house.entities.get(entity_id)) is not None:
            named |= {word for name in record.names for word in content_words(name)}
            spoken = tuple(dict.fromkeys((find(language) or DEFAULT, DEFAULT)))
            named |= {*words(class_concepts(record.domain, record.device_class, spoken))}
            area = run.house.areas.get(record.area_id or "")
            named.update(word for name in (area.names if area else ()) for word in words(name))
    local = dt_util.as_local(item.due)
    times = {fold(WEEKDAYS[day]) for day in (*schedule.days, local.weekday())}
    times |= {day[:3] for day in times} | {fold(local.date().isoformat())}
    times.update(words(told_days(schedule.days)) if schedule.days else ())
    days_ahead = (local.date() - dt_util.now().date()).days
    times.update({0: ("today", "tonight"), 1: ("tomorrow",)}.get(days_ahead, ()))

    def fits(word: str) -> bool:
        if (clock := read_clock(word)) is not None:
            return clock == local.time().replace(second=0, microsecond=0)
        if word.isdecimal() and not local.minute:
            return int(word) in (local.hour, local.hour % 12 or 12)
        if word in times or word.removesuffix("s") in times or f"{word}s" in times:
            return True
        return any(word_similarity(word, other) >= SAME for other in named)

    for form in forms(text.replace(",", " "), language):
        asked = [word if read_clock(word) is not None else fold(word) for word in form.split()]
        asked = [word for word in asked if word not in stop_words() | _BESIDE]
        if asked and all(map(fits, asked)):
            return True
    return False


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
            told = (
                f"{', '.join(names[:MAX_NAMES])}{' …' if len(names) > MAX_NAMES else ''} {deed}"
                for deed, names in list(deeds.items())[:MAX_NAMES]
            )
            rows.append(", ".join(told))
    kept = rows[:1]
    for row in rows[1:MAX_NAMED]:
        if len("; ".join((*kept, row))) > MAX_LIST_CHARS:
            break
        kept.append(row)
    more = len(rows) - len(kept)
    return "; ".join((*kept, f"and {more} more")) if more else "; ".join(kept)
