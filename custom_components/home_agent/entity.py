"""What the platforms of an entry share: device, naming, and the entry's parts."""

from typing import TYPE_CHECKING

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.helpers.entity import Entity

from .const import CONF_MODEL, DOMAIN

if TYPE_CHECKING:
    from .runtime import Agent, HomeAgentData


class HomeAgentBaseEntity(Entity):
    """An entity on the service device of one agent; `entry` is the agent, first or further."""

    _attr_has_entity_name = True

    def __init__(self, entry: Agent) -> None:
        self.entry = entry
        self.data: HomeAgentData = entry.runtime_data
        self.settings = self.data.settings
        """Connection and options, with defaults filled in."""
        self.router = self.data.router
        self.emitter = self.data.emitter
        self._attr_unique_id = entry.entry_id
        self._attr_device_info = dr.DeviceInfo(
            identifiers={(DOMAIN, entry.entry_id)},
            name=entry.title,
            manufacturer="Home Agent",
            model=entry.data[CONF_MODEL],
            entry_type=dr.DeviceEntryType.SERVICE,
        )


@callback
def conversation_entity(hass: HomeAssistant, agent_id: str) -> str | None:
    """Return the conversation entity of an agent; None if it has none."""
    return er.async_get(hass).async_get_entity_id(Platform.CONVERSATION, DOMAIN, agent_id)


@callback
def forget_entity(hass: HomeAssistant, platform: Platform, unique_id: str) -> None:
    """Remove an entity of a feature that is turned off."""
    registry = er.async_get(hass)
    if entity_id := registry.async_get_entity_id(platform, DOMAIN, unique_id):
        registry.async_remove(entity_id)
