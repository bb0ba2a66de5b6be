"""The sensors of an agent."""

from typing import Any

from custom_components.home_agent.const import DOMAIN
from homeassistant.helpers import entity_registry as er
from tests.helpers.agent import Agent


async def enable_all(agent: Agent) -> None:
    """Switch on the figures that are off by default."""
    hass = agent.hass
    registry = er.async_get(hass)
    for entry in er.async_entries_for_config_entry(registry, agent.entry.entry_id):
        if entry.domain == "sensor":
            registry.async_update_entity(entry.entity_id, disabled_by=None)
    assert await hass.config_entries.async_reload(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)


def figure(agent: Agent, key: str) -> Any:
    entity_id = er.async_get(agent.hass).async_get_entity_id(
        "sensor", DOMAIN, f"{agent.entry.entry_id}_{key}"
    )
    assert entity_id is not None
    return agent.hass.states.get(entity_id)
