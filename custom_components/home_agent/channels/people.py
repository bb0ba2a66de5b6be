"""The persons whom a message reaches, and how: the targets of the page Channels."""

from collections.abc import Iterable, Mapping
from typing import Any

from homeassistant.core import HomeAssistant, callback

from ..tools.base import ServiceCall
from .notify_targets import NOTIFY, Route, read_targets, route_to, user_id_of


class People:
    """Persons with notify targets."""

    def __init__(self, hass: HomeAssistant, stored: Iterable[Mapping[str, Any]]) -> None:
        """Take the option."""
        self._hass = hass
        self._targets = read_targets(stored)

    def __bool__(self) -> bool:
        """Return whether anybody can be reached."""
        return bool(self._targets)

    @callback
    def names(self) -> dict[str, str]:
        """Return the entity id of each person by name."""
        states = {person: self._hass.states.get(person) for person in self._targets}
        return {state.name if state else person: person for person, state in states.items()}

    @callback
    def person_of(self, user_id: str | None) -> str | None:
        """Return the person of a user, if there is a target of theirs."""
        known = (person for person in self._targets if user_id and user_id_of(self._hass, person) == user_id)
        return next(known, None)

    @callback
    def routes(self, person: str) -> list[Route]:
        """Return how a person is reached now."""
        found = (route_to(self._hass, target) for target in self._targets.get(person, ()))
        return list(dict.fromkeys(route for route in found if route is not None))

    @callback
    def receives(self, call: ServiceCall) -> bool:
        """Return whether a call is a message to one of the targets, and nothing else."""
        if call.domain != NOTIFY or not call.data.keys() <= {"message", "title"}:
            return False
        return any(
            call.service == route.service and call.entity_ids == entity_ids(route)
            for person in self._targets
            for route in self.routes(person)
        )


def entity_ids(route: Route) -> tuple[str, ...]:
    """Return the entity of a route that has one."""
    return (route.entity_id,) if route.entity_id else ()
