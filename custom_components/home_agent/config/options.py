"""The options: a menu with pages for households, and one with pages for experts."""

from collections.abc import Mapping
from typing import Any, Final, override

from homeassistant.config_entries import ConfigEntry, ConfigFlowResult, OptionsFlow

from .expert import EXPERT
from .fields import Field
from .pages import OptionPages, page_step
from .schemas import HOUSEHOLD, PAGES

SOURCE_REPAIR: Final = "repair"
"""The source of a flow that repairs.py has started."""

DONE: Final = "done"
MENUS: Final = {"init": (*HOUSEHOLD, "expert"), "expert": (*EXPERT, "init")}
"""The menus, with the pages and the menu that each offers."""


class HomeAgentOptionsFlow(OptionPages, OptionsFlow):
    """Show the menus, and the pages that are chosen; a page takes effect when it is saved."""

    def __init__(self) -> None:
        super().__init__()
        self._menu = "init"

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the menu, or the page that a repair has opened: the browser begins a flow of its own there."""
        flows = self.hass.config_entries.options
        opened = [
            flow
            for flow in flows.async_progress_by_handler(self.handler, match_context={"source": SOURCE_REPAIR})
            if flow["flow_id"] != self.flow_id
        ]
        for flow in opened:
            flows.async_abort(flow["flow_id"])
        if opened and self.source != SOURCE_REPAIR:
            page: ConfigFlowResult = await self.async_page(opened[-1]["step_id"], None)
            return page
        return await self._async_menu("init")

    async def async_step_expert(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the menu of the pages for experts."""
        return await self._async_menu("expert")

    async def async_step_done(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """End; everything is saved already."""
        ended: ConfigFlowResult = self.async_create_entry(data=dict(self.config_entry.options))
        return ended

    # Home Assistant requires a step for each menu and for each page.
    async_step_vector_checked = async_step_vector_missing = OptionPages.async_step_vector_save
    async_step_fallback_cloud = async_step_external_cloud = OptionPages.async_step_vector_save
    async_step_vector_cloud = OptionPages.async_step_vector_save
    async_step_answers = page_step("answers")
    async_step_permissions = page_step("permissions")
    async_step_memory = page_step("memory")
    async_step_messages = page_step("messages")
    async_step_web = page_step("web")
    async_step_llm = page_step("llm")
    async_step_prompt = page_step("prompt")
    async_step_context = page_step("context")
    async_step_vector_store = page_step("vector_store")
    async_step_history = page_step("history")
    async_step_memory_details = page_step("memory_details")
    async_step_tools = page_step("tools")
    async_step_safety = page_step("safety")
    async_step_debug = page_step("debug")

    async def _async_menu(self, menu: str) -> ConfigFlowResult:
        """Show a menu; after something was saved it says so and offers to end."""
        self._menu, options = menu, list(MENUS[menu])
        saved = ""
        if self._has_saved:
            options.append(DONE)
            saved = await self._async_note("saved") + "\n\n"
        shown: ConfigFlowResult = self.async_show_menu(
            step_id=menu,
            menu_options=options,
            description_placeholders={"agent": self.config_entry.title, "saved": saved},
        )
        return shown

    @property
    @override
    def connection(self) -> ConfigEntry:
        """Return the entry, which is the agent as well."""
        return self.config_entry

    @property
    @override
    def agent_name(self) -> str:
        """Return the name of the agent."""
        return self.config_entry.title

    @property
    @override
    def stored(self) -> Mapping[str, Any]:
        """Return the stored options."""
        return self.config_entry.options

    @override
    def page_fields(self, page: str) -> tuple[Field, ...]:
        """Return the fields of a page."""
        return PAGES[page]

    @override
    async def async_save(self, options: Mapping[str, Any]) -> None:
        """Store the options."""
        self.hass.config_entries.async_update_entry(self.config_entry, options=options)

    @override
    async def async_back(self) -> ConfigFlowResult:
        """Show the menu that the page was chosen from."""
        return await self._async_menu(self._menu)
