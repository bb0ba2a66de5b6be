"""The policy that an agent is shipped with, as data.

A rule is `domain`, `domain.service`, an entity id, or `domain:device_class` with or without a service;
`*` and `?` stand for any text. What makes a home safer (locking, closing, arming) is allowed, what opens
it is restricted.
"""

from typing import Final

BLOCKED: Final = ("homeassistant", "hassio", "home_agent", "recorder.purge*", "backup.restore*")
"""Never, whatever the options say."""

UNBLOCKED: Final = ("homeassistant.update_entity",)
"""Exceptions from the blocked ones: they only read."""

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

INSIDE: Final = (
    # Kinds of entities: their services reach nothing but entities of that kind.
    "alarm_control_panel",
    "alert",
    "automation",
    "button",
    "calendar",
    "climate",
    "counter",
    "cover",
    "date",
    "datetime",
    "fan",
    "humidifier",
    "input_boolean",
    "input_button",
    "input_datetime",
    "input_number",
    "input_select",
    "input_text",
    "lawn_mower",
    "light",
    "lock",
    "media_player",
    "number",
    "remote.turn_*",
    "remote.toggle",
    "scene",
    "script",
    "select",
    "switch",
    "text",
    "time",
    "timer",
    "todo",
    "vacuum",
    "valve",
    "water_heater",
    "weather",
    # What only tells somebody something.
    "logbook.log",
    "mobile_app.notify",
    "notify",
    "persistent_notification",
    "shopping_list",
    "system_log.write",
    "tts",
    # Groups of players that play the same, and what they played before.
    "music_assistant",
    "sonos",
    "homeassistant.update_entity",
    "group.turn_*",
    "group.toggle",
)
"""Services that are judged like calls of their own as steps of scripts, scenes and automations. Others are
restricted there: they reach devices past their entities, run programs, send requests or fire events."""

NOT_INSIDE: Final = ("vacuum.send_command", "tts.clear_cache", "*.reload")
"""Exceptions from those."""

RISKY_SERVICES: Final = {
    "lock": ("unlock", "open"),
    "alarm_control_panel": ("alarm_disarm",),
    "cover": ("open_cover",),
    "valve": ("open_valve",),
}
"""The services to consider if a scene or a device action does not specify what it calls."""

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
