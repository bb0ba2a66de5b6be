"""All agents that run, the first ones of the entries and further ones, and the one that is meant."""

from collections.abc import Mapping
from typing import Any

from homeassistant.config_entries import ConfigEntryState
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

from ..const import DOMAIN
from ..runtime import Agent, FurtherAgent, HomeAgentConfigEntry


@callback
def async_agents(hass: HomeAssistant) -> list[Agent]:
    """Return the agents that run: each entry, in the order of their creation, with its further agents."""
    entries: list[HomeAgentConfigEntry] = [
        entry for entry in hass.config_entries.async_entries(DOMAIN) if entry.state is ConfigEntryState.LOADED
    ]
    return [agent for entry in entries for agent in agents_of(entry)]


@callback
def agents_of(entry: HomeAgentConfigEntry) -> list[Agent]:
    """Return the agents of a loaded entry, the first one first."""
    return [entry, *entry.runtime_data.further.values()]


def ids_of(agent: Agent) -> tuple[str, ...]:
    """Return the ids by which an agent is meant: its own, and that of its connection."""
    if isinstance(agent, FurtherAgent):
        return agent.entry_id, agent.config_entry.entry_id
    return (agent.entry_id,)


@callback
def async_find_agent(hass: HomeAssistant, agent_id: str) -> Agent | None:
    """Return the agent that runs with this id: that of an entry, or that of a subentry."""
    return next((agent for agent in async_agents(hass) if agent.entry_id == agent_id), None)


@callback
def async_agent_of_entity(hass: HomeAssistant, entity_id: str) -> Agent | None:
    """Return the agent behind a conversation entity."""
    registered = er.async_get(hass).async_get(entity_id)
    if registered is None or registered.platform != DOMAIN or registered.domain != Platform.CONVERSATION:
        return None
    return async_find_agent(hass, registered.unique_id)


def stored_options(agent: Agent) -> Mapping[str, Any]:
    """Return the options of an agent as they are stored."""
    return agent.subentry.data if isinstance(agent, FurtherAgent) else agent.options


@callback
def async_change_options(hass: HomeAssistant, agent: Agent, changed: Mapping[str, Any]) -> None:
    """Change options of an agent where they are stored; the agent is set up again with them."""
    if isinstance(agent, FurtherAgent):
        data = {**stored_options(agent), **changed}
        hass.config_entries.async_update_subentry(agent.config_entry, agent.subentry, data=data)
    else:
        hass.config_entries.async_update_entry(agent, options={**agent.options, **changed})
