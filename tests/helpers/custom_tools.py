"""Custom tools as households write them: in files, read by Home Assistant itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from tests.helpers.agent import Agent, call_action


async def async_write(hass: HomeAssistant, folder: Path, tools: str, secrets: str = "") -> None:
    hass.config.config_dir = str(folder)
    body = f"{DOMAIN}:\n  custom_tools:\n{indent(dedent(tools).strip(), '    ')}\n" if tools else ""
    await hass.async_add_executor_job((folder / "configuration.yaml").write_text, body)
    await hass.async_add_executor_job((folder / "secrets.yaml").write_text, dedent(secrets))


async def async_reload(hass: HomeAssistant, **options: Any) -> Mapping[str, Any]:
    """Read the tools anew and return what the action says."""
    said = await hass.services.async_call(
        DOMAIN, "reload", {}, blocking=True, return_response=True, **options
    )
    await hass.async_block_till_done(wait_background_tasks=True)
    assert said is not None
    return said


async def async_offer(agent: Agent, folder: Path, tools: str, secrets: str = "") -> Mapping[str, Any]:
    await async_write(agent.hass, folder, tools, secrets)
    said = await async_reload(agent.hass)
    agent.server.clear()
    return said


async def async_use(hass: HomeAssistant, tool: str, /, **parameters: Any) -> dict[str, Any]:
    """Call a tool past the model, through the guard, and return its envelope."""
    said = await call_action(hass, "execute_tool", {"tool_name": tool, "parameters": parameters})
    assert said is not None
    return dict(said)


@dataclass
class OwnTools:
    """An agent, and the folder of the configuration in which the tools of its household stand."""

    agent: Agent
    folder: Path

    async def offer(self, tools: str, secrets: str = "") -> Mapping[str, Any]:
        return await async_offer(self.agent, self.folder, tools, secrets)

    async def use(self, tool: str, /, **parameters: Any) -> dict[str, Any]:
        """Call a tool past the model, through the guard, and return its envelope."""
        return await async_use(self.agent.hass, tool, **parameters)


async def async_confirm(hass: HomeAssistant, envelope: Mapping[str, Any], user: MockUser) -> None:
    action_id = envelope["confirmation"]["action_id"]
    await hass.services.async_call(
        DOMAIN, "confirm_action", {"action_id": action_id}, blocking=True, context=Context(user_id=user.id)
    )


def reported(hass: HomeAssistant) -> dict[str, str]:
    """Return the repair issues about custom tools: the tool and what is wrong with it."""
    return {
        issue.translation_placeholders["tool"]: issue.translation_placeholders["problems"]
        for issue in ir.async_get(hass).issues.values()
        if issue.translation_key == "custom_tool_invalid" and issue.translation_placeholders
    }
