"""Custom tools from the YAML: read at the start and by a service, with repair issues for what is wrong."""

import asyncio
from functools import partial
import os
from typing import TYPE_CHECKING, Final

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.reload import async_integration_yaml_config
from homeassistant.helpers.typing import ConfigType

from ..agent.phrases import async_phrase
from ..const import DOMAIN, LOGGER
from ..issues import report, withdraw
from ..parts import async_part
from ..runtime import HomeAgentConfigEntry
from ..tools.custom.recipes import DATA_CUSTOM_TOOLS, CustomTools, InvalidTool
from ..tools.native import NATIVE
from .base import CommonService

if TYPE_CHECKING:
    from ..tools.custom.checks import YamlPlace

RUNNING: Final = frozenset({ConfigEntryState.LOADED, ConfigEntryState.SETUP_IN_PROGRESS})
ISSUE: Final = "custom_tool_invalid"


async def async_load_custom_tools(hass: HomeAssistant, config: ConfigType) -> CustomTools:
    """Read the custom tools of a configuration; tell the household what is wrong, and what is right again.

    What reads them loads where there are any.
    """
    tools = hass.data.setdefault(DATA_CUSTOM_TOOLS, CustomTools())
    if DOMAIN in config or tools.recipes or tools.imports or tools.wrong:
        loader = await async_part(hass, "tools.custom.loader")
        loader.async_load(hass, config.get(DOMAIN), NATIVE.keys())
    for issue in list(ir.async_get(hass).issues.values()):
        if issue.translation_key == ISSUE and issue.domain == DOMAIN and issue.issue_id not in tools.wrong:
            withdraw(hass, issue.issue_id)
    for issue_id, wrong in tools.wrong.items():
        await _async_report(hass, issue_id, wrong)
    tools.async_follow(partial(_offer, hass, tools))
    return tools


@callback
def _offer(hass: HomeAssistant, tools: CustomTools) -> None:
    """Give the tools to the agents that are there."""
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_entries(DOMAIN)
    for entry in entries:
        if getattr(entry, "runtime_data", None) is not None and entry.state in RUNNING:
            entry.runtime_data.set_custom_tools(tools)
            entry.async_create_background_task(
                hass, entry.runtime_data.async_prepare(), "home_agent warm start"
            )


async def _async_report(hass: HomeAssistant, issue_id: str, wrong: InvalidTool) -> None:
    """Tell what is wrong with a tool, where, and what to write."""
    lines = []
    for problem in wrong.problems:
        said = await async_phrase(hass, hass.config.language, f"problem_{problem.kind}", **problem.details)
        lines.append(f"- {_placed(hass, problem.place)}`{problem.path or wrong.name}` {said}.")
    report(hass, issue_id, ISSUE, fix={"issue_id": issue_id}, tool=wrong.name, problems="\n".join(lines))
    LOGGER.warning("The custom tool %s is left out: %s", wrong.name, " ".join(lines))


def _placed(hass: HomeAssistant, place: YamlPlace) -> str:
    """Return file and line of a place, the file as the person knows it."""
    if not place.file:
        return ""
    return f"{os.path.relpath(place.file, hass.config.config_dir)}:{place.line}: "


async def async_reload_custom_tools(hass: HomeAssistant) -> CustomTools:
    """Read the custom tools of `configuration.yaml` anew; turns under way keep those they have.

    Raises HomeAssistantError if the file is no valid YAML.
    """
    config = await async_integration_yaml_config(hass, DOMAIN, raise_on_failure=True)
    tools = await async_load_custom_tools(hass, config)
    await asyncio.gather(*(one.async_refresh() for one in tools.imports))
    _offer(hass, tools)
    return tools


async def _async_reload(call: ServiceCall) -> ServiceResponse:
    """Read the custom tools anew."""
    tools = await async_reload_custom_tools(call.hass)
    return {"tools": [recipe.name for recipe in tools.known()], "problems": len(tools.wrong)}


COMMON: Final = {"reload": CommonService(_async_reload, {}, admin=True)}
