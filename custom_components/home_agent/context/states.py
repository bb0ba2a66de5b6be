"""Says in a few words what state an entity is in."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ..knowledge.abilities import COLOR_MODES
from ..knowledge.binary_words import BINARY_WORDS
from ..knowledge.house import EntityRecord
from ..regex import lazy
from ..texts import quoted
from ..timespans import format_largest

TEXT_CHARS: Final = 60
"""Characters kept of text that somebody else wrote."""
STALE_SECONDS: Final = 3600
"""Age from which a reading is said to be old."""
SHORTEST_SECONDS: Final = 60
"""Time from which it is said how long a state has lasted."""

SINCE: Final = frozenset(
    {"alarm_control_panel", "binary_sensor", "cover", "device_tracker", "lock", "person", "valve"}
)
"""Domains in which it matters how long the state has lasted."""
MOMENTS: Final = frozenset({"button", "event", "input_button", "scene"})
"""Domains whose state is the time they were last used."""
PLACES: Final = {"not_home": "away"}

_SIMPLE: Final = lazy(r"[\w+./:-]{1,40}")
"""States that are one word."""

type Details = Callable[[State], Iterator[str]]


def describe_state(state: State | None, record: EntityRecord | None = None) -> str:
    """Return a short description of a state, with unit, and with age where it matters.

    Text that comes from outside, such as titles, stands in quotes and is cut.
    """
    if state is None:
        return "unknown"
    if state.state in {"unavailable", "unknown"}:
        return "never used" if state.domain in MOMENTS and state.state == "unknown" else state.state
    parts = [_main(state, record), *DETAILS.get(state.domain, _no_details)(state)]
    if age := _age_of(state):
        parts.append(age)
    return ", ".join(part for part in parts if part)


def _main(state: State, record: EntityRecord | None) -> str:
    """Return the state itself in words."""
    device_class = str(state.attributes.get("device_class") or (record.device_class if record else ""))
    if state.domain in MOMENTS or device_class == "timestamp":
        return _moment(state.state)
    if state.domain == "binary_sensor":
        return _pick(BINARY_WORDS.get(device_class, ("on", "off")), state.state)
    if special := MAINS.get(state.domain):
        return special(state)
    unit = str(state.attributes.get("unit_of_measurement") or "")
    number = _number(state.state)
    return _with_unit(number, unit) if number else _plain(PLACES.get(state.state, state.state))


def _pick(on_off: tuple[str, str], state: str) -> str:
    """Return the word for on or off."""
    return {"on": on_off[0], "off": on_off[1]}.get(state, _plain(state))


def _heating(state: State) -> str:
    """Return what a thermostat does, what it measures and what it aims at."""
    attributes = state.attributes
    mode = _plain(state.state)
    action = str(attributes.get("hvac_action") or "")
    doing = mode if action in {"", "off", mode} else f"{mode} ({action})" if action == "idle" else action
    low, high = _number(attributes.get("target_temp_low")), _number(attributes.get("target_temp_high"))
    target = _number(attributes.get("temperature")) or (f"{low}-{high}" if low and high else "")
    if target and state.state != "off":
        doing = f"{doing} to {target}°"
    current = _number(attributes.get("current_temperature"))
    return f"{current}°, {doing}" if current else doing


def _light(state: State) -> Iterator[str]:
    """Yield brightness and colour."""
    attributes = state.attributes
    mode, brightness = attributes.get("color_mode"), attributes.get("brightness")
    if isinstance(brightness, int | float) and brightness > 0:
        yield f"{max(1, round(brightness / 2.55))}%"
    if mode == "color_temp" and (kelvin := _number(attributes.get("color_temp_kelvin"))):
        yield f"{kelvin} K"
    elif mode in COLOR_MODES and (rgb := attributes.get("rgb_color")):
        yield "#" + "".join(f"{int(part):02x}" for part in rgb)
    yield from _text("effect", state, unless={"None", "none", "off"})


def _cover(state: State) -> Iterator[str]:
    """Yield position and tilt."""
    position = _number(state.attributes.get("current_position"))
    if position and (state.state, position) not in {("open", "100"), ("closed", "0")}:
        yield f"{position}%"
    if tilt := _number(state.attributes.get("current_tilt_position")):
        yield f"tilt {tilt}%"


def _fan(state: State) -> Iterator[str]:
    """Yield speed and mode."""
    if state.state == "on":
        if percentage := _number(state.attributes.get("percentage")):
            yield f"{percentage}%"
        yield from _text("preset_mode", state)
        if state.attributes.get("oscillating"):
            yield "oscillating"


def _media_player(state: State) -> Iterator[str]:
    """Yield what is played, from where and how loud."""
    attributes = state.attributes
    if state.state == "off":
        return
    title, artist = attributes.get("media_title"), attributes.get("media_artist")
    if title:
        yield quoted(str(title), TEXT_CHARS) + (f" by {quoted(str(artist), TEXT_CHARS)}" if artist else "")
    yield from _text("source", state, prefix="source ")
    volume = attributes.get("volume_level")
    if attributes.get("is_volume_muted"):
        yield "muted"
    elif isinstance(volume, int | float):
        yield f"volume {round(volume * 100)}%"


def _humidifier(state: State) -> Iterator[str]:
    """Yield measured and wanted humidity."""
    if current := _number(state.attributes.get("current_humidity")):
        yield f"{current}%"
    if state.state == "on" and (target := _number(state.attributes.get("humidity"))):
        yield f"target {target}%"


def _weather(state: State) -> Iterator[str]:
    """Yield temperature, humidity and wind."""
    attributes = state.attributes
    for key, words in (("temperature", ""), ("humidity", "humidity "), ("wind_speed", "wind ")):
        if value := _number(attributes.get(key)):
            unit = "%" if key == "humidity" else str(attributes.get(f"{key}_unit") or "")
            yield words + _with_unit(value, unit)


def _calendar(state: State) -> Iterator[str]:
    """Yield the event and when it begins."""
    yield from _text("message", state)
    if start := state.attributes.get("start_time"):
        yield _plain(str(start))


def _timer(state: State) -> Iterator[str]:
    """Yield what remains of a timer."""
    finishes = dt_util.parse_datetime(str(state.attributes.get("finishes_at") or ""))
    if state.state == "active" and finishes is not None:
        yield f"{format_largest((finishes - dt_util.utcnow()).total_seconds())} left"
    elif state.state == "paused" and (remaining := state.attributes.get("remaining")):
        yield f"{_plain(str(remaining))} left"


def _update(state: State) -> Iterator[str]:
    """Yield the versions."""
    yield from _text("installed_version", state, prefix="installed ")
    if state.state == "on":
        yield from _text("latest_version", state, prefix="latest ")


def _triggered(state: State) -> Iterator[str]:
    """Yield when an automation or a script last ran."""
    last = state.attributes.get("last_triggered")
    moment = last if isinstance(last, datetime) else dt_util.parse_datetime(str(last or ""))
    if moment is not None:
        yield f"last run {_ago(moment)}"


def _preset(state: State) -> Iterator[str]:
    """Yield the preset of a thermostat."""
    yield from _text("preset_mode", state, unless={"none"})


def _vacuum(state: State) -> Iterator[str]:
    """Yield the charge of a robot."""
    if level := _number(state.attributes.get("battery_level")):
        yield f"battery {level}%"


def _no_details(_state: State) -> Iterator[str]:
    """Yield nothing."""
    yield from ()


MAINS: Final[Mapping[str, Callable[[State], str]]] = {
    "calendar": lambda state: "now" if state.state == "on" else "next",
    "climate": _heating,
    "input_text": lambda state: quoted(state.state, TEXT_CHARS),
    "text": lambda state: quoted(state.state, TEXT_CHARS),
    "update": lambda state: _pick(BINARY_WORDS["update"], state.state),
    "water_heater": _heating,
}
"""Per domain: how the state itself is said."""

DETAILS: Final[Mapping[str, Details]] = {
    "automation": _triggered,
    "calendar": _calendar,
    "climate": _preset,
    "cover": _cover,
    "fan": _fan,
    "humidifier": _humidifier,
    "light": _light,
    "media_player": _media_player,
    "script": _triggered,
    "timer": _timer,
    "update": _update,
    "vacuum": _vacuum,
    "valve": _cover,
    "weather": _weather,
}
"""Per domain: what is said beside the state."""


def _text(
    key: str, state: State, *, prefix: str = "", unless: frozenset[str] | set[str] = frozenset()
) -> Iterator[str]:
    """Yield an attribute that is text, unless it says nothing."""
    value = state.attributes.get(key)
    if value is not None and str(value) not in {"", *unless}:
        yield prefix + _plain(str(value))


def _plain(text: str) -> str:
    """Return one word as it is, anything else in quotes."""
    return text if _SIMPLE.fullmatch(text) else quoted(text, TEXT_CHARS)


def _number(value: object) -> str:
    """Return a number without digits that nobody needs, or nothing if it is no number."""
    if value is None or isinstance(value, bool):
        return ""
    try:
        number = float(str(value))
    except ValueError:
        return ""
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124
        return ""
    text = f"{number:.2f}" if abs(number) >= 1 or number == 0 else f"{number:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _with_unit(number: str, unit: str) -> str:
    """Return a number with its unit."""
    return f"{number}{unit}" if unit in {"", "%", "°"} else f"{number} {unit}"


def _moment(text: str) -> str:
    """Return a point in time in local time with its distance."""
    moment = dt_util.parse_datetime(text)
    if moment is None:
        return _plain(text)
    return f"{dt_util.as_local(moment):%Y-%m-%d %H:%M} ({_ago(moment)})"


def _ago(moment: datetime) -> str:
    """Return how long ago or ahead a point in time is."""
    seconds = (dt_util.utcnow() - dt_util.as_utc(moment)).total_seconds()
    return f"{format_largest(seconds)} ago" if seconds >= 0 else f"in {format_largest(-seconds)}"


def _age_of(state: State) -> str:
    """Return how long a state has lasted, or how old a reading is, where that matters."""
    now = dt_util.utcnow()
    if state.domain in SINCE:
        lasted = (now - state.last_changed).total_seconds()
        return f"for {format_largest(lasted)}" if lasted >= SHORTEST_SECONDS else ""
    if state.domain == "sensor" and state.attributes.get("state_class"):
        old = (now - state.last_reported).total_seconds()
        return f"{format_largest(old)} old" if old >= STALE_SECONDS else ""
    return ""
