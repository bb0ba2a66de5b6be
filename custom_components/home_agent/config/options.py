"""The options: a menu with one page per area."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from homeassistant.config_entries import ConfigFlowResult, OptionsFlow
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.selector import (
    SelectOptionDict,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
)

from ..const import (
    CONF_LLM_APIS,
    CONF_NOTIFY_TARGETS,
    CONF_POLICY_PIN,
    CONF_PROMPT_CUSTOM,
    CONF_PROMPT_USE_DEFAULT,
    DOMAIN,
)
from ..errors import InvalidInput
from ..safety.pin import MAX_DIGITS, MIN_DIGITS, hash_pin
from .channels import async_check_targets, notify_options
from .fields import Checked, Field, check, form, stored_values
from .learning import async_check_learning
from .lists import notify_selector
from .schemas import EXAMPLES, PAGES
from .search import async_check_search
from .servers import async_check_external, async_check_fallback
from .vector_store import async_check_vector_store


async def _async_check_prompt(_hass: HomeAssistant, checked: Checked, _stored: Mapping[str, Any]) -> None:
    """Ask for a prompt where the default one is switched off."""
    if not checked.values.get(CONF_PROMPT_USE_DEFAULT, True) and CONF_PROMPT_CUSTOM not in checked.values:
        checked.fail(CONF_PROMPT_CUSTOM, InvalidInput("prompt_missing"))


async def _async_check_pin(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Keep a hash of a PIN that was typed, and never the PIN."""
    pin = checked.values.get(CONF_POLICY_PIN)
    if not pin or pin == stored.get(CONF_POLICY_PIN):
        return
    if not (pin.isascii() and pin.isdigit() and MIN_DIGITS <= len(pin) <= MAX_DIGITS):
        checked.fail(CONF_POLICY_PIN, InvalidInput("invalid_pin"))
        return
    checked.values[CONF_POLICY_PIN] = await hass.async_add_executor_job(hash_pin, pin)


type PageCheck = Callable[[HomeAssistant, Checked, Mapping[str, Any]], Awaitable[None]]

PAGE_CHECKS: Final[dict[str, PageCheck]] = {
    "llm": async_check_fallback,
    "external_llm": async_check_external,
    "prompt": _async_check_prompt,
    "safety": _async_check_pin,
    "channels": async_check_targets,
    "tools": async_check_search,
    "memory": async_check_learning,
}


def with_choices(hass: HomeAssistant, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields with what is there to choose from: LLM APIs, notify targets."""
    makers: dict[str, Callable[[HomeAssistant], Selector[Any]]] = {
        CONF_LLM_APIS: _api_selector,
        CONF_NOTIFY_TARGETS: lambda hass: notify_selector(notify_options(hass)),
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
        """Start with nothing typed."""
        self._typed: dict[str, Any] = {}
        self._tried: dict[str, Any] = {}

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the menu."""
        return self.async_show_menu(step_id="init", menu_options=list(PAGES))

    async def async_step_llm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of the model."""
        return await self._async_page("llm", user_input)

    async def async_step_context(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of what the model sees of the house."""
        return await self._async_page("context", user_input)

    async def async_step_vector_store(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of embeddings and collections."""
        page_check = partial(async_check_vector_store, entry=self.config_entry)
        return await self._async_page("vector_store", user_input, page_check)

    async def async_step_vector_save(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Store what was tried and reported."""
        return self.async_create_entry(data=self._tried)

    # Home Assistant wants a step for each menu.
    async_step_vector_checked = async_step_vector_missing = async_step_vector_save
    async_step_fallback_cloud = async_step_vector_save

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
        """Show or save the page of what the agent may do."""
        return await self._async_page("safety", user_input)

    async def async_step_channels(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of who is asked where."""
        return await self._async_page("channels", user_input)

    async def async_step_proactive(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of what is said unasked."""
        return await self._async_page("proactive", user_input)

    async def async_step_debug(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show or save the page of logs and events."""
        return await self._async_page("debug", user_input)

    async def _async_page(
        self, page: str, user_input: dict[str, Any] | None, page_check: PageCheck | None = None
    ) -> ConfigFlowResult:
        """Show a page, or save what it gave; a check with something to tell asks first."""
        fields, stored = with_choices(self.hass, PAGES[page]), self.config_entry.options
        if user_input is None:
            shown = self._typed or stored_values(fields, stored)
            return self.async_show_form(step_id=page, data_schema=form(fields, shown))
        checked = check(fields, user_input, stored)
        if page_check := page_check or PAGE_CHECKS.get(page):
            await page_check(self.hass, checked, stored)
        if checked.errors:
            return self.async_show_form(
                step_id=page,
                data_schema=form(fields, user_input),
                errors=checked.errors,
                description_placeholders={**EXAMPLES, **checked.placeholders},
            )
        of_page = {field.key for field in fields}
        others = {key: value for key, value in stored.items() if key not in of_page}
        self._typed, self._tried = user_input, others | checked.values
        if checked.report:
            return self.async_show_menu(
                step_id=checked.report,
                menu_options=["vector_save", page],
                description_placeholders=checked.placeholders,
            )
        return self.async_create_entry(data=self._tried)
