"""The config flow: a model server, then one of its models."""

from collections.abc import Mapping
from typing import Any, Final, override

import probatio
import yarl

from homeassistant.config_entries import (
    SOURCE_RECONFIGURE,
    ConfigEntry,
    ConfigFlowResult,
    OptionsFlow,
)
from homeassistant.core import callback

from .config.fields import Checked, Field, check, form, stored_values, with_removals
from .config.import_pages import ImportSteps
from .config.options import HomeAgentOptionsFlow
from .config.probe import async_find_server, async_probe_model, typed_endpoint
from .config.schemas import CONNECTION, EXAMPLES, REAUTH, model_field
from .config.validators import azure_version
from .connection import is_cloud
from .const import (
    CONF_API_KEY,
    CONF_AZURE_API_VERSION,
    CONF_BASE_URL,
    CONF_MODEL,
    CONF_NAME,
    CONF_PROBED_CONTEXT_SIZE,
    CONF_PROBED_TOOL_CALLING,
    CONF_PROXY_HEADERS,
    DOMAIN,
    MINOR_VERSION,
    VERSION,
)
from .errors import InvalidInput

NO_CHAT_MODELS: Final = ("embed", "whisper", "tts", "rerank", "moderation", "dall-e", "image", "bge-", "clip")

FIELDS: Final = {
    "url": CONF_BASE_URL,
    "key": CONF_API_KEY,
    "headers": CONF_PROXY_HEADERS,
    "model": CONF_MODEL,
    "base": "base",
}
"""The field of a form that each part of a connection is typed into."""


def suggested_model(models: list[str], before: str | None) -> str | None:
    """Return the model to offer first: the one in use, else the first that looks like a chat model."""
    if before:
        return before
    chat = [name for name in models if not any(part in name.lower() for part in NO_CHAT_MODELS)]
    return next(iter(chat or models), None)


class HomeAgentConfigFlow(ImportSteps, domain=DOMAIN):
    """Connect a model server, choose a model; also for a new key and for a new connection."""

    VERSION = VERSION
    MINOR_VERSION = MINOR_VERSION

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self._connection_step = "user"
        self._fields: tuple[Field, ...] = CONNECTION
        self._typed: dict[str, Any] = {}
        self._data: dict[str, Any] = {}
        self._models: list[str] = []

    @staticmethod
    @callback
    @override
    def async_get_options_flow(config_entry: ConfigEntry) -> OptionsFlow:
        """Return the options' menu."""
        return HomeAgentOptionsFlow()

    @override
    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a server, starting from an imported one; before that, whether to import."""
        if user_input is None and self._can_import():
            return await self.async_step_start()
        stored = {CONF_NAME: "Home Agent"} if self._imported is None else self._imported.connection
        return await self._async_connection_step("user", stored, user_input)

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a server, starting from the one in use."""
        return await self._async_connection_step(
            "reconfigure", self._get_reconfigure_entry().data, user_input
        )

    async def _async_connection_step(
        self, step_id: str, stored: Mapping[str, Any], user_input: dict[str, Any] | None
    ) -> ConfigFlowResult:
        """Show the form of a connection, or test its values."""
        self._fields = with_removals(CONNECTION, stored)
        if user_input is None:
            return self._show(step_id, form(self._fields, stored_values(self._fields, stored)))
        checked = check(self._fields, user_input, stored)
        if version := azure_version(user_input[CONF_BASE_URL]):
            checked.values.setdefault(CONF_AZURE_API_VERSION, version)
        if not checked.errors:
            await self._async_test(checked)
        if checked.errors:
            return self._show(step_id, form(self._fields, user_input), checked)
        self._connection_step, self._typed, self._data = step_id, user_input, checked.values
        host = yarl.URL(checked.values[CONF_BASE_URL]).host
        known = step_id == "reconfigure" and host == yarl.URL(stored[CONF_BASE_URL]).host
        if is_cloud(checked.values[CONF_BASE_URL]) and not known:
            return await self.async_step_cloud()
        return await self.async_step_model()

    async def _async_test(self, checked: Checked) -> None:
        """Reach the server, complete its address and learn its models."""
        try:
            server = await async_find_server(self.hass, typed_endpoint(self.hass, checked.values))
        except InvalidInput as err:
            checked.fail(FIELDS[err.part], err)
            return
        checked.values[CONF_BASE_URL] = server.base_url
        self._models = server.models

    async def async_step_cloud(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show which data leaves the home."""
        if user_input is not None:
            return await self.async_step_model()
        host = yarl.URL(self._data[CONF_BASE_URL]).host or ""
        return self.async_show_form(
            step_id="cloud", data_schema=probatio.Schema({}), description_placeholders={"host": host}
        )

    async def async_step_model(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a model, and try whether it calls tools."""
        fields = (model_field(self._models),)
        if user_input is None:
            before = self._data.get(CONF_MODEL) or self._model_in_use()
            return self._show("model", form(fields, {CONF_MODEL: suggested_model(self._models, before)}))
        checked = check(fields, user_input, {})
        if CONF_MODEL in checked.values:
            await self._async_probe(checked)
        else:
            checked.fail(CONF_MODEL, InvalidInput("model_missing"))
        if CONF_API_KEY in checked.errors:
            return self._show(self._connection_step, form(self._fields, self._typed), checked)
        if checked.errors:
            return self._show("model", form(fields, user_input), checked)
        if self._data[CONF_PROBED_TOOL_CALLING] is False:
            return await self.async_step_no_tools()
        return await self.async_step_finish()

    async def async_step_no_tools(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Let the user decide if the model does not call tools."""
        return self.async_show_menu(
            step_id="no_tools",
            menu_options=["model", "finish"],
            description_placeholders={"model": self._data[CONF_MODEL]},
        )

    def _model_in_use(self) -> str | None:
        """Return the model of what is being changed or imported, if the server is likely to have it."""
        if self._imported is not None:
            wanted = self._imported.model
            return wanted if not self._models or wanted in self._models else None
        if self.source != SOURCE_RECONFIGURE:
            return None
        before = self._get_reconfigure_entry().data
        model: str = before[CONF_MODEL]
        same_server = before[CONF_BASE_URL] == self._data[CONF_BASE_URL]
        return model if same_server or not self._models or model in self._models else None

    async def _async_probe(self, checked: Checked) -> None:
        """Detect the capabilities of the chosen model."""
        model = checked.values[CONF_MODEL]
        self._async_abort_entries_match({CONF_BASE_URL: self._data[CONF_BASE_URL], CONF_MODEL: model})
        try:
            probe = await async_probe_model(
                self.hass, typed_endpoint(self.hass, self._data | {CONF_MODEL: model})
            )
        except InvalidInput as err:
            checked.fail(FIELDS[err.part] if err.part in ("key", "model") else "base", err)
            return
        learned = {
            CONF_MODEL: model,
            CONF_PROBED_CONTEXT_SIZE: probe.context_size,
            CONF_PROBED_TOOL_CALLING: probe.tool_calling,
        }
        self._data = self._data | learned

    async def async_step_finish(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Create the entry, or change the one this flow began with; an import is reported first."""
        if self._imported is not None:
            self._imported.connection = self._data
            return await self._async_show_imported(self._imported)
        return await self._async_store()

    async def async_step_imported(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Store the import."""
        return await self._async_store()

    async def _async_store(self) -> ConfigFlowResult:
        """Create the entry, or change the one this flow began with."""
        data = {key: value for key, value in self._data.items() if value is not None}
        title = data.get(CONF_NAME) or data[CONF_MODEL]
        if (made := self._imported) is not None:
            await self._async_save_imported(made, title)
            return self.async_create_entry(title=title, data=data, options=made.options)
        if self.source != SOURCE_RECONFIGURE:
            return self.async_create_entry(title=title, data=data)
        entry = self._get_reconfigure_entry()
        if entry.title != (entry.data.get(CONF_NAME) or entry.data.get(CONF_MODEL)):
            title = entry.title
        return self._finish_change(entry, title=title, data=data)

    async def async_step_reauth(self, _entry_data: Mapping[str, Any]) -> ConfigFlowResult:
        """Begin because the server refused the key."""
        return await self.async_step_reauth_confirm()

    async def async_step_reauth_confirm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a new key and nothing else."""
        entry = self._get_reauth_entry()
        if user_input is None:
            return self._show("reauth_confirm", form(REAUTH, {}))
        data = dict(entry.data) | {CONF_API_KEY: ""} | check(REAUTH, user_input, {}).values
        checked = Checked({}, {}, {})
        await self._async_try_key(checked, data)
        if checked.errors:
            return self._show("reauth_confirm", form(REAUTH, user_input), checked)
        return self._finish_change(entry, title=entry.title, data=data)

    async def _async_try_key(self, checked: Checked, data: Mapping[str, Any]) -> None:
        """Test a key on the model itself, since model lists are often public."""
        try:
            await async_probe_model(self.hass, typed_endpoint(self.hass, data))
        except InvalidInput as err:
            if err.part != "model":
                checked.fail(CONF_API_KEY if err.part == "key" else "base", err)

    def _finish_change(self, entry: ConfigEntry, *, title: str, data: Mapping[str, Any]) -> ConfigFlowResult:
        """Store a change and see to it that it takes effect.

        A set-up entry reloads itself by its listener; one that failed to set up has none.
        """
        if entry.update_listeners:
            return self.async_update_and_abort(entry, title=title, data=data)
        return self.async_update_reload_and_abort(entry, title=title, data=data)

    def _show(
        self, step_id: str, schema: probatio.Schema, checked: Checked | None = None
    ) -> ConfigFlowResult:
        """Show a form with its errors."""
        placeholders = {**EXAMPLES, "url": self._url(), **(checked.placeholders if checked else {})}
        return self.async_show_form(
            step_id=step_id,
            data_schema=schema,
            errors=checked.errors if checked else {},
            description_placeholders=placeholders,
        )

    def _url(self) -> str:
        """Return the address that is in use, if any."""
        url: str = self._get_reauth_entry().data[CONF_BASE_URL] if self.source == "reauth" else ""
        return url
