"""Sensors, and what on and off mean for each class of binary sensor."""

from collections.abc import Mapping
from typing import Final

from .base import DomainFacts

BINARY_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "battery": ("low", "normal"),
    "battery_charging": ("charging", "not charging"),
    "carbon_monoxide": ("carbon monoxide detected", "clear"),
    "cold": ("cold", "normal"),
    "connectivity": ("connected", "disconnected"),
    "door": ("open", "closed"),
    "garage_door": ("open", "closed"),
    "gas": ("gas detected", "clear"),
    "heat": ("hot", "normal"),
    "light": ("light detected", "dark"),
    "lock": ("unlocked", "locked"),
    "moisture": ("wet", "dry"),
    "motion": ("motion", "no motion"),
    "moving": ("moving", "still"),
    "occupancy": ("occupied", "empty"),
    "opening": ("open", "closed"),
    "plug": ("plugged in", "unplugged"),
    "power": ("power", "no power"),
    "presence": ("home", "away"),
    "problem": ("problem", "ok"),
    "running": ("running", "not running"),
    "safety": ("unsafe", "safe"),
    "smoke": ("smoke detected", "clear"),
    "sound": ("sound", "quiet"),
    "tamper": ("tampered", "ok"),
    "update": ("update available", "up to date"),
    "vibration": ("vibration", "still"),
    "window": ("open", "closed"),
}
"""Per device class of binary sensors: the words for on and off."""

LOW_BATTERY: Final = 20
"""Percent up to which a battery is low."""
BATTERY: Final = "battery"

BINARY_SENSOR = DomainFacts(
    name="binary_sensor",
    several={
        BATTERY: "batteries",
        "door": "doors",
        "garage_door": "garage doors",
        "lock": "locks",
        "moisture": "leak sensors",
        "opening": "openings",
        "smoke": "smoke detectors",
        "window": "windows",
    },
    says_age=True,
    reported=(),
    active="on",
)
SENSOR = DomainFacts(
    name="sensor",
    several={BATTERY: "batteries", "humidity": "humidity", "temperature": "temperatures"},
    reported=(),
)
