"""Scene states: which services core calls to bring an entity into a state that a scene holds.

Each domain's `reproduce_state` platform decides this in Home Assistant; the table repeats its decisions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.loader import IntegrationNotLoaded, async_get_loaded_integration

UNKNOWN: Final = ""
"""Yielded instead of a service if the called service is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """What brings entities of one domain into a state."""

    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The services by state."""
    other: tuple[str, ...] = ()
    """The services for every other state; none where core ignores such a state."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """The services that set attributes."""


_ON_OFF: Final = {"on": ("turn_on",), "off": ("turn_off",)}
_SET_VALUE: Final = Reproduced(other=("set_value",))

REPRODUCED: Final[Mapping[str, Reproduced]] = {
    "alarm_control_panel": Reproduced(
        states={
            "armed_away": ("alarm_arm_away",),
            "armed_custom_bypass": ("alarm_arm_custom_bypass",),
            "armed_home": ("alarm_arm_home",),
            "armed_night": ("alarm_arm_night",),
            "armed_vacation": ("alarm_arm_vacation",),
            "disarmed": ("alarm_disarm",),
            "triggered": ("alarm_trigger",),
        },
        other=(UNKNOWN,),
    ),
    "alert": Reproduced(states=_ON_OFF),
    "automation": Reproduced(states=_ON_OFF),
    "camera": Reproduced(states={"off": ("turn_off",)}, other=("turn_on",)),
    "climate": Reproduced(
        other=("set_hvac_mode",),
        attributes={
            "temperature": "set_temperature",
            "target_temp_high": "set_temperature",
            "target_temp_low": "set_temperature",
            "preset_mode": "set_preset_mode",
            "swing_mode": "set_swing_mode",
            "swing_horizontal_mode": "set_swing_horizontal_mode",
            "fan_mode": "set_fan_mode",
            "humidity": "set_humidity",
        },
    ),
    "counter": _SET_VALUE,
    "cover": Reproduced(
        states={
            "open": ("open_cover", "open_cover_tilt"),
            "opening": ("open_cover", "open_cover_tilt"),
            "closed": ("close_cover", "close_cover_tilt"),
            "closing": ("close_cover", "close_cover_tilt"),
        },
        other=(UNKNOWN,),
        attributes={
            "current_position": "set_cover_position",
            "current_tilt_position": "set_cover_tilt_position",
        },
    ),
    "fan": Reproduced(
        states=_ON_OFF,
        attributes={
            "percentage": "set_percentage",
            "preset_mode": "set_preset_mode",
            "direction": "set_direction",
            "oscillating": "oscillate",
        },
    ),
    "humidifier": Reproduced(states=_ON_OFF, attributes={"mode": "set_mode", "humidity": "set_humidity"}),
    "input_boolean": Reproduced(states=_ON_OFF),
    "input_datetime": Reproduced(other=("set_datetime",)),
    "input_number": _SET_VALUE,
    "input_select": Reproduced(other=("select_option",), attributes={"options": "set_options"}),
    "input_text": _SET_VALUE,
    "light": Reproduced(states=_ON_OFF),
    "lock": Reproduced(
        states={
            "locked": ("lock",),
            "locking": ("lock",),
            "unlocked": ("unlock",),
            "unlocking": ("unlock",),
            "open": ("open",),
            "opening": ("open",),
        },
        other=(UNKNOWN,),
    ),
    "media_player": Reproduced(
        states={
            "off": ("turn_off",),
            "on": ("turn_on",),
            "playing": ("turn_on", "media_play"),
            "buffering": ("turn_on", "media_play"),
            "paused": ("turn_on", "media_pause"),
            "idle": ("turn_on", "media_stop"),
        },
        attributes={
            "source": "select_source",
            "sound_mode": "select_sound_mode",
            "volume_level": "volume_set",
            "is_volume_muted": "volume_mute",
            "media_content_id": "play_media",
        },
    ),
    "number": _SET_VALUE,
    "remote": Reproduced(states=_ON_OFF),
    "scene": Reproduced(other=("turn_on",)),
    "script": Reproduced(states={"off": ("turn_off",)}, other=("turn_on",)),
    "select": Reproduced(other=("select_option",)),
    "siren": Reproduced(states={"off": ("turn_off",)}, other=("turn_on",)),
    "switch": Reproduced(states=_ON_OFF),
    "text": _SET_VALUE,
    "timer": Reproduced(states={"active": ("start",), "paused": ("pause",), "idle": ("cancel",)}),
    "vacuum": Reproduced(
        states={
            **_ON_OFF,
            "cleaning": ("start",),
            "docked": ("return_to_base",),
            "returning": ("return_to_base",),
            "idle": ("stop",),
            "paused": ("pause",),
        },
        attributes={"fan_speed": "set_fan_speed"},
    ),
    "valve": Reproduced(
        states={"closed": ("close_valve",), "closing": ("close_valve",)},
        other=("open_valve",),
        attributes={"current_position": "set_valve_position"},
    ),
    "water_heater": Reproduced(
        states=_ON_OFF,
        other=("set_operation_mode",),
        attributes={"temperature": "set_temperature", "away_mode": "set_away_mode"},
    ),
}
"""Domains by what brings them into a state. Some have no such platform yet and are listed for safety."""

POSITIONS: Final[Mapping[str, str]] = {
    "set_cover_position": "close_cover",
    "set_cover_tilt_position": "close_cover_tilt",
    "set_valve_position": "close_valve",
}
"""The meaning of a position of zero."""


@callback
def services_for(hass: HomeAssistant, state: State) -> Iterator[str]:
    """Yield the services of the entity's own domain that bring it into a state."""
    known = REPRODUCED.get(state.domain)
    if known is None:
        if _may_reproduce(hass, state.domain):
            yield UNKNOWN
        return
    services = list(known.states.get(state.state, known.other))
    for attribute, service in known.attributes.items():
        value = state.attributes.get(attribute)
        if value is not None or (attribute in state.attributes and state.state != "off"):
            services.append(POSITIONS.get(service, service) if _is_zero(value) else service)
    yield from dict.fromkeys(services)


def _is_zero(value: Any) -> bool:
    """Return whether a position is fully closed."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0


def _may_reproduce(hass: HomeAssistant, domain: str) -> bool:
    """Return whether the integration behind a domain may know how to bring about a state."""
    try:
        integration = async_get_loaded_integration(hass, domain)
    except IntegrationNotLoaded:
        return True
    return bool(integration.platforms_exists(("reproduce_state",)))
