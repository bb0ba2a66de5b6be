"""Further agents on a connection: one page adds an agent, and a menu of pages changes it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, override

from homeassistant.config_entries import (
    SOURCE_USER,
    ConfigEntry,
    ConfigSubentry,
    ConfigSubentryFlow,
    SubentryFlowResult,
)
from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)

from ..agent_options import CONF_CONTROLLABLE, CONF_SHARED_MEMORY, CONF_VISIBLE
from ..const import CONF_MODEL, CONF_NAME, CONF_PROBED_CONTEXT_SIZE, CONF_PROBED_TOOL_CALLING, DEFAULTS
from ..errors import InvalidInput
from .agent_pages import AGENT_KEYS, AGENT_PAGES, MEMORY
from .allow_lists import allow_list_field
from .fields import Checked, Field, check, choice, form, stripped, text
from .pages import OptionPages, page_step
from .probe import async_probe_model, typed_endpoint

AGENT: Final = "agent"
"""The type of the subentries, and the page with what only further agents have."""
FIELD_COPY: Final = "copy_from"
DEFAULTS_CHOICE: Final = "defaults"
CONNECTION: Final = "connection"
"""The agent that the connection itself is."""
OWN_KEYS: Final = frozenset(
    {*AGENT_KEYS, CONF_MODEL, CONF_SHARED_MEMORY, CONF_PROBED_CONTEXT_SIZE, CONF_PROBED_TOOL_CALLING}
)
"""What a copy takes from a further agent."""

NAME: Final = Field(key=CONF_NAME, selector=text(), clean=stripped, required=True)
MODEL: Final = Field(key=CONF_MODEL, selector=text(), clean=stripped)
AUTOMATIC: Final = "automatic"
MEMORIES: Final = {AUTOMATIC: None, "household": True, "own": False}
"""Whose memory an agent uses, as the form and as the options have it."""
SHARED: Final = Field(
    key=CONF_SHARED_MEMORY,
    selector=choice(CONF_SHARED_MEMORY, MEMORIES),
    clean=MEMORIES.__getitem__,
    show=lambda shared: next((name for name, stored in MEMORIES.items() if stored is shared), AUTOMATIC),
)
ABOUT: Final = (NAME, MODEL, SHARED, *MEMORY)


def named(fields: tuple[Field, ...], entry: ConfigEntry) -> tuple[Field, ...]:
    """Return the fields of the first page, with the agents whose settings can be copied."""
    options = [
        SelectOptionDict(value=CONNECTION, label=entry.title),
        *(SelectOptionDict(value=one.subentry_id, label=one.title) for one in entry.subentries.values()),
        SelectOptionDict(value=DEFAULTS_CHOICE, label=DEFAULTS_CHOICE),
    ]
    config = SelectSelectorConfig(
        options=options, mode=SelectSelectorMode.DROPDOWN, translation_key=FIELD_COPY
    )
    selector = SelectSelector(config)
    return (fields[0], Field(key=FIELD_COPY, selector=selector, required=True), *fields[1:])


class AgentSubentryFlow(OptionPages, ConfigSubentryFlow):
    """Adds an agent, or changes one; a page takes effect when it is saved."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for a name, what to copy, and what the agent may see."""
        entry = self._get_entry()
        fields = named(
            (NAME, allow_list_field(CONF_VISIBLE), allow_list_field(CONF_CONTROLLABLE), MODEL, SHARED), entry
        )
        shown = {FIELD_COPY: CONNECTION, CONF_SHARED_MEMORY: None}
        if user_input is None:
            return self._show("user", fields, shown)
        checked = check(fields, user_input, {})
        source = checked.values.pop(FIELD_COPY, CONNECTION)
        name = await self._async_checked_name(checked)
        await self._async_try_model(checked)
        if checked.errors:
            return self._show("user", fields, user_input, checked)
        data = {**self._copied(source), **checked.values}
        made: SubentryFlowResult = self.async_create_entry(title=name, data=data)
        return made

    def _copied(self, source: str) -> dict[str, Any]:
        """Return the settings of another agent, and nothing of the connection or the household."""
        entry = self._get_entry()
        stored: Mapping[str, Any] = {}
        if source == CONNECTION:
            stored = entry.options
        elif (other := entry.subentries.get(source)) is not None:
            stored = other.data
        return {key: value for key, value in stored.items() if key in OWN_KEYS and key != CONF_SHARED_MEMORY}

    async def async_step_reconfigure(self, _user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show the menu of the pages."""
        result: SubentryFlowResult = await self.async_back()
        return result

    async def async_step_agent(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show the page with the name, the model and the memory, or save it."""
        subentry = self._get_reconfigure_subentry()
        stored = {CONF_SHARED_MEMORY: None, **subentry.data, CONF_NAME: subentry.title}
        if user_input is None:
            shown = {**{field.key: DEFAULTS[field.key] for field in MEMORY}, **stored}
            return self._show("agent", ABOUT, shown)
        checked = check(ABOUT, user_input, stored)
        name = await self._async_checked_name(checked, subentry)
        if checked.values.get(CONF_MODEL) != subentry.data.get(CONF_MODEL):
            await self._async_try_model(checked)
        if checked.errors:
            return self._show("agent", ABOUT, user_input, checked)
        of_page = {field.key for field in ABOUT}
        if checked.values.get(CONF_MODEL) != subentry.data.get(CONF_MODEL):
            of_page |= {CONF_PROBED_CONTEXT_SIZE, CONF_PROBED_TOOL_CALLING}
        others = {key: value for key, value in subentry.data.items() if key not in of_page}
        self.hass.config_entries.async_update_subentry(
            self._get_entry(), subentry, title=name, data={**others, **checked.values}
        )
        self._has_saved = True
        result: SubentryFlowResult = await self.async_back()
        return result

    async def async_step_done(self, _user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """End; everything is saved already."""
        ended: SubentryFlowResult = self.async_abort(reason="agent_saved")
        return ended

    # Home Assistant requires a step for each page.
    async_step_answers = page_step("answers")
    async_step_permissions = page_step("permissions")
    async_step_tools = page_step("tools")
    async_step_safety = page_step("safety")
    async_step_prompt = page_step("prompt")
    async_step_llm = page_step("llm")
    async_step_context = page_step("context")
    async_step_history = page_step("history")

    async def _async_checked_name(self, checked: Checked, own: ConfigSubentry | None = None) -> str:
        """Return the name without keeping it among the options; one that another agent has is refused."""
        entry = self._get_entry()
        name = str(checked.values.pop(CONF_NAME, ""))
        taken = {one.title for one in entry.subentries.values() if own is None or one is not own}
        if not name:
            checked.fail(CONF_NAME, InvalidInput("name_missing"))
        elif name.casefold() in {title.casefold() for title in (*taken, entry.title)}:
            checked.fail(CONF_NAME, InvalidInput("name_taken", name=name[:60]))
        return name

    async def _async_try_model(self, checked: Checked) -> None:
        """Ask the server for the model, where another one than that of the connection was typed."""
        data = dict(self._get_entry().data)
        model = checked.values.get(CONF_MODEL)
        if not model or checked.errors:
            return
        if model == data[CONF_MODEL]:
            del checked.values[CONF_MODEL]
            return
        try:
            probe = await async_probe_model(self.hass, typed_endpoint(self.hass, data | {CONF_MODEL: model}))
        except InvalidInput as err:
            checked.fail(CONF_MODEL, err)
            return
        learned = {
            CONF_PROBED_CONTEXT_SIZE: probe.context_size,
            CONF_PROBED_TOOL_CALLING: probe.tool_calling,
        }
        checked.values |= {key: value for key, value in learned.items() if value is not None}

    def _show(
        self,
        step_id: str,
        fields: tuple[Field, ...],
        shown: Mapping[str, Any],
        checked: Checked | None = None,
    ) -> SubentryFlowResult:
        """Show one of the two pages that only further agents have."""
        values = {field.key: field.show(shown[field.key]) for field in fields if field.key in shown}
        result: SubentryFlowResult = self.async_show_form(
            step_id=step_id,
            data_schema=form(fields, values if checked is None else shown),
            errors=checked.errors if checked else {},
            description_placeholders={
                "agent": self.agent_name,
                "connection": self._get_entry().title,
                "model": self._get_entry().data[CONF_MODEL],
                **(checked.placeholders if checked else {}),
            },
        )
        return result

    @property
    @override
    def connection(self) -> ConfigEntry:
        """Return the entry with the connection."""
        return self._get_entry()

    @property
    @override
    def agent_name(self) -> str:
        """Return the name of the agent; of a new one, that of the connection."""
        return (
            self._get_entry().title if self.source == SOURCE_USER else self._get_reconfigure_subentry().title
        )

    @property
    @override
    def stored(self) -> Mapping[str, Any]:
        """Return the stored options."""
        return self._get_reconfigure_subentry().data

    @override
    def page_fields(self, page: str) -> tuple[Field, ...]:
        """Return the fields of a page."""
        return AGENT_PAGES[page]

    @override
    async def async_save(self, options: Mapping[str, Any]) -> None:
        """Store the options."""
        self.hass.config_entries.async_update_subentry(
            self._get_entry(), self._get_reconfigure_subentry(), data=MappingProxyType(dict(options))
        )

    @override
    async def async_back(self) -> Any:
        """Show the menu; after something was saved it says so and offers to end."""
        options = [AGENT, *AGENT_PAGES]
        saved = ""
        if self._has_saved:
            options.append("done")
            saved = await self._async_note("saved") + "\n\n"
        return self.async_show_menu(
            step_id="reconfigure",
            menu_options=options,
            description_placeholders={"agent": self.agent_name, "saved": saved},
        )
