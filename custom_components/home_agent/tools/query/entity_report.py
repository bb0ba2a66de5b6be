"""Attributes and units of an entity as a query answers them."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any

from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_UNIT_OF_MEASUREMENT
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonValueType

from ...context.plain_values import plain
from ...domains.binary_sensor import BINARY_WORDS
from ...knowledge.house import EntityRecord
from ...texts import one_line

TIMESTAMP = "timestamp"

_OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "battery": ("battery_level",),
    "brightness_pct": ("brightness",),
    "color": ("rgb_color", "color_temp_kelvin"),
    "color_temp": ("color_temp_kelvin",),
    "humidity": ("current_humidity",),
    "position": ("current_position",),
    "speed": ("percentage", "fan_speed"),
    "target_temperature": ("temperature", "target_temp_low", "target_temp_high"),
    "temperature": ("current_temperature",),
    "tilt": ("current_tilt_position",),
    "volume": ("volume_level",),
}
_NOISE = (
    "assumed_state",
    "attribution",
    "device_class",
    "editable",
    "entity_picture*",
    "friendly_name",
    "icon",
    "id",
    "*_list",
    "*_modes",
    "max_*",
    "min_*",
    "options",
    "restored",
    "state_class",
    "supported_*",
    "*token*",
    "unit_of_measurement",
)
_FULL_SCALE: Mapping[str, float] = {"brightness": 255, "volume_level": 1}
_OWN_UNIT_DOMAINS = frozenset({"climate", "water_heater"})
_STATE_NAMES = frozenset({"state", "value", "unit", "unit_of_measurement", "friendly_name", "name"})
_TIMES = frozenset({"last_changed", "last_updated", "last_reported"})


def state_words(record: EntityRecord, state: State) -> Mapping[str, str]:
    """Return the words for the states of an entity where the states do not say it: an "on" door is open."""
    if record.domain != "binary_sensor":
        return {}
    device_class = str(state.attributes.get(ATTR_DEVICE_CLASS) or record.device_class or "")
    return dict(zip(("on", "off"), BINARY_WORDS.get(device_class, ()), strict=False))


def unit_of(hass: HomeAssistant, state: State) -> str | None:
    """Return the unit of the state, or of the temperatures of a thermostat."""
    if unit := state.attributes.get(ATTR_UNIT_OF_MEASUREMENT):
        return one_line(str(unit), 20)
    if state.domain in _OWN_UNIT_DOMAINS:
        return hass.config.units.temperature_unit
    if state.domain == "weather" and (unit := state.attributes.get("temperature_unit")):
        return one_line(str(unit), 20)
    return None


def shown_attribute(name: str, value: Any) -> JsonValueType:
    """Return an attribute as plain JSON, brightness and volume in percent."""
    percent = as_percent(name, value)
    return plain(value) if percent is None else f"{percent}%"


def as_percent(name: str, value: Any) -> int | None:
    """Return an attribute that is kept on a scale of its own in percent, None for the others.

    What is a little above zero stays above zero.
    """
    if (
        name not in _FULL_SCALE
        or isinstance(value, bool)
        or not isinstance(value, int | float)
        or not isfinite(value)
    ):
        return None
    return max(1 if value > 0 else 0, round(value / _FULL_SCALE[name] * 100))


def attribute_names(state: State) -> list[str]:
    """Return the attributes that may be asked for."""
    return [name for name in map(str, state.attributes) if not _is_noise(name)]


def unknown_attributes(states: Iterable[State], asked: Iterable[str]) -> list[str]:
    """Return the asked names that no entity has."""
    known = list(states)
    return [
        name
        for name in asked
        if name not in _STATE_NAMES and not any(chosen_attributes(state, (name,)) for state in known)
    ]


def chosen_attributes(state: State, asked: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of an entity that fit names or patterns."""
    found: dict[str, Any] = {}
    for name in asked:
        if name in _TIMES:
            found[name] = getattr(state, name)
        elif name in state.attributes:
            found[name] = state.attributes[name]
        elif other := {
            key: state.attributes[key] for key in _OTHER_NAMES.get(name, ()) if key in state.attributes
        }:
            found |= other
        elif any(mark in name for mark in "*?["):
            matching = (key for key in attribute_names(state) if fnmatchcase(key, name))
            found |= {key: state.attributes[key] for key in matching}
    return found


def _is_noise(name: str) -> bool:
    """Return whether an attribute describes the integration and not the thing."""
    return any(fnmatchcase(name, pattern) for pattern in _NOISE)
