"""What the platforms of an entry share: device, naming, and the entry's parts."""

from typing import override

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity import Entity

from .const import CONF_MODEL, DOMAIN
from .runtime import Agent, HomeAgentData, Topic, signal_of


class HomeAgentBaseEntity(Entity):
    """An entity on the service device of one agent; `entry` is the agent, first or further."""

    _attr_has_entity_name = True
    _attr_should_poll = False

    def __init__(self, entry: Agent, key: str | None = None, topic: Topic | None = None) -> None:
        """Make the entity `key` of an agent, which is written whenever the agent's `topic` changes.

        Without a key it is the agent itself.
        """
        self.entry = entry
        self.data: HomeAgentData = entry.runtime_data
        self.settings = self.data.settings
        """Connection and options, with defaults filled in."""
        self.router = self.data.router
        self.emitter = self.data.emitter
        self._topic = topic
        self._attr_unique_id = f"{entry.entry_id}_{key}" if key else entry.entry_id
        if key is not None:
            self._attr_translation_key = key
        self._attr_device_info = dr.DeviceInfo(
            identifiers={(DOMAIN, entry.entry_id)},
            name=entry.title,
            manufacturer="Home Agent",
            model=entry.data[CONF_MODEL],
            entry_type=dr.DeviceEntryType.SERVICE,
        )

    @override
    async def async_added_to_hass(self) -> None:
        """Follow what the entity shows."""
        await super().async_added_to_hass()
        if self._topic is not None:
            signal = signal_of(self._topic, self.entry.entry_id)
            self.async_on_remove(async_dispatcher_connect(self.hass, signal, self.async_write_ha_state))


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
