"""Shows the panel in the sidebar, one for all agents."""

import hashlib
from pathlib import Path
from typing import Final

from homeassistant.components import frontend, panel_custom
from homeassistant.components.http.server import StaticPathConfig
from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..runtime import DATA_SHARED
from .channel import PanelChannel
from .websocket import async_register_commands

__all__ = ["PanelChannel", "async_hide", "async_show"]

FILES: Final = Path(__file__).parent / "frontend"
TITLE: Final = "Home Agent"
ICON: Final = "mdi:robot-outline"
ELEMENT: Final = "home-agent-panel"


async def async_show(hass: HomeAssistant) -> None:
    """Put the panel into the sidebar, where Home Assistant has one; again is no error."""
    shared = hass.data[DATA_SHARED]
    if shared.panel_address is None:
        shared.panel_address = ""
        async_register_commands(hass)
        shared.panel_address = await _async_serve(hass)
    if not shared.panel_address or frontend.async_panel_exists(hass, DOMAIN):
        return
    await panel_custom.async_register_panel(
        hass,
        frontend_url_path=DOMAIN,
        webcomponent_name=ELEMENT,
        sidebar_title=TITLE,
        sidebar_icon=ICON,
        module_url=f"{shared.panel_address}/main.js",
        require_admin=True,
    )


@callback
def async_hide(hass: HomeAssistant) -> None:
    """Take the panel out of the sidebar."""
    frontend.async_remove_panel(hass, DOMAIN, warn_if_unknown=False)


async def _async_serve(hass: HomeAssistant) -> str:
    """Serve the files of the page and return where.

    Browsers keep them; the address changes with what is in them.
    """
    if "frontend" not in hass.config.components:
        return ""
    address = f"/{DOMAIN}_panel/{await hass.async_add_executor_job(_fingerprint)}"
    await hass.http.async_register_static_paths([StaticPathConfig(address, str(FILES), cache_headers=True)])
    return address


def _fingerprint() -> str:
    """Return a short text that differs when a file does; reads the disk."""
    digest = hashlib.sha256()
    for file in sorted(FILES.glob("*.js")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
