"""Further agents on a connection: one page adds an agent, and a menu of pages changes it."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, override

from homeassistant.config_entries import (
    SOURCE_USER,
    ConfigEntry,
    ConfigEntryState,
    ConfigSubentryFlow,
)
from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)

from ..const import (
    CONF_CONTROLLABLE,
    CONF_MODEL,
    CONF_NAME,
    CONF_PROBED_CONTEXT_SIZE,
    CONF_PROBED_TOOL_CALLING,
    CONF_SHARED_MEMORY,
    CONF_VISIBLE,
    DEFAULTS,
)
from ..errors import InvalidInput
from ..inference.models import ModelServerError
from ..knowledge.house import AgentView, ViewedHouse
from ..texts import without_embeds
from .fields import Checked, Field, check, choice, form, offered, text
from .options import Edited, OptionPages, add_page_steps
from .probe import async_probe_model, async_shared, ranked, typed_endpoint
from .schemas import AGENT_KEYS, AGENT_MEMORY, AGENT_PAGES, allow_list_field

AGENT: Final = "agent"
"""The type of the subentries, and the page with what only further agents have."""
ADD: Final = SOURCE_USER
"""The page that adds an agent."""
ASSISTANTS_PAGE: Final = "/config/voice-assistants/assistants"
LIST_SECONDS: Final = 3
"""How long a page waits for the server's list of models."""
FIELD_COPY: Final = "copy_from"
DEFAULTS_CHOICE: Final = "defaults"
CONNECTION: Final = "connection"
"""The agent that the connection itself is."""
PROBED: Final = (CONF_PROBED_CONTEXT_SIZE, CONF_PROBED_TOOL_CALLING)
"""What was found out about a model."""
OWN_KEYS: Final = frozenset({*AGENT_KEYS, CONF_MODEL, *PROBED})
"""What a copy takes from a further agent."""

NAME: Final = Field(CONF_NAME, text(), required=True)
MODEL: Final = Field(CONF_MODEL, text())
AUTOMATIC: Final = "automatic"
MEMORIES: Final = {AUTOMATIC: None, "household": True, "own": False}
"""Whose memory an agent uses, as the form and as the options have it."""
SHARED: Final = Field(
    CONF_SHARED_MEMORY,
    selector=choice(CONF_SHARED_MEMORY, MEMORIES),
    clean=MEMORIES.__getitem__,
    show=lambda shared: next((name for name, stored in MEMORIES.items() if stored is shared), AUTOMATIC),
)
ADDED: Final = (NAME, allow_list_field(CONF_VISIBLE), allow_list_field(CONF_CONTROLLABLE), MODEL, SHARED)
ABOUT: Final = (NAME, MODEL, SHARED, *AGENT_MEMORY)


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
    return (fields[0], Field(FIELD_COPY, selector, required=True), *fields[1:])


class AgentSubentryFlow(OptionPages, ConfigSubentryFlow):
    """Adds an agent, or changes one; a page takes effect when it is saved."""

    pages = AGENT_PAGES

    def __init__(self) -> None:
        super().__init__()
        self._models: list[str] | None = None

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> Any:
        """Ask for a name, what to copy, and what the agent may see."""
        return await self._async_about(ADD, user_input)

    async def async_step_agent(self, user_input: dict[str, Any] | None = None) -> Any:
        """Show the page with the name, the model and the memory, or save it."""
        return await self._async_about(AGENT, user_input)

    async def _async_about(self, page: str, user_input: dict[str, Any] | None) -> Any:
        if user_input is None:
            return await self._async_show(page, self._shown(page))
        entry, subentry = self._get_entry(), None if page == ADD else self._get_reconfigure_subentry()
        stored = {} if subentry is None else subentry.data
        checked = check(ABOUT if subentry else named(ADDED, entry), user_input, stored)
        name = str(checked.values.pop(CONF_NAME, ""))
        others = [one.title for one in entry.subentries.values() if one is not subentry]
        if not name:
            checked.fail(CONF_NAME, InvalidInput("name_missing"))
        elif name.casefold() in {title.casefold() for title in (entry.title, *others)}:
            checked.fail(CONF_NAME, InvalidInput("name_taken", name=name[:60]))
        has_typed_model = CONF_MODEL in checked.values
        if checked.values.get(CONF_MODEL) == entry.data[CONF_MODEL]:
            del checked.values[CONF_MODEL]
        model = checked.values.get(CONF_MODEL)
        is_new = model != stored.get(CONF_MODEL)
        if model and is_new and not checked.errors:
            try:
                asked = typed_endpoint(self.hass, entry.data | {CONF_MODEL: model})
                probe = await async_probe_model(self.hass, asked)
            except InvalidInput as err:
                checked.fail(CONF_MODEL, err)
            else:
                learned = zip(PROBED, (probe.context_size, probe.tool_calling), strict=True)
                checked.values |= {key: value for key, value in learned if value is not None}
        if checked.errors:
            return await self._async_show(page, user_input, checked)
        if subentry is None:
            return await self._async_add(name, checked.values, has_typed_model=has_typed_model)
        of_page = {*(field.key for field in ABOUT), *(PROBED if is_new else ())}
        kept = {key: value for key, value in stored.items() if key not in of_page}
        self.hass.config_entries.async_update_subentry(
            entry, subentry, title=name, data={**kept, **checked.values}
        )
        self._has_saved = True
        return await self.async_back()

    async def _async_add(self, name: str, values: dict[str, Any], *, has_typed_model: bool) -> Any:
        """Add the agent, and say how to talk to it; a model that was typed is not copied from another one."""
        entry, source = self._get_entry(), values.pop(FIELD_COPY, CONNECTION)
        stored: Mapping[str, Any] = {}
        if source == CONNECTION:
            stored = entry.options
        elif (other := entry.subentries.get(source)) is not None:
            stored = other.data
        # Nothing of the connection or the household is copied.
        copied = {key: value for key, value in stored.items() if key in OWN_KEYS}
        if has_typed_model:
            copied = {key: value for key, value in copied.items() if key not in (CONF_MODEL, *PROBED)}
        data = {**copied, **values}
        shared = await async_shared(self.hass)
        seen = await ViewedHouse(shared.house, AgentView(self.hass, data)).async_snapshot()
        return self.async_create_entry(
            title=name,
            data=data,
            description_placeholders={
                "agent": without_embeds(name),
                "count": str(len(seen.entities)),
                "assistants": ASSISTANTS_PAGE,
            },
        )

    def _shown(self, page: str) -> dict[str, Any]:
        if page == ADD:
            return {FIELD_COPY: CONNECTION, CONF_SHARED_MEMORY: None}
        subentry = self._get_reconfigure_subentry()
        defaults = {field.key: DEFAULTS[field.key] for field in AGENT_MEMORY}
        return {**defaults, CONF_SHARED_MEMORY: None, **subentry.data, CONF_NAME: subentry.title}

    async def async_step_reconfigure(self, _user_input: dict[str, Any] | None = None) -> Any:
        """Show the menu of the pages."""
        return await self.async_back()

    async def async_step_done(self, _user_input: dict[str, Any] | None = None) -> Any:
        """End; everything is saved already."""
        return self.async_abort(reason="agent_saved")

    async def _async_show(self, page: str, shown: Mapping[str, Any], checked: Checked | None = None) -> Any:
        entry = self._get_entry()
        fields = named(ADDED, entry) if page == ADD else ABOUT
        if models := await self._async_models():
            listed = MODEL._replace(selector=offered(models))
            fields = tuple(listed if field is MODEL else field for field in fields)
        values = {field.key: field.show(shown[field.key]) for field in fields if field.key in shown}
        return self.async_show_form(
            step_id=page,
            data_schema=form(fields, values if checked is None else shown),
            errors=checked.errors if checked else {},
            description_placeholders={
                "agent": self.edited().name,
                "connection": entry.title,
                "model": entry.data[CONF_MODEL],
                **(checked.placeholders if checked else {}),
            },
        )

    async def _async_models(self) -> list[str]:
        """Return the models of the server, the best first; none if it does not answer at once."""
        entry = self._get_entry()
        if self._models is None and entry.state is ConfigEntryState.LOADED:
            try:
                async with asyncio.timeout(LIST_SECONDS):
                    listed = await entry.runtime_data.router.primary.model_list()
                self._models = ranked(model["id"] for model in listed)
            except TimeoutError, ModelServerError:
                self._models = []
        return self._models or []

    @override
    def edited(self) -> Edited:
        """Return the agent; a new one has the name of the connection."""
        entry = self._get_entry()
        if self.source == SOURCE_USER:
            return Edited(entry, entry.title, {})
        subentry = self._get_reconfigure_subentry()
        return Edited(entry, subentry.title, subentry.data)

    @override
    async def async_save(self, options: Mapping[str, Any]) -> None:
        """Store the options."""
        self.hass.config_entries.async_update_subentry(
            self._get_entry(), self._get_reconfigure_subentry(), data=MappingProxyType(dict(options))
        )

    @override
    async def async_back(self) -> Any:
        """Show the menu."""
        return await self.async_show_pages("reconfigure", (AGENT, *AGENT_PAGES))


add_page_steps(AgentSubentryFlow, AGENT_PAGES)
