"""Services for memories. Users who are not administrators reach their own and the household's."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import probatio

from homeassistant.core import Context, HomeAssistant, ServiceCall, SupportsResponse
from homeassistant.helpers import config_validation as cv
from homeassistant.util import dt as dt_util

from ..const import CONF_MEMORY, DOMAIN
from ..errors import ValidationError
from ..knowledge.speaker import Person, async_find_person, async_person_of_user
from ..memory.memories import make_memory
from ..memory.records import Memory, MemoryType, Origin, Provenance, is_visible
from ..privacy import async_forget
from ..runtime import Agent, HomeAgentData
from .base import Response, Service, async_caller, async_require_admin, invalid, row_of

MAX_MEMORIES: Final = 10_000
"""Memories in one response."""


async def _async_list(call: ServiceCall, entry: Agent) -> Response:
    may_see = await _async_may_see(call)
    kind = call.data.get("memory_type")
    found = [
        memory
        for memory in entry.runtime_data.memories.all()
        if may_see(memory) and kind in (None, memory.type.value)
    ]
    listed = [shown(memory) for memory in found[: call.data["limit"]]]
    return {"memories": listed, "total": len(found)}


async def _async_search(call: ServiceCall, entry: Agent) -> Response:
    found = await entry.runtime_data.memories.async_search(
        call.data["query"],
        call.data["limit"],
        may_see=await _async_may_see(call),
        min_importance=call.data["min_importance"],
    )
    listed = [
        {**shown(item.memory), "relevance_score": round(item.relevance, 3)}
        for item in sorted(found, key=lambda item: item.relevance, reverse=True)
    ]
    return {"memories": listed, "total": len(found)}


async def _async_add(call: ServiceCall, entry: Agent) -> Response:
    caller = await async_person_of_user(call.hass, call.context.user_id)
    person = await async_person(call)
    if person is not None and person != caller:
        await async_require_admin(call)
    return await async_remember(
        call.hass, entry.runtime_data, call.data, person.id if person else None, call.context
    )


async def async_remember(
    hass: HomeAssistant,
    data: HomeAgentData,
    fields: Mapping[str, Any],
    person_id: str | None,
    context: Context,
) -> Response:
    """Remember what the user of a context has written about a person, or about the household.

    Raises ServiceValidationError for what may not be stored, and where memory is off.
    """
    if not data.settings[CONF_MEMORY]:
        raise invalid("memory_off")
    sayer = await async_person_of_user(hass, context.user_id)
    try:
        _, memory = await data.memories.async_remember(
            make_memory(
                fields["content"],
                type=MemoryType(fields["memory_type"]),
                importance=fields["importance"],
                person=person_id,
                origin=Origin.TOLD,
                private=fields["private"],
                heard=Provenance(at=dt_util.utcnow(), person=sayer.id if sayer else None),
            ),
            context,
        )
    except ValidationError as err:
        raise invalid("memory_not_added", reason=str(err)) from err
    return {"memory_id": memory.id}


async def _async_delete(call: ServiceCall, entry: Agent) -> Response:
    memories = entry.runtime_data.memories
    may_see = await _async_may_see(call)
    memory = memories.get(call.data["memory_id"])
    if memory is None or not may_see(memory):
        raise invalid("memory_unknown", memory_id=call.data["memory_id"])
    await async_forget(entry.runtime_data, [memory.id])
    return {"memory_id": memory.id}


async def _async_clear(call: ServiceCall, entry: Agent) -> Response:
    """Delete the memories of the caller or of another person, or all memories.

    Without a person a user means their own, as in `erase_data`. An automation has none of its own.
    """
    if not call.data["confirm"]:
        raise invalid("clear_unconfirmed")
    caller = await async_person_of_user(call.hass, call.context.user_id)
    person = await async_person(call) or caller
    everybody = call.data["everybody"] or (call.context.user_id is None and person is None)
    if person is None and not everybody:
        raise invalid("person_missing")
    if everybody or person != caller:
        await async_require_admin(call)
    whose = [
        memory.id
        for memory in entry.runtime_data.memories.records()
        if everybody or (person is not None and memory.person == person.id)
    ]
    return {"deleted_count": len(await async_forget(entry.runtime_data, whose))}


async def _async_may_see(call: ServiceCall) -> Callable[[Memory], bool]:
    """Return a filter for the memories of the named person that this caller may see.

    Administrators and automations see all of them.
    """
    user, person = await async_caller(call), await async_person(call)
    visible: Callable[[Memory], bool] = lambda _memory: True  # noqa: E731 - one of two
    if user is not None and not user.is_admin:
        caller = await async_person_of_user(call.hass, user.id)
        visible = partial(is_visible, person_id=caller.id if caller else None)
    if person is None:
        return visible
    return lambda memory: memory.person == person.id and visible(memory)


async def async_person(call: ServiceCall) -> Person | None:
    """Return the person of a call. Raises ServiceValidationError for an unknown person."""
    if not (said := call.data.get("person")):
        return None
    if (person := await async_find_person(call.hass, said)) is not None:
        return person
    person_id = said.strip()  # of one who is no longer among the persons
    for entry in call.hass.config_entries.async_loaded_entries(DOMAIN):
        data: HomeAgentData = entry.runtime_data
        memories, profile = data.memories.records(), data.profile.records()
        if person_id in {memory.person for memory in memories} | {item.person for item in profile}:
            return Person(id=person_id, name=person_id)
    raise invalid("person_unknown", person=said)


def shown(memory: Memory) -> dict[str, Any]:
    """Return a memory as a response shows it."""
    return {
        **row_of(memory, "id", "content", "type", "importance", "person", "private"),
        **row_of(memory, "created_at", "accessed_at", "access_count", "expires_at"),
        "source": memory.origin.value,
        "told_by": [row_of(heard, "person", "at", "said") for heard in memory.provenance],
    }


_SHARE: Final = probatio.All(probatio.Coerce(float), probatio.Range(min=0, max=1))
_COUNT: Final = probatio.All(probatio.Coerce(int), probatio.Range(min=1, max=MAX_MEMORIES))
_TYPE: Final = probatio.In([kind.value for kind in MemoryType])
_ALIASES: Final = {"type": "memory_type"}

SERVICES: Final[Mapping[str, Service]] = {
    "list_memories": Service(
        _async_list,
        {
            probatio.Optional("memory_type"): _TYPE,
            probatio.Optional("person"): cv.string,
            probatio.Optional("limit", default=100): _COUNT,
        },
        SupportsResponse.ONLY,
        aliases=_ALIASES,
    ),
    "search_memories": Service(
        _async_search,
        {
            probatio.Required("query"): cv.string,
            probatio.Optional("person"): cv.string,
            probatio.Optional("limit", default=10): _COUNT,
            probatio.Optional("min_importance", default=0.0): _SHARE,
        },
        SupportsResponse.ONLY,
    ),
    "add_memory": Service(
        _async_add,
        {
            probatio.Required("content"): cv.string,
            probatio.Optional("memory_type", default=MemoryType.FACT.value): _TYPE,
            probatio.Optional("importance", default=0.7): _SHARE,
            probatio.Optional("person"): cv.string,
            probatio.Optional("private", default=False): cv.boolean,
        },
        aliases=_ALIASES,
    ),
    "delete_memory": Service(_async_delete, {probatio.Required("memory_id"): cv.string}),
    "clear_memories": Service(
        _async_clear,
        {
            probatio.Required("confirm"): cv.boolean,
            probatio.Optional("person"): cv.string,
            probatio.Optional("everybody", default=False): cv.boolean,
        },
    ),
}
