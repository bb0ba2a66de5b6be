"""Repairs: what can be done about our issues on a click, in Home Assistant's dialog, by administrators."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial, partialmethod
from pathlib import Path
from typing import Any, Final

import probatio

from homeassistant.auth.models import User
from homeassistant.components.repairs import FlowType, RepairsFlow, RepairsFlowResult
from homeassistant.config_entries import SOURCE_RECONFIGURE, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.http import current_request
from homeassistant.helpers.selector import SelectOptionDict, SelectSelector, SelectSelectorConfig
from homeassistant.helpers.storage import STORAGE_DIR

from .config.options import SOURCE_REPAIR
from .config.schemas import EXPERT
from .const import (
    CONF_COLLECTIONS,
    CONF_MEMORY_EXTRACTION_LLM,
    CONF_PROMPT_USE_DEFAULT,
    DOMAIN,
    EXTRACTION_LOCAL,
)
from .lifecycle import async_change_options, async_find_agent, stored_options
from .lifecycle.starting import ISSUE as KEPT, async_erase_kept, async_give_kept, async_receivers
from .proactive.state import Suggestion, SuggestionAnswer
from .proactive.suggestions import ISSUE as SUGGESTION
from .runtime import Agent, FurtherAgent, HomeAgentConfigEntry
from .services.tools import async_reload_custom_tools
from .store import ASIDE
from .watching.pipelines import async_end_bypass
from .watching.unmatched import renamed_of, with_renamed

type Data = Mapping[str, str | int | float | None]
type Fix = Callable[[HomeAssistant, Data], Awaitable[tuple[FlowType, str] | None]]
"""Fixes an issue, or returns the flow in which the user fixes it. Raises FixFailedError."""


class FixFailedError(Exception):
    """It stays as it is; the message is the key of an error of the issue's form."""


class FixFlow(RepairsFlow):
    """Describes the problem, and fixes it after confirmation."""

    def __init__(self, fix: Fix) -> None:
        self._fix = fix

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Begin."""
        return await self.async_step_confirm()

    async def async_step_confirm(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Describe the problem, or fix it."""
        errors = {}
        if user_input is not None:
            try:
                further = await self._fix(self.hass, self.data or {})
            except FixFailedError as err:
                errors["base"] = str(err)
            else:
                if further is None:
                    return self.async_create_entry(data={})
                # The issue stays until what is opened has been saved.
                return self.async_abort(reason="opened", next_flow=further)
        issue = ir.async_get(self.hass).async_get_issue(DOMAIN, self.issue_id)
        return self.async_show_form(
            step_id="confirm",
            data_schema=probatio.Schema({}),
            errors=errors,
            description_placeholders=issue.translation_placeholders if issue else None,
        )


class SuggestionFlow(RepairsFlow):
    """Shows a suggested automation and takes the answer, in the name of who is logged in."""

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Show the automation in words and as it would be in the file."""
        entry = self._entry()
        known = entry.runtime_data.suggested.suggestions if entry else {}
        suggestion: Suggestion | None = known.get(self._suggestion_id)
        if suggestion is None:
            return self.async_abort(reason="answered")
        return self.async_show_menu(
            step_id="init",
            menu_options=[
                answer.value
                for answer in (SuggestionAnswer.ACCEPT, SuggestionAnswer.LATER, SuggestionAnswer.REJECT)
            ],
            description_placeholders={
                "text": suggestion.text,
                "words": suggestion.words,
                "yaml": suggestion.yaml,
            },
        )

    async def _async_answer(
        self, answer: SuggestionAnswer, _user_input: dict[str, Any] | None = None
    ) -> RepairsFlowResult:
        """Give an answer; one that has no effect leaves the question."""
        if (entry := self._entry()) is None:
            return self.async_abort(reason="answered")
        suggestions = (await entry.runtime_data.async_proactive()).suggestions
        try:
            request = current_request.get()  # a flow itself does not know whose it is
            user: User | None = request.get("hass_user") if request is not None else None
            await suggestions.async_answer(self._suggestion_id, answer, user)
        except HomeAssistantError as err:
            return self.async_abort(reason="refused", description_placeholders={"error": str(err)})
        return self.async_create_entry(data={})

    async_step_accept = partialmethod(_async_answer, SuggestionAnswer.ACCEPT)
    async_step_later = partialmethod(_async_answer, SuggestionAnswer.LATER)
    async_step_reject = partialmethod(_async_answer, SuggestionAnswer.REJECT)

    def _entry(self) -> HomeAgentConfigEntry | None:
        entry = _entry_of(self.hass, self.data or {})
        return entry if entry and entry.state is ConfigEntryState.LOADED else None

    @property
    def _suggestion_id(self) -> str:
        return str((self.data or {})["suggestion_id"])


class KeptMemoriesFlow(RepairsFlow):
    """Asks what becomes of the memories of a removed agent."""

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Offer to give them to an agent, to erase them, or to decide later."""
        issue = ir.async_get(self.hass).async_get_issue(DOMAIN, self.issue_id)
        give = ["give"] if async_receivers(self.hass) else []
        return self.async_show_menu(
            step_id="init",
            menu_options=[*give, "erase", "later"],
            description_placeholders=dict(issue.translation_placeholders or {}) if issue else None,
        )

    async def async_step_give(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Ask for the agent, and give it the memories."""
        agents = {agent.entry_id: agent for agent in async_receivers(self.hass)}
        if user_input is not None and (agent := agents.get(user_input["agent"])) is not None:
            await async_give_kept(self.hass, self._agent_id, agent)
            return self.async_create_entry(data={})
        options = [SelectOptionDict(value=key, label=agent.title) for key, agent in agents.items()]
        selector = SelectSelector(SelectSelectorConfig(options=options))
        first = next(iter(agents), probatio.UNDEFINED)
        return self.async_show_form(
            step_id="give", data_schema=probatio.Schema({probatio.Required("agent", default=first): selector})
        )

    async def async_step_erase(self, _user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Erase them now."""
        await async_erase_kept(self.hass, self._agent_id)
        return self.async_create_entry(data={})

    async def async_step_later(self, _user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Keep them until their time is over."""
        return self.async_abort(reason="kept")

    @property
    def _agent_id(self) -> str:
        return str((self.data or {})["agent_id"])


def _entry_of(hass: HomeAssistant, data: Data) -> HomeAgentConfigEntry | None:
    return hass.config_entries.async_get_entry(str(data["entry_id"]))


def _agent_of(hass: HomeAssistant, data: Data) -> Agent | None:
    """Return the agent that an issue is about; None if it was removed meanwhile."""
    return _entry_of(hass, data) or async_find_agent(hass, str(data["entry_id"]))


async def _async_reconfigure(hass: HomeAssistant, data: Data) -> tuple[FlowType, str] | None:
    if (entry := _entry_of(hass, data)) is None:
        return None
    context: Any = {"source": SOURCE_RECONFIGURE, "entry_id": entry.entry_id}
    flow = await hass.config_entries.flow.async_init(DOMAIN, context=context)
    return FlowType.CONFIG_FLOW, flow["flow_id"]


async def _async_open_options(hass: HomeAssistant, data: Data, *, page: str) -> tuple[FlowType, str] | None:
    if (entry := _agent_of(hass, data)) is None:
        return None
    context: Any
    if isinstance(entry, FurtherAgent):
        agents = hass.config_entries.subentries
        context = {"source": SOURCE_RECONFIGURE, "subentry_id": entry.entry_id}
        handler = (entry.config_entry.entry_id, entry.subentry.subentry_type)
        opened = await agents.async_init(handler, context=context)
        await agents.async_configure(opened["flow_id"], {"next_step_id": page})
        return FlowType.CONFIG_SUBENTRIES_FLOW, opened["flow_id"]
    context = {"source": SOURCE_REPAIR}
    options = hass.config_entries.options
    flow = await options.async_init(entry.entry_id, context=context)
    for step in ("expert", page) if page in EXPERT else (page,):
        await options.async_configure(flow["flow_id"], {"next_step_id": step})
    return FlowType.OPTIONS_FLOW, flow["flow_id"]


async def _async_open_prompt(hass: HomeAssistant, data: Data) -> tuple[FlowType, str] | None:
    entry = _agent_of(hass, data)
    is_own = entry is not None and not entry.options.get(CONF_PROMPT_USE_DEFAULT, True)
    return await _async_open_options(hass, data, page="prompt" if is_own else "answers")


async def _async_use_own_model(hass: HomeAssistant, data: Data) -> None:
    if entry := _entry_of(hass, data):
        options = {**entry.options, CONF_MEMORY_EXTRACTION_LLM: EXTRACTION_LOCAL}
        hass.config_entries.async_update_entry(entry, options=options)


async def _async_exclude_collection(hass: HomeAssistant, data: Data) -> None:
    """Remove a collection from the search; it is not deleted."""
    if entry := _entry_of(hass, data):
        kept = [name for name in entry.options.get(CONF_COLLECTIONS, ()) if name != data["collection"]]
        hass.config_entries.async_update_entry(entry, options={**entry.options, CONF_COLLECTIONS: kept})


async def _async_end_bypass(hass: HomeAssistant, data: Data) -> None:
    if entry := _agent_of(hass, data):
        await async_end_bypass(hass, entry)


async def _async_delete(hass: HomeAssistant, data: Data) -> None:
    """Delete a file that was set aside, and no other one."""
    storage, path = Path(hass.config.path(STORAGE_DIR)), Path(str(data["path"]))

    def delete() -> bool:
        """Delete it where it is one. Runs in a worker thread."""
        if ASIDE not in path.name or not path.resolve().is_relative_to(storage.resolve()):
            return False
        path.unlink(missing_ok=True)
        return True

    try:
        deleted = await hass.async_add_executor_job(delete)
    except OSError as err:
        raise FixFailedError("undeletable") from err
    if not deleted:
        raise FixFailedError("in_place")


async def _async_reload_tools(hass: HomeAssistant, data: Data) -> None:
    """Read the custom tools again; one that is still wrong says so in its issue."""
    try:
        tools = await async_reload_custom_tools(hass)
    except HomeAssistantError as err:
        raise FixFailedError("unreadable") from err
    if data["issue_id"] in tools.wrong:
        raise FixFailedError("still_wrong")


async def _async_rename(hass: HomeAssistant, data: Data) -> tuple[FlowType, str] | None:
    """Write the new ids of renamed entities into the options; open the page where others are left."""
    if (entry := _agent_of(hass, data)) is None:
        return None
    async_change_options(hass, entry, with_renamed(stored_options(entry), renamed_of(data)))
    return await _async_open_options(hass, data, page=str(data["page"])) if data["page"] else None


async def _async_note(_hass: HomeAssistant, _data: Data) -> None:
    """Acknowledge the issue; there is nothing to fix."""


_OPEN_VECTOR_STORE: Final[Fix] = partial(_async_open_options, page="vector_store")

FIXES: Final[Mapping[str, Fix]] = {
    "collection_mismatch": _async_exclude_collection,
    "collection_missing": _async_exclude_collection,
    "custom_tool_invalid": _async_reload_tools,
    "embedder_refused": _OPEN_VECTOR_STORE,
    "embedder_unavailable": _OPEN_VECTOR_STORE,
    "entry_refused": _async_note,
    "extraction_llm_off": _async_use_own_model,
    "model_missing": _async_reconfigure,
    "names_unmatched": _async_rename,
    "options_converted": _async_note,
    "prefer_local_bypass": _async_end_bypass,
    "prompt_template_invalid": _async_open_prompt,
    "rules_unmatched": _async_rename,
    "server_unavailable": _async_reconfigure,
    "store_unreadable": _async_delete,
    "vector_store_refused": _OPEN_VECTOR_STORE,
    "vector_store_unavailable": _OPEN_VECTOR_STORE,
    "vector_store_unwritable": _OPEN_VECTOR_STORE,
}
"""By the key of an issue's sentences."""


async def async_create_fix_flow(hass: HomeAssistant, issue_id: str, _data: Data | None) -> RepairsFlow:
    """Return the flow that fixes an issue."""
    issue = ir.async_get(hass).async_get_issue(DOMAIN, issue_id)
    key = issue.translation_key if issue and issue.translation_key else ""
    if key == SUGGESTION:
        return SuggestionFlow()
    return KeptMemoriesFlow() if key == KEPT else FixFlow(FIXES[key])
