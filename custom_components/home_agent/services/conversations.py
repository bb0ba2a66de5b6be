"""Services about conversations and personal data: speak, forget, export, erase."""

from collections.abc import Mapping
from typing import Final

import probatio

from homeassistant.components import conversation
from homeassistant.core import ServiceCall, SupportsResponse
from homeassistant.helpers import config_validation as cv

from ..agent.request import asked_about
from ..entity import conversation_entity
from ..errors import NotErased
from ..knowledge.speaker import Person, Surface, async_find_person, async_person_of_user, surface
from ..privacy import async_erase, async_erase_everywhere, async_export
from ..runtime import DATA_SHARED, Agent
from .base import Response, Service, async_require_admin, invalid
from .memories import async_person


async def _async_process(call: ServiceCall, entry: Agent) -> Response:
    hass, data = call.hass, entry.runtime_data
    before = {action.id for action in data.confirmations.pending}
    entity_id = conversation_entity(hass, entry.entry_id)
    token = asked_about.set(tuple(call.data.get("context_entities", ())))
    # An automation stays one where it names a device.
    way = surface.set(Surface.AUTOMATION if call.context.user_id is None else surface.get())
    try:
        result = await conversation.async_converse(
            hass,
            text=call.data["text"],
            conversation_id=call.data.get("conversation_id"),
            context=call.context,
            language=call.data.get("language"),
            agent_id=entity_id,
            device_id=call.data.get("device_id"),
        )
    finally:
        asked_about.reset(token)
        surface.reset(way)
    plain = result.response.speech.get("plain", {})
    speech = plain.get("speech", "")
    asked = [
        action.as_response()
        for action in data.confirmations.pending
        if action.id not in before and action.owner.conversation_id == result.conversation_id
    ]
    return {
        "response": speech,
        "markdown": (plain.get("extra_data") or {}).get("markdown", speech),
        "conversation_id": result.conversation_id,
        "tool_calls": data.recent.of(result.conversation_id or "").calls,
        "continue_conversation": result.continue_conversation,
        **({"confirmation": asked[-1]} if asked else {}),
    }


async def _async_clear_history(call: ServiceCall, entry: Agent) -> Response:
    shared, memory = call.hass.data[DATA_SHARED], entry.runtime_data.recent
    conversation_id = call.data.get("conversation_id")
    history_id = None if conversation_id is None else memory.history_id(conversation_id)
    caller = await async_person_of_user(call.hass, call.context.user_id)
    if history_id is None or shared.history.find(entry.entry_id, history_id).persons - {caller and caller.id}:
        await async_require_admin(call)
    memory.note_cleared(conversation_id)
    entry.runtime_data.turn_log.clear(history_id)
    cleared = shared.history.clear(entry.entry_id, history_id)
    is_written = await shared.history.async_flush()
    log = entry.runtime_data.log
    await (log.async_clear() if conversation_id is None else log.async_forget(conversation=history_id))
    if not is_written or log.unforgotten:
        raise NotErased(files=str(log.folder) if is_written else shared.history.path)
    return {"cleared": cleared}


async def _async_clear_conversation(call: ServiceCall, entry: Agent) -> Response:
    said, device_id = call.data.get("person"), call.data.get("device_id")
    person = await async_find_person(call.hass, said) if said else None
    # The sessions of a user who no longer exists are found by the user's id.
    user_id = person.user_id if person else said
    if user_id != call.context.user_id or device_id is not None:
        await async_require_admin(call)
    if said and person is None and said.startswith("person."):
        raise invalid("person_unknown", person=said)
    if said and not user_id:
        return {"cleared": 0}
    shared = call.hass.data[DATA_SHARED]
    cleared = shared.sessions.of(entry.entry_id).clear(user_id=user_id, device_id=device_id)
    await shared.sessions.async_flush()
    return {"cleared": cleared}


async def _async_export(call: ServiceCall, entry: Agent) -> Response:
    person = await _async_person_of(call)
    data = entry.runtime_data
    agents = {agent.title: await async_export(agent.runtime_data, person) for agent in data.further.values()}
    return {
        "person": {"id": person.id, "name": person.name},
        **({"agents": agents} if agents else {}),
        **await async_export(data, person),
    }


async def _async_erase(call: ServiceCall, entry: Agent) -> Response:
    person = await _async_person_of(call)
    if not call.data["confirm"]:
        raise invalid("erase_unconfirmed")
    data = entry.runtime_data
    erase = async_erase if data.first is not None else async_erase_everywhere
    return {"erased": await erase(data, person)}


async def _async_person_of(call: ServiceCall) -> Person:
    """Return the person of a call: the caller if none is named; others need an administrator."""
    caller = await async_person_of_user(call.hass, call.context.user_id)
    person = await async_person(call) or caller
    if person is None:
        raise invalid("person_missing")
    if person != caller:
        await async_require_admin(call)
    return person


SERVICES: Final[Mapping[str, Service]] = {
    "process": Service(
        _async_process,
        {
            probatio.Required("text"): probatio.All(cv.string, str.strip, probatio.Length(min=1)),
            probatio.Optional("conversation_id"): cv.string,
            probatio.Optional("context_entities"): cv.entity_ids,
            probatio.Optional("language"): cv.string,
            probatio.Optional("device_id"): cv.string,
        },
    ),
    "clear_history": Service(_async_clear_history, {probatio.Optional("conversation_id"): cv.string}),
    "clear_conversation": Service(
        _async_clear_conversation,
        {probatio.Optional("person"): cv.string, probatio.Optional("device_id"): cv.string},
        aliases={"user_id": "person"},
    ),
    "export_data": Service(_async_export, {probatio.Optional("person"): cv.string}, SupportsResponse.ONLY),
    # Not required: without it the action itself says what is missing, in the user's language.
    "erase_data": Service(
        _async_erase,
        {probatio.Optional("confirm", default=False): cv.boolean, probatio.Optional("person"): cv.string},
    ),
}
