"""Writes the lines about groups, without texts from outside where a sentence is not about them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from homeassistant.core import HomeAssistant, State

from ..domains import DOMAINS
from ..domains.showing import number_of, with_unit
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..safety.firewall.firewall import Removal
from ..safety.firewall.own_values import cleaned, without_outside
from ..safety.reading import Reader
from .kind_lines import (
    MAX_NAMES,
    Draft,
    KindLine,
    LineOptions,
    Member,
    is_active,
    kind_drafts,
    kind_of,
    measure_draft,
    offline_draft,
    state_words,
    without_groups,
)
from .named import MEASURED
from .selection import Group

TEMPERATURE: Final = MEASURED.partition(".")[2]
TEMPERATURES: Final = "temperatures"
NAME_LENGTH: Final = 12
"""Characters of a short name; not even those of more names could fit."""
FEWEST_NAMES: Final = 3

type Telling = Callable[[Group], Callable[[State], State]]
"""Returns, for a group, the function that takes out of a state the texts that its line may not show."""


def group_drafts(
    groups: Iterable[Group],
    states: Mapping[str, State],
    house: HouseSnapshot,
    *,
    rooms: bool,
    told: Telling | None = None,
) -> list[Draft]:
    """Return the lines about some groups before it is decided how many names they have.

    `rooms` is for a reader who does not know where the entities are.
    """
    drafts: list[Draft] = []
    for group in groups:
        members = [
            (record, states[record.entity_id]) for record in group.records if record.entity_id in states
        ]
        options = LineOptions(
            place=group.place,
            resting=group.resting,
            rooms=rooms,
            told=None if told is None else told(group),
        )
        if group.offline:
            drafts.append(offline_draft(members, house, options))
        elif group.measured:
            drafts += _temperatures(members, house, options)
        elif group.merged:
            drafts += _merged(members, house, options)
        else:
            drafts += kind_drafts(members, house, options)
    return drafts


def _temperatures(members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> list[Draft]:
    """Return the line about temperatures, if any is known.

    A thermostat counts where its device has no sensor.
    """
    devices = {record.device for record, _state in members if record.domain == "sensor" and record.device}
    found = []
    for record, state in members:
        if record.domain == "sensor":
            value = number_of(state.state)
        elif record.device in devices:
            continue
        else:
            value = _measured(record, state)
        if value:
            found.append(((record, state), float(value)))

    def shown(member: Member) -> str:
        """Return a temperature with its unit."""
        if member[0].domain == "sensor":
            return options.describe(member)
        return with_unit(_measured(*member), "°")

    return [measure_draft(TEMPERATURES, found, house, options, shown)] if found else []


def _measured(record: EntityRecord, state: State) -> str:
    """Return the temperature that a thermostat measures; empty if it measures none."""
    return number_of(state.attributes.get(DOMAINS[record.domain].measures[TEMPERATURE]))


def _merged(members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> list[Draft]:
    kinds: dict[str, list[Member]] = {}
    for member in without_groups(members):
        kinds.setdefault(kind_of(member[0]), []).append(member)
    quiet = {
        kind: found
        for kind, found in kinds.items()
        if not any(is_active(state) or state.state == "unavailable" for _record, state in found)
    }
    lively = [member for kind, found in kinds.items() if kind not in quiet for member in found]
    # Temperatures are not what the sentence asks about.
    measuring = [member for member in lively if DOMAINS[member[0].domain].measures]
    others = [member for member in lively if not DOMAINS[member[0].domain].measures]
    drafts = kind_drafts(others, house, options) + kind_drafts(
        measuring, house, replace(options, details=False)
    )
    if not quiet:
        return drafts
    rest: dict[str, list[str]] = {}
    for kind, found in quiet.items():
        _word, resting = state_words(found[0][0])
        rest.setdefault(resting, []).append(f"{len(found)} of {len(found)} {kind}")
    place = f" in {options.place}" if options.place else ""
    text = "; ".join(f"{word}{place}: {', '.join(counts)}" for word, counts in rest.items())
    return [*drafts, Draft(text, house, options, (), [one for found in quiet.values() for one in found])]


def within(drafts: Sequence[Draft], *, fits: int, most: int) -> list[KindLine]:
    """Return the lines with as many names, at most `most`, as fit into some characters."""
    names, details = min(most, max(FEWEST_NAMES, fits // NAME_LENGTH)), True
    while True:
        lines = [draft.line(names, details=details) for draft in drafts]
        if names <= 1 or sum(len(line.text) for line in lines) <= fits:
            return lines
        if not details:
            names = max(1, names * 2 // 3)
        details = False


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
