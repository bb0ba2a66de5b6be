"""Further agents on the connection of an agent."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, override

from homeassistant.config_entries import ConfigSubentry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from tests.helpers.agent import MODEL_SPEAKS, Agent

KITCHEN = {"visible_entities": {"areas": ["kitchen"]}}
"""The list of an agent that knows the kitchen only."""


@dataclass(slots=True)
class Further(Agent):
    """A further agent."""

    agent_id: str = ""

    @property
    @override
    def entity_id(self) -> str:
        found = er.async_get(self.hass).async_get_entity_id("conversation", "home_agent", self.agent_id)
        assert found is not None
        return found

    @property
    def data(self) -> Any:
        return self.entry.runtime_data.further[self.agent_id].runtime_data

    @override
    async def set_options(self, **options: Any) -> None:
        """Change its options and wait until it runs with them."""
        subentry = self.entry.subentries[self.agent_id]
        data = {**subentry.data, **options}
        self.hass.config_entries.async_update_subentry(self.entry, subentry, data=data)
        await self.hass.async_block_till_done(wait_background_tasks=True)


async def async_add_further(
    hass: HomeAssistant, agent: Agent, title: str = "Guests", **options: Any
) -> Further:
    subentry = ConfigSubentry(
        data=MappingProxyType({**MODEL_SPEAKS, **options}), subentry_type="agent", title=title, unique_id=None
    )
    hass.config_entries.async_add_subentry(agent.entry, subentry)
    await hass.async_block_till_done(wait_background_tasks=True)
    agent.server.clear()
    return Further(hass, agent.entry, agent.server, agent.device_id, agent_id=subentry.subentry_id)
