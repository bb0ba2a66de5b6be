"""Commands about what is remembered: search, edit, forget."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypedDict

import probatio

from homeassistant.core import Context
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..const import CONF_MEMORY, DOMAIN
from ..errors import ValidationError
from ..knowledge.speaker import async_person_of_user
from ..memory.extractor import Reason, Refused
from ..memory.memories import MAX_CONTENT, make_memory
from ..memory.profile import MAX_VALUE
from ..memory.records import Memory, MemoryType, Origin, ProfileEntry, Provenance, Sensitivity
from ..privacy import async_forget, async_forget_profile
from ..services.memories import MemoryFacts, MemoryIdResponse, shown
from .commands import CommandRow, EmptyAnswer, PanelCommand, PersonRow

MAX_ROWS: Final = 200
"""Memories in one answer, and profile entries."""


class RefusedRow(TypedDict):
    """A memory that was not kept, and why."""

    at: str
    content: str
    reason: str
    name: str


class ProfileRow(TypedDict):
    """A profile entry."""

    id: str
    category: str
    key: str
    value: str
    name: str | None
    sensitivity: str
    confidence: float
    source: str
    first_seen: str
    last_seen: str
    count: int
    previous: str | None


class SayerRow(TypedDict):
    """Who said something, by name, when and in which words."""

    name: str
    at: str
    said: str | None


class MemoryRow(MemoryFacts):
    """A memory with the names of people."""

    name: str | None
    editable: bool
    told_by: list[SayerRow]


class MemoriesAnswer(TypedDict):
    """Memories as the services show them, with names; and the profile. At most `MAX_ROWS` of each."""

    enabled: bool
    """Whether the options let the agent remember."""
    people: list[PersonRow]
    """The persons that a memory can be added for."""
    memories: list[MemoryRow]
    memories_total: int
    profile: list[ProfileRow]
    profile_total: int
    refused: list[RefusedRow]


async def _async_memories(command: PanelCommand) -> MemoriesAnswer:
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
        "refused": [] if query else [_refused(item, names) for item in reversed(data.extractor.refused)],
    }


def _refused(item: Refused, names: Mapping[str, str]) -> RefusedRow:
    """Return a memory that was not kept, with the reason; a code is not shown."""
    return {
        "at": item.at.isoformat(),
        "content": "" if item.reason is Reason.SECRET else item.content,
        "reason": item.reason.value,
        "name": names.get(item.person or "", ""),
    }


async def _async_update(command: PanelCommand) -> EmptyAnswer:
    """Update a memory in the name of the administrator who uses the panel.

    Raises HomeAssistantError if it no longer exists or was observed: what is observed follows the home.
    """
    fields, memories = command.fields, command.data.memories
    memory = memories.get(fields["memory_id"])
    if memory is None or memory.origin is Origin.OBSERVED:
        raise unknown(fields["memory_id"])
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
    return {}


async def _async_add(command: PanelCommand) -> MemoryIdResponse:
    """Remember something of a person, or of the household if none is named.

    Raises HomeAssistantError for an unknown person, and for text that may not be stored.
    """
    person = command.fields.get("person")
    if person is not None and person not in {one["id"] for one in await command.async_people()}:
        raise HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="person_unknown",
            translation_placeholders={"person": person},
        )
    return await async_remember(command, person)


async def async_remember(command: PanelCommand, person: str | None) -> MemoryIdResponse:
    """Remember what the user of the panel has written. Raises HomeAssistantError if it may not be stored."""
    fields = command.fields
    sayer = await async_person_of_user(command.hass, command.user.id)
    try:
        _, memory = await command.data.memories.async_remember(
            make_memory(
                fields["content"],
                type=MemoryType(fields["memory_type"]),
                importance=fields["importance"],
                person=person,
                origin=Origin.TOLD,
                private=fields["private"],
                heard=Provenance(at=dt_util.utcnow(), person=sayer.id if sayer else None),
            )
        )
    except ValidationError as err:
        raise HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="memory_not_added",
            translation_placeholders={"reason": str(err)},
        ) from err
    return {"memory_id": memory.id}


async def _async_delete(command: PanelCommand) -> EmptyAnswer:
    """Forget a memory, everywhere and at once. Raises HomeAssistantError if it no longer exists."""
    if not await async_forget(command.data, [command.fields["memory_id"]]):
        raise unknown(command.fields["memory_id"])
    return {}


async def _async_update_entry(command: PanelCommand) -> EmptyAnswer:
    """Update a profile entry. Raises HomeAssistantError if it no longer exists, and for codes."""
    entry = _profile_entry(command)
    await command.data.profile.async_note(
        replace(
            entry,
            value=command.fields["value"],
            sensitivity=Sensitivity(command.fields["sensitivity"]),
            origin=Origin.TOLD,
            last_seen=dt_util.utcnow(),
        )
    )
    return {}


async def _async_delete_entry(command: PanelCommand) -> EmptyAnswer:
    """Forget a profile entry. Raises HomeAssistantError if it no longer exists."""
    await async_forget_profile(command.data, [_profile_entry(command).id])
    return {}


def _profile_entry(command: PanelCommand) -> ProfileEntry:
    """Return the entry that is meant. Raises HomeAssistantError if it no longer exists."""
    entry = command.data.profile.get(command.fields["profile_id"])
    if entry is None:
        raise unknown(command.fields["profile_id"])
    return entry


def memory_row(memory: Memory, names: Mapping[str, str]) -> MemoryRow:
    """Return a memory as the page shows it."""
    return {
        **shown(memory),
        "name": names.get(memory.person or "", memory.person),
        "editable": memory.origin is not Origin.OBSERVED,
        "told_by": [
            {"name": names.get(heard.person or "", ""), "at": heard.at.isoformat(), "said": heard.said}
            for heard in memory.provenance
        ],
    }


def profile_row(entry: ProfileEntry, names: Mapping[str, str]) -> ProfileRow:
    """Return a profile entry as the page shows it."""
    return {
        "id": entry.id,
        "category": entry.category,
        "key": entry.key,
        "value": entry.value,
        "name": names.get(entry.person or "", entry.person),
        "sensitivity": entry.sensitivity.value,
        "confidence": round(entry.confidence, 3),
        "source": entry.origin.value,
        "first_seen": entry.first_seen.isoformat(),
        "last_seen": entry.last_seen.isoformat(),
        "count": entry.count,
        "previous": entry.previous,
    }


def _anybody(_record: object) -> bool:
    """Let everything through: administrators see everyone's."""
    return True


def unknown(record_id: str) -> HomeAssistantError:
    """Return the error for an unknown id."""
    return HomeAssistantError(
        translation_domain=DOMAIN,
        translation_key="memory_unknown",
        translation_placeholders={"memory_id": record_id},
    )


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
}
