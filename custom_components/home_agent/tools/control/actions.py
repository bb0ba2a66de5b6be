"""The vetted table: which action is which service, per domain. What is not here cannot be called."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from .parameter_table import PARAMETERS, STEP_SERVICES

ANY = ("*",)
"""All parameters of the domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action on one domain."""

    service: str | None
    """The service, or None where the parameters alone say what is called."""
    expected: frozenset[str] = frozenset()
    """States that show it worked; none where the state does not tell."""
    unexpected: frozenset[str] = frozenset()
    """States that show it did not work."""
    passing: frozenset[str] = frozenset()
    """States on the way."""
    native: tuple[str, ...] = ()
    """Parameters that go with this very call; others go with services of their own."""
    takes: tuple[str, ...] = ()
    """Parameters accepted."""
    value: str | None = None
    """The parameter that a bare `value` means, and that must be given if `service` is None."""
    instead: tuple[str, ...] = ()
    """Parameters whose own service replaces this call."""
    features: int = 0
    """Bits of `supported_features` of which the entity needs one."""
    data: Mapping[str, Any] = field(default_factory=dict)
    gated: bool = False
    """Whether it is only offered where scripts and scenes are allowed."""
    direction: int = 0
    """1 or -1 for a step up or down."""


def _on_off(
    *takes: str, native: tuple[str, ...] = (), features: int = 0, off: str = "off"
) -> dict[str, Action]:
    """Return on, off and toggle; `features` are the bits for on or off."""
    return {
        "turn_on": Action(
            service="turn_on", unexpected=frozenset((off,)), takes=takes, native=native, features=features
        ),
        "turn_off": Action(service="turn_off", expected=frozenset((off,)), features=features),
        "toggle": Action(service="toggle", features=features),
    }


def _set(value: str, *takes: str, service: str | None = None, native: tuple[str, ...] = ()) -> Action:
    """Return an action that sets what its parameters say."""
    return Action(service=service, value=value, takes=takes or (value,), native=native)


def _states(text: str) -> frozenset[str]:
    """Return states written as words."""
    return frozenset(text.split())


_STEP: Final = {direction: Action(service=None, direction=1 if direction == "increase" else -1, value="step",
                                  takes=("step",)) for direction in ("increase", "decrease")}  # fmt: skip
_PICK: Final = {
    "select_option": _set("option"),
    "set_value": _set("option"),
    "next": Action(service="select_next"),
    "previous": Action(service="select_previous"),
}
_PRESS: Final = {"press": Action(service="press"), "activate": Action(service="press")}

_ACTIONS: Final[dict[str, dict[str, Action]]] = {
    "light": {
        "turn_on": Action(service="turn_on", expected=_states("on"), takes=ANY, native=ANY),
        "turn_off": Action(
            service="turn_off", expected=_states("off"), takes=("transition", "flash"), native=ANY
        ),
        "toggle": Action(service="toggle", takes=ANY, native=ANY),
        "set_value": Action(
            service="turn_on", expected=_states("on"), takes=ANY, native=ANY, value="brightness_pct"
        ),
        **_STEP,
    },
    "switch": _on_off(),
    "input_boolean": _on_off(),
    "automation": _on_off(),
    "remote": _on_off("activity", native=("activity",)),
    "camera": {
        "turn_on": Action(service="turn_on", unexpected=_states("off"), features=1),
        "turn_off": Action(service="turn_off", expected=_states("off idle"), features=1),
    },
    "siren": _on_off("tone", "duration", "volume_level", native=ANY, features=1 | 2),
    "fan": {
        **_on_off(*ANY, native=("percentage", "preset_mode")),
        "set_value": _set("percentage", *ANY),
        "set_speed": _set("percentage", *ANY),
        "set_preset": _set("preset_mode", *ANY),
        **_STEP,
    },
    "cover": {
        "open": Action(
            service="open_cover",
            expected=_states("open"),
            passing=_states("opening"),
            takes=("position",),
            instead=("position",),
            features=1,
        ),
        "close": Action(
            service="close_cover",
            expected=_states("closed"),
            passing=_states("closing"),
            takes=("position",),
            instead=("position",),
            features=2,
        ),
        "stop": Action(service="stop_cover", unexpected=_states("opening closing"), features=8),
        "toggle": Action(service="toggle", features=1 | 2),
        "set_position": _set("position", *ANY),
        "set_value": _set("position", *ANY),
        "set_tilt": _set("tilt_position", *ANY),
        **_STEP,
    },
    "valve": {
        "open": Action(
            service="open_valve",
            expected=_states("open"),
            passing=_states("opening"),
            takes=("position",),
            instead=("position",),
            features=1,
        ),
        "close": Action(
            service="close_valve",
            expected=_states("closed"),
            passing=_states("closing"),
            takes=("position",),
            instead=("position",),
            features=2,
        ),
        "stop": Action(service="stop_valve", unexpected=_states("opening closing"), features=8),
        "set_position": _set("position"),
        "set_value": _set("position"),
    },
    "lock": {
        "lock": Action(
            service="lock",
            expected=_states("locked"),
            passing=_states("locking"),
            takes=("code",),
            native=ANY,
        ),
        "unlock": Action(
            service="unlock",
            expected=_states("unlocked open"),
            passing=_states("unlocking opening"),
            takes=("code",),
            native=ANY,
        ),
        "open": Action(
            service="open",
            expected=_states("open unlocked"),
            passing=_states("opening unlocking"),
            takes=("code",),
            native=ANY,
            features=1,
        ),
    },
    "alarm_control_panel": {
        **{
            f"arm_{mode}": Action(
                service=f"alarm_arm_{mode}",
                expected=_states(f"armed_{mode}"),
                passing=_states("arming pending"),
                takes=("code",),
                native=ANY,
                features=bit,
            )
            for mode, bit in (("home", 1), ("away", 2), ("night", 4), ("vacation", 32))
        },
        "disarm": Action(
            service="alarm_disarm",
            expected=_states("disarmed"),
            passing=_states("disarming"),
            takes=("code",),
            native=ANY,
        ),
    },
    "climate": {
        "turn_on": Action(
            service="turn_on", unexpected=_states("off"), takes=ANY, instead=("hvac_mode",), features=256
        ),
        "turn_off": Action(service="turn_off", expected=_states("off"), features=128),
        "toggle": Action(service="toggle", features=128 | 256),
        "set_temperature": _set("temperature", *ANY),
        "set_value": _set("temperature", *ANY),
        "set_hvac_mode": _set("hvac_mode", *ANY),
        "set_fan_mode": _set("fan_mode", *ANY),
        "set_preset": _set("preset_mode", *ANY),
        "set_humidity": _set("humidity", *ANY),
        **_STEP,
    },
    "water_heater": {
        "turn_on": Action(service="turn_on", unexpected=_states("off"), takes=ANY, features=8),
        "turn_off": Action(service="turn_off", expected=_states("off"), features=8),
        "set_temperature": _set("temperature", *ANY),
        "set_value": _set("temperature", *ANY),
        "set_preset": _set("operation_mode", *ANY),
        **_STEP,
    },
    "humidifier": {
        **_on_off(*ANY),
        "set_humidity": _set("humidity", *ANY),
        "set_value": _set("humidity", *ANY),
        "set_preset": _set("mode", *ANY),
        **_STEP,
    },
    "media_player": {
        "turn_on": Action(service="turn_on", unexpected=_states("off standby"), takes=ANY, features=128),
        "turn_off": Action(service="turn_off", expected=_states("off standby"), features=256),
        "toggle": Action(service="toggle", features=128 | 256),
        "play": Action(
            service="media_play",
            expected=_states("playing"),
            passing=_states("buffering"),
            takes=ANY,
            features=16384,
        ),
        "pause": Action(service="media_pause", unexpected=_states("playing buffering"), features=1),
        "stop": Action(service="media_stop", unexpected=_states("playing buffering"), features=4096),
        "next": Action(service="media_next_track", features=32),
        "previous": Action(service="media_previous_track", features=16),
        "volume_up": Action(
            service="volume_up", direction=1, takes=("step",), value="step", features=4 | 1024
        ),
        "volume_down": Action(
            service="volume_down", direction=-1, takes=("step",), value="step", features=4 | 1024
        ),
        "increase": Action(
            service="volume_up", direction=1, takes=("step",), value="step", features=4 | 1024
        ),
        "decrease": Action(
            service="volume_down", direction=-1, takes=("step",), value="step", features=4 | 1024
        ),
        "set_volume": _set("volume_level", *ANY),
        "set_value": _set("volume_level", *ANY),
        "mute": Action(service="volume_mute", data=MappingProxyType({"is_volume_muted": True}), features=8),
        "unmute": Action(
            service="volume_mute", data=MappingProxyType({"is_volume_muted": False}), features=8
        ),
        "select_source": _set("source", *ANY),
    },
    "vacuum": {
        "start": Action(service="start", expected=_states("cleaning"), takes=("fan_speed",), features=8192),
        "turn_on": Action(service="start", expected=_states("cleaning"), takes=("fan_speed",), features=8192),
        "stop": Action(service="stop", unexpected=_states("cleaning"), features=8),
        "pause": Action(service="pause", unexpected=_states("cleaning"), features=4),
        "return_to_base": Action(service="return_to_base", expected=_states("returning docked"), features=16),
        "turn_off": Action(service="return_to_base", expected=_states("returning docked"), features=16),
        "locate": Action(service="locate", features=512),
        "clean_spot": Action(service="clean_spot", expected=_states("cleaning"), features=1024),
        "set_speed": _set("fan_speed"),
        "set_value": _set("fan_speed"),
    },
    "lawn_mower": {
        "start": Action(service="start_mowing", expected=_states("mowing"), features=1),
        "turn_on": Action(service="start_mowing", expected=_states("mowing"), features=1),
        "pause": Action(service="pause", unexpected=_states("mowing"), features=2),
        "stop": Action(service="stop", unexpected=_states("mowing"), features=8),
        "return_to_base": Action(service="dock", expected=_states("returning docked"), features=4),
        "turn_off": Action(service="dock", expected=_states("returning docked"), features=4),
    },
    "input_number": {"set_value": _set("value"), **_STEP},
    "number": {"set_value": _set("value"), **_STEP},
    "counter": {"set_value": _set("value"), "reset": Action(service="reset"), **_STEP},
    "input_select": _PICK,
    "select": _PICK,
    "input_text": {"set_value": _set("value")},
    "text": {"set_value": _set("value")},
    "input_datetime": {"set_value": _set("datetime", "datetime", "date", "time")},
    "date": {"set_value": _set("date")},
    "time": {"set_value": _set("time")},
    "datetime": {"set_value": _set("datetime")},
    "input_button": _PRESS,
    "button": _PRESS,
    "timer": {
        "start": Action(service="start", expected=_states("active"), takes=("duration",), native=ANY),
        "set_value": Action(
            service="start", expected=_states("active"), takes=("duration",), native=ANY, value="duration"
        ),
        "pause": Action(service="pause", expected=_states("paused")),
        "stop": Action(service="cancel", expected=_states("idle")),
        "cancel": Action(service="cancel", expected=_states("idle")),
    },
    "group": _on_off(),
    "scene": {
        name: Action(service="turn_on", takes=("transition",), native=ANY, gated=True)
        for name in ("activate", "turn_on")
    },
    "script": {
        **{name: Action(service="turn_on", gated=True) for name in ("activate", "turn_on", "start")},
        **{
            name: Action(service="turn_off", expected=_states("off"), gated=True)
            for name in ("turn_off", "stop")
        },
    },
}

ACTIONS: Final[Mapping[str, Mapping[str, Action]]] = MappingProxyType(
    {domain: MappingProxyType(actions) for domain, actions in _ACTIONS.items()}
)
"""Domain: name of the action: what it is."""

VERBS: Final = tuple(dict.fromkeys(verb for actions in _ACTIONS.values() for verb in actions))
"""All actions, in the order of the table."""


def domains_of(verb: str) -> frozenset[str]:
    """Return the domains that know an action."""
    return frozenset(domain for domain, actions in ACTIONS.items() if verb in actions)


def _vetted() -> dict[tuple[str, str], bool]:
    """Return every pair of domain and service, and whether it is gated."""
    pairs: dict[tuple[str, str], bool] = {}
    for domain, actions in ACTIONS.items():
        if domain == "group":
            continue
        for action in actions.values():
            if action.service:
                pairs[domain, action.service] = action.gated
        if any(not action.gated for action in actions.values()):
            for parameter in PARAMETERS.get(domain, {}).values():
                if parameter.service:
                    pairs.setdefault((domain, parameter.service), False)
        for service in STEP_SERVICES.get(domain, ()):
            pairs.setdefault((domain, service), False)
    return pairs


VETTED: Final[Mapping[tuple[str, str], bool]] = MappingProxyType(_vetted())
"""Every pair of domain and service that may be called, and whether it is gated."""

GATED_DOMAINS: Final = frozenset(domain for (domain, _), gated in VETTED.items() if gated)
"""Domains that an option switches off: they reach past the limits of their own domain."""

GATED_OFF: Final = (
    "Scenes and scripts are switched off for this assistant. An administrator can switch them on in its "
    "options: Safety, Let it run scripts and scenes (allow_scripts_and_scenes)"
)
"""What is said where they are switched off."""


def is_vetted(domain: str, service: str, *, gated: bool = False) -> bool:
    """Return whether a service may be called at all; `gated` lets scripts and scenes through."""
    needs_gate = VETTED.get((domain, service))
    return needs_gate is not None and (gated or not needs_gate)
