"""Homes of the recorded requests, with real entities that do what they are told."""

from collections.abc import Mapping
import importlib
from typing import Any, ClassVar, override

from pytest_homeassistant_custom_component.common import setup_test_component_platform

from homeassistant.components.binary_sensor import BinarySensorEntity
from homeassistant.components.climate import ClimateEntity, ClimateEntityFeature, HVACMode
from homeassistant.components.cover import CoverEntity
from homeassistant.components.fan import FanEntity, FanEntityFeature
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.lawn_mower import (
    LawnMowerActivity,
    LawnMowerEntity,
    LawnMowerEntityFeature,
)
from homeassistant.components.light import LightEntity
from homeassistant.components.lock import LockEntity
from homeassistant.components.media_player import MediaPlayerEntity, MediaPlayerState
from homeassistant.components.sensor import SensorEntity
from homeassistant.components.todo import TodoListEntity
from homeassistant.components.vacuum import StateVacuumEntity, VacuumActivity
from homeassistant.components.valve import ValveEntity
from homeassistant.const import UnitOfTemperature
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


def sets(**attributes: Any) -> Any:
    """Return a service that sets attributes; a callable gets the entity and the values of the call."""

    async def serve(entity: Recorded, *args: Any, **values: Any) -> None:
        for key, value in attributes.items():
            setattr(entity, f"_attr_{key}", value(entity, *args, **values) if callable(value) else value)
        entity.async_write_ha_state()

    return serve


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

    async_turn_on = sets(
        is_on=True, brightness=lambda light, **values: values.get("brightness", light.brightness)
    )
    async_turn_off = sets(is_on=False)


class _Moving(Recorded):
    """Something that opens, with or without positions."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        position = attributes.get("current_position", 100)
        self.move(0 if state in ("closed", False) else position or 100)

    def move(self, position: int) -> None:
        """Move at once."""

    async def moved(self, position: int, **_values: Any) -> None:
        """Move, and say so."""
        self.move(position)
        self.async_write_ha_state()

    async def opened(self, **_values: Any) -> None:
        """Open as far as it goes."""
        await self.moved(100)

    async def closed(self, **_values: Any) -> None:
        """Close."""
        await self.moved(0)


class RecordedCover(_Moving, CoverEntity):
    """A cover."""

    @override
    def move(self, position: int) -> None:
        self._attr_is_closed = position == 0
        if "current_position" in (self.row.get("attributes") or {}):
            self._attr_current_cover_position = position

    async_open_cover = _Moving.opened
    async_close_cover = _Moving.closed
    async_set_cover_position = _Moving.moved


class RecordedValve(_Moving, ValveEntity):
    """A valve."""

    @override
    def move(self, position: int) -> None:
        self._attr_current_valve_position = position

    async_open_valve = _Moving.opened
    async_close_valve = _Moving.closed
    async_set_valve_position = _Moving.moved


class RecordedLock(Recorded, LockEntity):
    """A lock."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_is_locked = state == "locked"

    async_lock = sets(is_locked=True)
    async_unlock = sets(is_locked=False)


class RecordedVacuum(Recorded, StateVacuumEntity):
    """A vacuum."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        known = state in set(VacuumActivity)
        self._attr_activity = VacuumActivity(state) if known else VacuumActivity.IDLE

    async_start = sets(activity=VacuumActivity.CLEANING)
    async_pause = sets(activity=VacuumActivity.PAUSED)
    async_stop = sets(activity=VacuumActivity.IDLE)
    async_return_to_base = sets(activity=VacuumActivity.RETURNING)


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

    async_turn_on = sets(
        percentage=lambda _fan, percentage=None, *_args, **_values: 100 if percentage is None else percentage
    )
    async_turn_off = sets(percentage=0)
    async_set_percentage = sets(percentage=lambda _fan, percentage: percentage)


class RecordedPlayer(Recorded, MediaPlayerEntity):
    """A media player; muting takes its volume to nothing, as the recorded homes have it."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_state = MediaPlayerState(state or "playing")
        self._attr_media_track = attributes.get("media_track", 1)
        self._attr_volume_level = attributes.get("volume_level", 0.5)
        self._attr_is_volume_muted = False

    async_turn_on = async_media_play = sets(state=MediaPlayerState.PLAYING)
    async_turn_off = sets(state=MediaPlayerState.OFF)
    async_media_pause = sets(state=MediaPlayerState.PAUSED)
    async_media_stop = sets(state=MediaPlayerState.IDLE)
    async_media_next_track = sets(media_track=lambda player: (player.media_track or 0) + 1)
    async_media_previous_track = sets(media_track=lambda player: (player.media_track or 0) - 1)
    async_set_volume_level = sets(volume_level=lambda _player, volume: volume)
    async_mute_volume = sets(
        is_volume_muted=lambda _player, mute: mute, volume_level=lambda _player, mute: 0.0 if mute else 0.5
    )


class RecordedList(Recorded, TodoListEntity):
    """A to-do list."""

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_todo_items = []

    async_create_todo_item = sets(todo_items=lambda own, item: [*(own.todo_items or []), item])


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


class RecordedThermostat(Recorded, ClimateEntity):
    """A thermostat."""

    _attr_hvac_modes: ClassVar = [HVACMode.OFF, HVACMode.HEAT]
    _attr_temperature_unit = UnitOfTemperature.CELSIUS
    _attr_supported_features = ClimateEntityFeature.TARGET_TEMPERATURE

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_hvac_mode = HVACMode.HEAT
        self._attr_current_temperature = 20.5
        self._attr_target_temperature = 19

    async_set_temperature = sets(target_temperature=lambda _own, temperature, **_values: temperature)


class RecordedMower(Recorded, LawnMowerEntity):
    """A lawn mower."""

    _attr_supported_features = LawnMowerEntityFeature.START_MOWING | LawnMowerEntityFeature.DOCK

    @override
    def begin(self, state: Any, attributes: Row) -> None:
        self._attr_activity = LawnMowerActivity(state or "docked")

    async_start_mowing = sets(activity=LawnMowerActivity.MOWING)
    async_dock = sets(activity=LawnMowerActivity.RETURNING)


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
    "climate": RecordedThermostat,
    "lawn_mower": RecordedMower,
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
