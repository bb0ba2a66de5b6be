"""Platform: the conversation agents of an entry."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .agent.core import HomeAgent
from .runtime import HomeAgentConfigEntry

PARALLEL_UPDATES = 0


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the first agent, and each further one with its subentry."""
    async_add_entities([HomeAgent(entry)])
    for agent in entry.runtime_data.further.values():
        async_add_entities([HomeAgent(agent)], config_subentry_id=agent.subentry.subentry_id)
