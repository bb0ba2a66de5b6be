"""The service that reads the YAML anew."""

from typing import Final

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, callback
from homeassistant.helpers.reload import async_integration_yaml_config
from homeassistant.helpers.typing import ConfigType

from ..config.schemas import NATIVE_TOOLS
from ..const import DOMAIN
from ..runtime import HomeAgentConfigEntry
from ..tools.custom.loader import CustomTools, async_load
from .base import CommonService

RESERVED: Final = frozenset({*NATIVE_TOOLS, "search_web", "query_external_llm"})
"""Names of our own tools, whether they are offered or not."""


@callback
def async_load_custom_tools(hass: HomeAssistant, config: ConfigType) -> CustomTools:
    """Read the custom tools of a configuration."""
    return async_load(hass, config.get(DOMAIN), RESERVED)


async def _async_reload(call: ServiceCall) -> ServiceResponse:
    """Read the custom tools of `configuration.yaml` anew; turns under way keep those they have.

    Raises HomeAssistantError if the file is no valid YAML.
    """
    hass = call.hass
    config = await async_integration_yaml_config(hass, DOMAIN, raise_on_failure=True)
    tools = async_load_custom_tools(hass, config)
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_entries(DOMAIN)
    for entry in entries:
        if entry.state is ConfigEntryState.LOADED:
            entry.runtime_data.set_custom_tools(tools)
            entry.async_create_background_task(
                hass, entry.runtime_data.async_prepare(), "home_agent warm start"
            )
    return {"tools": [recipe.definition.name for recipe in tools.recipes], "problems": len(tools.issues)}


COMMON: Final = {"reload": CommonService(_async_reload, {}, admin=True)}
