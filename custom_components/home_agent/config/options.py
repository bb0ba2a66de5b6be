"""The options: a menu with pages for households, and one with pages for experts."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, override

import yarl

from homeassistant import data_entry_flow
from homeassistant.config_entries import ConfigEntry, ConfigEntryState, ConfigFlowResult, OptionsFlow
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.helpers.selector import SelectOptionDict, Selector, SelectSelector, SelectSelectorConfig
from homeassistant.helpers.translation import async_get_translations

from ..connection import is_cloud
from ..const import (
    BACKEND_CHROMA,
    CONF_BASE_URL,
    CONF_DIALECT,
    CONF_EMBEDDING_MODEL,
    CONF_EMBEDDING_PROVIDER,
    CONF_LLM_APIS,
    CONF_MEMORY_COLLECTION,
    CONF_NOTIFY_TARGETS,
    CONF_PROACTIVE_RULES,
    CONF_TELEGRAM_CHATS,
    CONF_VECTOR_BACKEND,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_PORT,
    CONF_VECTOR_TENANT,
    DEFAULTS,
    DOMAIN,
    EMBEDDING_BUILTIN,
)
from ..errors import InvalidInput
from ..inference.client import PRIMARY
from ..inference.models import Dialect
from ..knowledge.indexer import knowledge_collection, profile_collection
from ..parts import async_part
from ..safety.disclosure import DataPolicy
from ..settings import is_own_api
from .choices import async_labelled
from .fields import (
    Checked,
    Field,
    async_language,
    check,
    flat,
    form,
    kept_values,
    placed_errors,
    stored_values,
    with_removals,
)
from .lists import (
    chat_options,
    chats_selector,
    notify_options,
    notify_selector,
    proactive_labels,
    with_proactive_labels,
)
from .schemas import EXAMPLES, EXPERT, HOUSEHOLD, PAGES, label_path

DATABASE_KEYS = (CONF_VECTOR_HOST, CONF_VECTOR_PORT, CONF_VECTOR_TENANT, CONF_VECTOR_DATABASE)


@dataclass(frozen=True, slots=True)
class StoredOptions:
    """What an agent keeps in which Chroma database."""

    database: Sequence[Any]
    embedder: Sequence[str]
    """Vectors of two embedders cannot be compared."""
    house: Sequence[str]
    own: Sequence[str]
    """Collections of memories and of the profile, which each agent has for itself."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self | None:
        """Read options, None if no Chroma server is chosen."""
        settings = {**DEFAULTS, **options}
        if settings[CONF_VECTOR_BACKEND] != BACKEND_CHROMA:
            return None
        provider, model = settings[CONF_EMBEDDING_PROVIDER], settings[CONF_EMBEDDING_MODEL]
        house, memories = settings[CONF_VECTOR_COLLECTION], settings[CONF_MEMORY_COLLECTION]
        return cls(
            database=[settings[key] for key in DATABASE_KEYS],
            embedder=[provider, "" if provider == EMBEDDING_BUILTIN else model],
            house=[house, knowledge_collection(house)],
            own=[memories, profile_collection(memories)],
        )

    def clash(self, other: Self) -> tuple[str, str] | None:
        """Return the option and the collection that cannot be the other's too, None if all is well."""
        same_house = self.house == other.house and self.embedder == other.embedder
        for name in self.house:
            if name in other.own or (name in other.house and not same_house):
                return CONF_VECTOR_COLLECTION, name
        for name in self.own:
            if name in other.own or name in other.house:
                return CONF_MEMORY_COLLECTION, name
        return None


def check_sharing(
    hass: HomeAssistant, entry: ConfigEntry, options: Mapping[str, Any], page: Sequence[str], checked: Checked
) -> None:
    """Refuse options with which two agents would fill one collection over each other.

    `page` are the fields that can be marked; what belongs to another page is said at the store.
    """
    kept = StoredOptions.of(options)
    if kept is None or not {CONF_VECTOR_BACKEND, CONF_MEMORY_COLLECTION}.intersection(page):
        return
    for title, other in _others(hass, entry):
        if other.database != kept.database or (clash := kept.clash(other)) is None:
            continue
        option, collection = clash
        told = {"agent": title, "collection": collection}
        error = InvalidInput("collection_shared", **told)
        if option == CONF_MEMORY_COLLECTION:
            error = InvalidInput("memories_shared", **told)
        field = option if option in page else CONF_VECTOR_BACKEND
        if field in page:
            checked.fail(field, error)


def _others(hass: HomeAssistant, entry: ConfigEntry) -> Iterator[tuple[str, StoredOptions]]:
    for other in hass.config_entries.async_entries(DOMAIN):
        if other.entry_id != entry.entry_id and (kept := StoredOptions.of(other.options)):
            yield other.title, kept


HIDES_FIELDS: Final = hasattr(data_entry_flow, "Optional")
"""Whether this Home Assistant hides the fields that do not apply, since 2026.11."""


@callback
def may_be_ollama(entry: ConfigEntry) -> bool:
    """Return whether the agent's server can be one that has Ollama's own API."""
    settings = {**DEFAULTS, **entry.data}
    if settings[CONF_DIALECT] != "auto":
        return bool(settings[CONF_DIALECT] == Dialect.OLLAMA)
    known = None
    if entry.state is ConfigEntryState.LOADED:
        client = entry.runtime_data.router.primary
        known = client.dialect
    return known == Dialect.OLLAMA if known else not is_cloud(settings[CONF_BASE_URL])


async def async_with_choices(
    hass: HomeAssistant, fields: tuple[Field, ...], options: Mapping[str, Any]
) -> tuple[Field, ...]:
    """Return the fields with what is there to choose from: LLM APIs, notify targets, rules by their names."""
    texts = await async_get_translations(hass, await async_language(hass), "selector", {DOMAIN})
    makers: dict[str, Callable[[HomeAssistant], Selector[Any]]] = {
        CONF_LLM_APIS: _api_selector,
        CONF_NOTIFY_TARGETS: lambda hass: notify_selector(notify_options(hass)),
        CONF_TELEGRAM_CHATS: lambda hass: chats_selector(chat_options(hass)),
    }
    found = [
        replace(field, selector=makers[field.key](hass)) if field.key in makers else field for field in fields
    ]
    labels = proactive_labels(texts)
    found = [
        with_proactive_labels(field, labels) if field.key == CONF_PROACTIVE_RULES else field
        for field in found
    ]
    return tuple([await async_labelled(hass, field, options) for field in found])


def _api_selector(hass: HomeAssistant) -> SelectSelector:
    options = [
        SelectOptionDict(value=api.id, label=api.name)
        for api in llm.async_get_apis(hass)
        if not is_own_api(api.id)
    ]
    return SelectSelector(SelectSelectorConfig(options=options, multiple=True, custom_value=True))


class OptionPages(data_entry_flow.FlowHandler[Any, Any, Any]):
    """Shows the pages of an agent; a page takes effect when it is saved, and the menu comes back."""

    def __init__(self) -> None:
        self._typed: dict[str, Any] = {}
        self._tried: dict[str, Any] = {}
        self._page = ""
        self._reports: list[tuple[str, dict[str, str]]] = []
        self._has_saved = False

    @property
    def connection(self) -> ConfigEntry:
        """Return the entry with the connection."""
        raise NotImplementedError

    @property
    def agent_name(self) -> str:
        """Return the name of the agent whose pages these are."""
        raise NotImplementedError

    @property
    def stored(self) -> Mapping[str, Any]:
        """Return the stored options of the agent."""
        raise NotImplementedError

    def page_fields(self, page: str) -> tuple[Field, ...]:
        """Return the fields of a page."""
        raise NotImplementedError

    async def async_save(self, options: Mapping[str, Any]) -> None:
        """Store all options of the agent."""
        raise NotImplementedError

    async def async_back(self) -> Any:
        """Show the menu again."""
        raise NotImplementedError

    async def async_step_vector_save(self, _user_input: dict[str, Any] | None = None) -> Any:
        """Show the next report, or store the tested options."""
        return self._report() if self._reports else await self._async_store()

    def _fields(self, page: str) -> tuple[Field, ...]:
        ollama = may_be_ollama(self.connection)
        return tuple(field for field in self.page_fields(page) if ollama or not field.only_ollama)

    async def async_page(self, page: str, user_input: dict[str, Any] | None) -> Any:
        """Show a page, or save its values; a check with findings asks first."""
        entry, stored = self.connection, self.stored
        fields = with_removals(await async_with_choices(self.hass, self._fields(page), stored), stored)
        shown = stored_values(fields, stored)
        notes = {**EXAMPLES, "agent": self.agent_name, "withheld": await self._async_withheld()}
        if user_input is None:
            typed = self._typed if self._page == page else {}
            return self.async_show_form(
                step_id=page, data_schema=form(fields, typed or shown), description_placeholders=notes
            )
        typed = flat(fields, user_input)
        checked = check(fields, typed, stored)
        kept = kept_values(fields, typed, stored) if HIDES_FIELDS else {}
        shown = {key: shown[key] for key in kept} | typed
        if page_check := (await async_part(self.hass, "config.checks")).CHECKS.get(page):
            await page_check(self.hass, entry, checked, stored)
        of_page = [field.key for field in fields]
        if not checked.errors:
            check_sharing(self.hass, entry, {**checked.others, **kept, **checked.values}, of_page, checked)
        if checked.errors:
            errors = placed_errors(fields, checked.errors)
            return self.async_show_form(
                step_id=page,
                data_schema=form(fields, shown, errors),
                errors=errors,
                description_placeholders={
                    **notes,
                    **checked.placeholders,
                    "field": await self._async_field_name(fields, checked.errors),
                },
            )
        self._page, self._typed, self._tried = page, shown, {**kept, **checked.values}
        checked.keep_report()
        self._reports = checked.reports
        return self._report() if self._reports else await self._async_store()

    def _report(self) -> Any:
        step, placeholders = self._reports.pop(0)
        return self.async_show_menu(
            step_id=step,
            menu_options=["vector_save", self._page],
            description_placeholders=placeholders,
        )

    async def _async_store(self) -> Any:
        """Store the values of the page beside those of the others, and show the menu again."""
        of_page = {field.key for field in self._fields(self._page)}
        others = {key: value for key, value in self.stored.items() if key not in of_page}
        await self.async_save({**others, **self._tried})
        self._typed, self._page, self._has_saved = {}, "", True
        return await self.async_back()

    async def _async_field_name(self, fields: Iterable[Field], errors: Mapping[str, str]) -> str:
        """Return the name of the first wrong field that is in a section, where no error can mark it."""
        wrong = next((field.key for field in fields if field.section and field.key in errors), None)
        if wrong is None:
            return ""
        language = await async_language(self.hass)
        texts = await async_get_translations(self.hass, language, "options", {DOMAIN})
        return texts.get(f"component.{DOMAIN}.options.step.{label_path(wrong)}", wrong) + ": "

    async def _async_note(self, name: str) -> str:
        language = await async_language(self.hass)
        texts = await async_get_translations(self.hass, language, "selector", {DOMAIN})
        return texts.get(f"component.{DOMAIN}.selector.page_notes.options.{name}", "")

    async def _async_withheld(self) -> str:
        """Return a paragraph about data that an external model does not receive, or an empty text."""
        settings = {**DEFAULTS, **self.connection.data, **self.connection.options}
        if DataPolicy(settings).of(PRIMARY).people:
            return ""
        note = await self._async_note("withheld")
        return "\n\n" + note.replace("{host}", yarl.URL(settings[CONF_BASE_URL]).host or "")


def page_step(page: str) -> Callable[..., Awaitable[Any]]:
    """Return the step of a page, as Home Assistant looks for it."""

    async def show_or_save(self: OptionPages, user_input: dict[str, Any] | None = None) -> Any:
        return await self.async_page(page, user_input)

    return show_or_save


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
