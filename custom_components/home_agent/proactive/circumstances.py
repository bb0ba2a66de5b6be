"""What has to be so meanwhile: rain, nobody at home, night."""

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
from .rules import NIGHT, NOBODY, RAIN, UNKNOWN

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
"""Per circumstance the domains on whose states it depends; night depends on the clock."""


class Circumstances:
    """Says whether something is so now; None where that is not known."""

    def __init__(self, hass: HomeAssistant, hours: Hours) -> None:
        """Take what counts as night from the quiet hours."""
        self._hass = hass
        self._night = hours.night
        self._checks: Mapping[str, Callable[[], bool | None]] = {
            RAIN: self._rains,
            NOBODY: self._nobody_home,
            NIGHT: lambda: self._night.holds(dt_util.utcnow()),
        }

    @property
    def night(self) -> Hours:
        """Return what counts as night."""
        return self._night

    @callback
    def holds(self, circumstance: str | None) -> bool | None:
        """Return whether something is so; what is not asked for always is."""
        return True if circumstance is None else self._checks[circumstance]()

    @callback
    def matters(self, circumstance: str, state: State) -> bool:
        """Return whether a circumstance depends on an entity."""
        if state.domain not in DOMAINS[circumstance]:
            return False
        if circumstance == NOBODY:
            return True
        return _tells_rain(state) and is_exposed(self._hass, state.entity_id)

    @callback
    def states(self, circumstance: str | None) -> list[State]:
        """Return the states on which a circumstance depends."""
        if circumstance is None or not DOMAINS[circumstance]:
            return []
        found = self._hass.states.async_all(DOMAINS[circumstance])
        return [state for state in found if self.matters(circumstance, state)]

    def _rains(self) -> bool | None:
        """Return whether it rains, by whatever exposed entity knows; one that says so is enough."""
        told = [_is_wet(state) for state in self.states(RAIN) if state.state not in UNKNOWN]
        return any(told) if told else None

    def _nobody_home(self) -> bool | None:
        """Return whether everybody is away; None where nobody is known or somebody's place is not."""
        places = [state.state for state in self._hass.states.async_all("person")]
        if STATE_HOME in places:
            return False
        return None if not places or UNKNOWN.intersection(places) else True


def _tells_rain(state: State) -> bool:
    """Return whether an entity knows whether it rains."""
    kind = state.attributes.get(ATTR_DEVICE_CLASS)
    return state.domain == "weather" or kind == SensorDeviceClass.PRECIPITATION_INTENSITY


def _is_wet(state: State) -> bool:
    """Return whether an entity says that it rains."""
    if state.domain == "weather":
        return state.state in WET
    try:
        return float(state.state) > 0
    except ValueError:
        return False
