"""Contacts, motion and leak sensors."""

from homeassistant.components.binary_sensor import BinarySensorEntity

from .entity import HouseEntity, platform


class HouseBinarySensor(HouseEntity, BinarySensorEntity):
    """A sensor with two states."""

    _attr_is_on = False


async_setup_entry = platform("binary_sensor", HouseBinarySensor)
