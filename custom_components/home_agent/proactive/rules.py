"""Rules as data: what is watched, in which state, for how long, and meanwhile what."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from homeassistant.components.binary_sensor.const import BinarySensorDeviceClass
from homeassistant.components.cover import CoverDeviceClass
from homeassistant.components.lock.const import LockState
from homeassistant.components.sensor import SensorDeviceClass
from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    ATTR_ENTITY_ID,
    ATTR_UNIT_OF_MEASUREMENT,
    STATE_ON,
    STATE_OPEN,
    STATE_UNAVAILABLE,
    STATE_UNKNOWN,
    UnitOfPower,
)
from homeassistant.core import State

from ..memory.settings import read_span

RULE, ENTITIES, STATE, DURATION, PERSONS, URGENT = (
    "rule",
    "entities",
    "state",
    "duration",
    "persons",
    "urgent",
)
"""Keys of the items of the `proactive_rules` option."""

OWN: Final = "state"
"""The rule that the household writes itself."""
UNKNOWN: Final = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN})

NIGHT: Final = "night"
RAIN: Final = "rain"
NOBODY: Final = "nobody_home"

LOW: Final = 15.0
"""Percent at which a battery is low."""
CHARGED: Final = 20.0
"""Percent from which it is not low any more."""
RUNNING: Final = 10.0
"""Watts that a machine draws while it is in use."""
IDLE: Final = 5.0
LEAST_RUN: Final = timedelta(minutes=5)
"""How long a machine has to have been in use before its end is told."""
KILO: Final = 1000.0
ENDED: Final = frozenset(
    {"complete", "completed", "done", "end", "ended", "finished", "idle", "off", "program_ended", "ready"}
    | {"standby", "not_running", "stop", "stopped"}
)
"""States in which a machine that tells them is not in use."""

type StateTest = Callable[[State], bool | None]
"""Returns whether a state is the one that is waited for; None for one that says nothing either way."""


def _shows(*states: str) -> StateTest:
    """Return a test for states by their names."""
    return lambda state: state.state in states


def _is_low(state: State) -> bool | None:
    """Return whether a battery is low; None where it is neither low nor charged."""
    if state.domain == "binary_sensor":
        return state.state == STATE_ON
    level = _number(state.state)
    if level is None or LOW < level < CHARGED:
        return None
    return level <= LOW


def _is_idle(state: State) -> bool | None:
    """Return whether a machine stands still, by what it draws or by what it tells."""
    watts = _number(state.state)
    if watts is None:
        return state.state.lower() in ENDED
    if state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) == UnitOfPower.KILO_WATT:
        watts *= KILO
    return None if IDLE <= watts <= RUNNING else watts < IDLE


def _number(text: str) -> float | None:
    """Return a number, None for anything else."""
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTemplate:
    """A shipped rule."""

    kinds: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    """Per domain the device classes that it is about where no entity is chosen; None for all."""
    test: StateTest = field(default=lambda _state: False)
    duration: timedelta
    meanwhile: str | None = None
    """What has to be so too."""
    urgent: bool = False
    """Whether it is told at any hour."""
    ends: bool = False
    """Whether it is about the end of something that has to have begun before."""


_WAYS_IN: Final = frozenset({BinarySensorDeviceClass.DOOR, BinarySensorDeviceClass.GARAGE_DOOR})
_WINDOWS: Final = frozenset({BinarySensorDeviceClass.WINDOW})

TEMPLATES: Final[Mapping[str, RuleTemplate]] = {
    "garage_open": RuleTemplate(
        kinds={
            "cover": frozenset({CoverDeviceClass.GARAGE, CoverDeviceClass.GATE}),
            "binary_sensor": frozenset({BinarySensorDeviceClass.GARAGE_DOOR}),
        },
        test=_shows(STATE_OPEN, STATE_ON),
        duration=timedelta(minutes=30),
    ),
    "door_open": RuleTemplate(
        kinds={"cover": frozenset({CoverDeviceClass.DOOR}), "binary_sensor": _WAYS_IN},
        test=_shows(STATE_OPEN, STATE_ON),
        duration=timedelta(minutes=15),
    ),
    "window_rain": RuleTemplate(
        kinds={"cover": frozenset({CoverDeviceClass.WINDOW}), "binary_sensor": _WINDOWS},
        test=_shows(STATE_OPEN, STATE_ON),
        duration=timedelta(minutes=2),
        meanwhile=RAIN,
    ),
    "light_nobody_home": RuleTemplate(
        kinds={"light": None},
        test=_shows(STATE_ON),
        duration=timedelta(minutes=10),
        meanwhile=NOBODY,
    ),
    "unlocked_night": RuleTemplate(
        kinds={"lock": None, "binary_sensor": frozenset({BinarySensorDeviceClass.LOCK})},
        test=_shows(LockState.UNLOCKED, LockState.OPEN, STATE_ON),
        duration=timedelta(minutes=5),
        meanwhile=NIGHT,
        urgent=True,
    ),
    "battery_low": RuleTemplate(
        kinds={
            "sensor": frozenset({SensorDeviceClass.BATTERY}),
            "binary_sensor": frozenset({BinarySensorDeviceClass.BATTERY}),
        },
        test=_is_low,
        duration=timedelta(hours=1),
    ),
    "leak": RuleTemplate(
        kinds={"binary_sensor": frozenset({BinarySensorDeviceClass.MOISTURE})},
        test=_shows(STATE_ON),
        duration=timedelta(0),
        urgent=True,
    ),
    "appliance_finished": RuleTemplate(test=_is_idle, duration=timedelta(minutes=5), ends=True),
    OWN: RuleTemplate(duration=timedelta(0)),
}
"""The rules to choose from. One without kinds needs entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProactiveRule:
    """One rule of the household's."""

    name: str
    """Of its template; also names its sentence in the translations."""
    template: RuleTemplate
    entities: frozenset[str]
    """The chosen ones; all of the template's kind where there are none."""
    duration: timedelta
    state: str = ""
    persons: tuple[str, ...] = ()
    """Entity ids of those who are told; everybody with a notify target where there are none."""
    urgent: bool = False

    @property
    def key(self) -> str:
        """Return what the rule is kept under while it stays as it is."""
        who = ",".join(self.persons)
        return f"{self.name}|{self.state}|{self.duration.total_seconds():g}|{who}"

    def concerns(self, state: State) -> bool:
        """Return whether the rule is about an entity; groups are left to their members."""
        if self.entities:
            return state.entity_id in self.entities
        classes = self.template.kinds.get(state.domain, frozenset())
        return (
            classes is None or state.attributes.get(ATTR_DEVICE_CLASS) in classes
        ) and ATTR_ENTITY_ID not in state.attributes

    def fits(self, state: State | None) -> bool | None:
        """Return whether a state is the one that is waited for; None where that cannot be said."""
        if state is None or state.state in UNKNOWN:
            return None
        return state.state.casefold() == self.state if self.name == OWN else self.template.test(state)


def read_rules(stored: Iterable[Mapping[str, Any]]) -> list[ProactiveRule]:
    """Return the rules of the option; an item that is none is left out."""
    return [rule for item in stored if (rule := _read_rule(item)) is not None]


def _read_rule(item: Mapping[str, Any]) -> ProactiveRule | None:
    """Return one rule."""
    name = str(item.get(RULE, ""))
    if (template := TEMPLATES.get(name)) is None:
        return None
    duration = read_span(item[DURATION]) if item.get(DURATION) else template.duration
    return ProactiveRule(
        name=name,
        template=template,
        entities=frozenset(item.get(ENTITIES) or ()),
        duration=duration or timedelta(0),
        state=str(item.get(STATE) or "").strip().casefold(),
        persons=tuple(item.get(PERSONS) or ()),
        urgent=template.urgent or bool(item.get(URGENT)),
    )
