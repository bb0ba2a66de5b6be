"""Commands about oneself, for everybody: what is known about a person, for that person alone."""

from collections.abc import Mapping
from typing import Final, TypedDict

import probatio

from ..domains import DOMAINS
from ..knowledge.speaker import async_person_of_user
from ..memory.records import Memory, MemoryType, ProfileEntry
from ..planned.records import PlannedItem
from ..privacy import async_forget, async_forget_profile
from ..services.memories import MemoryIdResponse
from .activity import AuditRow, audit_rows, entity_name
from .commands import CommandRow, EmptyAnswer, PanelCommand
from .memories import (
    CONTENT,
    MAX_ROWS,
    MemoryRow,
    ProfileRow,
    async_remember,
    memory_row,
    profile_row,
    unknown,
)

MAX_ACTIONS: Final = 50
IMPORTANCE: Final = 0.7
"""Of a memory that a person adds, as in the service."""


class TimerRow(TypedDict):
    """A timer or reminder."""

    id: str
    name: str
    due: str
    repeat: str | None


class PlannedRow(TypedDict):
    """A planned command: what is to be done, on what, and when next."""

    id: str
    service: str
    """The service of its action; empty if its values alone say what is called."""
    names: list[str]
    message: str | None
    """What is told to them, if it is a message."""
    due: str
    restores: bool
    """Whether it restores what was before a command for a while."""


class MineAnswer(TypedDict):
    """What is known about the user: at most `MAX_ROWS` memories and entries, and `MAX_ACTIONS` actions."""

    name: str
    memories: list[MemoryRow]
    profile: list[ProfileRow]
    timers: list[TimerRow]
    planned: list[PlannedRow]
    actions: list[AuditRow]


async def _async_mine(command: PanelCommand) -> MineAnswer:
    """Return what is known about the user of the panel, and nothing of others."""
    data, user_id, own = command.data, command.user.id, await _async_own(command)
    person = await async_person_of_user(command.hass, user_id)
    names = {own: person.name if person else "", user_id: person.name if person else ""}
    memories = [memory for memory in data.memories.all() if memory.person == own]
    entries = data.profile.entries(lambda entry: entry.person == own)
    items = data.planned.of_user(user_id)
    audit = data.handler.guard.journal.audit.of_user(user_id)[:MAX_ACTIONS]
    return {
        "name": names[own],
        "memories": [memory_row(memory, names) for memory in memories[:MAX_ROWS]],
        "profile": [profile_row(entry, names) for entry in entries[:MAX_ROWS]],
        "timers": [
            {
                "id": timer.id,
                "name": timer.told,
                "due": timer.due.isoformat(),
                "repeat": timer.schedule.repeat,
            }
            for timer in items
            if timer.is_timer
        ],
        "planned": [
            {
                "id": planned.id,
                "service": _service(planned),
                "names": [entity_name(command.hass, entity_id) for entity_id in planned.entity_ids]
                or [planned.message.receiver if planned.message else ""],
                "message": planned.message.text if planned.message else None,
                "due": planned.due.isoformat(),
                "restores": planned.restores,
            }
            for planned in items
            if not planned.is_timer
        ],
        "actions": audit_rows(command, audit, names),
    }


def _service(planned: PlannedItem) -> str:
    """Return the service that a planned command calls first; empty if it is not known before."""
    if not planned.entity_ids:
        return ""
    domain = planned.entity_ids[0].partition(".")[0]
    action = DOMAINS[domain].actions.get(planned.verb)
    return f"{domain}.{action.service}" if action and action.service else ""


async def _async_own(command: PanelCommand) -> str:
    """Return the id that the user's own memories have; no memory has an empty one."""
    person = await async_person_of_user(command.hass, command.user.id)
    return person.id if person else ""


async def _async_add(command: PanelCommand) -> MemoryIdResponse:
    """Remember something about the user. Raises HomeAssistantError if it may not be stored."""
    fields = {**command.fields, "memory_type": MemoryType.FACT.value, "importance": IMPORTANCE}
    return await async_remember(command.with_fields(fields), await _async_own(command))


async def _async_forget_memory(command: PanelCommand) -> EmptyAnswer:
    """Forget a memory of the user. Raises HomeAssistantError for one of somebody else."""
    memory_id: str = command.fields["memory_id"]
    await _async_check_own(command, memory_id, command.data.memories.get(memory_id))
    await async_forget(command.data, [memory_id])
    return {}


async def _async_forget_entry(command: PanelCommand) -> EmptyAnswer:
    """Forget a profile entry of the user. Raises HomeAssistantError for one of somebody else."""
    profile_id: str = command.fields["profile_id"]
    await _async_check_own(command, profile_id, command.data.profile.get(profile_id))
    await async_forget_profile(command.data, [profile_id])
    return {}


async def _async_check_own(command: PanelCommand, key: str, found: Memory | ProfileEntry | None) -> None:
    """Raise HomeAssistantError unless something is remembered about the user of the panel."""
    if found is None or found.person != await _async_own(command):
        raise unknown(key)


async def _async_cancel(command: PanelCommand) -> EmptyAnswer:
    """Cancel a timer or a command of the user. Raises HomeAssistantError for one of somebody else."""
    planned, item_id = command.data.planned, command.fields.get("timer_id") or command.fields["planned_id"]
    if item_id not in {item.id for item in planned.of_user(command.user.id)}:
        raise unknown(item_id)
    await planned.async_cancel([item_id])
    return {}


COMMANDS: Final[Mapping[str, CommandRow]] = {
    "mine": CommandRow(_async_mine, everybody=True),
    "mine/memory/add": CommandRow(
        _async_add,
        {probatio.Required("content"): CONTENT, probatio.Required("private"): bool},
        everybody=True,
    ),
    "mine/memory/delete": CommandRow(
        _async_forget_memory, {probatio.Required("memory_id"): str}, everybody=True
    ),
    "mine/profile/delete": CommandRow(
        _async_forget_entry, {probatio.Required("profile_id"): str}, everybody=True
    ),
    "mine/timer/cancel": CommandRow(_async_cancel, {probatio.Required("timer_id"): str}, everybody=True),
    "mine/planned/cancel": CommandRow(_async_cancel, {probatio.Required("planned_id"): str}, everybody=True),
}
