"""Services about conversations and personal data: speak, forget, export, erase."""

from collections.abc import Mapping
from typing import Final, NotRequired, TypedDict

import probatio

from homeassistant.components import conversation
from homeassistant.core import ServiceCall, SupportsResponse
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv

from ..agent.request import asked_about
from ..const import DOMAIN
from ..entity import conversation_entity
from ..errors import NotErased
from ..knowledge.speaker import Person, Surface, async_find_person, async_person_of_user, surface
from ..privacy import PersonalData, async_erase, async_erase_everywhere, async_export
from ..runtime import DATA_SHARED, Agent
from ..safety.confirmation import ConfirmationRequest
from ..tools.turn_calls import CallSummary
from .base import Service, async_require_admin
from .memories import async_person


class AnswerResponse(TypedDict):
    """The answer to a sentence; `confirmation` is there if an action waits for one."""

    response: str
    markdown: str
    conversation_id: str | None
    tool_calls: list[CallSummary]
    continue_conversation: bool
    confirmation: NotRequired[ConfirmationRequest]


class ClearedResponse(TypedDict):
    """How many conversations or sessions were cleared."""

    cleared: int


class PersonResponse(TypedDict):
    """A person."""

    id: str
    name: str


class ExportResponse(PersonalData):
    """Everything that is held about a person, and who that is."""

    person: PersonResponse
    agents: NotRequired[dict[str, PersonalData]]
    """What further agents of the connection hold, by their names."""


class ErasedResponse(TypedDict):
    """How much was erased, by kind."""

    erased: dict[str, int]


async def _async_process(call: ServiceCall, entry: Agent) -> AnswerResponse:
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
    response: AnswerResponse = {
        "response": speech,
        "markdown": (plain.get("extra_data") or {}).get("markdown", speech),
        "conversation_id": result.conversation_id,
        "tool_calls": data.memory.calls.get(result.conversation_id or "", []),
        "continue_conversation": result.continue_conversation,
    }
    if asked:
        response["confirmation"] = asked[-1]
    return response


async def _async_clear_history(call: ServiceCall, entry: Agent) -> ClearedResponse:
    shared, memory = call.hass.data[DATA_SHARED], entry.runtime_data.memory
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


async def _async_clear_conversation(call: ServiceCall, entry: Agent) -> ClearedResponse:
    said, device_id = call.data.get("person"), call.data.get("device_id")
    person = await async_find_person(call.hass, said) if said else None
    # The sessions of a user who no longer exists are found by the user's id.
    user_id = person.user_id if person else said
    if user_id != call.context.user_id or device_id is not None:
        await async_require_admin(call)
    if said and not user_id:
        return {"cleared": 0}
    shared = call.hass.data[DATA_SHARED]
    cleared = shared.sessions.clear(entry.entry_id, user_id=user_id, device_id=device_id)
    await shared.sessions.async_flush()
    return {"cleared": cleared}


async def _async_export(call: ServiceCall, entry: Agent) -> ExportResponse:
    person = await _async_person_of(call)
    data = entry.runtime_data
    held = await async_export(data, person)
    response: ExportResponse = {"person": {"id": person.id, "name": person.name}, "agents": {}, **held}
    for agent in data.further.values():
        response["agents"][agent.title] = await async_export(agent.runtime_data, person)
    if not response["agents"]:
        del response["agents"]
    return response


async def _async_erase(call: ServiceCall, entry: Agent) -> ErasedResponse:
    person = await _async_person_of(call)
    if not call.data["confirm"]:
        raise ServiceValidationError(translation_domain=DOMAIN, translation_key="erase_unconfirmed")
    data = entry.runtime_data
    erase = async_erase if data.first is not None else async_erase_everywhere
    return {"erased": await erase(data, person)}


async def _async_person_of(call: ServiceCall) -> Person:
    """Return the person of a call: the caller if none is named; others need an administrator."""
    caller = await async_person_of_user(call.hass, call.context.user_id)
    person = await async_person(call) or caller
    if person is None:
        raise ServiceValidationError(translation_domain=DOMAIN, translation_key="person_missing")
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
