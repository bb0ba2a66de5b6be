"""The panel in the sidebar and the card for dashboards: their place and files. Loads with the front end."""

import hashlib
from pathlib import Path
from typing import Final

from homeassistant.components import frontend, panel_custom
from homeassistant.components.http.server import StaticPathConfig
from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..runtime import SharedData

FILES: Final = Path(__file__).parent / "frontend"
TITLE: Final = "Home Agent"
ICON: Final = "mdi:robot-outline"
ELEMENT: Final = "home-agent-panel"
CARD: Final = "today.js"


async def async_show(hass: HomeAssistant, shared: SharedData) -> None:
    """Put the panel into the sidebar and offer the card; doing so again is not an error."""
    if not shared.panel_address:

        def fingerprint() -> str:
            digest = hashlib.sha256()
            for file in sorted(FILES.glob("*.js")):
                digest.update(file.read_bytes())
            return digest.hexdigest()[:12]

        # Browsers keep the files; the address changes with what is in them.
        address = f"/{DOMAIN}_panel/{await hass.async_add_executor_job(fingerprint)}"
        paths = [StaticPathConfig(address, str(FILES), cache_headers=True)]
        await hass.http.async_register_static_paths(paths)
        shared.panel_address = address
    if not frontend.async_panel_exists(hass, DOMAIN):
        await panel_custom.async_register_panel(
            hass,
            frontend_url_path=DOMAIN,
            webcomponent_name=ELEMENT,
            sidebar_title=TITLE,
            sidebar_icon=ICON,
            module_url=f"{shared.panel_address}/main.js",
            require_admin=False,
        )
        frontend.add_extra_js_url(hass, f"{shared.panel_address}/{CARD}")


@callback
def async_hide(hass: HomeAssistant, shared: SharedData) -> None:
    """Take the panel out of the sidebar, and the card out of pages that are loaded from now on."""
    frontend.async_remove_panel(hass, DOMAIN, warn_if_unknown=False)
    if shared.panel_address:
        frontend.remove_extra_js_url(hass, f"{shared.panel_address}/{CARD}")
