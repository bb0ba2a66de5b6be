"""What is planned: as the model reads it, and which of it is meant where something is to be cancelled."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ..context.named import class_concepts
from ..errors import ValidationError
from ..knowledge.names import content_words, word_similarity
from ..knowledge.spoken_words import stop_words
from ..languages import DEFAULT, find
from ..planned.commands import PlannedCommands
from ..planned.records import PlannedCommand
from ..texts import fold, words
from ..timers.timers import WEEKDAYS, told_days
from ..when import forms, read_clock
from .base import ToolRun

SAME: Final = 0.88
"""How alike two forms of a word are."""
_TODAY: Final = ("today", "tonight")
_TOMORROW: Final = ("tomorrow",)
_BESIDE: Final = frozenset({"at", "on", "in", "for", "every", "oclock", "next", "this"})
"""English words beside a time that name nothing."""


def is_described(
    said: str, language: str, due: datetime, days: Collection[int], named: Collection[str]
) -> bool:
    """Return whether each word is one of a name or of a time: `named` are the folded words of the name."""
    local = dt_util.as_local(due)
    clock, ahead = local.time(), (local.date() - dt_util.now().date()).days
    times = {fold(WEEKDAYS[day]) for day in (*days, local.weekday())}
    times |= {day[:3] for day in times} | {fold(local.date().isoformat())}
    times.update(words(told_days(tuple(days))) if days else ())
    times.update({0: _TODAY, 1: _TOMORROW}.get(ahead, ()))

    def fits(word: str) -> bool:
        if (told := read_clock(word)) is not None:
            return told == clock.replace(second=0, microsecond=0)
        if word.isdecimal() and not clock.minute:
            return int(word) in (clock.hour, clock.hour % 12 or 12)
        if word in times or word.removesuffix("s") in times or f"{word}s" in times:
            return True
        return any(word_similarity(word, other) >= SAME for other in named)

    for form in forms(said.replace(",", " "), language):
        asked = [word if read_clock(word) is not None else fold(word) for word in form.split()]
        asked = [word for word in asked if word not in stop_words() | _BESIDE]
        if asked and all(map(fits, asked)):
            return True
    return False


OUTSIDE: Final = "a text from outside"
"""Where the words of a timer or a message come from that was planned after such a text was read."""
MAX_LISTED = 20
MAX_NAMED = 5
MAX_NAMES = 3
MAX_LIST_CHARS = 130
"""Errors have 300 characters, with what was asked for; a list in one must not be cut off."""


def planned_rows(planned: PlannedCommands | None, run: ToolRun) -> list[JsonValueType]:
    """Return what is planned and may be known to the speaker, the next one first."""
    if planned is None:
        return []
    rows = (planned_row(command, run) for command in planned.seen_by(run.speaker)[:MAX_LISTED])
    return [row for row in rows if row]


def planned_row(command: PlannedCommand, run: ToolRun) -> dict[str, JsonValueType]:
    """Return a planned command as the model reads it; empty if none of its entities is exposed any more."""
    now = dt_util.utcnow()
    if command.message is not None:
        row: dict[str, JsonValueType] = {"id": command.id, "planned": _told_message(command, run, now)}
        return row | ({"from": OUTSIDE} if command.owner.outside else {})
    shown: dict[str, JsonValueType] = {
        key: command.told_for(key, now) for key in command.entity_ids if run.reader.sees(key)
    }
    return {"id": command.id, "planned": shown} if shown else {}


def _told_message(command: PlannedCommand, run: ToolRun, now: datetime) -> str:
    """Return a planned message with its time; its words only to the one who planned it.

    The person who asks about the plans of a device may be a guest.
    """
    assert command.message is not None
    own = command.owner.user_id in (None, run.speaker.context.user_id) or given_by(command, run)
    told = command.told_at(now)
    return f"{told}: {command.message.text}" if own and not command.message.private else told


def outside_rows(rows: object) -> list[str]:
    """Return what planned messages say that were given after text from outside was read."""
    found = rows if isinstance(rows, list) else []
    return [str(row["planned"]) for row in found if isinstance(row, Mapping) and row.get("from") == OUTSIDE]


def are_entities(rows: object) -> bool:
    """Return whether all of some rows are actions on entities, and none is a message."""
    found = rows if isinstance(rows, list) else []
    return all(isinstance(row, Mapping) and isinstance(row.get("planned"), Mapping) for row in found)


def entities_of(rows: object) -> list[str]:
    """Return the entities of planned commands as `planned_row` shows them."""
    found = [row.get("planned") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return [entity_id for planned in found if isinstance(planned, Mapping) for entity_id in planned]


def given_by(command: PlannedCommand, run: ToolRun) -> bool:
    """Return whether the speaker gave a command: in this conversation, as this person, or at this device."""
    speaker, owner = run.speaker, command.owner
    if speaker.conversation_id and owner.conversation_id == speaker.conversation_id:
        return True
    if (known := speaker.context.user_id) is not None:
        return owner.user_id == known
    return owner.device_id is not None and owner.device_id == speaker.device_id


def called_so(commands: Collection[PlannedCommand], said: str, run: ToolRun) -> list[PlannedCommand]:
    """Return the commands of an id, of the name of an entity, or of an action in words."""
    by_id = [command for command in commands if command.id == said]
    wanted = fold(said)
    if found := by_id or [command for command in commands if wanted and _is_called(command, wanted, run)]:
        return found
    described = [command for command in commands if _is_described(command, said, run)]
    return described if len(described) == 1 else []


def _is_described(command: PlannedCommand, said: str, run: ToolRun) -> bool:
    """Return whether each word is of an entity's name, kind or room, of the action, or of the time.

    Words for times may be of any language: "das am Samstag".
    """
    languages = tuple(dict.fromkeys((find(run.speaker.language) or DEFAULT, DEFAULT)))
    known = {*words(command.told), *words(command.schedule.told(dt_util.utcnow()))}
    if command.message is not None:
        known |= {*words(command.message.text)}
    for entity_id in command.entity_ids:
        if (record := run.house.entities.get(entity_id)) is not None:
            known |= {word for name in record.names for word in content_words(name)}
            known |= {*words(class_concepts(record.domain, record.device_class, languages))}
            area = run.house.areas.get(record.area_id or "")
            known.update(word for name in (area.names if area else ()) for word in words(name))
    return is_described(said, run.speaker.language, command.due, command.schedule.days, known)


def listed_plans(commands: Collection[PlannedCommand], run: ToolRun, *others: str) -> str:
    """Return plans by name and time, after lines of other things, with whole entries only."""
    rows = [*others, *filter(None, (_listed(command, run) for command in commands))]
    kept = rows[:1]
    for row in rows[1:MAX_NAMED]:
        if len("; ".join((*kept, row))) > MAX_LIST_CHARS:
            break
        kept.append(row)
    more = len(rows) - len(kept)
    return "; ".join((*kept, f"and {more} more")) if more else "; ".join(kept)


def _listed(command: PlannedCommand, run: ToolRun) -> str:
    """Return the names of a plan's entities and what happens to them; empty if none is exposed."""
    now = dt_util.utcnow()
    if command.message is not None:
        return _told_message(command, run, now)
    deeds: dict[str, list[str]] = {}
    for entity_id in command.entity_ids:
        if run.reader.sees(entity_id) and (record := run.house.entities.get(entity_id)) is not None:
            deeds.setdefault(command.told_for(entity_id, now), []).append(record.name)
    told = [
        f"{', '.join(names[:MAX_NAMES])}{' …' if len(names) > MAX_NAMES else ''} {deed}"
        for deed, names in list(deeds.items())[:MAX_NAMES]
    ]
    return ", ".join(told)


def _is_called(command: PlannedCommand, wanted: str, run: ToolRun) -> bool:
    names = set(map(fold, command.entity_ids))
    if command.message is not None:
        names |= {fold(command.message.receiver), fold(command.message.text)}
    for entity_id in command.entity_ids:
        if (record := run.house.entities.get(entity_id)) is not None:
            names.update(map(fold, record.names))
    return wanted == fold(command.told) or any(name and (name in wanted or wanted in name) for name in names)


def newest_of(commands: Collection[PlannedCommand], run: ToolRun) -> list[PlannedCommand]:
    """Return the commands of the last turn that planned any; "cancel that" means them.

    Raises ValidationError that lists them if others were planned elsewhere.
    """
    newest = max(commands, key=lambda command: command.created)
    together = [command for command in commands if command.owner.turn_id == newest.owner.turn_id]
    here = bool(run.speaker.conversation_id) and newest.owner.conversation_id == run.speaker.conversation_id
    if len(commands) > len(together) and not here:
        raise ValidationError(
            f"name: which one is meant? Give the name and the time of one of: {listed_plans(commands, run)}"
        )
    return together
