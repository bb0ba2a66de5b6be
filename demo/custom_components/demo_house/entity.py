"""What all entities of the house share: name, place, aliases, exposure, and the way they change."""

from collections.abc import Callable, Coroutine
from typing import Any, override

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.util import slugify

from . import DOMAIN, HouseConfigEntry

ASSISTANT = "conversation"


class HouseEntity(Entity):
    """An entity as house.yaml describes it. `starts` holds its first attributes."""

    _attr_should_poll = False

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Take name, kind and first state from the description."""
        self.entity_id = entity_id
        self.spec = spec
        self._attr_unique_id = entity_id
        self._attr_name = spec["name"]
        self._attr_device_class = spec.get("device_class")
        if device := spec.get("device"):
            self._attr_device_info = DeviceInfo(
                identifiers={(DOMAIN, slugify(device))}, name=device, manufacturer="Demo house"
            )
        self._set(spec.get("starts", {}))

    @override
    async def async_added_to_hass(self) -> None:
        """Move into the room on the first day; what the household changes later stays."""
        registry = er.async_get(self.hass)
        entry = registry.async_get(self.entity_id)
        if entry is None or ASSISTANT in entry.options:
            return
        registry.async_update_entity(self.entity_id, aliases=[*entry.aliases, *self.spec.get("aliases", ())])
        if entry.device_id:
            dr.async_get(self.hass).async_update_device(entry.device_id, area_id=self.spec["area_id"])
        else:
            registry.async_update_entity(self.entity_id, area_id=self.spec["area_id"])
        async_expose_entity(self.hass, ASSISTANT, self.entity_id, self.spec.get("exposed", True))

    def _set(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, f"_attr_{name}", value)

    def change(self, **attributes: Any) -> None:
        """Set attributes and show the new state."""
        self._set(attributes)
        self.async_write_ha_state()


def platform(
    domain: str, kind: type[HouseEntity]
) -> Callable[[HomeAssistant, HouseConfigEntry, AddConfigEntryEntitiesCallback], Coroutine[Any, Any, None]]:
    """Return the platform's setup: one entity of this kind for each of the domain in house.yaml."""

    async def async_setup_entry(
        _hass: HomeAssistant, entry: HouseConfigEntry, add: AddConfigEntryEntitiesCallback
    ) -> None:
        add(
            kind(entity_id, spec)
            for entity_id, spec in entry.runtime_data.items()
            if entity_id.startswith(f"{domain}.")
        )

    return async_setup_entry
