"""The config flow: a model server, then one of its models."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final, override

import probatio
import yarl

from homeassistant.config_entries import (
    SOURCE_REAUTH,
    SOURCE_RECONFIGURE,
    ConfigEntry,
    ConfigFlow,
    ConfigFlowResult,
    ConfigSubentryFlow,
    OptionsFlow,
)
from homeassistant.core import callback
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers.selector import SelectOptionDict, SelectSelector, SelectSelectorConfig

from . import const
from .agent.examples import async_examples
from .config.agent_flow import AGENT, AgentSubentryFlow
from .config.fields import (
    Checked,
    Field,
    async_language,
    check,
    flat,
    form,
    placed_errors,
    stored_values,
)
from .config.options import HomeAgentOptionsFlow
from .config.probe import (
    async_find_server,
    async_options,
    async_probe_model,
    async_shared,
    ranked,
    typed_endpoint,
)
from .config.schemas import ASSISTANT, CONNECTION, EXAMPLES, REAUTH, model_field
from .connection import is_cloud
from .const import DOMAIN, EXTENDED_OPENAI, MINOR_VERSION, VERSION
from .errors import InvalidInput
from .inference.dialects.base import parse_address
from .inference.models import Probe
from .lifecycle.assistants import async_make_assistant, may_be_assistant
from .settings import async_part
from .texts import without_embeds

if TYPE_CHECKING:
    from .config.importer import Imported

FIELDS: Final = {
    "url": const.CONF_BASE_URL,
    "key": const.CONF_API_KEY,
    "headers": const.CONF_PROXY_HEADERS,
    "model": const.CONF_MODEL,
    "base": "base",
}
"""The field of a form that each part of a connection is typed into."""
DEFAULT_NAME: Final = "Home Agent"
UNSEEN_SECONDS: Final = 3
"""How long a form waits before a page says that the model is asked: a server may have to load it first."""


class HomeAgentConfigFlow(ConfigFlow, domain=DOMAIN):
    """Connect a model server, choose a model; also for a new key and for a new connection."""

    VERSION = VERSION
    MINOR_VERSION = MINOR_VERSION

    def __init__(self) -> None:
        self._offered_import = False
        self._imported: Imported | None = None
        self._probing: asyncio.Task[Probe] | None = None
        self._makes_assistant = False
        self._ready: dict[str, str] = {}
        """What the last page says."""
        self._connection_step = "user"
        self._typed: dict[str, Any] = {}
        self._data: dict[str, Any] = {}
        self._model = ""
        self._models: list[str] = []

    @staticmethod
    @callback
    @override
    def async_get_options_flow(config_entry: ConfigEntry) -> OptionsFlow:
        """Return the options' menu."""
        return HomeAgentOptionsFlow()

    @classmethod
    @callback
    @override
    def async_get_supported_subentry_types(
        cls, config_entry: ConfigEntry
    ) -> dict[str, type[ConfigSubentryFlow]]:
        """Return what can be added to a connection: further agents."""
        return {AGENT: AgentSubentryFlow}

    @override
    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a server, starting from an imported one; before that, whether to import."""
        old = self.hass.config_entries.async_entries(EXTENDED_OPENAI, include_ignore=False)
        if user_input is None and old and not self._offered_import:
            self._offered_import = True
            return await self.async_step_start()
        if self._imported is not None:
            return await self._async_connection_step("user", self._imported.connection, user_input)
        taken = {entry.title for entry in self.hass.config_entries.async_entries(DOMAIN)}
        numbered = (f"{DEFAULT_NAME} {number}" for number in count(2))
        stored = {
            const.CONF_NAME: next(name for name in chain([DEFAULT_NAME], numbered) if name not in taken)
        }
        return await self._async_connection_step("user", stored, user_input)

    async def async_step_start(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask whether to import an agent or to set up a new one."""
        return self.async_show_menu(step_id="start", menu_options=["user", "extended_openai"])

    async def async_step_extended_openai(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask which agent to import, where there are several; go on with its connection."""
        importer = await async_part(self.hass, "config.importer")
        agents = {agent.id: agent for agent in importer.old_agents(self.hass)}
        if user_input is None and len(agents) > 1:
            options = [SelectOptionDict(value=key, label=agent.title) for key, agent in agents.items()]
            selector = SelectSelector(SelectSelectorConfig(options=options))
            schema = probatio.Schema({probatio.Required("agent"): selector})
            return self.async_show_form(step_id="extended_openai", data_schema=schema)
        chosen = next(iter(agents), "") if user_input is None else user_input["agent"]
        if chosen in agents:
            self._imported = importer.async_import(self.hass, agents[chosen])
        return await self.async_step_user()

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a server, starting from the one in use."""
        return await self._async_connection_step(
            "reconfigure", self._get_reconfigure_entry().data, user_input
        )

    async def _async_connection_step(
        self, step_id: str, stored: Mapping[str, Any], user_input: dict[str, Any] | None
    ) -> ConfigFlowResult:
        if user_input is None:
            return self._show(step_id, CONNECTION, stored_values(CONNECTION, stored), last_step=False)
        typed = flat(CONNECTION, user_input)
        checked = check(CONNECTION, typed, stored)
        if not checked.errors:
            if version := parse_address(typed[const.CONF_BASE_URL]).query.get("api-version"):
                checked.values.setdefault(const.CONF_AZURE_API_VERSION, version)
            try:
                server = await async_find_server(self.hass, typed_endpoint(self.hass, checked.values))
            except InvalidInput as err:
                checked.fail(FIELDS[err.part], err)
            else:
                checked.values[const.CONF_BASE_URL] = server.base_url
                self._models = server.models
        if checked.errors:
            return self._show(step_id, CONNECTION, typed, checked, last_step=False)
        self._connection_step, self._typed, self._data = step_id, typed, checked.values
        host = yarl.URL(checked.values[const.CONF_BASE_URL]).host
        known = step_id == "reconfigure" and host == yarl.URL(stored[const.CONF_BASE_URL]).host
        if is_cloud(checked.values[const.CONF_BASE_URL]) and not known:
            return await self.async_step_cloud()
        return await self.async_step_model()

    async def async_step_cloud(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show which data leaves the home."""
        if user_input is not None:
            return await self.async_step_model()
        host = yarl.URL(self._data[const.CONF_BASE_URL]).host or ""
        return self.async_show_form(
            step_id="cloud",
            data_schema=probatio.Schema({}),
            description_placeholders={"host": host},
            last_step=False,
        )

    async def async_step_model(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a model, and try whether it calls tools."""
        if user_input is None:
            before = self._data.get(const.CONF_MODEL) or self._model_in_use()
            return await self._async_show_model(before or next(iter(ranked(self._models)), None))
        self._model = model = user_input[const.CONF_MODEL].strip()
        if not model:
            return await self._async_show_model(model, InvalidInput("model_missing"), const.CONF_MODEL)
        self._async_abort_entries_match(
            {const.CONF_BASE_URL: self._data[const.CONF_BASE_URL], const.CONF_MODEL: model}
        )
        return await self.async_step_probing()

    async def async_step_probing(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask the model to call a tool, and show that if it takes longer."""
        if self._probing is None:
            task = self._async_probe(self._data | {const.CONF_MODEL: self._model})
            self._probing = self.hass.async_create_background_task(task, "home_agent probe of a model")
            await asyncio.wait([self._probing], timeout=UNSEEN_SECONDS)
        if not self._probing.done():
            return self.async_show_progress(
                step_id="probing",
                progress_action="probing",
                progress_task=self._probing,
                description_placeholders={"model": self._model},
            )
        if self.cur_step is not None and self.cur_step["type"] is FlowResultType.SHOW_PROGRESS:
            return self.async_show_progress_done(next_step_id="probed")
        return await self.async_step_probed()

    async def _async_probe(self, settings: Mapping[str, Any]) -> Probe:
        return await async_probe_model(self.hass, typed_endpoint(self.hass, settings))

    async def async_step_probed(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Keep what was found out about the chosen model, or say why it cannot be asked."""
        assert self._probing is not None
        task, self._probing = self._probing, None
        try:
            probe = task.result()
        except InvalidInput as err:
            if err.part != "key":
                return await self._async_show_model(self._model, err, FIELDS.get(err.part, "base"))
            checked = Checked({}, {}, {})
            checked.fail(const.CONF_API_KEY, err)
            return self._show(self._connection_step, CONNECTION, self._typed, checked, last_step=False)
        self._data = self._data | {
            const.CONF_MODEL: self._model,
            const.CONF_PROBED_CONTEXT_SIZE: probe.context_size,
            const.CONF_PROBED_TOOL_CALLING: probe.tool_calling,
        }
        if probe.tool_calling is False:
            return await self.async_step_no_tools()
        return await self.async_step_finish()

    async def _async_show_model(
        self, model: str | None, error: InvalidInput | None = None, field: str = ""
    ) -> ConfigFlowResult:
        """Show the page of models; a change of the connection ends there."""
        at_home = not is_cloud(self._data[const.CONF_BASE_URL])
        language = await async_language(self.hass)
        fields = [model_field(await async_options(self.hass, language, self._models, at_home=at_home))]
        checked = Checked({}, {}, {})
        if error is not None:
            checked.fail(field if field == const.CONF_MODEL else "base", error)
        last_step = None if self.source == SOURCE_RECONFIGURE else False
        return self._show("model", fields, {const.CONF_MODEL: model}, checked, last_step=last_step)

    async def async_step_no_tools(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Let the user decide if the model does not call tools."""
        return self.async_show_menu(
            step_id="no_tools",
            menu_options=["model", "finish"],
            description_placeholders={"model": self._data[const.CONF_MODEL]},
        )

    def _stored(self) -> dict[str, Any]:
        return {key: value for key, value in self._data.items() if value is not None}

    def _title(self) -> str:
        return str(self._data.get(const.CONF_NAME) or self._data[const.CONF_MODEL])

    def _model_in_use(self) -> str | None:
        if self._imported is not None:
            wanted = self._imported.model
            return wanted if not self._models or wanted in self._models else None
        if self.source != SOURCE_RECONFIGURE:
            return None
        before = self._get_reconfigure_entry().data
        model: str = before[const.CONF_MODEL]
        same_server = before[const.CONF_BASE_URL] == self._data[const.CONF_BASE_URL]
        return model if same_server or not self._models or model in self._models else None

    async def async_step_finish(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Go on with the chosen model; a change of the connection ends here."""
        if self.source == SOURCE_RECONFIGURE:
            return await self._async_store()
        return await self.async_step_ready()

    async def async_step_ready(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Say what can be done now, and offer to make the assistant."""
        if user_input is not None:
            self._makes_assistant = bool(user_input.get(ASSISTANT.key))
            return await self._async_store()
        house = await (await async_shared(self.hass)).house.async_snapshot()
        sentences = await async_examples(
            self.hass, self.hass.config.language, house, ("ability", "timer", "memory")
        )
        self._ready = {
            "count": str(len(house.entities)),
            "sentences": "\n".join(f"- *{without_embeds(sentence)}*" for sentence in sentences),
        }
        offered = may_be_assistant(self.hass)
        return self.async_show_form(
            step_id="ready",
            data_schema=form([ASSISTANT] if offered is not None else [], {ASSISTANT.key: offered}),
            description_placeholders=self._ready,
            last_step=True,
        )

    async def _async_store(self) -> ConfigFlowResult:
        data, title = self._stored(), self._title()
        if (made := self._imported) is not None:
            made.connection = self._data
            await (await async_part(self.hass, "config.importer")).async_save(self.hass, made, title)
            return self._create(title, data, made.options)
        if self.source != SOURCE_RECONFIGURE:
            return self._create(title, data, {})
        entry = self._get_reconfigure_entry()
        if entry.title != (entry.data.get(const.CONF_NAME) or entry.data.get(const.CONF_MODEL)):
            title = entry.title
        return self._finish_change(entry, title=title, data=data)

    def _create(self, title: str, data: Mapping[str, Any], options: Mapping[str, Any]) -> ConfigFlowResult:
        """Create the entry. The link is in its dialog only: on a page of the flow it would end the flow."""
        return self.async_create_entry(
            title=title,
            data=data,
            options=options,
            description="assistant" if self._makes_assistant else "default",
            description_placeholders={**self._ready, "expose": "/config/voice-assistants/expose"},
        )

    @override
    async def async_on_create_entry(self, result: ConfigFlowResult) -> ConfigFlowResult:
        """Make the assistant."""
        if self._makes_assistant:
            await async_make_assistant(self.hass, result["result"])
        return result

    async def async_step_reauth(self, _entry_data: Mapping[str, Any]) -> ConfigFlowResult:
        """Begin because the server refused the key."""
        return await self.async_step_reauth_confirm()

    async def async_step_reauth_confirm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a new key and nothing else."""
        entry = self._get_reauth_entry()
        if user_input is None:
            return self._show("reauth_confirm", REAUTH, {})
        data = dict(entry.data) | {const.CONF_API_KEY: ""} | check(REAUTH, user_input, {}).values
        checked = Checked({}, {}, {})
        # On the model itself, since model lists are often public.
        try:
            await async_probe_model(self.hass, typed_endpoint(self.hass, data))
        except InvalidInput as err:
            if err.part != "model":
                checked.fail(const.CONF_API_KEY if err.part == "key" else "base", err)
        if checked.errors:
            return self._show("reauth_confirm", REAUTH, user_input, checked)
        return self._finish_change(entry, title=entry.title, data=data)

    def _finish_change(self, entry: ConfigEntry, *, title: str, data: Mapping[str, Any]) -> ConfigFlowResult:
        """Store a change and see to it that it takes effect.

        A set-up entry reloads itself by its listener; one that failed to set up has none.
        """
        if entry.update_listeners:
            return self.async_update_and_abort(entry, title=title, data=data)
        return self.async_update_reload_and_abort(entry, title=title, data=data)

    def _show(
        self,
        step_id: str,
        fields: Sequence[Field],
        shown: Mapping[str, Any],
        checked: Checked | None = None,
        *,
        last_step: bool | None = None,
    ) -> ConfigFlowResult:
        errors = placed_errors(fields, checked.errors) if checked else {}
        url = self._get_reauth_entry().data[const.CONF_BASE_URL] if self.source == SOURCE_REAUTH else ""
        return self.async_show_form(
            step_id=step_id,
            data_schema=form(fields, shown, errors),
            errors=errors,
            description_placeholders={**EXAMPLES, "url": url, **(checked.placeholders if checked else {})},
            last_step=last_step,
        )
