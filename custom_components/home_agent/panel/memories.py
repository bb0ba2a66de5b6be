"""Commands about what is remembered: all of it for administrators, one's own for everybody."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import probatio

from homeassistant.core import Context
from homeassistant.util import dt as dt_util

from ..agent.describe import async_when
from ..const import CONF_MEMORY
from ..domains import DOMAINS
from ..knowledge.speaker import async_person_of_user
from ..memory.extractor import Reason
from ..memory.memories import MAX_CONTENT
from ..memory.profile import MAX_VALUE
from ..memory.records import Memory, MemoryType, Origin, ProfileEntry, Provenance, Sensitivity
from ..planned.records import PlannedItem
from ..privacy import async_forget, async_forget_profile
from ..services.base import Response, invalid, row_of
from ..services.memories import async_remember, shown
from .activity import async_audit_rows, entity_name
from .commands import EMPTY, CommandRow, PanelCommand

MAX_ROWS: Final = 200
"""Memories in one answer, and profile entries."""
MAX_ACTIONS: Final = 50
IMPORTANCE: Final = 0.7
"""Of a memory that a person adds, as in the service."""


async def _async_memories(command: PanelCommand) -> Response:
    """Return the memories that match a query, best first; all without a query, the newest first."""
    data, names, query = command.data, await command.async_names(), command.fields["query"].strip()
    memories, profile = data.memories.all(), data.profile.entries(_anybody)
    if query:
        found = await data.memories.async_search(query, MAX_ROWS, may_see=_anybody)
        memories = [item.memory for item in found]
        profile = await data.profile.async_search(query, MAX_ROWS, may_see=_anybody)
    return {
        "enabled": bool(data.settings[CONF_MEMORY]),
        "people": await command.async_people(),
        "memories": [memory_row(memory, names) for memory in memories[:MAX_ROWS]],
        "memories_total": len(memories),
        "profile": [profile_row(entry, names) for entry in profile[:MAX_ROWS]],
        "profile_total": len(profile),
        "refused": [
            {
                **row_of(item, "at", "reason"),
                "content": "" if item.reason is Reason.SECRET else item.content,
                "name": names.get(item.person or "", ""),
            }
            for item in reversed(() if query else data.extractor.refused)
        ],
    }


async def _async_update(command: PanelCommand) -> Response:
    """Update a memory in the name of the administrator who uses the panel.

    Raises HomeAssistantError if it no longer exists or was observed: what is observed follows the home.
    """
    fields, memories = command.fields, command.data.memories
    memory = memories.get(fields["memory_id"])
    if memory is None or memory.origin is Origin.OBSERVED:
        raise invalid("memory_unknown", memory_id=fields["memory_id"])
    person = await async_person_of_user(command.hass, command.user.id)
    heard = Provenance(at=dt_util.utcnow(), person=person.id if person else None)
    await memories.async_rewrite(
        replace(
            memory,
            content=fields["content"],
            type=MemoryType(fields["memory_type"]),
            importance=fields["importance"],
            private=fields["private"],
        ),
        heard,
        Context(user_id=command.user.id),
    )
    return EMPTY


async def _async_add(command: PanelCommand) -> Response:
    """Remember something of a person, or of the household if none is named.

    Raises HomeAssistantError for an unknown person, and for text that may not be stored.
    """
    person = command.fields.get("person")
    if person is not None and person not in {one["id"] for one in await command.async_people()}:
        raise invalid("person_unknown", person=person)
    return await async_remember(command.hass, command.data, command.fields, person, command.context)


async def _async_delete(command: PanelCommand) -> Response:
    if not await async_forget(command.data, [command.fields["memory_id"]]):
        raise invalid("memory_unknown", memory_id=command.fields["memory_id"])
    return EMPTY


async def _async_update_entry(command: PanelCommand) -> Response:
    """Update a profile entry. Raises HomeAssistantError if it no longer exists, and for codes."""
    entry = replace(
        _profile_entry(command),
        value=command.fields["value"],
        sensitivity=Sensitivity(command.fields["sensitivity"]),
        origin=Origin.TOLD,
        last_seen=dt_util.utcnow(),
    )
    await command.data.profile.async_note(entry)
    return EMPTY


async def _async_delete_entry(command: PanelCommand) -> Response:
    await async_forget_profile(command.data, [_profile_entry(command).id])
    return EMPTY


def _profile_entry(command: PanelCommand) -> ProfileEntry:
    entry = command.data.profile.get(command.fields["profile_id"])
    if entry is None:
        raise invalid("memory_unknown", memory_id=command.fields["profile_id"])
    return entry


def memory_row(memory: Memory, names: Mapping[str, str]) -> Response:
    """Return a memory as the page shows it."""
    return {
        **shown(memory),
        "name": names.get(memory.person or "", memory.person),
        "editable": memory.origin is not Origin.OBSERVED,
        "told_by": [
            {"name": names.get(heard.person or "", ""), **row_of(heard, "at", "said")}
            for heard in memory.provenance
        ],
    }


def profile_row(entry: ProfileEntry, names: Mapping[str, str]) -> Response:
    """Return a profile entry as the page shows it."""
    return {
        **row_of(entry, "id", "category", "key", "value", "sensitivity", "first_seen", "last_seen"),
        **row_of(entry, "count", "previous"),
        "name": names.get(entry.person or "", entry.person),
        "confidence": round(entry.confidence, 3),
        "source": entry.origin.value,
    }


def _anybody(_record: object) -> bool:
    """Let everything through: administrators see everyone's."""
    return True


async def _async_mine(command: PanelCommand) -> Response:
    data, user_id, own = command.data, command.user.id, await _async_own(command)
    person = await async_person_of_user(command.hass, user_id)
    names = {own: person.name if person else "", user_id: person.name if person else ""}
    memories = [memory for memory in data.memories.all() if memory.person == own]
    entries = data.profile.entries(lambda entry: entry.person == own)
    items = data.planned.of_user(user_id)
    audit = data.handler.guard.journal.entries_of(user_id)[:MAX_ACTIONS]
    waits = {
        item.id: await async_when(command.hass, command.hass.config.language, item.schedule)
        for item in items
        if item.schedule.clauses
    }
    return {
        "name": names[own],
        "memories": [memory_row(memory, names) for memory in memories[:MAX_ROWS]],
        "profile": [profile_row(entry, names) for entry in entries[:MAX_ROWS]],
        "timers": [
            {
                **row_of(timer, "id", "due"),
                "when": waits.get(timer.id),
                "name": timer.told,
                "alarm": timer.is_alarm,
                "repeat": timer.schedule.repeat,
            }
            for timer in items
            if timer.is_timer
        ],
        "planned": [
            {
                **row_of(planned, "id", "due", "restores"),
                "when": waits.get(planned.id),
                "service": _service(planned),
                "names": [entity_name(command.hass, entity_id) for entity_id in planned.entity_ids]
                or [planned.message.receiver if planned.message else ""],
                "message": planned.message.text if planned.message else None,
            }
            for planned in items
            if not planned.is_timer
        ],
        "actions": await async_audit_rows(command, audit, names),
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


async def _async_add_own(command: PanelCommand) -> Response:
    """Remember something about the user. Raises HomeAssistantError if it may not be stored."""
    fields = {**command.fields, "memory_type": MemoryType.FACT.value, "importance": IMPORTANCE}
    own = await _async_own(command)
    return await async_remember(command.hass, command.data, fields, own, command.context)


async def _async_end_own(command: PanelCommand) -> Response:
    """Forget, or cancel, something of the user. Raises HomeAssistantError for what is somebody else's."""
    data, fields, user_id = command.data, command.fields, command.user.id
    own = await _async_own(command)
    end: Callable[[list[str]], Coroutine[Any, Any, object]]
    if record_id := fields.get("memory_id"):
        is_own = (memory := data.memories.get(record_id)) is not None and memory.person == own
        end = partial(async_forget, data)
    elif record_id := fields.get("profile_id"):
        is_own = (entry := data.profile.get(record_id)) is not None and entry.person == own
        end = partial(async_forget_profile, data)
    else:
        record_id = fields.get("timer_id") or fields["planned_id"]
        is_own = record_id in {planned.id for planned in data.planned.of_user(user_id)}
        end = data.planned.async_cancel
    if not is_own:
        raise invalid("memory_unknown", memory_id=record_id)
    await end([record_id])
    return EMPTY


_SHARE: Final = probatio.All(probatio.Coerce(float), probatio.Range(min=0, max=1))
CONTENT: Final = probatio.All(str, probatio.Length(min=1, max=MAX_CONTENT))
"""The text of a memory."""
_WRITTEN: Final = {
    probatio.Required("memory_type"): probatio.In([kind.value for kind in MemoryType]),
    probatio.Required("importance"): _SHARE,
    probatio.Required("private"): bool,
}
_MEMORY: Final = {probatio.Required("memory_id"): str}
_PROFILE: Final = {probatio.Required("profile_id"): str}

COMMANDS: Final[Mapping[str, CommandRow]] = {
    "memories": CommandRow(
        _async_memories,
        {probatio.Optional("query", default=""): probatio.All(str, probatio.Length(max=MAX_CONTENT))},
    ),
    "memory/add": CommandRow(
        _async_add,
        {
            **_WRITTEN,
            probatio.Required("content"): CONTENT,
            probatio.Optional("person"): probatio.Any(str, None),
        },
    ),
    "memory/update": CommandRow(
        _async_update, {**_MEMORY, **_WRITTEN, probatio.Required("content"): CONTENT}
    ),
    "memory/delete": CommandRow(_async_delete, _MEMORY),
    "profile/update": CommandRow(
        _async_update_entry,
        {
            **_PROFILE,
            probatio.Required("value"): probatio.All(str, probatio.Length(min=1, max=MAX_VALUE)),
            probatio.Required("sensitivity"): probatio.In([level.value for level in Sensitivity]),
        },
    ),
    "profile/delete": CommandRow(_async_delete_entry, _PROFILE),
    "mine": CommandRow(_async_mine, everybody=True),
    "mine/memory/add": CommandRow(
        _async_add_own,
        {probatio.Required("content"): CONTENT, probatio.Required("private"): bool},
        everybody=True,
    ),
    "mine/memory/delete": CommandRow(_async_end_own, _MEMORY, everybody=True),
    "mine/profile/delete": CommandRow(_async_end_own, _PROFILE, everybody=True),
    "mine/timer/cancel": CommandRow(_async_end_own, {probatio.Required("timer_id"): str}, everybody=True),
    "mine/planned/cancel": CommandRow(_async_end_own, {probatio.Required("planned_id"): str}, everybody=True),
}
