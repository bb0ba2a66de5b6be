"""Undoing a cancellation: timers and planned commands are set again while their time has not passed."""

from typing import Final

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...errors import ValidationError
from ...planned.cancelled import Cancellation
from ...planned.commands import PlannedCommands
from ...planned.records import PlannedCommand
from ...timers.records import Timer
from ...timers.repeating import told_days
from ...timespans import format_local
from ..base import ToolRun
from ..planned.rows import planned_row

SET_AGAIN: Final = "set_again"
"""The part of the result that lists what was set again."""
MAX_NAMED: Final = 5


def last_cancellation(planned: PlannedCommands | None, run: ToolRun) -> Cancellation | None:
    """Return the last cancellation of an earlier turn that was not undone; None if there is none."""
    for one in reversed(planned.cancelled if planned is not None else ()):
        if not one.undone and one.owner.turn_id != run.speaker.turn_id and _is_own(one, run):
            return one
    return None


async def async_set_again(made: Cancellation, planned: PlannedCommands, run: ToolRun) -> JsonValueType:
    """Set again what was cancelled, and return it by name.

    What needed a confirmation is not set again: a person confirmed it for a plan that no longer exists.
    Raises ValidationError if nothing of it can be set again. In both cases a further undo goes on to what was
    before.
    """
    made.undone = True
    now = dt_util.utcnow()
    timers = [timer for timer in made.timers if timer.due > now] if not made.kept_in.full else []
    commands = [one for one in made.commands if _may_return(one, planned)]
    rest: list[JsonValueType] = [_told(timer) for timer in made.timers if timer not in timers]
    rest += [row for one in made.commands if one not in commands and (row := planned_row(one, run))]
    if not timers and not commands:
        raise ValidationError(
            f"The last request cancelled {_named(made, run)}. That cannot be undone: its time has passed, or "
            "it needs a confirmation. Nothing was undone; say so"
        )
    for timer in timers:
        await made.kept_in.async_set(timer)
    for command in commands:
        await planned.async_add(command)
    rows: list[JsonValueType] = [_told(timer) for timer in timers]
    rows += [row for command in commands if (row := planned_row(command, run))]
    result: dict[str, JsonValueType] = {SET_AGAIN: rows}
    if rest:
        result["stays_cancelled"] = rest
    return result


def _may_return(command: PlannedCommand, planned: PlannedCommands) -> bool:
    """Return whether a command may be planned again: not after its time, and not beside a newer end."""
    if command.approved is not None or command.due <= dt_util.utcnow() or planned.full:
        return False
    ends = (one for one in planned.all() if one.restores)
    return not command.restores or all(set(one.entity_ids).isdisjoint(command.entity_ids) for one in ends)


def _is_own(made: Cancellation, run: ToolRun) -> bool:
    """Return whether the speaker cancelled something: this person, or an unknown voice in this place."""
    owner, speaker = made.owner, run.speaker
    if owner.user_id is not None or speaker.context.user_id is not None:
        return owner.user_id == speaker.context.user_id
    if speaker.conversation_id and owner.conversation_id == speaker.conversation_id:
        return True
    return owner.device_id is not None and owner.device_id == speaker.device_id


def _told(timer: Timer) -> str:
    """Return a timer with its name and time, as the model reads it."""
    local = dt_util.as_local(timer.due)
    days = f", {told_days(timer.on_days)}" if timer.repeat else ""
    return f"{timer.name or 'timer'}: {local:%a} {format_local(timer.due)}{days}"


def _named(made: Cancellation, run: ToolRun) -> str:
    named = [timer.name or "a timer" for timer in made.timers]
    named += [
        run.house.entities[one].name
        for command in made.commands
        for one in command.entity_ids
        if run.reader.sees(one) and one in run.house.entities
    ]
    named += [f"a message to {one.message.receiver}" for one in made.commands if one.message is not None]
    return ", ".join(named[:MAX_NAMED]) or "something"
