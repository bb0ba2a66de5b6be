"""The options: a menu with pages for households, and one with pages for experts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, override

from homeassistant import data_entry_flow
from homeassistant.config_entries import (
    SOURCE_RECONFIGURE,
    ConfigEntry,
    ConfigFlowContext,
    FlowType,
    OptionsFlow,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.selector import SelectOptionDict, Selector
from homeassistant.helpers.translation import async_get_translations

from .. import const
from ..const import DEFAULTS, DOMAIN
from ..errors import InvalidInput
from ..knowledge.indexer import knowledge_collection, profile_collection
from ..proactive.rules import DURATION, RULE, TEMPLATES
from ..settings import async_part, is_own_api
from ..tools.recipients import CHAT, TARGETS
from .choices import async_labelled
from .fields import (
    Checked,
    Field,
    as_items,
    async_language,
    check,
    flat,
    form,
    offered,
    placed_errors,
    stored_values,
    written_span,
)
from .lists import chat_options, notify_options, of_persons
from .message_rules import MAX_RULES, REMOVE, check_rule, rule_fields, rule_line
from .schemas import EXAMPLES, EXPERT, PAGES

DATABASE_KEYS = (
    const.CONF_VECTOR_HOST,
    const.CONF_VECTOR_PORT,
    const.CONF_VECTOR_TENANT,
    const.CONF_VECTOR_DATABASE,
)


def _in_chroma(options: Mapping[str, Any]) -> dict[tuple[Any, ...], tuple[str, object]]:
    """Return the collections that an agent fills on a Chroma server, each with its database.

    Each with its option, and what agents that share it have alike: vectors of two embedders cannot be
    compared, and memories and the profile are each agent's own.
    """
    settings = {**DEFAULTS, **options}
    if settings[const.CONF_VECTOR_BACKEND] != const.BACKEND_CHROMA:
        return {}
    database = [settings[key] for key in DATABASE_KEYS]
    provider = settings[const.CONF_EMBEDDING_PROVIDER]
    model = "" if provider == const.EMBEDDING_BUILTIN else settings[const.CONF_EMBEDDING_MODEL]
    house, memories = settings[const.CONF_VECTOR_COLLECTION], settings[const.CONF_MEMORY_COLLECTION]
    shared, own = (const.CONF_VECTOR_COLLECTION, (house, provider, model)), object()
    return {(*database, name): shared for name in (house, knowledge_collection(house))} | {
        (*database, name): (const.CONF_MEMORY_COLLECTION, own)
        for name in (memories, profile_collection(memories))
    }


def check_sharing(
    hass: HomeAssistant, entry: ConfigEntry, options: Mapping[str, Any], page: Sequence[str], checked: Checked
) -> None:
    """Refuse options with which two agents would fill one collection over each other.

    `page` are the fields that can be marked; what belongs to another page is said at the store.
    """
    filled = _in_chroma(options)
    for other in hass.config_entries.async_entries(DOMAIN):
        theirs = _in_chroma(other.options) if other is not entry else {}
        for place, (option, alike) in filled.items():
            field = option if option in page else const.CONF_VECTOR_BACKEND
            if place in theirs and theirs[place][1] != alike and field in page:
                key = "memories_shared" if option == const.CONF_MEMORY_COLLECTION else "collection_shared"
                checked.fail(field, InvalidInput(key, agent=other.title, collection=place[-1]))


async def async_with_choices(
    hass: HomeAssistant, fields: tuple[Field, ...], options: Mapping[str, Any]
) -> tuple[Field, ...]:
    """Return the fields with what is there to choose from: LLM APIs, notify targets, rules by their names."""
    apis = [
        SelectOptionDict(value=api.id, label=api.name)
        for api in llm.async_get_apis(hass)
        if not is_own_api(api.id)
    ]
    selectors: dict[str, Selector[Any]] = {
        const.CONF_LLM_APIS: offered(apis, multiple=True),
        const.CONF_NOTIFY_TARGETS: of_persons(
            const.CONF_NOTIFY_TARGETS, TARGETS, offered(notify_options(hass), multiple=True)
        ),
        const.CONF_TELEGRAM_CHATS: of_persons(const.CONF_TELEGRAM_CHATS, CHAT, offered(chat_options(hass))),
    }
    return tuple(
        [
            field._replace(selector=selectors[field.key])
            if field.key in selectors
            else await async_labelled(hass, field, options)
            for field in fields
        ]
    )


class Edited(NamedTuple):
    """An agent whose options are changed."""

    connection: ConfigEntry
    name: str
    stored: Mapping[str, Any]


class OptionPages(data_entry_flow.FlowHandler[Any, Any, Any]):
    """Shows the pages of an agent; a page takes effect when it is saved, and the menu comes back."""

    pages: Mapping[str, tuple[Field, ...]]

    def __init__(self) -> None:
        self._typed: dict[str, Any] = {}
        self._tried: dict[str, Any] = {}
        self._page = ""
        self._reports: list[tuple[str, dict[str, str]]] = []
        self._has_saved = False

    def edited(self) -> Edited:
        """Return the agent whose pages these are."""
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

    async_step_always_open = async_step_vector_save  # Home Assistant requires a step for each menu.

    async def async_page(self, page: str, user_input: dict[str, Any] | None) -> Any:
        """Show a page, or save its values; a check with findings asks first."""
        entry, name, stored = self.edited()
        fields = await async_with_choices(self.hass, self.pages[page], stored)
        shown = stored_values(fields, stored)
        notes = {**EXAMPLES, "agent": name}
        if user_input is None:
            typed = self._typed if self._page == page else {}
            return self.async_show_form(
                step_id=page, data_schema=form(fields, typed or shown), description_placeholders=notes
            )
        typed = flat(fields, user_input)
        checked = check(fields, typed, stored)
        if page_check := (await async_part(self.hass, "config.checks")).CHECKS.get(page):
            await page_check(self.hass, entry, checked, stored)
        of_page = [field.key for field in fields]
        if not checked.errors:
            check_sharing(self.hass, entry, {**checked.others, **checked.values}, of_page, checked)
        if checked.errors:
            errors = placed_errors(fields, checked.errors)
            return self.async_show_form(
                step_id=page,
                data_schema=form(fields, typed, errors),
                errors=errors,
                description_placeholders={**notes, **checked.placeholders},
            )
        self._page, self._typed, self._tried = page, typed, checked.values
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
        of_page = {field.key for field in self.pages[self._page]}
        others = {key: value for key, value in self.edited().stored.items() if key not in of_page}
        await self.async_save({**others, **self._tried})
        self._typed, self._page, self._has_saved = {}, "", True
        return await self.async_back()

    async def async_show_pages(self, menu: str, pages: Iterable[str]) -> Any:
        """Show a menu; after something was saved it says so and offers to end."""
        saved = await self._async_note("saved") + "\n\n" if self._has_saved else ""
        return self.async_show_menu(
            step_id=menu,
            menu_options=[*pages, *([DONE] if self._has_saved else [])],
            description_placeholders={"agent": self.edited().name, "saved": saved},
        )

    async def _async_note(self, name: str) -> str:
        language = await async_language(self.hass)
        texts = await async_get_translations(self.hass, language, "selector", {DOMAIN})
        return texts.get(f"component.{DOMAIN}.selector.page_notes.options.{name}", "")


def add_page_steps(flow: type[OptionPages], pages: Iterable[str]) -> None:
    """Give a flow the step of each page, which Home Assistant looks for by its name."""

    def step(page: str) -> Callable[..., Awaitable[Any]]:
        async def show_or_save(self: OptionPages, user_input: dict[str, Any] | None = None) -> Any:
            return await self.async_page(page, user_input)

        return show_or_save

    for page in pages:
        setattr(flow, f"async_step_{page}", step(page))


SOURCE_REPAIR: Final = "repair"
"""The source of a flow that repairs.py has started."""

DONE: Final = "done"
MENUS: Final = {
    "init": ("answers", "permissions", "memory", "messages", "message_rules", "web", "server", "expert"),
    "expert": (*EXPERT, "init"),
}
"""The menus, with what each offers."""
WATCH: Final = "watch_"
"""The beginning of the steps that add a rule, which is followed by its kind."""
CHANGE: Final = "change_rule_"
"""The beginning of the steps that change a rule, which is followed by its place in the list."""


class HomeAgentOptionsFlow(OptionPages, OptionsFlow):
    """Show the menus, and the pages that are chosen; a page takes effect when it is saved."""

    pages = PAGES

    def __init__(self) -> None:
        super().__init__()
        self._menu = "init"
        self.rule: tuple[int | None, dict[str, Any]] | None = None
        """The rule of messages whose form is open, and its place in the list; a new one has none."""

    async def async_step_init(self, _user_input: dict[str, Any] | None = None) -> Any:
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
            opening = getattr(self, f"async_step_{opened[-1]['step_id']}")
            return await opening(None)
        return await self._async_menu("init")

    async def async_step_expert(self, _user_input: dict[str, Any] | None = None) -> Any:
        """Show the menu of the pages for experts."""
        return await self._async_menu("expert")

    async def async_step_done(self, _user_input: dict[str, Any] | None = None) -> Any:
        """End; everything is saved already."""
        return self.async_create_entry(data=dict(self.config_entry.options))

    async def async_step_server(self, _user_input: dict[str, Any] | None = None) -> Any:
        """End, and go on with the form that changes the model and its server."""
        context = ConfigFlowContext(source=SOURCE_RECONFIGURE, entry_id=self.config_entry.entry_id)
        flow = await self.hass.config_entries.flow.async_init(DOMAIN, context=context)
        ended = await self.async_step_done()
        ended["next_flow"] = (FlowType.CONFIG_FLOW, flow["flow_id"])
        return ended

    async def async_step_message_rules(self, _user_input: dict[str, Any] | None = None) -> Any:
        """Show the rules of messages: one is changed, or another one is added."""
        names, rules = await self._async_rule_names(), self.rules()
        offered = {
            f"{CHANGE}{number}": rule_line(self.hass, rule, names)
            for number, rule in enumerate(rules)
            if rule.get(RULE) in names
        }
        if len(rules) < MAX_RULES:
            offered["add_rule"] = await self._async_note("add_rule")
        offered["init"] = await self._async_note("back")
        notes = ["saved"] if self._has_saved else []
        if not {**DEFAULTS, **self.config_entry.options}[const.CONF_PROACTIVE]:
            notes.append("messages_off")
        return self.async_show_menu(
            step_id="message_rules",
            menu_options=offered,
            description_placeholders={
                "agent": self.edited().name,
                "notes": "".join([await self._async_note(note) + "\n\n" for note in notes]),
            },
        )

    async def async_step_add_rule(self, _user_input: dict[str, Any] | None = None) -> Any:
        """Ask what the new rule watches."""
        return self.async_show_menu(
            step_id="add_rule",
            menu_options={
                f"{WATCH}{name}": label for name, label in (await self._async_rule_names()).items()
            },
            description_placeholders={"agent": self.edited().name},
        )

    async def async_step_message_rule(self, user_input: dict[str, Any] | None = None) -> Any:
        """Show what the chosen rule needs, or save it."""
        assert self.rule is not None
        number, rule = self.rule
        fields = rule_fields(rule, is_stored=number is not None)
        checked = check_rule(rule, user_input) if user_input is not None else None
        if user_input is None or (checked and checked.errors and not user_input.get(REMOVE)):
            usual = {DURATION: written_span(TEMPLATES[rule[RULE]].duration)}
            shown = user_input if user_input is not None else stored_values(fields, usual | rule)
            return self.async_show_form(
                step_id="message_rule",
                data_schema=form(fields, shown),
                errors=checked.errors if checked else {},
                description_placeholders={
                    "rule": (await self._async_rule_names())[rule[RULE]],
                    **(checked.placeholders if checked else {}),
                },
            )
        assert checked is not None
        rules = self.rules()
        saved = [] if user_input.get(REMOVE) else [checked.values]
        at = len(rules) if number is None else number
        rules[at : at + 1] = saved
        options = {
            key: value
            for key, value in self.config_entry.options.items()
            if key != const.CONF_PROACTIVE_RULES
        }
        await self.async_save(options | ({const.CONF_PROACTIVE_RULES: rules} if rules else {}))
        self._has_saved = True
        return await self.async_step_message_rules()

    def rules(self) -> list[dict[str, Any]]:
        """Return the stored rules of messages."""
        return [
            dict(rule) for rule in as_items(self.config_entry.options.get(const.CONF_PROACTIVE_RULES, []))
        ]

    async def _async_rule_names(self) -> dict[str, str]:
        texts = await async_get_translations(self.hass, await async_language(self.hass), "selector", {DOMAIN})
        path = f"component.{DOMAIN}.selector.proactive_rule.options"
        return {name: texts.get(f"{path}.{name}", name) for name in TEMPLATES}

    # Home Assistant requires a step for each menu.
    async_step_fallback_cloud = async_step_external_cloud = OptionPages.async_step_vector_save
    async_step_vector_cloud = OptionPages.async_step_vector_save

    async def _async_menu(self, menu: str) -> Any:
        self._menu = menu
        return await self.async_show_pages(menu, MENUS[menu])

    @override
    def edited(self) -> Edited:
        """Return the entry, which is the agent as well."""
        return Edited(self.config_entry, self.config_entry.title, self.config_entry.options)

    @override
    async def async_save(self, options: Mapping[str, Any]) -> None:
        """Store the options."""
        self.hass.config_entries.async_update_entry(self.config_entry, options=options)

    @override
    async def async_back(self) -> Any:
        """Show the menu that the page was chosen from."""
        return await self._async_menu(self._menu)


add_page_steps(HomeAgentOptionsFlow, PAGES)


def _rule_step(number: int | None, name: str = "") -> Callable[..., Awaitable[Any]]:
    """Return the step of a menu that opens the form of a stored rule, or of a new one of this kind."""

    async def open_rule(self: HomeAgentOptionsFlow, _user_input: dict[str, Any] | None = None) -> Any:
        self.rule = (number, {RULE: name} if number is None else self.rules()[number])
        return await self.async_step_message_rule()

    return open_rule


for kind in TEMPLATES:
    setattr(HomeAgentOptionsFlow, f"async_step_{WATCH}{kind}", _rule_step(None, kind))
for place in range(MAX_RULES):
    setattr(HomeAgentOptionsFlow, f"async_step_{CHANGE}{place}", _rule_step(place))
