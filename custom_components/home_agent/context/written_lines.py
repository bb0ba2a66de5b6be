"""Writes the lines about groups, without texts from outside where a sentence is not about them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from homeassistant.core import HomeAssistant, State

from ..knowledge.house import HouseSnapshot
from ..safety.firewall.firewall import Removal
from ..safety.firewall.own_values import cleaned, without_outside
from ..safety.reading import Reader
from .group_lines import group_drafts, within
from .kind_lines import MAX_NAMES, KindLine
from .selection import Group

WRITTEN_INLINE: Final = 500
"""Entities up to which lines are written on the event loop, a millisecond or two."""


class WrittenLines(NamedTuple):
    """The lines about some groups."""

    lines: Sequence[KindLine] = ()
    texts: bool = False
    """Whether they show texts from outside."""
    removed: Sequence[Removal] = ()
    """What was taken out of these texts."""


async def async_write_lines(
    reader: Reader, groups: Sequence[Group], house: HouseSnapshot, *, rooms: bool, fits: int
) -> WrittenLines:
    """Return the lines about some groups as `reader` may know them, in `fits` characters if possible.

    `rooms` is for a reader who does not know where the entities are. Many entities are read in a worker.
    """
    hass = reader.hass
    states: dict[str, State] = {}
    for group in groups:
        for record in group.records:
            state = hass.states.get(record.entity_id)
            # The snapshot has exposed entities only.
            if state is not None and reader.permits(record.entity_id):
                states[record.entity_id] = state
    if not states:
        return WrittenLines()
    write = partial(_write, hass, groups, states, house, rooms=rooms, fits=fits)
    return await hass.async_add_executor_job(write) if len(states) > WRITTEN_INLINE else write()


def _write(
    hass: HomeAssistant,
    groups: Sequence[Group],
    states: Mapping[str, State],
    house: HouseSnapshot,
    *,
    rooms: bool,
    fits: int,
) -> WrittenLines:
    bare: dict[str, State] = {}
    shown: dict[str, State] = {}
    removed: list[Removal] = []

    def without(state: State) -> State:
        """Return a state without texts from outside."""
        if state.entity_id not in bare:
            bare[state.entity_id] = without_outside(hass, state)
        return bare[state.entity_id]

    def clean(state: State) -> State:
        """Return a state with its texts from outside cleaned."""
        if state.entity_id not in shown:
            shown[state.entity_id], found = cleaned(hass, state)
            removed.extend(found)
        return shown[state.entity_id]

    drafts = partial(group_drafts, groups, states, house, rooms=rooms)
    lines = within(drafts(told=lambda group: clean if group.about else without), fits=fits, most=MAX_NAMES)
    texts = False
    if any(state is not without(states[key]) for key, state in shown.items()):
        plain = within(drafts(told=lambda _group: without), fits=fits, most=MAX_NAMES)
        texts = [line.text for line in lines] != [line.text for line in plain]
    return WrittenLines(lines, texts, removed)
