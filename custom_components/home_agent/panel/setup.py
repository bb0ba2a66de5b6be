"""Opens what the panel asks, and shows it where Home Assistant has a front end."""

from homeassistant.core import HomeAssistant

from ..parts import async_part
from ..runtime import DATA_SHARED, HomeAgentConfigEntry
from .websocket import PanelChannel, async_register_commands

FRONTEND = "frontend"


async def async_show(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Show an agent in the panel; the panel is there once, for all of them."""
    shared = hass.data[DATA_SHARED]
    if shared.panel_address is None:
        shared.panel_address = ""
        async_register_commands(hass)
    if FRONTEND in hass.config.components:
        sidebar = await async_part(hass, "panel.sidebar")
        await sidebar.async_show(hass, shared)
    entry.runtime_data.confirmations.channels.append(PanelChannel(hass, entry.entry_id))


async def async_hide(hass: HomeAssistant) -> None:
    """Take the panel away; again is no error."""
    if FRONTEND in hass.config.components:
        (await async_part(hass, "panel.sidebar")).async_hide(hass)
