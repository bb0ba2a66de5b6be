"""Everything in Home Assistant that has a name, gathered for what must not leave the house."""

from collections.abc import Iterator
import re
from typing import Final
from urllib.parse import urlsplit

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)

from ...idle import in_slices
from ...texts import words
from .private_names import Names
from .private_patterns import Kind

POSTAL_DIGITS: Final = 4
TELLING_ENDINGS: Final = (
    *("geocoded_location", "_ssid", "_wifi_connection", "_bssid", "_public_ip", "_hostname", "_host_name"),
    *("_phone_number", "_iccid", "_imei", "_mac_address"),
)
"""Ends of ids of sensors whose states tell where somebody lives or what network that is."""
STREET_ATTRIBUTES: Final = ("Thoroughfare", "Sub Locality", "Postal Code", "street")
PUBLIC_NAMES: Final = frozenset(
    {"home assistant", "home agent", "supervisor", "hassio", "admin", "owner", "user"}
)


async def async_names(hass: HomeAssistant) -> Names:
    """Return the names of persons, users, rooms, zones, devices and entities, exposed or not."""
    found: set[tuple[Kind, str]] = set()
    for user in await hass.auth.async_get_users():
        if user.name and not user.system_generated:
            found.add((Kind.USER, user.name))
    async for item in in_slices(_names(hass)):
        found.add(item)
    named = frozenset(
        (kind, name.strip())
        for kind, name in found
        if name.strip() and name.strip().casefold() not in PUBLIC_NAMES
    )
    return Names(named, frozenset(_public(hass)))


def _names(hass: HomeAssistant) -> Iterator[tuple[Kind, str]]:
    """Yield names with their kinds; some come twice."""
    yield from _places(hass)
    for state in hass.states.async_all():
        kind = Kind.DEVICE
        if state.domain == "person":
            kind = Kind.PERSON
        elif state.domain == "zone":
            kind = Kind.PLACE
        yield kind, state.name
        yield from ((Kind.ADDRESS, text) for text in _telling(state))
    for entry in list(er.async_get(hass).entities.values()):
        yield from (
            (Kind.DEVICE, str(name)) for name in (entry.name, *entry.aliases) if isinstance(name, str)
        )
    for device in list(dr.async_get(hass).devices):
        yield from ((Kind.DEVICE, name) for name in (device.name, device.name_by_user) if name)


def _places(hass: HomeAssistant) -> Iterator[tuple[Kind, str]]:
    """Yield the names of rooms, floors, the home and its hosts."""
    yield Kind.PLACE, hass.config.location_name
    for area in ar.async_get(hass).async_list_areas():
        yield from ((Kind.ROOM, name) for name in (area.name, *area.aliases))
    for floor in fr.async_get(hass).async_list_floors():
        yield from ((Kind.ROOM, name) for name in (floor.name, *floor.aliases))
    for url in (hass.config.internal_url, hass.config.external_url):
        host = urlsplit(url).hostname if url else None
        if host and not host.replace(".", "").isdigit():
            yield Kind.HOST, host.partition(".")[0]


def _telling(state: State) -> Iterator[str]:
    """Yield what the state of a sensor tells of where somebody lives."""
    if not state.entity_id.endswith(TELLING_ENDINGS) or state.state in (STATE_UNKNOWN, STATE_UNAVAILABLE):
        return
    if state.entity_id.endswith("location"):
        yield from _streets(state.state)
        yield from (str(state.attributes[key]) for key in STREET_ATTRIBUTES if state.attributes.get(key))
    else:
        yield state.state


def _streets(address: str) -> Iterator[str]:
    """Yield street and postal code of an address; its town is no secret."""
    for part in re.split(r"[\n,]", address):
        numbers = re.findall(r"\d+", part)
        if numbers and len(numbers[0]) >= POSTAL_DIGITS:
            yield numbers[0]
        elif numbers:
            yield re.sub(r"\b\d+\s?[a-zA-Z]?\b", " ", part)


def _public(hass: HomeAssistant) -> Iterator[str]:
    """Yield the words by which makers, products and integrations are known to everybody."""
    for device in list(dr.async_get(hass).devices):
        for text in (device.manufacturer, device.model, device.model_id):
            yield from words(text or "")
    for component in hass.config.components:
        yield from words(component.replace(".", " "))
