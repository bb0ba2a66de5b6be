"""Platform: the button that updates the search index now."""

from typing import Final, override

from homeassistant.components.button import ButtonEntity
from homeassistant.const import EntityCategory, Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .entity import HomeAgentBaseEntity, forget_entity
from .runtime import HomeAgentConfigEntry

PARALLEL_UPDATES = 1
KEY: Final = "sync_now"


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the button if there is an index."""
    if entry.runtime_data.semantic.configured:
        async_add_entities([SyncButton(entry, KEY)])
    else:
        forget_entity(hass, Platform.BUTTON, f"{entry.entry_id}_{KEY}")


class SyncButton(HomeAgentBaseEntity, ButtonEntity):
    """Reads the home and its knowledge again and updates the index."""

    _attr_entity_category = EntityCategory.CONFIG

    @override
    async def async_press(self) -> None:
        """Do it, and wait until it is done."""
        report = await self.data.async_sync()
        report.raise_for_failed()
