"""What an entity shows after a call: waited for without polling, never longer than is bearable."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from homeassistant.core import Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.helpers.event import async_track_state_change_event

from ...texts import fold

SETTLE_SECONDS = 1.0
TOLERANCES: Mapping[str, float] = {
    "brightness": 3,
    "color_temp_kelvin": 150,
    "volume_level": 0.02,
    "temperature": 0.06,
    "target_temp_low": 0.06,
    "target_temp_high": 0.06,
    "current_position": 2,
    "current_tilt_position": 2,
    "humidity": 1,
}
"""How far a state may be from what was asked for, per attribute."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a state should show once a call has worked. Nothing given, anything will do."""

    states: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    """States on the way to it."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attribute, or "state", and its value."""
    change: bool = False
    """Whether any change is worth waiting for."""
    may_change: bool = False
    """The same, where nothing has failed without a change."""
    is_on_its_way: Callable[[State], bool] | None = None
    """Whether another sign than the state shows that it has begun."""
    lasts: bool = False
    """Whether it takes minutes, so that its sentence speaks of the beginning."""

    @property
    def is_empty(self) -> bool:
        """Return whether a state cannot tell if the call worked."""
        return not (self.states or self.unless or self.attributes)

    def is_met(self, state: State | None) -> bool:
        """Return whether a state is as expected."""
        if state is None:
            return False
        if (self.states and state.state not in self.states) or state.state in self.unless:
            return False
        return not self.missed(state)

    def is_passing(self, state: State | None) -> bool:
        """Return whether an entity is on its way."""
        if state is None:
            return False
        return state.state in self.passing or (self.is_on_its_way is not None and self.is_on_its_way(state))

    def is_told(self, state: State | None) -> bool:
        """Return whether the sentence about the action is true."""
        return self.is_met(state) or (self.lasts and self.is_passing(state))

    def missed(self, state: State) -> dict[str, Any]:
        """Return the attributes that are not as expected, with what was expected."""
        return {
            name: wanted
            for name, wanted in self.attributes.items()
            if not _is_close(
                name,
                wanted,
                state.state if name == "state" else state.attributes.get(name),
                state.attributes.get("percentage_step"),
            )
        }


def _is_close(name: str, wanted: Any, shown: Any, percentage_step: Any) -> bool:
    """Return whether what is shown is what was wanted, give or take a rounding."""
    if shown is None:
        return False
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        tolerance = TOLERANCES.get(name, 0.001)
        if name == "percentage" and isinstance(percentage_step, (int, float)):
            tolerance = max(1.0, percentage_step)
        try:
            return abs(float(shown) - float(wanted)) <= tolerance
        except TypeError, ValueError:
            return False
    return shown == wanted or fold(str(shown)) == fold(str(wanted))


class Settling:
    """Listens to entities from before a call until they are as expected."""

    def __init__(self, hass: HomeAssistant, expectations: Mapping[str, Expectation]) -> None:
        """Start to listen."""
        self._hass = hass
        self._expectations = expectations
        self._before = {entity_id: hass.states.get(entity_id) for entity_id in expectations}
        self._changed = asyncio.Event()
        self._unsubscribe = async_track_state_change_event(hass, list(expectations), self._on_change)

    async def async_wait(self) -> None:
        """Return when all entities are as expected or on their way, at the latest after SETTLE_SECONDS."""
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while not self._is_settled():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass

    @callback
    def stop(self) -> None:
        """Listen no longer."""
        self._unsubscribe()

    @callback
    def _on_change(self, _event: Event[EventStateChangedData]) -> None:
        """Look again."""
        self._changed.set()

    def _is_settled(self) -> bool:
        """Return whether there is nothing left to wait for."""
        for entity_id, expectation in self._expectations.items():
            state = self._hass.states.get(entity_id)
            awaited = expectation.change or expectation.may_change
            if awaited and state is self._before[entity_id]:
                return False
            if not (expectation.is_met(state) or expectation.is_passing(state)):
                return False
        return True
