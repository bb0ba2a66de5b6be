"""Rules as data: the entities, their state and duration; and the conditions of rules."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from homeassistant.components.binary_sensor.const import BinarySensorDeviceClass
from homeassistant.components.cover import CoverDeviceClass
from homeassistant.components.lock.const import LockState
from homeassistant.components.sensor import SensorDeviceClass
from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    ATTR_ENTITY_ID,
    ATTR_UNIT_OF_MEASUREMENT,
    STATE_HOME,
    STATE_ON,
    STATE_OPEN,
    UnitOfPower,
)
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.util import dt as dt_util

from ..domains.showing import GONE
from ..knowledge.house import is_exposed
from ..texts import as_number
from ..timespans import QuietHours, read_span
from ..tools.control.planning import PROPOSED

RULE, ENTITIES, STATE, DURATION, PERSONS = "rule", "entities", "state", "duration", "persons"
URGENT, ASK, ASK_ENTITIES, ALOUD = "urgent", "ask", "ask_entities", "aloud"
AT, ARRIVALS, SPOKEN = "at", "arrivals", "spoken"
"""Keys of the items of the `proactive_rules` option; the last ones are those of a briefing."""

OWN_RULE: Final = "state"
"""The rule whose state the household chooses."""
BRIEFING: Final = "briefing"
"""The rule that tells of the day, and watches nothing."""

NIGHT: Final = "night"
RAIN: Final = "rain"
NOBODY: Final = "nobody_home"

LOW_PERCENT: Final = 15.0
"""Percent at which a battery is low."""
CHARGED_PERCENT: Final = 20.0
"""Percent from which a battery is no longer low."""
RUNNING_WATTS: Final = 10.0
"""Watts from which a machine is in use."""
IDLE_WATTS: Final = 5.0
MIN_RUN: Final = timedelta(minutes=5)
"""The shortest use of a machine whose end is reported."""
WATTS_PER_KILOWATT: Final = 1000.0
ENDED: Final = frozenset(
    {"complete", "completed", "done", "end", "ended", "finished", "idle", "off", "program_ended", "ready"}
    | {"standby", "not_running", "stop", "stopped"}
)
"""States of a machine that is not in use."""

type StateTest = Callable[[State], bool | None]
"""Returns whether a state matches; None if the state does not decide it."""
WET: Final = frozenset({"hail", "lightning-rainy", "pouring", "rainy", "snowy-rainy"})
"""Conditions of the weather in which it rains in."""


def _shows(*states: str) -> StateTest:
    return lambda state: state.state in states


def _is_low(state: State) -> bool | None:
    """Return whether a battery is low; None between low and charged."""
    if state.domain == "binary_sensor":
        return state.state == STATE_ON
    level = as_number(state.state)
    if level is None or LOW_PERCENT < level < CHARGED_PERCENT:
        return None
    return level <= LOW_PERCENT


def _is_idle(state: State) -> bool | None:
    watts = as_number(state.state)
    if watts is None:
        return state.state.lower() in ENDED
    if state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) == UnitOfPower.KILO_WATT:
        watts *= WATTS_PER_KILOWATT
    return None if IDLE_WATTS <= watts <= RUNNING_WATTS else watts < IDLE_WATTS


class RuleTemplate(NamedTuple):
    """A kind of rule that the household can choose."""

    duration: timedelta
    kinds: Mapping[str, frozenset[str] | None] = MappingProxyType({})
    """The device classes per domain that the rule covers if no entity is chosen; None for all."""
    test: StateTest = lambda _state: False
    condition: str | None = None
    """The additional condition."""
    urgent: bool = False
    """Whether its messages are sent during quiet hours too."""
    ends: bool = False
    """Whether the rule is about the end of something that has started before."""
    asks: bool = True
    """Whether there is something to be done about it."""


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
        condition=RAIN,
    ),
    "light_nobody_home": RuleTemplate(
        kinds={"light": None},
        test=_shows(STATE_ON),
        duration=timedelta(minutes=10),
        condition=NOBODY,
    ),
    "unlocked_night": RuleTemplate(
        kinds={"lock": None, "binary_sensor": frozenset({BinarySensorDeviceClass.LOCK})},
        test=_shows(LockState.UNLOCKED, LockState.OPEN, STATE_ON),
        duration=timedelta(minutes=5),
        condition=NIGHT,
        urgent=True,
    ),
    "battery_low": RuleTemplate(
        kinds={
            "sensor": frozenset({SensorDeviceClass.BATTERY}),
            "binary_sensor": frozenset({BinarySensorDeviceClass.BATTERY}),
        },
        test=_is_low,
        duration=timedelta(hours=1),
        asks=False,
    ),
    "leak": RuleTemplate(
        kinds={"binary_sensor": frozenset({BinarySensorDeviceClass.MOISTURE})},
        test=_shows(STATE_ON),
        duration=timedelta(0),
        urgent=True,
    ),
    "appliance_finished": RuleTemplate(test=_is_idle, duration=timedelta(minutes=5), ends=True),
    OWN_RULE: RuleTemplate(duration=timedelta(0)),
    BRIEFING: RuleTemplate(duration=timedelta(0), asks=False),
}
"""The templates to choose from. A template without kinds needs entities."""


class ProactiveRule(NamedTuple):
    """One rule of the household."""

    name: str
    """The name of the template, and of the sentence in the translations."""
    template: RuleTemplate
    entities: frozenset[str]
    """The chosen entities; all of the kinds of the template if none is chosen."""
    duration: timedelta
    state: str = ""
    persons: tuple[str, ...] = ()
    """Entity ids of the persons who get the messages; everyone with a notify target if there are none."""
    urgent: bool = False
    ask: str = ""
    """The action that is proposed; empty if the rule only tells."""
    ask_entities: tuple[str, ...] = ()
    """The entities of that action; those that the message is about if there are none."""
    aloud: bool = False
    """Whether it is also asked by voice, where somebody is."""

    @property
    def key(self) -> str:
        """Return the key of the rule in the store; it changes with the rule."""
        who = ",".join(self.persons)
        asks = f"|{self.ask}|{','.join(self.ask_entities)}" if self.ask else ""
        return f"{self.name}|{self.state}|{self.duration.total_seconds():g}|{who}{asks}"

    def covers(self, state: State) -> bool:
        """Return whether the rule covers an entity; of groups it covers the members."""
        if self.entities:
            return state.entity_id in self.entities
        classes = self.template.kinds.get(state.domain, frozenset())
        return (
            classes is None or state.attributes.get(ATTR_DEVICE_CLASS) in classes
        ) and ATTR_ENTITY_ID not in state.attributes

    def matches(self, state: State | None) -> bool | None:
        """Return whether a state matches; None if it is unknown."""
        if state is None or state.state in GONE:
            return None
        return state.state.casefold() == self.state if self.name == OWN_RULE else self.template.test(state)


def read_rules(stored: Iterable[Mapping[str, Any]]) -> list[ProactiveRule]:
    """Return the rules of the option that watch something, without invalid items."""
    rules = []
    for item in stored:
        name = str(item.get(RULE, ""))
        if (template := TEMPLATES.get(name)) is None or name == BRIEFING:
            continue
        duration = read_span(item[DURATION]) if item.get(DURATION) else template.duration
        rules.append(
            ProactiveRule(
                name=name,
                template=template,
                entities=frozenset(item.get(ENTITIES) or ()),
                duration=duration or timedelta(0),
                state=str(item.get(STATE) or "").strip().casefold(),
                persons=tuple(item.get(PERSONS) or ()),
                urgent=template.urgent or bool(item.get(URGENT)),
                ask=str(item.get(ASK) or "") if item.get(ASK) in PROPOSED else "",
                ask_entities=tuple(item.get(ASK_ENTITIES) or ()),
                aloud=bool(item.get(ALOUD)),
            )
        )
    return rules


@callback
def holds(hass: HomeAssistant, condition: str | None, night: QuietHours) -> bool | None:
    """Return whether a condition holds, None if that is not known; no condition always holds."""
    if condition is None:
        return True
    if condition == NIGHT:
        return night.holds(dt_util.utcnow())
    if condition == RAIN:
        reports = [
            state
            for state in hass.states.async_all(("weather", "sensor"))
            if state.state not in GONE
            and (
                state.domain == "weather"
                or state.attributes.get(ATTR_DEVICE_CLASS) == SensorDeviceClass.PRECIPITATION_INTENSITY
            )
            and is_exposed(hass, state.entity_id)
        ]
        wet = (
            state.state in WET if state.domain == "weather" else (as_number(state.state) or 0.0) > 0
            for state in reports
        )
        return any(wet) if reports else None
    places = [state.state for state in hass.states.async_all("person")]
    if STATE_HOME in places:
        return False
    return None if not places or GONE.intersection(places) else True
