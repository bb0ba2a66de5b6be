"""What is only read: sensors, persons, the weather, and domains whose state is the time of something."""

from collections.abc import Iterator, Mapping
from typing import Final

from homeassistant.core import State

from .base import ANY, ANY_CLASS, DomainFacts
from .showing import number_of, with_unit

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


EVENT = DomainFacts(name="event", is_moment=True, reported=("event_type",))
CONVERSATION, IMAGE, NOTIFY, STT, TTS, WAKE_WORD = (
    DomainFacts(name=name, is_moment=True)
    for name in ("conversation", "image", "notify", "stt", "tts", "wake_word")
)


PERSON = DomainFacts(
    name="person",
    several={ANY_CLASS: "people"},
    says_age=True,
    moves=True,
    reported=(),
    active="home",
    acts={"home": "home"},
    other_act="not_home",
)
DEVICE_TRACKER = DomainFacts(name="device_tracker", says_age=True, moves=True, active="home")
ZONE = DomainFacts(name="zone", reported=("persons",))


def _weather(state: State) -> Iterator[str]:
    attributes = state.attributes
    for key, said in (("temperature", ""), ("humidity", "humidity "), ("wind_speed", "wind ")):
        if value := number_of(attributes.get(key)):
            unit = "%" if key == "humidity" else str(attributes.get(f"{key}_unit") or "")
            yield said + with_unit(value, unit)


WEATHER = DomainFacts(
    name="weather",
    reads=frozenset(("get_forecasts",)),
    details=_weather,
    reported=("temperature", "humidity", "wind_speed", "wind_speed_unit", "pressure", "pressure_unit"),
    contained=ANY,
)
SUN = DomainFacts(name="sun", reported=("next_rising", "next_setting", "elevation"))
