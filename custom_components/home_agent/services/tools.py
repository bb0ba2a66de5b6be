"""Services about tools: call one, undo, read the audit log, test the model, read the custom tools again."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import probatio

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import Context, HomeAssistant, ServiceCall, SupportsResponse, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import config_validation as cv, issue_registry as ir, llm
from homeassistant.helpers.reload import async_integration_yaml_config
from homeassistant.helpers.typing import ConfigType
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..const import DOMAIN, LOGGER
from ..issues import report, withdraw
from ..lifecycle import agents_of
from ..lifecycle.llm_api import async_one_call
from ..runtime import Agent
from ..safety.journal import MAX_ENTRIES, AuditKind, Journal, RecordedAction
from ..settings import async_part
from ..tools.activity import ActivityTool, last_changing_turn
from ..tools.calls.schema import MAX_TOOL_NAME
from ..tools.custom import DATA_CUSTOM_TOOLS, CustomTools
from ..tools.handler import ToolHandler
from ..tools.native import NATIVE
from .base import Response, Service, async_caller, invalid, llm_context

RUNNING: Final = frozenset({ConfigEntryState.LOADED, ConfigEntryState.SETUP_IN_PROGRESS})
ISSUE: Final = "custom_tool_invalid"
SEARCHES: Final = "search_log"


async def _async_execute_tool(call: ServiceCall, entry: Agent) -> Response:
    handler = entry.runtime_data.handler
    entry.runtime_data.tool_schemas.renew(await entry.runtime_data.house.async_snapshot())
    name: str = call.data["tool_name"]
    if name not in handler.tools:
        raise invalid("unknown_tool", tool=name[:MAX_TOOL_NAME], tools=", ".join(sorted(handler.tools)))
    turn = await async_one_call(call.hass, handler, llm_context(call.hass, call.context))
    result = await handler.async_execute(llm.ToolInput(name, call.data["parameters"]), turn)
    if result.data["error"] and not call.return_response:
        raise HomeAssistantError(str(result.data["error"]))
    return result.data


async def _async_undo(call: ServiceCall, entry: Agent) -> Response:
    """Put back what a turn changed: the last one, or the last one of a conversation.

    Users who are not administrators reach only their own actions.
    """
    user = await async_caller(call)
    own = None if user is None or user.is_admin else user.id
    handler = entry.runtime_data.handler

    def actions(journal: Journal) -> list[RecordedAction]:
        made = journal.of_speaker(call.data.get("conversation_id"))
        return [action for action in made if own in (None, action.user_id)]

    result = await async_undo(call.hass, handler, call.context, actions, strict=not call.return_response)
    done = result["result"]
    restored = done.get("restored", {}) if isinstance(done, dict) else {}
    return {"restored": restored, "error": result["error"]}


async def async_undo(
    hass: HomeAssistant,
    handler: ToolHandler,
    context: Context,
    actions: Callable[[Journal], list[RecordedAction]],
    *,
    strict: bool,
) -> JsonObjectType:
    """Put back what the last turn among some actions changed, and return what became of that.

    Raises HomeAssistantError if `strict` and not everything was put back.
    """
    turn = await async_one_call(hass, handler, llm_context(hass, context))
    if strict and not last_changing_turn(actions(handler.guard.journal), hass):
        raise invalid("nothing_to_undo")
    tool = ActivityTool(lambda journal, _speaker: actions(journal))
    turn.tools = {**turn.tools, tool.name: tool}
    result = (await handler.async_execute(llm.ToolInput(tool.name, {"action": "undo"}), turn)).data
    if strict and result["error"]:
        raise HomeAssistantError(str(result["error"]))
    return result


async def _async_log(call: ServiceCall, entry: Agent) -> Response:
    """Return the entries of the audit log, or the web searches, sent or blocked; the newest first.

    Users who are not administrators get only their own searches.
    """
    journal = entry.runtime_data.handler.guard.journal
    user, limit = await async_caller(call), call.data["limit"]
    if call.service == SEARCHES:
        own = None if user is None or user.is_admin else user.id
        entries = journal.entries(MAX_ENTRIES, AuditKind.SEARCH)
        return {"entries": [entry for entry in entries if own in (None, entry.get("user_id"))][:limit]}
    return {"entries": journal.entries(limit, call.data.get("kind"))}


async def _async_self_test(call: ServiceCall, entry: Agent) -> Response:
    running = await async_part(call.hass, "self_test.runner")
    report: Response = await running.async_run_self_test(call.hass, entry.runtime_data, lambda *_: None)
    return report


_LIMIT: Final = {
    probatio.Optional("limit", default=50): probatio.All(
        probatio.Coerce(int), probatio.Range(min=1, max=MAX_ENTRIES)
    )
}

SERVICES: Final[Mapping[str, Service]] = {
    "execute_tool": Service(
        _async_execute_tool,
        {
            probatio.Required("tool_name"): cv.string,
            probatio.Optional("parameters", default={}): dict,
        },
    ),
    "undo": Service(_async_undo, {probatio.Optional("conversation_id"): cv.string}),
    SEARCHES: Service(_async_log, _LIMIT, SupportsResponse.ONLY),
    "audit_log": Service(
        _async_log,
        {**_LIMIT, probatio.Optional("kind"): probatio.In([kind.value for kind in AuditKind])},
        SupportsResponse.ONLY,
        admin=True,
    ),
    "self_test": Service(_async_self_test, {}, SupportsResponse.ONLY, admin=True),
}


async def async_load_custom_tools(hass: HomeAssistant, config: ConfigType) -> CustomTools:
    """Read the custom tools of a configuration; tell the household what is wrong, and what is right again.

    What reads them loads where there are any.
    """
    tools = hass.data.setdefault(DATA_CUSTOM_TOOLS, CustomTools())
    if DOMAIN in config or tools.recipes or tools.imports or tools.wrong:
        loader = await async_part(hass, "tools.custom.loader")
        loader.async_load(hass, config.get(DOMAIN), NATIVE.keys())
    for issue in list(ir.async_get(hass).issues.values()):
        if issue.translation_key == ISSUE and issue.domain == DOMAIN and issue.issue_id not in tools.wrong:
            withdraw(hass, issue.issue_id)
    for issue_id, wrong in tools.wrong.items():
        problems = "\n".join(f"- {problem}" for problem in wrong.problems)
        report(hass, issue_id, ISSUE, fix={"issue_id": issue_id}, tool=wrong.name, problems=problems)
        LOGGER.warning("The custom tool %s is left out: %s", wrong.name, problems)
    tools.async_follow(partial(_offer, hass, tools))
    return tools


@callback
def _offer(hass: HomeAssistant, tools: CustomTools) -> None:
    for entry in hass.config_entries.async_entries(DOMAIN):
        if getattr(entry, "runtime_data", None) is None or entry.state not in RUNNING:
            continue
        for agent in agents_of(entry):
            agent.runtime_data.set_custom_tools(tools)
        entry.async_create_background_task(hass, entry.runtime_data.async_prepare(), "home_agent warm start")


async def async_reload_custom_tools(hass: HomeAssistant) -> CustomTools:
    """Reload the custom tools of `configuration.yaml`; turns in progress keep those they have.

    Raises HomeAssistantError if the file is not valid YAML.
    """
    config = await async_integration_yaml_config(hass, DOMAIN, raise_on_failure=True)
    tools = await async_load_custom_tools(hass, config)
    await asyncio.gather(*(one.async_refresh() for one in tools.imports))
    _offer(hass, tools)
    return tools


async def async_reload(call: ServiceCall) -> dict[str, JsonValueType]:
    """Reload the custom tools, and return those that are offered and how many are left out."""
    tools = await async_reload_custom_tools(call.hass)
    return {"tools": [recipe.name for recipe in tools.known()], "problems": len(tools.wrong)}
