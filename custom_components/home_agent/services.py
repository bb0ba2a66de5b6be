"""The `home_agent.*` services."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import probatio

from homeassistant.auth.models import User
from homeassistant.components import conversation
from homeassistant.config_entries import ConfigEntryState
from homeassistant.const import Platform
from homeassistant.core import (
    HomeAssistant,
    ServiceCall,
    ServiceResponse,
    SupportsResponse,
    callback,
)
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized, UnknownUser
from homeassistant.helpers import config_validation as cv, entity_registry as er, llm
from homeassistant.util.json import JsonValueType

from .agent.asked import asked_about
from .const import ASSISTANT, CONF_COLLECTIONS, DOMAIN
from .knowledge.files import FolderRefused
from .knowledge.indexer import index_failed
from .knowledge.speaker import Speaker
from .llm_api import async_one_call
from .runtime import DATA_SHARED, HomeAgentConfigEntry
from .safety.audit import MAX_ENTRIES, AuditKind
from .safety.confirmation import ConfirmationRefused, Outcome
from .safety.ledger import Deed, Ledger
from .tools.activity import ActivityTool

ATTR_CONFIG_ENTRY_ID = "config_entry_id"
ATTR_ENTRY_ID = "entry_id"

ENTRY_FIELDS = {
    probatio.Optional(ATTR_CONFIG_ENTRY_ID): cv.string,
    probatio.Optional(ATTR_ENTRY_ID): cv.string,
}

type Handler = Callable[[ServiceCall, HomeAgentConfigEntry], Coroutine[Any, Any, ServiceResponse]]


@dataclass(frozen=True, slots=True)
class Service:
    """One service: what it takes, what it gives, who may call it."""

    handler: Handler
    fields: dict[Any, Any]
    response: SupportsResponse = SupportsResponse.OPTIONAL
    admin: bool = False


@callback
def async_setup_services(hass: HomeAssistant) -> None:
    """Register the services once, for all entries."""
    for name, service in SERVICES.items():
        hass.services.async_register(
            DOMAIN,
            name,
            _bound(service),
            schema=probatio.Schema({**service.fields, **ENTRY_FIELDS}),
            supports_response=service.response,
        )


def _bound(service: Service) -> Callable[[ServiceCall], Coroutine[Any, Any, ServiceResponse]]:
    """Return a service's handler with the entry found and the caller checked."""

    async def handle(call: ServiceCall) -> ServiceResponse:
        if service.admin:
            await _async_require_admin(call)
        response = await service.handler(call, _entry(call))
        return response if call.return_response else None

    return handle


async def _async_require_admin(call: ServiceCall) -> None:
    """Raise Unauthorized for a user who is no administrator; automations have no user and may."""
    if call.context.user_id is None:
        return
    user = await call.hass.auth.async_get_user(call.context.user_id)
    if user is None:
        raise UnknownUser(context=call.context)
    if not user.is_admin:
        raise Unauthorized(context=call.context)


def _entry(call: ServiceCall) -> HomeAgentConfigEntry:
    """Return the entry a call means; where there is only one it need not be named."""
    entry_id = call.data.get(ATTR_CONFIG_ENTRY_ID) or call.data.get(ATTR_ENTRY_ID)
    loaded: list[HomeAgentConfigEntry] = [
        entry
        for entry in call.hass.config_entries.async_entries(DOMAIN)
        if entry.state is ConfigEntryState.LOADED
    ]
    found = [entry for entry in loaded if entry_id in (None, entry.entry_id)]
    if action_id := call.data.get("action_id"):
        # Its id says whose it is; where nobody has it, each agent would say the same.
        found = [entry for entry in found if entry.runtime_data.confirmations.has(action_id)] or found[:1]
    if len(found) == 1:
        return found[0]
    key = "entry_ambiguous" if found else ("entry_not_found" if entry_id else "no_entry_loaded")
    raise ServiceValidationError(
        translation_domain=DOMAIN,
        translation_key=key,
        translation_placeholders={
            "entry_id": str(entry_id),
            "entries": ", ".join(f"{e.title} ({e.entry_id})" for e in loaded),
        },
    )


def _llm_context(call: ServiceCall) -> llm.LLMContext:
    """Return a service's caller as the tools know callers."""
    return llm.LLMContext(DOMAIN, call.context, call.hass.config.language, ASSISTANT, None)


async def _async_process(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Answer a sentence."""
    hass, data = call.hass, entry.runtime_data
    entity_id = er.async_get(hass).async_get_entity_id(Platform.CONVERSATION, DOMAIN, entry.entry_id)
    token = asked_about.set(tuple(call.data.get("context_entities", ())))
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
    speech = result.response.speech.get("plain", {}).get("speech", "")
    return {
        "response": speech,
        "conversation_id": result.conversation_id,
        "tool_calls": data.memory.calls.get(result.conversation_id or "", []),
        "continue_conversation": result.continue_conversation,
    }


async def _async_clear_history(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Forget one conversation, or all of them."""
    shared, memory = call.hass.data[DATA_SHARED], entry.runtime_data.memory
    conversation_id = call.data.get("conversation_id")
    if conversation_id is None:
        await _async_require_admin(call)
    history_id = None if conversation_id is None else memory.history_id(conversation_id)
    memory.note_cleared(conversation_id)
    cleared = shared.history.clear(entry.entry_id, history_id)
    await shared.history.async_flush()
    return {"cleared": cleared}


async def _async_clear_conversation(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """End the session of a person or a device, or all sessions."""
    user_id, device_id = call.data.get("user_id"), call.data.get("device_id")
    if user_id != call.context.user_id or device_id is not None:
        await _async_require_admin(call)
    shared = call.hass.data[DATA_SHARED]
    cleared = shared.sessions.clear(entry.entry_id, user_id=user_id, device_id=device_id)
    await shared.sessions.async_flush()
    return {"cleared": cleared}


async def _async_reload_context(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Read the house anew, bring the index in step and prefill the prompt."""
    data = entry.runtime_data
    data.shared.house.async_invalidate()
    snapshot = await data.shared.house.async_snapshot()
    entry.async_create_background_task(call.hass, data.async_sync(), "home_agent index")
    entry.async_create_background_task(call.hass, data.warmer.async_warm(), "home_agent warm start")
    return {"entities": len(snapshot.entities), "areas": len(snapshot.areas)}


async def _async_reindex_entities(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Bring the index in step with the house, and tell what that took."""
    _require_index(entry)
    report = await entry.runtime_data.async_sync()
    if not call.return_response:
        report.raise_for_failed()
    entities = report.entities
    return {
        "total": entities.total,
        "indexed": entities.indexed,
        "failed": entities.failed,
        "skipped": entities.skipped,
    }


async def _async_index_entity(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Bring one entity of the index in step."""
    _require_index(entry)
    entity_id = call.data["entity_id"]
    status = await entry.runtime_data.indexer.async_index_entity(entity_id)
    if status == "failed" and not call.return_response:
        raise index_failed(1, 1)
    return {"entity_id": entity_id, "status": status}


def _require_index(entry: HomeAgentConfigEntry) -> None:
    """Raise ServiceValidationError where there is no index."""
    if not entry.runtime_data.semantic.configured:
        raise ServiceValidationError(translation_domain=DOMAIN, translation_key="index_off")


async def _async_execute_tool(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Run one tool through the same guard as the model's calls."""
    handler = entry.runtime_data.handler
    name: str = call.data["tool_name"]
    if name not in handler.tools:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="tool_not_found",
            translation_placeholders={"tool": name, "tools": ", ".join(sorted(handler.tools))},
        )
    turn = await async_one_call(call.hass, handler, _llm_context(call))
    result = await handler.async_execute(llm.ToolInput(name, call.data["parameters"]), turn)
    if result.error and not call.return_response:
        raise HomeAssistantError(str(result.data["error"]))
    return result.data


async def _async_undo(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Put back what a turn changed: the last one, or the last one of a conversation.

    A user who is no administrator reaches what was done for this user.
    """
    user = await _async_caller(call)
    conversation_id = call.data.get("conversation_id")

    def deeds(ledger: Ledger, _speaker: Speaker) -> list[Deed]:
        own = None if user is None or user.is_admin else user.id
        return [deed for deed in ledger.of_speaker(conversation_id) if own in (None, deed.user_id)]

    handler = entry.runtime_data.handler
    turn = await async_one_call(call.hass, handler, _llm_context(call))
    tool = ActivityTool(deeds)
    turn.tools = {tool.name: tool}
    result = (await handler.async_execute(llm.ToolInput(tool.name, {"action": "undo"}), turn)).data
    if result["error"] and not call.return_response:
        raise HomeAssistantError(str(result["error"]))
    done = result["result"]
    return {"restored": done["restored"] if isinstance(done, dict) else {}, "error": result["error"]}


async def _async_index_documents(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Fill an additional collection with the texts of a folder."""
    data, collection = entry.runtime_data, call.data["collection"]
    collections = data.settings[CONF_COLLECTIONS]
    if collection not in collections:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="collection_unknown",
            translation_placeholders={"collection": collection, "collections": ", ".join(collections) or "-"},
        )
    try:
        report = await data.library.async_index_folder(collection, call.data["folder"])
    except FolderRefused as err:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key=err.key,
            translation_placeholders={"collection": collection},
        ) from err
    await data.context.async_prepare()
    refused: dict[str, JsonValueType] = {**report.refused}
    return {
        "files": report.files,
        "chunks": report.passages.total,
        "indexed": report.passages.indexed,
        "skipped": report.passages.skipped,
        "failed": report.passages.failed + len(refused),
        "refused": refused,
    }


async def _async_audit_log(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Return what was done, refused, confirmed and searched, the newest first."""
    audit = entry.runtime_data.handler.journal.audit
    entries: list[JsonValueType] = [*audit.entries(call.data["limit"], call.data.get("kind"))]
    return {"entries": entries}


async def _async_confirm_action(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Take a person's word for an action that waits."""
    user = await _async_caller(call)
    confirmations, action_id = entry.runtime_data.confirmations, call.data["action_id"]
    try:
        await confirmations.async_approve(action_id, user=user, pin=call.data.get("pin"))
    except ConfirmationRefused as err:
        raise _refused(err) from err
    return {"action_id": action_id, "outcome": Outcome.APPROVED.value}


async def _async_reject_action(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Drop an action that waits."""
    user = await _async_caller(call)
    try:
        await entry.runtime_data.confirmations.async_reject(call.data["action_id"], user=user)
    except ConfirmationRefused as err:
        raise _refused(err) from err
    return {"action_id": call.data["action_id"], "outcome": Outcome.REJECTED.value}


async def _async_caller(call: ServiceCall) -> User | None:
    """Return the user who calls; None for an automation. Raises UnknownUser for one who is gone."""
    if call.context.user_id is None:
        return None
    user = await call.hass.auth.async_get_user(call.context.user_id)
    if user is None:
        raise UnknownUser(context=call.context)
    return user


def _refused(err: ConfirmationRefused) -> ServiceValidationError:
    """Return why a word does not count, in the form of a service."""
    return ServiceValidationError(translation_domain=DOMAIN, translation_key=err.key)


SERVICES: dict[str, Service] = {
    "process": Service(
        _async_process,
        {
            probatio.Required("text"): cv.string,
            probatio.Optional("conversation_id"): cv.string,
            probatio.Optional("context_entities"): cv.entity_ids,
            probatio.Optional("language"): cv.string,
            probatio.Optional("device_id"): cv.string,
        },
    ),
    "clear_history": Service(_async_clear_history, {probatio.Optional("conversation_id"): cv.string}),
    "clear_conversation": Service(
        _async_clear_conversation,
        {probatio.Optional("user_id"): cv.string, probatio.Optional("device_id"): cv.string},
    ),
    "reload_context": Service(_async_reload_context, {}, admin=True),
    "reindex_entities": Service(_async_reindex_entities, {}, admin=True),
    "index_entity": Service(_async_index_entity, {probatio.Required("entity_id"): cv.entity_id}, admin=True),
    "execute_tool": Service(
        _async_execute_tool,
        {
            probatio.Required("tool_name"): cv.string,
            probatio.Optional("parameters", default={}): dict,
        },
    ),
    "index_documents": Service(
        _async_index_documents,
        {probatio.Required("collection"): cv.string, probatio.Required("folder"): cv.string},
        admin=True,
    ),
    "undo": Service(_async_undo, {probatio.Optional("conversation_id"): cv.string}),
    "audit_log": Service(
        _async_audit_log,
        {
            probatio.Optional("limit", default=50): probatio.All(
                probatio.Coerce(int), probatio.Range(min=1, max=MAX_ENTRIES)
            ),
            probatio.Optional("kind"): probatio.In([kind.value for kind in AuditKind]),
        },
        SupportsResponse.ONLY,
        admin=True,
    ),
    "confirm_action": Service(
        _async_confirm_action,
        {probatio.Required("action_id"): cv.string, probatio.Optional("pin"): cv.string},
    ),
    "reject_action": Service(_async_reject_action, {probatio.Required("action_id"): cv.string}),
}
