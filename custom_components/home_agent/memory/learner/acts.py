"""The changes that sources of observations report, and which of them people made."""

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN

from ...domains import DOMAINS

IN_USE: Final = "in_use"
"""What using something is called among observations."""
MIN_WATTS: Final = 20.0
"""What something draws at least while it is in use."""
APART: Final = 5.0
"""The least ratio between the power in use and at rest."""
OF_RANGE: Final = 0.2
"""Fraction between the power at rest and in use from which it counts as in use."""
MAX_SHARE_IN_USE: Final = 0.25
"""Share of the hours; what runs longer works on its own: fridges, heat pumps, solar panels."""
MIN_HOURS: Final = 3 * 24
PAUSE: Final = timedelta(hours=1)
"""A shorter pause of a machine belongs to the same run."""
SEEN_OFTEN: Final = 4
"""The highest of so many hours are ignored as peaks."""
TARGET: Final = "temperature:{degrees:g}"
"""What setting a target temperature is called."""
UNKNOWN: Final = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN, ""})
NOTHING: Final = "-"
"""Noted for a state that people do not cause on purpose, like a vacuum that returns to its dock."""
LOST: Final = ""
"""Recorded if the state was lost: the next state is not an action, as it may have existed before."""


@dataclass(frozen=True, slots=True)
class Level:
    """What something drew during a step of time, in watts."""

    start: datetime
    length: timedelta
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Power:
    """What something draws at rest, and from where on it is in use; in watts."""

    rest: float
    threshold: float


def read_power(hours: Sequence[Level]) -> Power | None:
    """Return how use shows in hours of several weeks; None if it does not."""
    if len(hours) < MIN_HOURS:
        return None
    highs = sorted(hour.high for hour in hours)
    rest, top = max(highs[len(highs) // 10], 0.0), highs[-SEEN_OFTEN]
    if top < max(MIN_WATTS, APART * rest):
        return None
    threshold = rest + OF_RANGE * (top - rest)
    share = sum(high >= threshold for high in highs) / len(highs)
    return Power(rest, threshold) if share <= MAX_SHARE_IN_USE else None


def starts(levels: Sequence[Level], power: Power) -> Iterator[datetime]:
    """Yield when something began to be used."""
    used_until: datetime | None = None
    for level in levels:
        if level.high < power.threshold:
            continue
        if used_until is not None and level.start - used_until < PAUSE:
            used_until = level.start + level.length
            continue
        used_until = level.start + level.length
        share = (level.mean - power.rest) / max(level.high - power.rest, 1.0)
        yield level.start + level.length * (1 - min(max(share, 0.0), 1.0))


def watched_domains() -> list[str]:
    """Return the domains in which a person can do something."""
    return [facts.name for facts in DOMAINS.values() if facts.acts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChange:
    """A state as a source reports it; each source reports those of an entity in order."""

    at: datetime
    entity_id: str
    state: str | None = None
    """None if only the target is reported."""
    target: float | None = None
    """The target temperature of a thermostat."""
    user_id: str | None = None
    by_machine: bool = False
    """An automation or a script did it."""
    follows: bool = True
    """Something else was recorded before. False where the source cannot tell."""


@dataclass(frozen=True, slots=True)
class Act:
    """An action of a person."""

    at: datetime
    entity_id: str
    value: str
    user_id: str | None


def acts(changes: Iterable[ObservedChange], last: MutableMapping[str, str]) -> Iterator[Act]:
    """Yield the actions of people; `last` holds the last value of each entity and is updated."""
    for change in changes:
        for track, value in _values(change):
            before = last.get(track)
            last[track] = value
            if value in (before, LOST, NOTHING) or before == LOST or change.by_machine:
                continue
            if before is not None or change.follows:
                yield Act(change.at, change.entity_id, value, change.user_id)


def _values(change: ObservedChange) -> Iterator[tuple[str, str]]:
    if change.state is not None:
        yield change.entity_id, _value(change.entity_id.partition(".")[0], change.state)
    if change.state in UNKNOWN:
        yield f"{change.entity_id} target", LOST
    elif change.target is not None:
        yield f"{change.entity_id} target", TARGET.format(degrees=change.target)


def _value(domain: str, state: str) -> str:
    if state in UNKNOWN:
        return LOST
    facts = DOMAINS[domain]
    return facts.acts.get(state) or (facts.other_act or NOTHING).format(state=state)


class SourceError(Exception):
    """A source cannot be read. The text says why in one line, without keys."""


class ObservationSource(Protocol):
    """A source of events. Every method raises SourceError."""

    knows_who: bool
    """Whether the source distinguishes people from automations."""

    async def async_changes(
        self, entity_ids: Collection[str], start: datetime, end: datetime
    ) -> Sequence[ObservedChange]:
        """Return the changes of entities from `start` to before `end`, in order."""
        ...

    async def async_levels(
        self, sensors: Mapping[str, float], start: datetime, end: datetime, step: timedelta
    ) -> Mapping[str, Sequence[Level]]:
        """Return the values of sensors, in steps of this length or of an hour.

        `sensors` maps each sensor to the number of watts of its unit.
        """
        ...
