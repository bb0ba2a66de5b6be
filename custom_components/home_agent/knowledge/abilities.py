"""What can be set on an entity, read from its feature bits and capability attributes."""

from collections.abc import Collection, Mapping
from typing import Any, Final

FEATURE_ABILITIES: Final[Mapping[str, tuple[tuple[int, str], ...]]] = {
    "alarm_control_panel": (
        (1, "arm_home"),
        (2, "arm_away"),
        (4, "arm_night"),
        (8, "trigger"),
        (16, "arm_custom_bypass"),
        (32, "arm_vacation"),
    ),
    "climate": (
        (1, "temperature"),
        (2, "temperature_range"),
        (4, "humidity"),
        (8, "fan_mode"),
        (16, "preset_mode"),
        (32, "swing_mode"),
        (512, "swing_horizontal_mode"),
    ),
    "cover": ((4, "position"), (8, "stop"), (16 | 32 | 128, "tilt"), (128, "tilt_position")),
    "fan": ((1, "speed"), (2, "oscillation"), (4, "direction"), (8, "preset_mode")),
    "humidifier": ((1, "mode"),),
    "lawn_mower": ((2, "pause"), (4, "dock")),
    "light": ((4, "effect"), (8, "flash"), (32, "transition")),
    "lock": ((1, "open"),),
    "media_player": (
        (1, "pause"),
        (2, "seek"),
        (4 | 1024, "volume"),
        (8, "mute"),
        (16 | 32, "skip"),
        (512, "play_media"),
        (2048, "source"),
        (16384, "play"),
        (32768, "shuffle"),
        (65536, "sound_mode"),
        (262144, "repeat"),
        (524288, "group"),
    ),
    "remote": ((4, "activity"),),
    "siren": ((4, "tone"), (8, "volume"), (16, "duration")),
    "update": ((1, "install"), (2, "version")),
    "vacuum": (
        (4, "pause"),
        (8, "stop"),
        (16, "return_home"),
        (32, "fan_speed"),
        (512, "locate"),
        (1024, "clean_spot"),
        (16384, "clean_area"),
    ),
    "valve": ((4, "position"), (8, "stop")),
    "water_heater": ((1, "temperature"), (2, "operation_mode"), (4, "away_mode")),
}
"""Per domain: bits of `supported_features` (any of them) and the ability they mean."""

CERTAIN_ABILITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "date": ("value",),
    "datetime": ("value",),
    "humidifier": ("humidity",),
    "input_datetime": ("value",),
    "input_number": ("value",),
    "input_select": ("option",),
    "input_text": ("value",),
    "number": ("value",),
    "select": ("option",),
    "text": ("value",),
    "time": ("value",),
}
"""Per domain: what every entity of it can do."""

LIST_ABILITIES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "climate": (("hvac_modes", "hvac_mode"),),
}
"""Per domain: capability attribute that lists choices, and the ability it means."""

COLOR_MODES: Final = frozenset({"hs", "rgb", "rgbw", "rgbww", "xy"})
UNDIMMED_MODES: Final = frozenset({"onoff", "unknown"})

FLICKERING: Final = frozenset({"media_player"})
"""Domains whose feature bits come and go with the state; their abilities are remembered."""

DESCRIBING: Final = ("friendly_name", "device_class", "supported_features")
"""State attributes that describe any entity."""

DOMAIN_DESCRIBING: Final[Mapping[str, tuple[str, ...]]] = {
    "light": (*DESCRIBING, "supported_color_modes"),
    "climate": (*DESCRIBING, "hvac_modes"),
}
"""Domains of which further attributes describe the entity."""


def abilities_of(
    domain: str,
    attributes: Mapping[str, Any],
    capabilities: Mapping[str, Any] | None = None,
    features: int = 0,
) -> tuple[str, ...]:
    """Return what can be set, sorted by name.

    `capabilities` and `features` are what the registry remembers; the state's own attributes count more.
    """
    known: Mapping[str, Any] = {**(capabilities or {}), **attributes}
    bits = attributes.get("supported_features", features)
    bits = int(bits) if isinstance(bits, int) else 0
    found = set(CERTAIN_ABILITIES.get(domain, ()))
    found.update(ability for mask, ability in FEATURE_ABILITIES.get(domain, ()) if bits & mask)
    found.update(ability for key, ability in LIST_ABILITIES.get(domain, ()) if known.get(key))
    if domain == "light":
        found.update(_light_abilities(known.get("supported_color_modes")))
    return tuple(sorted(found))


def _light_abilities(modes: Any) -> Collection[str]:
    """Return what the colour modes of a light allow."""
    if not isinstance(modes, (list, tuple, set, frozenset)):
        return ()
    names = {str(mode) for mode in modes}
    found = set()
    if names - UNDIMMED_MODES:
        found.add("brightness")
    if names & COLOR_MODES:
        found.add("color")
    if "color_temp" in names:
        found.add("color_temp")
    if names & {"white", "rgbw", "rgbww"}:
        found.add("white")
    return found
