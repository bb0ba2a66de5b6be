"""Services about what is done: call a tool, put back, read the audit log."""

from collections.abc import Mapping
from typing import Final

import probatio

from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import config_validation as cv, llm
from homeassistant.util.json import JsonValueType

from ..const import DOMAIN
from ..knowledge.speaker import Speaker
from ..llm_api import async_one_call
from ..runtime import HomeAgentConfigEntry
from ..safety.audit import MAX_ENTRIES, AuditKind
from ..safety.ledger import Deed, Ledger
from ..tools.activity import ActivityTool, last_change
from ..tools.calls.bounds import MAX_TOOL_NAME
from .base import Service, async_caller, llm_context


async def _async_execute_tool(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Run one tool through the same guard as the model's calls."""
    handler = entry.runtime_data.handler
    name: str = call.data["tool_name"]
    if name not in handler.tools:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="unknown_tool",
            translation_placeholders={
                "tool": name[:MAX_TOOL_NAME],
                "tools": ", ".join(sorted(handler.tools)),
            },
        )
    turn = await async_one_call(call.hass, handler, llm_context(call))
    result = await handler.async_execute(llm.ToolInput(name, call.data["parameters"]), turn)
    if result.error and not call.return_response:
        raise HomeAssistantError(str(result.data["error"]))
    return result.data


async def _async_undo(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Put back what a turn changed: the last one, or the last one of a conversation.

    A user who is no administrator reaches what was done for this user.
    """
    user = await async_caller(call)
    conversation_id = call.data.get("conversation_id")

    def deeds(ledger: Ledger, _speaker: Speaker) -> list[Deed]:
        own = None if user is None or user.is_admin else user.id
        return [deed for deed in ledger.of_speaker(conversation_id) if own in (None, deed.user_id)]

    handler = entry.runtime_data.handler
    turn = await async_one_call(call.hass, handler, llm_context(call))
    made = deeds(handler.guard.journal.ledger, turn.speaker)
    if not call.return_response and not last_change(made, call.hass):
        raise ServiceValidationError(translation_domain=DOMAIN, translation_key="nothing_to_undo")
    tool = ActivityTool(deeds)
    turn.tools = {tool.name: tool}
    result = (await handler.async_execute(llm.ToolInput(tool.name, {"action": "undo"}), turn)).data
    if result["error"] and not call.return_response:
        raise HomeAssistantError(str(result["error"]))
    done = result["result"]
    return {"restored": done["restored"] if isinstance(done, dict) else {}, "error": result["error"]}


async def _async_audit_log(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Return what was done, refused, confirmed and searched, the newest first."""
    audit = entry.runtime_data.handler.guard.journal.audit
    entries: list[JsonValueType] = [*audit.entries(call.data["limit"], call.data.get("kind"))]
    return {"entries": entries}


async def _async_search_log(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Return what was searched for on the web, sent or held back, the newest first.

    A user who is no administrator gets this user's own searches.
    """
    audit = entry.runtime_data.handler.guard.journal.audit
    user = await async_caller(call)
    found = audit.entries(MAX_ENTRIES, AuditKind.SEARCH)
    if user is not None and not user.is_admin:
        found = [item for item in found if item.get("user_id") == user.id]
    entries: list[JsonValueType] = [*found[: call.data["limit"]]]
    return {"entries": entries}


SERVICES: Final[Mapping[str, Service]] = {
    "execute_tool": Service(
        _async_execute_tool,
        {
            probatio.Required("tool_name"): cv.string,
            probatio.Optional("parameters", default={}): dict,
        },
    ),
    "undo": Service(_async_undo, {probatio.Optional("conversation_id"): cv.string}),
    "search_log": Service(
        _async_search_log,
        {
            probatio.Optional("limit", default=50): probatio.All(
                probatio.Coerce(int), probatio.Range(min=1, max=MAX_ENTRIES)
            ),
        },
        SupportsResponse.ONLY,
    ),
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
}
