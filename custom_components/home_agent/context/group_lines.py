"""The lines about the groups that a sentence is about."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from homeassistant.core import State

from ..domains import DOMAINS
from ..domains.showing import number_of, with_unit
from ..knowledge.house import HouseSnapshot
from .kind_lines import (
    COMPLETE,
    KindLine,
    LineOptions,
    Member,
    is_active,
    kind_lines,
    kind_of,
    measure_line,
    offline_line,
    state_words,
    without_groups,
)
from .named import MEASURED
from .selection import Group
from .states import describe_state

TEMPERATURE: Final = MEASURED.partition(".")[2]
TEMPERATURES: Final = "temperatures"
NAME_LENGTH: Final = 12
"""Characters of a short name; not even those of more names could fit."""
FEWEST_NAMES: Final = 3


def group_lines(
    groups: Iterable[Group],
    states: Mapping[str, State],
    house: HouseSnapshot,
    *,
    rooms: bool,
    details: bool,
    max_names: int,
) -> list[KindLine]:
    """Return the lines about some groups; `rooms` for a reader who does not know where the entities are."""
    lines: list[KindLine] = []
    for group in groups:
        members = [
            (record, states[record.entity_id]) for record in group.records if record.entity_id in states
        ]
        options = LineOptions(
            place=group.place, resting=group.resting, rooms=rooms, details=details, max_names=max_names
        )
        if group.offline:
            lines.append(offline_line(members, house, options))
        elif group.measured:
            lines.append(_temperatures(members, house, options))
        elif group.merged:
            lines += _merged(members, house, options)
        else:
            lines += kind_lines(members, house, options)
    return lines


def _temperatures(members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> KindLine:
    """Return the line about temperatures; a thermostat counts where its device has no sensor."""
    devices = {record.device for record, _state in members if record.domain == "sensor" and record.device}
    found = []
    for record, state in members:
        if record.domain == "sensor":
            value, shown = number_of(state.state), describe_state(state, record)
        elif record.device in devices:
            continue
        else:
            value = number_of(state.attributes.get(DOMAINS[record.domain].measures[TEMPERATURE]))
            shown = with_unit(value, "°")
        if value:
            found.append(((record, state), float(value), shown))
    return measure_line(TEMPERATURES, found, house, options)


def _merged(members: Sequence[Member], house: HouseSnapshot, options: LineOptions) -> list[KindLine]:
    """Return the lines of the kinds of which some are on, then one about all that are not."""
    kinds: dict[str, list[Member]] = {}
    for member in without_groups(members):
        kinds.setdefault(kind_of(member[0]), []).append(member)
    quiet = {
        kind: found
        for kind, found in kinds.items()
        if not any(is_active(state) or state.state == "unavailable" for _record, state in found)
    }
    lively = [member for kind, found in kinds.items() if kind not in quiet for member in found]
    lines = kind_lines(lively, house, options)
    if not quiet:
        return lines
    rest: dict[str, list[str]] = {}
    for kind, found in quiet.items():
        _word, resting = state_words(found[0][0])
        rest.setdefault(resting, []).append(f"{len(found)} of {len(found)} {kind}")
    place = f" in {options.place}" if options.place else ""
    text = "; ".join(f"{word}{place}: {', '.join(counts)}" for word, counts in rest.items())
    ids = tuple(record.entity_id for found in quiet.values() for record, _state in found)
    return [*lines, KindLine(f"{text} {COMPLETE}", ids)]


def within(
    groups: Sequence[Group],
    states: Mapping[str, State],
    house: HouseSnapshot,
    *,
    rooms: bool,
    fits: int,
    most: int,
) -> list[KindLine]:
    """Return the lines with as many names, at most `most`, as fit into some characters."""
    names, details = min(most, max(FEWEST_NAMES, fits // NAME_LENGTH)), True
    while True:
        lines = group_lines(groups, states, house, rooms=rooms, details=details, max_names=names)
        if names <= 1 or sum(len(line.text) for line in lines) <= fits:
            return lines
        if not details:
            names = max(1, names * 2 // 3)
        details = False
