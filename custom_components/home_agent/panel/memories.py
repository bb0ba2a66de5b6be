"""Commands about what is remembered: search, edit, forget."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypedDict

import probatio

from homeassistant.core import Context
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..knowledge.persons import async_person_of_user
from ..memory.extractor import Refused
from ..memory.memories import MAX_CONTENT
from ..memory.profile import MAX_VALUE
from ..memory.quality import Reason
from ..memory.records import MemoryType, Origin, ProfileEntry, Provenance, Sensitivity
from ..privacy import async_forget, async_forget_profile
from ..services.memories import MemoryFacts, shown
from .commands import CommandRow, EmptyAnswer, PanelCommand

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
        "memories": [
            {
                **shown(memory),
                "name": names.get(memory.person or "", memory.person),
                "editable": memory.origin is not Origin.OBSERVED,
                "told_by": [
                    {
                        "name": names.get(heard.person or "", ""),
                        "at": heard.at.isoformat(),
                        "said": heard.said,
                    }
                    for heard in memory.provenance
                ],
            }
            for memory in memories[:MAX_ROWS]
        ],
        "memories_total": len(memories),
        "profile": [_entry(entry, names) for entry in profile[:MAX_ROWS]],
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
        raise _unknown(fields["memory_id"])
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


async def _async_delete(command: PanelCommand) -> EmptyAnswer:
    """Forget a memory, everywhere and at once. Raises HomeAssistantError if it no longer exists."""
    if not await async_forget(command.data, [command.fields["memory_id"]]):
        raise _unknown(command.fields["memory_id"])
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
        raise _unknown(command.fields["profile_id"])
    return entry


def _entry(entry: ProfileEntry, names: Mapping[str, str]) -> ProfileRow:
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


def _unknown(record_id: str) -> HomeAssistantError:
    """Return the error for an unknown id."""
    return HomeAssistantError(
        translation_domain=DOMAIN,
        translation_key="memory_unknown",
        translation_placeholders={"memory_id": record_id},
    )


_SHARE: Final = probatio.All(probatio.Coerce(float), probatio.Range(min=0, max=1))
_MEMORY: Final = {probatio.Required("memory_id"): str}
_PROFILE: Final = {probatio.Required("profile_id"): str}

COMMANDS: Final[Mapping[str, CommandRow]] = {
    "memories": (
        _async_memories,
        {probatio.Optional("query", default=""): probatio.All(str, probatio.Length(max=MAX_CONTENT))},
    ),
    "memory/update": (
        _async_update,
        {
            **_MEMORY,
            probatio.Required("content"): probatio.All(str, probatio.Length(min=1, max=MAX_CONTENT)),
            probatio.Required("memory_type"): probatio.In([kind.value for kind in MemoryType]),
            probatio.Required("importance"): _SHARE,
            probatio.Required("private"): bool,
        },
    ),
    "memory/delete": (_async_delete, _MEMORY),
    "profile/update": (
        _async_update_entry,
        {
            **_PROFILE,
            probatio.Required("value"): probatio.All(str, probatio.Length(min=1, max=MAX_VALUE)),
            probatio.Required("sensitivity"): probatio.In([level.value for level in Sensitivity]),
        },
    ),
    "profile/delete": (_async_delete_entry, _PROFILE),
}
