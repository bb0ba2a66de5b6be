"""The steps of the flow for an import from another integration; it loads when chosen."""

from typing import TYPE_CHECKING, Any

import probatio

from homeassistant.config_entries import ConfigFlow, ConfigFlowResult
from homeassistant.helpers.selector import SelectOptionDict, SelectSelector, SelectSelectorConfig

from ..const import EXTENDED_OPENAI
from ..settings import async_part

if TYPE_CHECKING:
    from .importer import Imported

FIELD_AGENT = "agent"


class ImportSteps(ConfigFlow):
    """Offers what can be imported before a new set-up begins, and reports before it is stored."""

    def __init__(self) -> None:
        self._offered = False
        self._imported: Imported | None = None

    def _can_import(self) -> bool:
        """Return whether there is anything to import that was not offered yet."""
        old = self.hass.config_entries.async_entries(EXTENDED_OPENAI, include_ignore=False)
        return bool(old) and not self._offered

    async def async_step_start(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask whether to import an agent or to set up a new one."""
        self._offered = True
        return self.async_show_menu(step_id="start", menu_options=["user", "extended_openai"])

    async def async_step_extended_openai(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask which agent to import, where there are several; go on with its connection."""
        importer = await async_part(self.hass, "config.importer")
        agents = {agent.id: agent for agent in importer.old_agents(self.hass)}
        if user_input is None and len(agents) > 1:
            options = [SelectOptionDict(value=key, label=agent.title) for key, agent in agents.items()]
            selector = SelectSelector(SelectSelectorConfig(options=options))
            schema = probatio.Schema({probatio.Required(FIELD_AGENT): selector})
            return self.async_show_form(step_id="extended_openai", data_schema=schema)
        chosen = next(iter(agents), "") if user_input is None else user_input[FIELD_AGENT]
        if chosen in agents:
            self._imported = importer.async_import(self.hass, agents[chosen])
        return await self.async_step_user()

    async def _async_show_imported(self, made: Imported) -> ConfigFlowResult:
        """Report the imported settings, the others, and the remaining steps."""
        part = await async_part(self.hass, "config.importer")
        await part.async_check_tools(self.hass, made)
        return self.async_show_form(
            step_id="imported",
            data_schema=probatio.Schema({}),
            description_placeholders={"report": await part.async_report(self.hass, made)},
            last_step=False,
        )

    async def _async_save_imported(self, made: Imported, title: str) -> None:
        """Write the tools to a file, and the report to a notification."""
        part = await async_part(self.hass, "config.importer")
        await part.async_save(self.hass, made, title)
