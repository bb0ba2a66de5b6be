"""What the platforms of an entry share: device, naming, and the entry's parts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.entity import Entity

from .const import CONF_MODEL, DOMAIN

if TYPE_CHECKING:
    from .events import EventEmitter
    from .inference.router import Router
    from .runtime import HomeAgentConfigEntry, HomeAgentData


class HomeAgentBaseEntity(Entity):
    """An entity on the service device of one agent."""

    _attr_has_entity_name = True

    def __init__(self, entry: HomeAgentConfigEntry) -> None:
        """Take the parts that the entry was set up with."""
        self.entry = entry
        self._attr_unique_id = entry.entry_id
        self._attr_device_info = dr.DeviceInfo(
            identifiers={(DOMAIN, entry.entry_id)},
            name=entry.title,
            manufacturer="Home Agent",
            model=entry.data[CONF_MODEL],
            entry_type=dr.DeviceEntryType.SERVICE,
        )

    @property
    def data(self) -> HomeAgentData:
        """Return the parts of the entry."""
        return self.entry.runtime_data

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return connection and options, with defaults filled in."""
        return self.entry.runtime_data.settings

    @property
    def router(self) -> Router:
        """Return the way to the model server."""
        return self.entry.runtime_data.router

    @property
    def emitter(self) -> EventEmitter:
        """Return where events are fired."""
        return self.entry.runtime_data.emitter
