"""Platform: the button that updates the search index now."""

from typing import override

from homeassistant.components.button import ButtonEntity
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .entity import HomeAgentBaseEntity
from .runtime import HomeAgentConfigEntry

PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the button."""
    async_add_entities([SyncButton(entry)])


class SyncButton(HomeAgentBaseEntity, ButtonEntity):
    """Reads the home and its knowledge again and updates the index."""

    _attr_translation_key = "sync_now"
    _attr_entity_category = EntityCategory.CONFIG

    def __init__(self, entry: HomeAgentConfigEntry) -> None:
        """Name the button."""
        super().__init__(entry)
        self._attr_unique_id = f"{entry.entry_id}_sync_now"

    @override
    async def async_press(self) -> None:
        """Do it, and wait until it is done."""
        report = await self.data.async_sync()
        report.raise_for_failed()
