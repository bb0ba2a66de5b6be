"""Whom a question reaches by which notify target, and what that target can do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.util import slugify

from ..knowledge.persons import PERSON

NOTIFY = "notify"
SEND_MESSAGE = "send_message"
APP = "mobile_app"
TARGETS = "targets"
NO_PERSONS = frozenset({f"{NOTIFY}.{SEND_MESSAGE}", f"{NOTIFY}.persistent_notification"})
"""Services that belong to no person."""


@dataclass(frozen=True, slots=True)
class Route:
    """How a target is reached."""

    service: str
    entity_id: str | None = None

    @property
    def has_buttons(self) -> bool:
        """Return whether buttons can come with a message; notify entities take plain text only."""
        return self.entity_id is None

    @property
    def can_clear(self) -> bool:
        """Return whether a message can be taken back."""
        return self.has_buttons and self.service.startswith(f"{APP}_")

    @property
    def target(self) -> dict[str, str]:
        """Return the target as the service takes it."""
        return {ATTR_ENTITY_ID: self.entity_id} if self.entity_id else {}


def read_targets(stored: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the notify targets of each person."""
    return {item[PERSON]: tuple(item[TARGETS]) for item in stored}


@callback
def user_id_of(hass: HomeAssistant, person: str) -> str | None:
    """Return the Home Assistant user of a person."""
    state = hass.states.get(person)
    return state.attributes.get("user_id") if state else None


@callback
def route_to(hass: HomeAssistant, target: str) -> Route | None:
    """Return how a target is reached now; None for one that is not there.

    A phone's own service goes before its entity, because it takes buttons.
    """
    name = target.removeprefix(f"{NOTIFY}.")
    if name != SEND_MESSAGE and hass.services.has_service(NOTIFY, name):
        return Route(name)
    if (service := _app_service(hass, target)) and hass.services.has_service(NOTIFY, service):
        return Route(service)
    known = hass.states.get(target) is not None and hass.services.has_service(NOTIFY, SEND_MESSAGE)
    return Route(SEND_MESSAGE, target) if known else None


@callback
def _app_service(hass: HomeAssistant, entity_id: str) -> str | None:
    """Return the service of the phone that a notify entity belongs to."""
    registered = er.async_get(hass).async_get(entity_id)
    return service_of_phone(hass, registered.config_entry_id) if registered else None


@callback
def service_of_phone(hass: HomeAssistant, entry_id: str | None) -> str | None:
    """Return the service of a phone by its config entry; None for anything but a phone."""
    phone = hass.config_entries.async_get_entry(entry_id) if entry_id else None
    if phone is None or phone.domain != APP:
        return None
    return f"{APP}_{slugify(phone.data.get('device_name', ''))}"
