"""The conditions of rules: rain, nobody at home, night."""

from collections.abc import Callable, Mapping
from typing import Final

from homeassistant.components.sensor import SensorDeviceClass
from homeassistant.components.weather import (
    ATTR_CONDITION_HAIL,
    ATTR_CONDITION_LIGHTNING_RAINY,
    ATTR_CONDITION_POURING,
    ATTR_CONDITION_RAINY,
    ATTR_CONDITION_SNOWY_RAINY,
)
from homeassistant.const import ATTR_DEVICE_CLASS, STATE_HOME
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.util import dt as dt_util

from ..knowledge.house import is_exposed
from .messenger import Hours
from .rules import NIGHT, NO_STATE, NOBODY, RAIN

WET: Final = frozenset(
    {
        ATTR_CONDITION_HAIL,
        ATTR_CONDITION_LIGHTNING_RAINY,
        ATTR_CONDITION_POURING,
        ATTR_CONDITION_RAINY,
        ATTR_CONDITION_SNOWY_RAINY,
    }
)
DOMAINS: Final[Mapping[str, frozenset[str]]] = {
    RAIN: frozenset({"weather", "sensor"}),
    NOBODY: frozenset({"person"}),
    NIGHT: frozenset(),
}
"""The domains on whose states each condition depends; night depends on the clock."""


class Conditions:
    """Evaluates conditions; None if the result is not known."""

    def __init__(self, hass: HomeAssistant, hours: Hours) -> None:
        """Take the quiet hours, which also define the night."""
        self._hass = hass
        self._night = hours.night
        self._checks: Mapping[str, Callable[[], bool | None]] = {
            RAIN: self._rains,
            NOBODY: self._nobody_home,
            NIGHT: lambda: self._night.holds(dt_util.utcnow()),
        }

    @property
    def night(self) -> Hours:
        """Return the hours of the night."""
        return self._night

    @callback
    def holds(self, condition: str | None) -> bool | None:
        """Return whether a condition holds; no condition always holds."""
        return True if condition is None else self._checks[condition]()

    @callback
    def matters(self, condition: str, state: State) -> bool:
        """Return whether a condition depends on an entity."""
        if state.domain not in DOMAINS[condition]:
            return False
        if condition == NOBODY:
            return True
        return _tells_rain(state) and is_exposed(self._hass, state.entity_id)

    @callback
    def states(self, condition: str | None) -> list[State]:
        """Return the states on which a condition depends."""
        if condition is None or not DOMAINS[condition]:
            return []
        found = self._hass.states.async_all(DOMAINS[condition])
        return [state for state in found if self.matters(condition, state)]

    def _rains(self) -> bool | None:
        """Return whether any exposed entity reports rain; None if none reports anything."""
        rains = [_is_wet(state) for state in self.states(RAIN) if state.state not in NO_STATE]
        return any(rains) if rains else None

    def _nobody_home(self) -> bool | None:
        """Return whether everybody is away; None if there is no person, or one location is not known."""
        places = [state.state for state in self._hass.states.async_all("person")]
        if STATE_HOME in places:
            return False
        return None if not places or NO_STATE.intersection(places) else True


def _tells_rain(state: State) -> bool:
    """Return whether an entity reports rain."""
    kind = state.attributes.get(ATTR_DEVICE_CLASS)
    return state.domain == "weather" or kind == SensorDeviceClass.PRECIPITATION_INTENSITY


def _is_wet(state: State) -> bool:
    """Return whether an entity reports rain now."""
    if state.domain == "weather":
        return state.state in WET
    try:
        return float(state.state) > 0
    except ValueError:
        return False
