"""Lists, calendars, a weather station and a satellite that are really there."""

import asyncio
from typing import Any, override

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from homeassistant.components import persistent_notification
from homeassistant.components.assist_satellite import AssistSatelliteConfiguration, AssistSatelliteEntity
from homeassistant.components.assist_satellite.const import DATA_COMPONENT, AssistSatelliteEntityFeature
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component

NOW = "2026-06-03 10:00:00+00:00"
"""A Wednesday."""


async def async_add(hass: HomeAssistant, domain: str, title: str, data: dict[str, Any]) -> None:
    """Set up an entry of an integration of Home Assistant's."""
    entry = MockConfigEntry(domain=domain, title=title, data=data)
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()


async def async_add_list(hass: HomeAssistant, name: str, *, exposed: bool = True) -> str:
    key = name.lower().replace(" ", "_")
    await async_add(hass, "local_todo", name, {"todo_list_name": name, "storage_key": key})
    async_expose_entity(hass, "conversation", f"todo.{key}", exposed)
    return f"todo.{key}"


async def async_add_calendar(hass: HomeAssistant, name: str, *, exposed: bool = True) -> str:
    key = name.lower().replace(" ", "_")
    await async_add(hass, "local_calendar", name, {"calendar_name": name, "storage_key": key})
    async_expose_entity(hass, "conversation", f"calendar.{key}", exposed)
    return f"calendar.{key}"


async def async_add_demo(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, *platforms: Platform, exposed: bool = True
) -> None:
    """Add the demo integration's entities of these platforms."""
    monkeypatch.setattr(
        "homeassistant.components.demo.COMPONENTS_WITH_CONFIG_ENTRY_DEMO_PLATFORM", list(platforms)
    )
    await async_add(hass, "demo", "Demo", {})
    for platform in platforms:
        for entity_id in hass.states.async_entity_ids(platform):
            async_expose_entity(hass, "conversation", entity_id, exposed)
    await hass.async_block_till_done()


async def async_items(hass: HomeAssistant, entity_id: str) -> dict[str, str]:
    answer = await hass.services.async_call(
        "todo", "get_items", {"entity_id": entity_id}, blocking=True, return_response=True
    )
    items: list[dict[str, Any]] = answer[entity_id]["items"]  # type: ignore[index,call-overload,assignment]
    return {item["summary"]: item["status"] for item in items}


class Satellite(AssistSatelliteEntity):
    """Says what it is told to."""

    _attr_supported_features = AssistSatelliteEntityFeature.ANNOUNCE

    def __init__(self, name: str = "Satellite") -> None:
        self._attr_name, self._attr_unique_id = name, name.casefold()
        self.said: list[str] = []
        self.spoke = asyncio.Event()
        """Set when it has said something."""
        self.broken = False
        self.together = 0
        """How many announcements went on at once."""
        self._speaking = 0

    @property
    def device(self) -> str:
        entry = er.async_get(self.hass).async_get(self.entity_id)
        assert entry is not None
        assert entry.device_id is not None
        return entry.device_id

    @override
    def async_get_configuration(self) -> AssistSatelliteConfiguration:
        return AssistSatelliteConfiguration([], [], 1)

    @override
    async def async_set_configuration(self, config: AssistSatelliteConfiguration) -> None:
        """Keep the configuration that there is."""

    @override
    def on_pipeline_event(self, event: Any) -> None:
        """Take no notice."""

    @override
    async def async_internal_announce(self, message: str | None = None, **_options: Any) -> None:
        """Say it without a voice: none works offline."""
        if self.broken or self._speaking:
            raise HomeAssistantError("busy")
        self._speaking += 1
        self.together = max(self.together, self._speaking)
        await asyncio.sleep(0)
        self._speaking -= 1
        self.said.append(message or "")
        self.spoke.set()


async def async_add_satellite[Kind: Satellite](
    hass: HomeAssistant, name: str = "Satellite", area_id: str | None = None, kind: type[Kind] = Satellite
) -> Kind:
    """Add a satellite on a device of its own, in a room or in none."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "assist_satellite", {})
    satellite = kind(name)
    await hass.data[DATA_COMPONENT].async_add_entities([satellite])
    entry = MockConfigEntry(domain="speaker", title="Speaker")
    entry.add_to_hass(hass)
    devices = dr.async_get(hass)
    device = devices.async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("speaker", name)}, name=f"{name} speaker"
    )
    devices.async_update_device(device.id, area_id=area_id)
    er.async_get(hass).async_update_entity(satellite.entity_id, device_id=device.id)
    await hass.async_block_till_done()
    return satellite


def shown(hass: HomeAssistant) -> list[str]:
    return [
        item["message"] for item in persistent_notification._async_get_or_create_notifications(hass).values()
    ]


async def async_pass(hass: HomeAssistant, freezer: FrozenDateTimeFactory, seconds: float) -> None:
    freezer.tick(seconds)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
