"""Persons of the household, by the id that stays when they are renamed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.core import HomeAssistant, State, callback

USER_PREFIX = "user:"
"""Prefix of the id of a user who is not a person of the household."""
DEVICE, PERSON = "device", "person"
"""Keys of the items of the `device_persons` option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person that memories belong to."""

    id: str
    """The person's id in Home Assistant's storage, or `user:` with the user's id."""
    name: str
    user_id: str | None = None


@callback
def persons(hass: HomeAssistant) -> Iterator[Person]:
    """Yield the persons of the household."""
    return (_person(state) for state in hass.states.async_all("person"))


async def async_person_of_user(hass: HomeAssistant, user_id: str | None) -> Person | None:
    """Return the person of a user, else the user alone; None if there is no such user."""
    if user_id is None:
        return None
    for person in persons(hass):
        if person.user_id == user_id:
            return person
    user = await hass.auth.async_get_user(user_id)
    if user is None:
        return None
    return Person(id=f"{USER_PREFIX}{user_id}", name=user.name or "", user_id=user_id)


@callback
def person_of_device(
    hass: HomeAssistant, owners: Iterable[Mapping[str, Any]], device_id: str | None
) -> Person | None:
    """Return whose device was spoken to, as the option says; None for one that belongs to no one."""
    entity_id = next(
        (item.get(PERSON) for item in owners if device_id and item.get(DEVICE) == device_id), None
    )
    state = hass.states.get(entity_id) if entity_id else None
    return _person(state) if state else None


async def async_find_person(hass: HomeAssistant, said: str) -> Person | None:
    """Return the person that an id, an entity id, a user's id or a name means; None if none or several."""
    wanted = said.strip().casefold()
    by_id = [
        person
        for state in hass.states.async_all("person")
        if wanted in (state.entity_id, (person := _person(state)).id.casefold(), person.user_id)
    ]
    found = by_id or [person for person in persons(hass) if person.name.casefold() == wanted]
    if found:
        return found[0] if len(found) == 1 else None
    return await async_person_of_user(hass, wanted.removeprefix(USER_PREFIX))


@callback
def entity_of_person(hass: HomeAssistant, *, person_id: str | None, user_id: str | None) -> str | None:
    """Return the person entity of a person's id or of a user; None for an unknown voice or another user."""
    for state in hass.states.async_all("person"):
        person = _person(state)
        if person.id == person_id or (user_id is not None and person.user_id == user_id):
            return state.entity_id
    return None


def _person(state: State) -> Person:
    attributes = state.attributes
    return Person(
        id=str(attributes.get("id") or state.object_id), name=state.name, user_id=attributes.get("user_id")
    )
