"""The demo house on a real `hass`: its rooms, devices, automations, scenes and scripts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import custom_components
from homeassistant.core import HomeAssistant
from homeassistant.loader import DATA_CUSTOM_COMPONENTS
from homeassistant.setup import async_setup_component
from homeassistant.util.yaml import load_yaml_dict

DEMO = Path(__file__).parents[2] / "demo"
PARTS = ("automation", "scene", "script")


async def async_demo_house(
    hass: HomeAssistant, more: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None
) -> None:
    """Build the demo house as its configuration says, with `more` automations, scenes and scripts.

    Its automations with conditions are off: they act by night alone, and one of them waits for minutes then.
    """
    folder = str(DEMO / "custom_components")
    if folder not in custom_components.__path__:
        custom_components.__path__.append(folder)
        hass.data.pop(DATA_CUSTOM_COMPONENTS, None)  # they may have been looked up without this folder
    configuration = await hass.async_add_executor_job(load_yaml_dict, str(DEMO / "configuration.yaml"))
    for automation in configuration["automation"]:
        automation["initial_state"] = "conditions" not in automation
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "demo_house", {"demo_house": None})
    await hass.async_block_till_done()
    for part in PARTS:
        own, added = configuration[part], (more or {}).get(part)
        if added:
            own = {**own, **added} if isinstance(own, dict) else [*own, *added]
        assert await async_setup_component(hass, part, {part: own})
    await hass.async_block_till_done()
