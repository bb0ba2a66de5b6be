"""How an entity is brought back to what it showed: per domain the calls, and what must stay as it is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from homeassistant.core import State

from ...safety.ledger import Deed, Shown
from ..resolving.candidates import SINGULAR_CLASSES
from .planning import PASSING, Call, Plan
from .readback import TOLERANCES, Expectation

GONE: Final = frozenset(("unavailable", "unknown"))
STATE: Final = "state"
"""Stands among the names of attributes for the state itself."""

SAFE_WAYS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {"lock": ("locked", "lock"), "valve": ("closed", "close_valve"), "cover": ("closed", "close_cover")}
)
"""Of what lets people or water through: the one state that is brought back, and its service."""

COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "color_temp": "color_temp_kelvin",
        "hs": "hs_color",
        "xy": "xy_color",
        "rgb": "rgb_color",
        "rgbw": "rgbw_color",
        "rgbww": "rgbww_color",
    }
)
"""Colour mode of a light: the attribute and parameter that tells its colour."""

type Changed = frozenset[str]
type Calls = Iterator[tuple[str, Mapping[str, Any]]]

_SETTERS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "fan": (
        ("percentage", "set_percentage", "percentage"),
        ("preset_mode", "set_preset_mode", "preset_mode"),
        ("oscillating", "oscillate", "oscillating"),
        ("direction", "set_direction", "direction"),
    ),
    "climate": (
        ("preset_mode", "set_preset_mode", "preset_mode"),
        ("temperature", "set_temperature", "temperature"),
        ("humidity", "set_humidity", "humidity"),
        ("fan_mode", "set_fan_mode", "fan_mode"),
        ("swing_mode", "set_swing_mode", "swing_mode"),
        ("swing_horizontal_mode", "set_swing_horizontal_mode", "swing_horizontal_mode"),
    ),
    "water_heater": (
        ("away_mode", "set_away_mode", "away_mode"),
        ("temperature", "set_temperature", "temperature"),
    ),
    "humidifier": (("mode", "set_mode", "mode"), ("humidity", "set_humidity", "humidity")),
    "media_player": (
        ("source", "select_source", "source"),
        ("sound_mode", "select_sound_mode", "sound_mode"),
        ("volume_level", "volume_set", "volume_level"),
        ("is_volume_muted", "volume_mute", "is_volume_muted"),
        ("shuffle", "shuffle_set", "shuffle"),
        ("repeat", "repeat_set", "repeat"),
    ),
    "vacuum": (("fan_speed", "set_fan_speed", "fan_speed"),),
}
"""Domain: attribute, service, parameter; in the order of the calls."""


class CannotRestoreError(Exception):
    """An entity stays as it is; the text says why."""


def restoring(before: Shown, after: Shown, now: State, *, late: bool) -> Plan | None:
    """Return what brings an entity back; None if there is nothing to do.

    `late` says that what it shows now still comes from the call, only later than `after`.
    Raises CannotRestoreError if it has changed since, or is not brought back at all.
    """
    changed = frozenset(
        name
        for name in (STATE, *before.attributes, *after.attributes)
        if not same(name, value_of(before, name), value_of(after, name))
    )
    shown = Shown.of(now)
    if all(same(name, value_of(before, name), value_of(shown, name)) for name in changed):
        return None
    arrived = late or (after.state in PASSING and shown.state not in GONE and now.context.user_id is None)
    if not arrived and any(not same(name, value_of(after, name), value_of(shown, name)) for name in changed):
        raise CannotRestoreError(f"has changed since: it is {shown.state} now")
    if before.state in GONE and STATE in changed:
        raise CannotRestoreError(f"was {before.state} before")
    calls = [Call(service, data) for service, data in _calls(before, changed, now)]
    if not calls:
        raise CannotRestoreError("cannot be put back")
    return Plan(now.domain, calls, _expected(before, changed, now.domain))


def taking_back(domain: str, deeds: Sequence[Deed]) -> Plan | None:
    """Return what takes calls back that show in no state, the newest first; None for other domains.

    Raises CannotRestoreError for what Home Assistant cannot take back.
    """
    if reason := next((LOST[key] for deed in deeds if (key := (domain, deed.service)) in LOST), None):
        before = {shown.state for deed in deeds for shown in deed.before.values()}
        if before & {"playing", "buffering"}:
            raise CannotRestoreError(reason)
    if domain not in TAKEN_BACK:
        return None
    calls = []
    for deed in deeds:
        made = TAKEN_BACK[domain](deed.service, deed.data)
        if isinstance(made, str):
            raise CannotRestoreError(made)
        calls.append(made)
    return Plan(domain, calls, Expectation())


def _todo(service: str, data: Mapping[str, Any]) -> Call | str:
    """Return the call that takes back a change of a list."""
    if service == "add_item":
        return Call("remove_item", {"item": [data["item"]]})
    if service == "update_item" and data.get("status") in OTHER_STATUS:
        return Call("update_item", {"item": data["item"], "status": OTHER_STATUS[data["status"]]})
    if service == "update_item":
        return "what was changed has to be changed back by name"
    return "what was removed does not come back by itself; add it again"


def _calendar(_service: str, _data: Mapping[str, Any]) -> Call | str:
    """Say that events stay."""
    return "an event can only be deleted in the calendar itself"


LOST: Final = {("media_player", "play_media"): "what played before does not come back by itself"}
"""What replaces something that nothing remembers."""
OTHER_STATUS: Final = {"completed": "needs_action", "needs_action": "completed"}
TAKEN_BACK: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Call | str]]] = MappingProxyType(
    {"todo": _todo, "calendar": _calendar}
)
"""Domain: the call that takes a call back, or why there is none."""


def value_of(shown: Shown, name: str) -> Any:
    """Return an attribute, or the state."""
    return shown.state if name == STATE else shown.attributes.get(name)


def same(name: str, one: Any, other: Any) -> bool:
    """Return whether two values are alike, give or take a rounding."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same("", *pair) for pair in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return bool(one == other)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return bool(abs(one - other) <= TOLERANCES.get(name, 1 if name == "" else 0.001))
    return bool(one == other)


def _expected(before: Shown, changed: Changed, domain: str) -> Expectation:
    """Return what an entity should show afterwards."""
    attributes = {
        name: before.attributes[name]
        for name in changed & before.attributes.keys()
        if isinstance(before.attributes[name], str | int | float) and name not in ("color_mode", "effect")
    }
    if domain in ("cover", "valve") and attributes:
        return Expectation(attributes=attributes, passing=PASSING)
    passing = PASSING | {"locking"} if domain in SAFE_WAYS else frozenset[str]()
    states = frozenset((before.state,)) if STATE in changed else frozenset[str]()
    return Expectation(states=states, passing=passing, attributes=attributes if before.state != "off" else {})


def _calls(before: Shown, changed: Changed, now: State) -> Calls:
    """Yield the calls of a domain; none where it is not brought back."""
    domain = now.domain
    if domain in SAFE_WAYS and (domain != "cover" or now.attributes.get("device_class") in SINGULAR_CLASSES):
        safe, service = SAFE_WAYS[domain]
        if before.state != safe:
            raise CannotRestoreError("is not opened by an undo; it has to be asked for by name")
        yield service, {}
    elif (rule := RULES.get(domain)) is not None:
        yield from rule(before, changed)


def _setters(domain: str, before: Shown, changed: Changed) -> Calls:
    """Yield the calls that set attributes."""
    for name, service, parameter in _SETTERS.get(domain, ()):
        if name in changed and name in before.attributes:
            yield service, {parameter: before.attributes[name]}


def _on_off(before: Shown, changed: Changed) -> Calls:
    """Yield on or off."""
    if STATE in changed and before.state in ("on", "off"):
        yield f"turn_{before.state}", {}


def _light(before: Shown, changed: Changed) -> Calls:
    """Yield one call with brightness, and colour or effect."""
    if before.state != "on":
        yield from _on_off(before, changed)
        return
    data = {"brightness": before.attributes["brightness"]} if "brightness" in before.attributes else {}
    color = COLORS.get(str(before.attributes.get("color_mode")), "")
    if color in before.attributes and not changed.isdisjoint((STATE, "color_mode", *COLORS.values())):
        data[color] = before.attributes[color]
    if "effect" in changed and (effect := before.attributes.get("effect")):
        data["effect"] = effect
    yield "turn_on", data


def _switched(domain: str) -> Callable[[Shown, Changed], Calls]:
    """Return the rule of what is on or off, and has settings while it is on."""

    def rule(before: Shown, changed: Changed) -> Calls:
        yield from _on_off(before, changed)
        if before.state != "off":
            yield from _setters(domain, before, changed)

    return rule


def _cover(before: Shown, changed: Changed) -> Calls:
    """Yield position and tilt, or open and close where there is no position."""
    if "current_position" in before.attributes and "current_position" in changed:
        yield "set_cover_position", {"position": before.attributes["current_position"]}
    elif STATE in changed and before.state in ("open", "closed"):
        yield "open_cover" if before.state == "open" else "close_cover", {}
    if "current_tilt_position" in changed and "current_tilt_position" in before.attributes:
        yield "set_cover_tilt_position", {"tilt_position": before.attributes["current_tilt_position"]}


def _climate(before: Shown, changed: Changed) -> Calls:
    """Yield mode and settings; the settings first where the mode is going to be off."""
    mode = [("set_hvac_mode", {"hvac_mode": before.state})] if STATE in changed else []
    if before.state != "off":
        yield from mode
    low, high = before.attributes.get("target_temp_low"), before.attributes.get("target_temp_high")
    if not changed.isdisjoint(("target_temp_low", "target_temp_high")) and None not in (low, high):
        yield "set_temperature", {"target_temp_low": low, "target_temp_high": high}
    yield from _setters("climate", before, changed)
    if before.state == "off":
        yield from mode


def _water_heater(before: Shown, changed: Changed) -> Calls:
    """Yield mode and temperature."""
    if STATE in changed:
        yield "set_operation_mode", {"operation_mode": before.state}
    yield from _setters("water_heater", before, changed)


def _media_player(before: Shown, changed: Changed) -> Calls:
    """Yield settings, and what plays or rests."""
    if STATE in changed and before.state in ("off", "standby"):
        yield "turn_off", {}
        return
    yield from _setters("media_player", before, changed)
    if STATE in changed and before.state in ("playing", "paused"):
        yield "media_play" if before.state == "playing" else "media_pause", {}
    elif STATE in changed and before.state in ("on", "idle"):
        yield "turn_on" if before.state == "on" else "media_stop", {}


def _number(before: Shown, changed: Changed) -> Calls:
    """Yield a number."""
    yield "set_value", {"value": float(before.state)}


def _counter(before: Shown, changed: Changed) -> Calls:
    """Yield a whole number."""
    yield "set_value", {"value": int(float(before.state))}


def _set(service: str, parameter: str) -> Callable[[Shown, Changed], Calls]:
    """Return the rule of what is set to its state."""

    def rule(before: Shown, changed: Changed) -> Calls:
        yield service, {parameter: before.state}

    return rule


def _moment(before: Shown, changed: Changed) -> Calls:
    """Yield a date, a time, or both."""
    key = "datetime" if " " in before.state else "date" if "-" in before.state else "time"
    yield "set_datetime", {key: before.state}


def _resting(states: tuple[str, ...], service: str, domain: str) -> Callable[[Shown, Changed], Calls]:
    """Return the rule of machines: they are sent back to rest, never to work."""

    def rule(before: Shown, changed: Changed) -> Calls:
        if STATE in changed:
            if before.state in states:
                yield service, {}
            return
        yield from _setters(domain, before, changed)

    return rule


RULES: Final[Mapping[str, Callable[[Shown, Changed], Calls]]] = MappingProxyType(
    {
        "light": _light,
        **dict.fromkeys(("switch", "input_boolean", "automation", "remote"), _on_off),
        "fan": _switched("fan"),
        "humidifier": _switched("humidifier"),
        "cover": _cover,
        "climate": _climate,
        "water_heater": _water_heater,
        "media_player": _media_player,
        **dict.fromkeys(("input_number", "number"), _number),
        "counter": _counter,
        **dict.fromkeys(("input_select", "select"), _set("select_option", "option")),
        **dict.fromkeys(("input_text", "text"), _set("set_value", "value")),
        "input_datetime": _moment,
        "date": _set("set_value", "date"),
        "time": _set("set_value", "time"),
        "datetime": _set("set_value", "datetime"),
        "siren": _resting(("off",), "turn_off", "siren"),
        "vacuum": _resting(("docked", "returning", "idle"), "return_to_base", "vacuum"),
        "lawn_mower": _resting(("docked", "returning"), "dock", "lawn_mower"),
    }
)
"""Domain: how it is brought back. What is not here stays as it is."""
