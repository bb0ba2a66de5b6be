"""Who or what brought an entity into its state, as far as Home Assistant knows it."""

from collections.abc import Callable
from typing import Final

from homeassistant.core import HomeAssistant, State

from ...texts import clean

NAME_CHARS: Final = 40
SAME_MOMENT: Final = 1.0
"""Seconds between a change of the state and its last update within which both have one cause."""


def doer(hass: HomeAssistant, state: State, is_exposed: Callable[[str], bool]) -> str | None:
    """Return the person, automation or script that changed the state of an entity; None if that is unknown.

    Devices that are operated by hand have none, and what was updated since has lost it. Entities that are
    not exposed are not named.
    """
    if (state.last_updated - state.last_changed).total_seconds() > SAME_MOMENT:
        return None
    ids = {state.context.id, state.context.parent_id}
    for domain in ("automation", "script"):
        for other in hass.states.async_all(domain):
            if other.context.id in ids and other.entity_id != state.entity_id:
                named = f" {clean(other.name, NAME_CHARS)}" if is_exposed(other.entity_id) else ""
                return f"{domain}{named}"
    if (user_id := state.context.user_id) is None:
        return None
    for person in hass.states.async_all("person"):
        if person.attributes.get("user_id") == user_id and is_exposed(person.entity_id):
            return clean(person.name, NAME_CHARS)
    return "a person"
