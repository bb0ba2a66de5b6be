"""Homes of the recorded requests, with real entities that do what they are told."""

from collections.abc import Mapping
import importlib
from typing import Any, override

from pytest_homeassistant_custom_component.common import setup_test_component_platform

from homeassistant.components.binary_sensor import BinarySensorEntity
from homeassistant.components.cover import CoverEntity
from homeassistant.components.fan import FanEntity, FanEntityFeature
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.light import LightEntity
from homeassistant.components.lock import LockEntity
from homeassistant.components.media_player import MediaPlayerEntity, MediaPlayerState
from homeassistant.components.sensor import SensorEntity
from homeassistant.components.todo import TodoItem, TodoListEntity
from homeassistant.components.vacuum import StateVacuumEntity, VacuumActivity
from homeassistant.components.valve import ValveEntity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.helpers.entity import Entity
from homeassistant.setup import async_setup_component

type Row = Mapping[str, Any]


class Recorded(Entity):
    """An entity as a home describes it."""

    _attr_should_poll = False

    def __init__(self, row: Row) -> None:
        self.entity_id = row["id"]
        self._attr_name = row["name"]
        self._attr_unique_id = row["id"]
        self.row = row
        self.furnish({key: _value(item) for key, item in (row.get("attributes") or {}).items()})
        self._begin(None)

    def furnish(self, attributes: dict[str, Any]) -> None:
        """Take what never changes."""
        for key, value in attributes.items():
            if key in ("device_class", "state_class", "native_unit_of_measurement", "reports_position"):
                setattr(self, f"_attr_{key}", value)
        if features := attributes.get("supported_features"):
            self._attr_supported_features = features

    def begin(self, state: Any, attributes: Row) -> None:
        """Take the state in which a request finds it."""

    def reset(self, setup: Row | None) -> None:
        """Go back to how a request finds the home."""
        self._begin(setup)
        self.async_write_ha_state()

    def _begin(self, setup: Row | None) -> None:
        attributes = {key: _value(item) for key, item in (self.row.get("attributes") or {}).items()}
        setup = setup or {}
        self.begin(setup.get("state", self.row.get("state")), attributes | (setup.get("attributes") or {}))


class RecordedLight(Recorded, LightEntity):
    """A light."""

    @override
    def furnish(self, attributes: dict[str, Any]) -> None:
        self._attr_supported_color_modes = set(attributes["supported_color_modes"])
        mode = attributes["color_mode"]
        self._attr_color_mode = mode[0] if isinstance(mode, list) else mode

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_is_on = state == "on"
        self._attr_brightness = attributes.get("brightness")

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        self._attr_is_on = True
        self._attr_brightness = kwargs.get("brightness", self._attr_brightness)
        self.async_write_ha_state()

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        self._attr_is_on = False
        self.async_write_ha_state()


class _Moving(Recorded):
    """Something that opens, with or without positions."""

    position: int

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        position = attributes.get("current_position", 100)
        self.move(0 if state in ("closed", False) else position or 100)

    def move(self, position: int) -> None:
        """Move at once."""
        self.position = position


class RecordedCover(_Moving, CoverEntity):
    """A cover."""

    @override
    def move(self, position: int) -> None:
        self._attr_is_closed = position == 0
        if "current_position" in (self.row.get("attributes") or {}):
            self._attr_current_cover_position = position

    @override
    async def async_open_cover(self, **kwargs: Any) -> None:
        self.move(100)
        self.async_write_ha_state()

    @override
    async def async_close_cover(self, **kwargs: Any) -> None:
        self.move(0)
        self.async_write_ha_state()

    @override
    async def async_set_cover_position(self, **kwargs: Any) -> None:
        self.move(kwargs["position"])
        self.async_write_ha_state()


class RecordedValve(_Moving, ValveEntity):
    """A valve."""

    @override
    def move(self, position: int) -> None:
        self._attr_current_valve_position = position

    @override
    async def async_open_valve(self) -> None:
        await self.async_set_valve_position(100)

    @override
    async def async_close_valve(self) -> None:
        await self.async_set_valve_position(0)

    @override
    async def async_set_valve_position(self, position: int) -> None:
        self.move(position)
        self.async_write_ha_state()


class RecordedLock(Recorded, LockEntity):
    """A lock."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_is_locked = state == "locked"

    @override
    async def async_lock(self, **kwargs: Any) -> None:
        self._attr_is_locked = True
        self.async_write_ha_state()

    @override
    async def async_unlock(self, **kwargs: Any) -> None:
        self._attr_is_locked = False
        self.async_write_ha_state()


class RecordedVacuum(Recorded, StateVacuumEntity):
    """A vacuum."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        known = state in set(VacuumActivity)
        self._attr_activity = VacuumActivity(state) if known else VacuumActivity.IDLE

    @override
    async def async_start(self) -> None:
        self._attr_activity = VacuumActivity.CLEANING
        self.async_write_ha_state()

    @override
    async def async_pause(self) -> None:
        self._attr_activity = VacuumActivity.PAUSED
        self.async_write_ha_state()

    @override
    async def async_stop(self, **kwargs: Any) -> None:
        self._attr_activity = VacuumActivity.IDLE
        self.async_write_ha_state()

    @override
    async def async_return_to_base(self, **kwargs: Any) -> None:
        self._attr_activity = VacuumActivity.RETURNING
        self.async_write_ha_state()


class RecordedFan(Recorded, FanEntity):
    """A fan."""

    @override
    def furnish(self, attributes: dict[str, Any]) -> None:
        self._attr_supported_features = (
            attributes["supported_features"] | FanEntityFeature.TURN_ON | FanEntityFeature.TURN_OFF
        )

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_percentage = 100 if state == "on" else 0

    @override
    async def async_turn_on(
        self, percentage: int | None = None, preset_mode: str | None = None, **kwargs: Any
    ) -> None:
        await self.async_set_percentage(100 if percentage is None else percentage)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        await self.async_set_percentage(0)

    @override
    async def async_set_percentage(self, percentage: int) -> None:
        self._attr_percentage = percentage
        self.async_write_ha_state()


class RecordedPlayer(Recorded, MediaPlayerEntity):
    """A media player; muting takes its volume to nothing, as the recorded homes have it."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_state = MediaPlayerState(state or "playing")
        self._attr_media_track = attributes.get("media_track", 1)
        self._attr_volume_level = attributes.get("volume_level", 0.5)
        self._attr_is_volume_muted = False

    async def _become(self, state: MediaPlayerState) -> None:
        self._attr_state = state
        self.async_write_ha_state()

    @override
    async def async_turn_on(self) -> None:
        await self._become(MediaPlayerState.PLAYING)

    @override
    async def async_turn_off(self) -> None:
        await self._become(MediaPlayerState.OFF)

    @override
    async def async_media_play(self) -> None:
        await self._become(MediaPlayerState.PLAYING)

    @override
    async def async_media_pause(self) -> None:
        await self._become(MediaPlayerState.PAUSED)

    @override
    async def async_media_stop(self) -> None:
        await self._become(MediaPlayerState.IDLE)

    @override
    async def async_media_next_track(self) -> None:
        self._attr_media_track = (self._attr_media_track or 0) + 1
        self.async_write_ha_state()

    @override
    async def async_media_previous_track(self) -> None:
        self._attr_media_track = (self._attr_media_track or 0) - 1
        self.async_write_ha_state()

    @override
    async def async_set_volume_level(self, volume: float) -> None:
        self._attr_volume_level = volume
        self.async_write_ha_state()

    @override
    async def async_mute_volume(self, mute: bool) -> None:
        self._attr_is_volume_muted = mute
        self._attr_volume_level = 0.0 if mute else 0.5
        self.async_write_ha_state()


class RecordedList(Recorded, TodoListEntity):
    """A to-do list."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_todo_items = []

    @override
    async def async_create_todo_item(self, item: TodoItem) -> None:
        self._attr_todo_items = [*(self._attr_todo_items or []), item]
        self.async_write_ha_state()


class RecordedSensor(Recorded, SensorEntity):
    """A sensor."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_native_value = state


class RecordedBinarySensor(Recorded, BinarySensorEntity):
    """A binary sensor."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_is_on = state is True or state == "on"


KINDS: Mapping[str, type[Recorded]] = {
    "light": RecordedLight,
    "cover": RecordedCover,
    "valve": RecordedValve,
    "lock": RecordedLock,
    "vacuum": RecordedVacuum,
    "fan": RecordedFan,
    "media_player": RecordedPlayer,
    "todo": RecordedList,
    "sensor": RecordedSensor,
    "binary_sensor": RecordedBinarySensor,
}


async def async_build(hass: HomeAssistant, home: Row) -> dict[str, Recorded]:
    """Build a home and expose all of it."""
    areas = {area["id"]: ar.async_get(hass).async_get_or_create(area["name"]).id for area in home["areas"]}
    entities = {row["id"]: KINDS[row["id"].partition(".")[0]](row) for row in home["entities"]}
    for domain in dict.fromkeys(key.partition(".")[0] for key in entities):
        own = [entity for key, entity in entities.items() if key.startswith(f"{domain}.")]
        setup_test_component_platform(hass, domain, own)
        assert await async_setup_component(hass, domain, {domain: {"platform": "test"}})
    await hass.async_block_till_done()
    registry = er.async_get(hass)
    for row in home["entities"]:
        if area := row.get("area"):
            registry.async_update_entity(row["id"], area_id=areas[area])
        async_expose_entity(hass, "conversation", row["id"], True)
    await hass.async_block_till_done()
    return entities


def _value(text: Any) -> Any:
    """Return a member of an enum that is written as `domain.Class.MEMBER`, flags together."""
    if isinstance(text, list) and text and isinstance(text[0], str) and text[0].count(".") == 2:
        found = _value(text[0])
        for item in text[1:]:
            found |= _value(item)
        return found
    if isinstance(text, str) and text.count(".") == 2:
        domain, name, member = text.split(".")
        return getattr(importlib.import_module(f"homeassistant.components.{domain}"), name)[member]
    return text
