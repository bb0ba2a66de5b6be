"""Entities that the caller of a service names with a sentence."""

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

from homeassistant.core import HomeAssistant

from ..context.providers.base import Slot
from ..context.states import describe_state
from ..knowledge.house import HouseSnapshot
from ..safety.disclosure import Disclosure
from ..safety.firewall.own_values import without_outside

HEADING: Final = "This request is about:"

asked_about: ContextVar[tuple[str, ...]] = ContextVar("home_agent_asked_about", default=())
"""They belong to one sentence; the conversation goes on without them."""


def describe_asked(hass: HomeAssistant, house: HouseSnapshot, away: Disclosure) -> Slot:
    """Return the states of the named entities; what the agent may not see is left out.

    So are texts from outside: the caller has not read them either.
    """
    lines = dict(_lines(hass, house, asked_about.get()))
    return Slot(
        heading=HEADING,
        lines=tuple(lines.values()),
        entity_ids=tuple(lines),
        outside=None if away.states else tuple(lines),
        name="asked",
    )


def _lines(hass: HomeAssistant, house: HouseSnapshot, entity_ids: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield each entity with its line."""
    for entity_id in entity_ids:
        record, state = house.entities.get(entity_id), hass.states.get(entity_id)
        if record is not None and state is not None:
            yield entity_id, f"{entity_id}: {describe_state(without_outside(hass, state), record)}"
