"""The policy that an agent is shipped with, as data.

A rule is `domain`, `domain.service`, an entity id, or `domain:device_class` with or without a service;
`*` and `?` stand for any text. What makes a home safer (locking, closing, arming) is allowed, what opens
it is restricted.
"""

from typing import Final

BLOCKED: Final = ("homeassistant", "hassio", "home_agent", "recorder.purge*", "backup.restore*")
"""Never, whatever the options say."""

RESTRICTED: Final = (
    "lock.unlock",
    "lock.open",
    "alarm_control_panel.alarm_disarm",
    "alarm_control_panel.alarm_trigger",
    "cover:garage",
    "cover:gate",
    "cover:door",
    "valve.open_valve",
    "valve.set_valve_position",
    "valve.toggle",
    "camera",
    "siren",
    "shell_command",
    "python_script",
    "pyscript",
    "rest_command",
    "conversation",
    "assist_satellite",
)
"""Only after a person has confirmed."""

UNRESTRICTED: Final = (
    "cover:garage.close_cover*",
    "cover:garage.stop_cover*",
    "cover:gate.close_cover*",
    "cover:gate.stop_cover*",
    "cover:door.close_cover*",
    "cover:door.stop_cover*",
)
"""Exceptions from the restricted ones: the direction that makes a home safer."""

RISKY_SERVICES: Final = {
    "lock": ("unlock", "open"),
    "alarm_control_panel": ("alarm_disarm",),
    "cover": ("open_cover",),
    "valve": ("open_valve",),
}
"""The services to think of where a scene or a device action does not tell what it calls."""

STATE_SERVICES: Final = {
    ("lock", "locked"): "lock",
    ("lock", "unlocked"): "unlock",
    ("lock", "open"): "open",
    ("cover", "open"): "open_cover",
    ("cover", "closed"): "close_cover",
    ("valve", "open"): "open_valve",
    ("valve", "closed"): "close_valve",
    ("alarm_control_panel", "disarmed"): "alarm_disarm",
    ("alarm_control_panel", "armed_away"): "alarm_arm_away",
    ("alarm_control_panel", "armed_home"): "alarm_arm_home",
    ("alarm_control_panel", "armed_night"): "alarm_arm_night",
    ("alarm_control_panel", "armed_vacation"): "alarm_arm_vacation",
}
"""What a scene calls to bring an entity into a state."""

GENERIC_SERVICES: Final = ("turn_on", "turn_off", "toggle")
"""Services of `homeassistant` that mean those of each entity's own domain."""

GENERIC_MEANING: Final = {
    ("turn_on", "cover"): "open_cover",
    ("turn_off", "cover"): "close_cover",
    ("turn_on", "lock"): "lock",
    ("turn_off", "lock"): "unlock",
    ("turn_on", "valve"): "open_valve",
    ("turn_off", "valve"): "close_valve",
    ("turn_on", "button"): "press",
    ("turn_on", "input_button"): "press",
}
"""What on and off mean where no service has that name."""
