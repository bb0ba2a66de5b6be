"""Which parameters each domain takes, by which service, and where the state shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

LIGHT_COLORS: Final = (
    "color",
    "rgb_color",
    "hs_color",
    "xy_color",
    "rgbw_color",
    "rgbww_color",
    "color_temp_kelvin",
)
"""Parameters of a light of which only one may be given."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of one domain."""

    kind: str
    """How its value is read; a name in `values.READERS`."""
    service: str
    """The service that sets it where the action's own does not take it."""
    attribute: str | None = None
    """State attribute that shows it; "state" is the state itself."""
    features: int = 0
    """Bits of `supported_features` of which the entity needs one."""
    choices: str | None = None
    """State attribute that lists what may be chosen."""
    key: str | None = None
    """Its key in the service data, where that differs."""
    bounds: tuple[str, str] | None = None
    """State attributes with the least and the greatest value."""


_ON = "turn_on"
_TEMPERATURE = "set_temperature"
_NUMBER = Parameter("number", "set_value", "state", bounds=("min", "max"))
_PICK = Parameter("text", "select_option", "state", choices="options")
_CODE = Parameter("code", "")
_TEMPERATURE_BOUNDS = ("min_temp", "max_temp")

_PARAMETERS: Final[dict[str, dict[str, Parameter]]] = {
    "light": {
        "brightness_pct": Parameter("percent", _ON, "brightness"),
        "brightness": Parameter("brightness", _ON, "brightness"),
        "brightness_step_pct": Parameter("signed", _ON),
        "color": Parameter("color", _ON),
        "color_temp_kelvin": Parameter("kelvin", _ON, "color_temp_kelvin"),
        "rgb_color": Parameter("color", _ON),
        "hs_color": Parameter("numbers", _ON),
        "xy_color": Parameter("numbers", _ON),
        "rgbw_color": Parameter("numbers", _ON),
        "rgbww_color": Parameter("numbers", _ON),
        "effect": Parameter("text", _ON, "effect", 4, "effect_list"),
        "transition": Parameter("seconds", _ON),
        "flash": Parameter("flash", _ON),
    },
    "siren": {
        "tone": Parameter("text", _ON, features=4, choices="available_tones"),
        "duration": Parameter("seconds", _ON, features=16),
        "volume_level": Parameter("volume", _ON, features=8),
    },
    "remote": {"activity": Parameter("text", _ON, "current_activity", 4, "activity_list")},
    "fan": {
        "percentage": Parameter("percent", "set_percentage", "percentage", 1),
        "preset_mode": Parameter("text", "set_preset_mode", "preset_mode", 8, "preset_modes"),
        "oscillating": Parameter("boolean", "oscillate", "oscillating", 2),
        "direction": Parameter("direction", "set_direction", "direction", 4),
    },
    "cover": {
        "position": Parameter("percent", "set_cover_position", "current_position", 4),
        "tilt_position": Parameter("percent", "set_cover_tilt_position", "current_tilt_position", 128),
    },
    "valve": {"position": Parameter("percent", "set_valve_position", "current_position", 4)},
    "lock": {"code": _CODE},
    "alarm_control_panel": {"code": _CODE},
    "climate": {
        "hvac_mode": Parameter("hvac_mode", "set_hvac_mode", "state", choices="hvac_modes"),
        "preset_mode": Parameter("text", "set_preset_mode", "preset_mode", 16, "preset_modes"),
        "temperature": Parameter("temperature", _TEMPERATURE, "temperature", 1, bounds=_TEMPERATURE_BOUNDS),
        "target_temp_low": Parameter(
            "temperature", _TEMPERATURE, "target_temp_low", 2, bounds=_TEMPERATURE_BOUNDS
        ),
        "target_temp_high": Parameter(
            "temperature", _TEMPERATURE, "target_temp_high", 2, bounds=_TEMPERATURE_BOUNDS
        ),
        "humidity": Parameter(
            "percent", "set_humidity", "humidity", 4, bounds=("min_humidity", "max_humidity")
        ),
        "fan_mode": Parameter("text", "set_fan_mode", "fan_mode", 8, "fan_modes"),
        "swing_mode": Parameter("text", "set_swing_mode", "swing_mode", 32, "swing_modes"),
        "swing_horizontal_mode": Parameter(
            "text", "set_swing_horizontal_mode", "swing_horizontal_mode", 512, "swing_horizontal_modes"
        ),
    },
    "water_heater": {
        "operation_mode": Parameter("text", "set_operation_mode", "state", 2, "operation_list"),
        "temperature": Parameter("temperature", _TEMPERATURE, "temperature", 1, bounds=_TEMPERATURE_BOUNDS),
        "away_mode": Parameter("boolean", "set_away_mode", features=4),
    },
    "humidifier": {
        "humidity": Parameter("percent", "set_humidity", "humidity", bounds=("min_humidity", "max_humidity")),
        "mode": Parameter("text", "set_mode", "mode", 1, "available_modes"),
    },
    "media_player": {
        "source": Parameter("text", "select_source", "source", 2048, "source_list"),
        "sound_mode": Parameter("text", "select_sound_mode", "sound_mode", 65536, "sound_mode_list"),
        "volume_level": Parameter("volume", "volume_set", "volume_level", 4),
        "is_volume_muted": Parameter("boolean", "volume_mute", "is_volume_muted", 8),
        "shuffle": Parameter("boolean", "shuffle_set", "shuffle", 32768),
        "repeat": Parameter("repeat", "repeat_set", "repeat", 262144),
        "seek_position": Parameter("seconds", "media_seek", features=2),
    },
    "vacuum": {"fan_speed": Parameter("text", "set_fan_speed", "fan_speed", 32, "fan_speed_list")},
    "input_number": {"value": _NUMBER},
    "number": {"value": _NUMBER},
    "counter": {"value": Parameter("integer", "set_value", "state", bounds=("minimum", "maximum"))},
    "input_select": {"option": _PICK},
    "select": {"option": _PICK},
    "input_text": {"value": Parameter("text", "set_value", "state")},
    "text": {"value": Parameter("text", "set_value", "state")},
    "input_datetime": {
        "datetime": Parameter("datetime", "set_datetime"),
        "date": Parameter("date", "set_datetime"),
        "time": Parameter("time", "set_datetime"),
    },
    "date": {"date": Parameter("date", "set_value", "state")},
    "time": {"time": Parameter("time", "set_value", "state")},
    "datetime": {"datetime": Parameter("datetime", "set_value")},
    "timer": {"duration": Parameter("seconds", "start")},
    "scene": {"transition": Parameter("seconds", _ON)},
}

PARAMETERS: Final[Mapping[str, Mapping[str, Parameter]]] = MappingProxyType(
    {domain: MappingProxyType(parameters) for domain, parameters in _PARAMETERS.items()}
)
"""Domain: name of the parameter: what it is. The order is the order of the calls."""

STEP_SERVICES: Final[Mapping[str, tuple[str, str]]] = {
    "fan": ("increase_speed", "decrease_speed"),
    "input_number": ("increment", "decrement"),
    "counter": ("increment", "decrement"),
}
"""Domain: services for a step of the entity's own size, up and down."""


@dataclass(frozen=True, slots=True)
class Step:
    """How a value is raised or lowered where no service does it."""

    parameter: str
    size: float
    """Size of a step where nothing else is known."""
    attribute: str | None = None
    """State attribute with the entity's own step."""


STEPS: Final[Mapping[str, Step]] = {
    "light": Step("brightness_pct", 20),
    "fan": Step("percentage", 20, "percentage_step"),
    "cover": Step("position", 20),
    "climate": Step("temperature", 1, "target_temp_step"),
    "water_heater": Step("temperature", 1, "target_temp_step"),
    "humidifier": Step("humidity", 5, "target_humidity_step"),
    "media_player": Step("volume_level", 0.1),
    "input_number": Step("value", 1, "step"),
    "number": Step("value", 1, "step"),
    "counter": Step("value", 1, "step"),
}

_ALIASES: Final[Mapping[str, str]] = {
    "brightness_pct": "brightness_percent brightness_percentage brightness_level dim dimming level percent "
    "percentage intensity",
    "brightness_step_pct": "brightness_step",
    "color": "colour color_name colour_name rgb hex",
    "hs_color": "hs",
    "xy_color": "xy",
    "color_temp_kelvin": "color_temp color_temperature colour_temperature colour_temp kelvin temperature "
    "temp ct "
    "color_temp_mired",
    "transition": "transition_time fade",
    "percentage": "speed percent fan_speed level speed_percentage",
    "preset_mode": "preset mode",
    "oscillating": "oscillate oscillation swing",
    "position": "level percent percentage cover_position current_position",
    "tilt_position": "tilt tilt_angle",
    "hvac_mode": "mode operation_mode hvac",
    "temperature": "temp target_temperature target_temp setpoint set_temperature",
    "target_temp_low": "target_temperature_low temperature_low min_temperature low",
    "target_temp_high": "target_temperature_high temperature_high max_temperature high",
    "humidity": "target_humidity percent percentage",
    "fan_mode": "fan fan_speed speed",
    "swing_mode": "swing",
    "operation_mode": "mode preset_mode preset hvac_mode operation",
    "away_mode": "away",
    "mode": "preset_mode preset",
    "source": "input input_source channel select_source",
    "sound_mode": "sound",
    "volume_level": "volume level percent percentage",
    "is_volume_muted": "mute muted is_muted",
    "seek_position": "position seek",
    "fan_speed": "speed fan_mode mode power suction",
    "option": "mode choice selection select_option state",
    "value": "number text state level amount",
    "datetime": "date_time timestamp",
    "duration": "time length minutes_and_seconds",
    "code": "pin alarm_code",
    "activity": "current_activity",
    "step": "by amount delta change brightness_step_pct brightness_step percentage_step temperature_step "
    "volume_step "
    "percent percentage",
}
ALIASES: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(words.split()) for name, words in _ALIASES.items()
}
"""Name of a parameter: what models call it, where that is no parameter of the domain itself."""
