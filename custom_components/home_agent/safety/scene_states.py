"""Scene states: which services core calls to bring an entity into a state that a scene holds.

Each domain's `reproduce_state` platform decides this in Home Assistant; the facts about the domains repeat
its decisions.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.loader import IntegrationNotLoaded, async_get_loaded_integration

from ..domains import DOMAINS
from ..domains.base import UNKNOWN_SERVICE

POSITIONS: Final[Mapping[str, str]] = {
    "set_cover_position": "close_cover",
    "set_cover_tilt_position": "close_cover_tilt",
    "set_valve_position": "close_valve",
}
"""The meaning of a position of zero."""


@callback
def services_for(hass: HomeAssistant, state: State) -> Iterator[str]:
    """Yield the services of the entity's own domain that bring it into a state."""
    facts = DOMAINS[state.domain]
    known = facts.reproduced
    if known is None:
        if _may_reproduce(hass, state.domain):
            yield UNKNOWN_SERVICE
        return
    services = list(known.states.get(state.state, known.other))
    for attribute, service in facts.reproducing_services.items():
        value = state.attributes.get(attribute)
        if value is not None or (attribute in state.attributes and state.state != "off"):
            services.append(POSITIONS.get(service, service) if _is_zero(value) else service)
    yield from dict.fromkeys(services)


def _is_zero(value: Any) -> bool:
    """Return whether a position is fully closed."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0


def _may_reproduce(hass: HomeAssistant, domain: str) -> bool:
    """Return whether the integration behind a domain may know how to bring about a state."""
    try:
        integration = async_get_loaded_integration(hass, domain)
    except IntegrationNotLoaded:
        return True
    return bool(integration.platforms_exists(("reproduce_state",)))
