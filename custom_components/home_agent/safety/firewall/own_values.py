"""Distinguishes the home's own values from those that may have been written outside.

Every text that is not a number, a time, a word that Home Assistant defines, or an ID may have been written by
others, whatever entity it belongs to: the host name of a guest's phone, the title of a song, an option that a
device offers. It is known by what it is, not by what it says. A turn that reads such a text, or continues
one that has, asks a person before anything serious (`policy.py`), remembers and forgets nothing that the
person did not say, and lets no private word out.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
import re
from types import MappingProxyType
from typing import Any, Final

from homeassistant import const
from homeassistant.components.binary_sensor.const import BinarySensorDeviceClass
from homeassistant.components.button.const import ButtonDeviceClass
from homeassistant.components.cover import CoverDeviceClass
from homeassistant.components.event import EventDeviceClass
from homeassistant.components.media_player.const import MediaPlayerDeviceClass
from homeassistant.components.number import NumberDeviceClass
from homeassistant.components.sensor import SensorDeviceClass, SensorStateClass
from homeassistant.components.switch.const import SwitchDeviceClass
from homeassistant.components.valve.const import ValveDeviceClass
from homeassistant.core import HomeAssistant, State, callback, valid_entity_id
from homeassistant.helpers import device_registry as dr, entity_registry as er, llm

from ...regex import lazy_regex
from ...texts import leaves, words
from . import firewall

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
HELD_BACK: Final = "text"
"""The replacement for a state that is a text from outside."""
NAMING: Final = frozenset(
    {
        "entity_id",
        "name",
        "area",
        "means",
        "changed",
    }
)
"""What our own reports call what the household or Home Assistant defines."""
UNITS: Final = frozenset(
    str(unit) for name, units in vars(const).items() if name.startswith("UnitOf") for unit in units
)
CLASSES: Final = frozenset(
    str(member)
    for classes in (
        *(BinarySensorDeviceClass, ButtonDeviceClass, CoverDeviceClass, EventDeviceClass),
        *(MediaPlayerDeviceClass, NumberDeviceClass, SensorDeviceClass, SensorStateClass),
        *(SwitchDeviceClass, ValveDeviceClass),
        ("dehumidifier", "firmware", "humidifier"),  # whose integrations load where they are used
    )
    for member in classes
)
WRITTEN: Final = frozenset({"automation", "script", "scene", "group", "schedule", "timer", "zone", "person"})
"""Domains whose entities people write themselves, beside the helpers."""
BARE: Final = frozenset(
    {const.ATTR_UNIT_OF_MEASUREMENT, const.ATTR_DEVICE_CLASS, const.ATTR_ICON, "state_class"}
)
"""Attributes that tell nothing if Home Assistant does not define their value."""
MAX_LABEL: Final = 48
MAX_LABEL_WORDS: Final = 6
READ_FROM: Final = 2
"""Spaces in a name from which on it may be an order."""

_WORDS: Final = (
    "above_horizon active activity album all app armed armed_away armed_custom_bypass armed_home "
    "armed_night armed_vacation arming artist auto away baby below_horizon bluetooth bluetooth_le boost "
    "both box brightness buffering cancelled channel channels charging cleaning clear-night closed "
    "closing cloudy color_temp colorloop comfort composer configure configured connection "
    "contributing_artist cool cooling defrosting delayed diffuse disarmed disarming discharging docked "
    "double_press down dry drying east eco electric empty episode error ethernet exceptional false fan "
    "fan_only finished focus fog forward full game gas genre gentle gps hail heat heat_cool heat_pump "
    "heating high high_demand hls hold home horizontal hs humidifying idle image jammed left lightning "
    "lightning-rainy listening locked locking long_press long_press_end long_press_start low manual max "
    "measurement measurement_angle medium middle min mop movie mowing multi_press_end multi_press_ongoing "
    "music ne none normal north not_charging not_home number nw off ok on one onoff open opening parallel "
    "partlycloudy password paused pending performance playing playlist podcast position pouring "
    "preheating press press_end press_start problem processing queued quiet rainy random ready recording "
    "release responding restart restarted returning reverse rgb rgbw rgbww right ring router running "
    "scheduled se season silent single single_press sleep slider smart snowy snowy-rainy south ssid "
    "standby started starting stopped streaming strong sunny sw text top total total_increasing track "
    "triggered true turbo tvshow unavailable unknown unlocked unlocking up url vertical video waiting "
    "webrtc west white wifi windy windy-variant xy"
)
WORDS: Final = frozenset(_WORDS.split())
"""States and modes that Home Assistant and its device classes define, or that say no more than those."""

MODES: Final[Mapping[str, str]] = {
    "effect": "effect_list",
    "preset_mode": "preset_modes",
    "fan_mode": "fan_modes",
    "swing_mode": "swing_modes",
    "swing_horizontal_mode": "swing_horizontal_modes",
    "mode": "available_modes",
    "operation_mode": "operation_list",
    "fan_speed": "fan_speed_list",
    "event_type": "event_types",
}
"""Attributes whose value is one of a device's options, and the attribute that lists these options."""
DEVICES: Final = frozenset(
    {"climate", "event", "fan", "humidifier", "light", "siren", "vacuum", "water_heater"}
)
"""Domains in which these lists are part of a device."""
OFFERED: Final = frozenset(MODES.values())
MAX_UNIT: Final = 8
MAX_MODE: Final = 24
MAX_MODE_WORDS: Final = 3

_NO_TEXT: Final = lazy_regex(r"[\d\s:.,+%\u00b0TZ/#-]*")
_VERSION: Final = lazy_regex(r"v?\d[\d.]*+(?:[-.+]?(?:a|b|rc|beta|alpha|dev|build)?\d++){0,3}", re.IGNORECASE)
_ICON: Final = lazy_regex(r"[a-z]{2,8}:[a-z0-9]+(?:-[a-z0-9]+){0,3}")
_SLUG: Final = lazy_regex(r"[a-z][a-z0-9]*(?:_[a-z0-9]+){0,3}")
_NAME: Final = lazy_regex(r"_?[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){0,4}_?")
MAX_ATTRIBUTE: Final = 40


@callback
def outside_of(hass: HomeAssistant, state: State) -> dict[str, Any]:
    """Return the attributes of an entity that contain text from outside."""
    return {
        name: value
        for name, value in state.attributes.items()
        if name not in NAMING and any(True for _ in _texts(hass, state, str(name), value))
    }


@callback
def is_own_state(hass: HomeAssistant, state: State) -> bool:
    """Return whether the state itself is not text from outside."""
    return not any(True for _ in _texts(hass, state, "state", state.state))


@callback
def texts_in(hass: HomeAssistant, entity_id: str, told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts from outside in the data of an entity: its state, attributes and history."""
    state = hass.states.get(entity_id) or State("sensor.gone", "unknown")
    for name, value in told.items():
        if name not in NAMING:
            if not is_name(name):
                yield name
            yield from _texts(hass, state, name, value)


@callback
def texts_repeated(hass: HomeAssistant, told: str) -> Iterator[str]:
    """Yield the texts from outside in entities that a composed text repeats."""
    for state in hass.states.async_all():
        for name, value in (("state", state.state), *state.attributes.items()):
            if name in NAMING or (isinstance(value, str) and value not in told):
                continue
            yield from (text for text in _texts(hass, state, str(name), value) if text in told)


@callback
def without_outside(hass: HomeAssistant, state: State, asked: Mapping[str, Any] = NOTHING) -> State:
    """Return a state without texts from outside, but for labels that were `asked` for, by attribute."""

    def is_asked(name: str, value: object) -> bool:
        return isinstance(value, str) and asked.get(name) == value == as_label(value)

    gone = {name for name, value in outside_of(hass, state).items() if not is_asked(name, value)}
    own = is_own_state(hass, state) or is_asked("state", state.state)
    if own and not gone:
        return state
    kept = {name: value for name, value in state.attributes.items() if name not in gone}
    return _changed(state, state.state if own else HELD_BACK, kept)


@callback
def cleaned(hass: HomeAssistant, state: State) -> tuple[State, list[firewall.Removal]]:
    """Return a state with its texts from outside cleaned, and what was removed from them."""
    told = outside_of(hass, state)
    bare = {name: value for name, value in state.attributes.items() if name not in BARE or name not in told}
    told = {name: value for name, value in told.items() if name in bare}
    own = is_own_state(hass, state)
    if own and bare == state.attributes and not told:
        return state, []
    attributes = firewall.clean(told)
    shown = firewall.clean(state.state) if not own else firewall.Cleaned(state.state)
    kept = {**bare, **attributes.value}
    return _changed(state, str(shown.value), kept), [*attributes.found, *shown.found]


def _changed(state: State, text: str, attributes: Mapping[str, Any]) -> State:
    return State(
        state.entity_id,
        text[: const.MAX_LENGTH_STATE_STATE],
        attributes,
        last_changed=state.last_changed,
        last_reported=state.last_reported,
        last_updated=state.last_updated,
        context=state.context,
        validate_entity_id=False,
    )


def _texts(hass: HomeAssistant, state: State, name: str, value: object) -> Iterator[str]:
    if isinstance(value, str):
        if not _is_own(hass, state, name, value):
            yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str) and not (is_name(key) or is_plain(key)):
                yield key
            yield from _texts(hass, state, name, item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(hass, state, name, item)


def is_name(name: str) -> bool:
    """Return whether a text is made as names of attributes are."""
    is_short = len(name) <= MAX_ATTRIBUTE and _NAME.fullmatch(name) is not None
    return is_short and bool(as_label(name.replace("_", " ").strip()))


def offers_own(state: State, options: Iterable[object]) -> bool:
    """Return whether all options of an entity are modes of a device, or words of Home Assistant's own."""
    texts = [str(option) for option in options]
    if state.domain == "input_select":
        return True
    if state.domain in DEVICES:
        return all(len(text) <= MAX_MODE and len(text.split()) <= MAX_MODE_WORDS for text in texts)
    return all(map(is_plain, texts))


@callback
def label_of(hass: HomeAssistant, state: State) -> str:
    """Return the name of an entity: what a person gave it, and no more than a label of anything else.

    Home Assistant exposes new players, lights and switches by itself, and a guest names a cast device.
    """
    name = str(state.name).strip()
    entry = er.async_get(hass).async_get(state.entity_id)
    is_written = state.domain in WRITTEN or state.domain.startswith("input_")
    # A scene of a bridge of lamps has the name that somebody gave it in the app of the bridge.
    if (is_written and (entry is None or entry.platform in (state.domain, "homeassistant"))) or (
        entry and entry.name
    ):
        return name
    device = dr.async_get(hass).async_get(entry.device_id) if entry and entry.device_id else None
    given = (device and device.name_by_user) or ""
    if given and name.startswith(given):
        return f"{given} {as_label(name.removeprefix(given))}".strip()
    return as_label(name) or state.domain.replace("_", " ").title()


@lru_cache(maxsize=8192)
def as_label(name: str) -> str:
    """Return a name that nobody in the household gave, cut to a label; empty if it gives orders."""
    label = " ".join(name.split()[:MAX_LABEL_WORDS])[:MAX_LABEL].rstrip()
    if label.count(" ") < READ_FROM:
        return label
    return "" if firewall.clean(label, describes=True).found else label


def known_class(device_class: object) -> str | None:
    """Return a device class that Home Assistant defines, None for any other."""
    return str(device_class) if device_class in CLASSES else None


def is_plain(text: str) -> bool:
    """Return whether a text is a number, a time, a version or a word that Home Assistant defines."""
    return bool(text.lower() in WORDS or _NO_TEXT.fullmatch(text) or _VERSION.fullmatch(text))


def _is_own(hass: HomeAssistant, state: State, name: str, text: str) -> bool:
    if is_plain(text):
        return True
    if name == const.ATTR_FRIENDLY_NAME:
        return as_label(text) == text or text == label_of(hass, state)
    if name == "unit" or name.endswith(("_unit", const.ATTR_UNIT_OF_MEASUREMENT)):
        return text in UNITS or (len(text) <= MAX_UNIT and " " not in text)
    if name in BARE:
        return text in CLASSES or _ICON.fullmatch(text) is not None
    if valid_entity_id(text):
        return hass.states.get(text) is not None
    if state.domain in DEVICES and (name in MODES or name in OFFERED):
        offered = state.attributes.get(MODES.get(name, name))
        is_offered = isinstance(offered, list | tuple) and text in offered
        return is_offered and len(text) <= MAX_MODE and len(text.split()) <= MAX_MODE_WORDS
    if name in ("state", "history"):
        options = state.attributes.get("options", ())
        match state.domain:
            case "person" | "device_tracker":
                return any(zone.name == text for zone in hass.states.async_all("zone"))
            case "input_select":
                return text in options
            case "select" | "sensor":
                entry = er.async_get(hass).async_get(state.entity_id)
                return bool(entry and entry.translation_key and text in options and _SLUG.fullmatch(text))
            case _:
                return False
    return name == "options" and state.domain == "input_select"


_ANY_WORD: Final = lazy_regex(r"\w+")


def is_news(texts: Iterable[str], said: str) -> bool:
    """Return whether any of these texts contains a word that was not said in the conversation."""
    spoken = set(words(said))
    return any(not spoken.issuperset(words(text)) for text in texts)


def comes_from_outside(tool: llm.Tool) -> bool:
    """Return whether the result of another API's tool may have been written outside.

    Intents answer with names of the home, and Home Assistant's own clock with the time; of others no one
    knows. A name says nothing of where a tool comes from, its class does.
    """
    while isinstance(inner := getattr(tool, "tool", None), llm.Tool):
        tool = inner
    return not isinstance(tool, llm.IntentTool) and type(tool).__module__ != CLOCK


def texts_of_intent(result: Any) -> Iterator[str]:
    """Yield what an intent was answered with beside names of the home: the title that is played, for one."""
    slots = result.get("speech_slots") if isinstance(result, Mapping) else None
    texts = (leaf for leaf in leaves(slots) if isinstance(leaf, str))
    yield from (text for text in texts if not is_plain(text))


CLOCK: Final = "homeassistant.components.llm.llm"
"""Where Home Assistant defines the tools that every API has: the clock, and nothing else."""


def has_text(result: Any) -> bool:
    """Return whether a result holds any text at all."""
    texts = (leaf for leaf in leaves(result, keys=True) if isinstance(leaf, str))
    return any(_ANY_WORD.search(text) and not _NO_TEXT.fullmatch(text) for text in texts)
