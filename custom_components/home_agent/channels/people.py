"""The persons whom a message reaches, and how: the targets of the page Channels."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr

from ..regex import lazy
from ..tools.base import ServiceCall
from .notify_targets import NOTIFY, Route, read_targets, route_to, service_of_phone, user_id_of

_CAMERA: Final = lazy(r"/api/camera_proxy/camera\.[a-z0-9_]+")


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
    def phones(self, user_id: str | None) -> list[Route]:
        """Return the phones of a user that are there now: what can show a picture."""
        person = self.person_of(user_id)
        return [route for route in self.routes(person) if route.can_clear] if person else []

    @callback
    def is_phone(self, route: Route, device_id: str | None) -> bool:
        """Return whether a device is the phone at the end of a route."""
        device = dr.async_get(self._hass).async_get(device_id) if device_id else None
        return device is not None and service_of_phone(self._hass, device.config_entry_id) == route.service

    @callback
    def receives(self, call: ServiceCall) -> bool:
        """Return whether a call is a message to one of the targets, and nothing else."""
        if call.domain != NOTIFY or not call.data.keys() <= {"message", "title", "data"}:
            return False
        if "data" in call.data and not shows_camera(call.data["data"]):
            return False
        return any(
            call.service == route.service and call.entity_ids == entity_ids(route)
            for person in self._targets
            for route in self.routes(person)
        )


def shows_camera(data: object) -> bool:
    """Return whether the data of a message is the picture of a camera only."""
    return isinstance(data, Mapping) and data.keys() == {"image"} and bool(_CAMERA.fullmatch(data["image"]))


def entity_ids(route: Route) -> tuple[str, ...]:
    """Return the entity of a route that has one."""
    return (route.entity_id,) if route.entity_id else ()
