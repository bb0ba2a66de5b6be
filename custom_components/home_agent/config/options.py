"""The options: a menu with one page per area."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import yarl

from homeassistant import data_entry_flow
from homeassistant.config_entries import ConfigFlowResult, OptionsFlow
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.selector import (
    SelectOptionDict,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
)
from homeassistant.helpers.translation import async_get_translations

from ..const import (
    CONF_BASE_URL,
    CONF_LLM_APIS,
    CONF_NOTIFY_TARGETS,
    CONF_PROACTIVE_RULES,
    CONF_PROMPT_CUSTOM,
    CONF_PROMPT_USE_DEFAULT,
    CONF_QUICK_CONFIRMATIONS,
    CONF_TELEGRAM_CHATS,
    DEFAULTS,
    DOMAIN,
)
from ..defaults import defaults_of
from ..errors import InvalidInput
from ..inference.router import PRIMARY
from ..parts import async_part
from ..safety.disclosure import DataPolicy
from .channels import async_check_channels, chat_options, notify_options
from .fields import Checked, Field, check, form, kept_values, stored_values, with_removals
from .lists import chats_selector, notify_selector, proactive_selector
from .schemas import EXAMPLES, PAGES
from .sharing import check_sharing


async def _async_check_prompt(_hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Ask for a prompt where the default one is off; a default that depends on the prompt is not stored."""
    quick = CONF_QUICK_CONFIRMATIONS
    if quick not in stored and checked.values.get(quick) == defaults_of(stored)[quick]:
        checked.values.pop(quick, None)
    if not checked.values.get(CONF_PROMPT_USE_DEFAULT, True) and CONF_PROMPT_CUSTOM not in checked.values:
        checked.fail(CONF_PROMPT_CUSTOM, InvalidInput("prompt_missing"))


HIDES_FIELDS: Final = hasattr(data_entry_flow, "Optional")
"""Whether this Home Assistant hides the fields that do not apply, since 2026.11."""

SOURCE_REPAIR: Final = "repair"
"""The source of a flow that repairs.py has started."""

type PageCheck = Callable[[HomeAssistant, Checked, Mapping[str, Any]], Awaitable[None]]

PAGE_CHECKS: Final[dict[str, PageCheck]] = {
    "prompt": _async_check_prompt,
}
ASKING_CHECKS: Final = {
    "llm": ("config.servers", "async_check_fallback"),
    "external_llm": ("config.servers", "async_check_external"),
    "tools": ("config.search", "async_check_search"),
    "memory": ("config.learning", "async_check_learning"),
}
"""Checks that ask a server, with the module of each: it loads when the page is saved."""


async def _async_check_of(hass: HomeAssistant, page: str) -> PageCheck | None:
    """Return the check of a page; None if it needs none."""
    if page not in ASKING_CHECKS:
        return PAGE_CHECKS.get(page)
    module, name = ASKING_CHECKS[page]
    check: PageCheck = getattr(await async_part(hass, module), name)
    return check


async def async_with_choices(hass: HomeAssistant, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields with what is there to choose from: LLM APIs, notify targets, rules by their names."""
    texts = await async_get_translations(hass, hass.config.language, "selector", {DOMAIN})
    makers: dict[str, Callable[[HomeAssistant], Selector[Any]]] = {
        CONF_LLM_APIS: _api_selector,
        CONF_NOTIFY_TARGETS: lambda hass: notify_selector(notify_options(hass)),
        CONF_TELEGRAM_CHATS: lambda hass: chats_selector(chat_options(hass)),
        CONF_PROACTIVE_RULES: lambda _hass: proactive_selector(texts),
    }
    return tuple(
        replace(field, selector=makers[field.key](hass)) if field.key in makers else field for field in fields
    )


def _api_selector(hass: HomeAssistant) -> SelectSelector:
    """Return a selector of the LLM APIs of others."""
    options = [
        SelectOptionDict(value=api.id, label=api.name) for api in llm.async_get_apis(hass) if api.id != DOMAIN
    ]
    return SelectSelector(SelectSelectorConfig(options=options, multiple=True, custom_value=True))


class HomeAgentOptionsFlow(OptionsFlow):
    """Show the menu, then the page that was chosen; saving a page keeps the others."""

    def __init__(self) -> None:
        """Start empty."""
        self._typed: dict[str, Any] = {}
        self._tried: dict[str, Any] = {}

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the menu, or the page that a repair has opened: the browser begins a flow of its own there."""
        flows = self.hass.config_entries.options
        opened = flows.async_progress_by_handler(self.handler, match_context={"source": SOURCE_REPAIR})
        for flow in opened:
            flows.async_abort(flow["flow_id"])
        if opened and self.source != SOURCE_REPAIR:
            page: ConfigFlowResult = await getattr(self, f"async_step_{opened[-1]['step_id']}")()
            return page
        return self.async_show_menu(step_id="init", menu_options=list(PAGES))

    async def async_step_llm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of the model."""
        return await self._async_page("llm", user_input)

    async def async_step_context(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of the context."""
        return await self._async_page("context", user_input)

    async def async_step_vector_store(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of embeddings and collections."""
        part = await async_part(self.hass, "config.vector_store")
        page_check = partial(part.async_check_vector_store, entry=self.config_entry)
        return await self._async_page("vector_store", user_input, page_check)

    async def async_step_vector_save(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Store the tested options."""
        return self.async_create_entry(data=self._tried)

    # Home Assistant requires a step for each menu.
    async_step_vector_checked = async_step_vector_missing = async_step_vector_save
    async_step_fallback_cloud = async_step_external_cloud = async_step_vector_save
    async_step_vector_cloud = async_step_vector_save

    async def async_step_history(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of conversations."""
        return await self._async_page("history", user_input)

    async def async_step_memory(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of memory and persons."""
        return await self._async_page("memory", user_input)

    async def async_step_prompt(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of instructions."""
        return await self._async_page("prompt", user_input)

    async def async_step_tools(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of tools."""
        return await self._async_page("tools", user_input)

    async def async_step_external_llm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of the second model."""
        return await self._async_page("external_llm", user_input)

    async def async_step_safety(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of the policy."""
        part = await async_part(self.hass, "config.policy")
        page_check = partial(part.async_check_safety, entry=self.config_entry)
        return await self._async_page("safety", user_input, page_check)

    async def async_step_channels(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of the channels for questions."""
        page_check = partial(async_check_channels, entry=self.config_entry)
        return await self._async_page("channels", user_input, page_check)

    async def async_step_proactive(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of proactive messages."""
        return await self._async_page("proactive", user_input)

    async def async_step_debug(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of logs and events."""
        return await self._async_page("debug", user_input)

    async def _async_page(
        self, page: str, user_input: dict[str, Any] | None, page_check: PageCheck | None = None
    ) -> ConfigFlowResult:
        """Show a page, or save its values; a check with findings asks first."""
        stored = self.config_entry.options
        fields = with_removals(await async_with_choices(self.hass, PAGES[page]), stored)
        shown = stored_values(fields, stored)
        notes = {**EXAMPLES, "withheld": await self._async_withheld()}
        if user_input is None:
            return self.async_show_form(
                step_id=page,
                data_schema=form(fields, self._typed or shown),
                description_placeholders=notes,
            )
        checked = check(fields, user_input, stored)
        kept = kept_values(fields, user_input, stored) if HIDES_FIELDS else {}
        shown = {key: shown[key] for key in kept} | user_input
        if page_check := page_check or await _async_check_of(self.hass, page):
            await page_check(self.hass, checked, stored)
        of_page = [field.key for field in fields]
        others = {key: value for key, value in stored.items() if key not in of_page}
        if not checked.errors:
            check_sharing(self.hass, self.config_entry, others | kept | checked.values, of_page, checked)
        if checked.errors:
            return self.async_show_form(
                step_id=page,
                data_schema=form(fields, shown),
                errors=checked.errors,
                description_placeholders={**notes, **checked.placeholders},
            )
        self._typed, self._tried = shown, others | kept | checked.values
        if checked.report:
            return self.async_show_menu(
                step_id=checked.report,
                menu_options=["vector_save", page],
                description_placeholders=checked.placeholders,
            )
        return self.async_create_entry(data=self._tried)

    async def _async_withheld(self) -> str:
        """Return a paragraph about data that an external model does not receive, or an empty text."""
        settings = {**DEFAULTS, **self.config_entry.data, **self.config_entry.options}
        if DataPolicy(settings).of(PRIMARY).people:
            return ""
        texts = await async_get_translations(self.hass, self.hass.config.language, "selector", {DOMAIN})
        note = texts.get(f"component.{DOMAIN}.selector.page_notes.options.withheld", "")
        return "\n\n" + note.replace("{host}", yarl.URL(settings[CONF_BASE_URL]).host or "")
