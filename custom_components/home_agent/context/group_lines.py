"""The lines about the groups that a sentence is about."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from homeassistant.core import State

from ..domains import DOMAINS
from ..domains.showing import number_of, with_unit
from ..knowledge.house import EntityRecord, HouseSnapshot
from .kind_lines import (
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
