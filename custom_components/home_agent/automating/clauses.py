"""What an automation waits for and does, so that it can be written as YAML and said in a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

WAIT: Final = "wait"
"""The key of a step that only waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One trigger or one condition. It is said in the sentence `auto_<key>` of the translations."""

    key: str
    config: Mapping[str, Any] = field(hash=False)
    """As Home Assistant writes it."""
    entity_ids: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    """States as Home Assistant keeps them."""
    before: str = ""
    """The state before."""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the sentence says as it is: numbers with their units, times, names of zones."""
    days: tuple[int, ...] = ()
    """Days of the week from 0 for Monday."""
    seconds: int = 0
    """How long it has to be so; 0 for at once."""
    side: str = ""
    """For an end of a time window that is said as a moment, which one: `from` or `until`."""
    is_moment: bool = False
    """Whether it is said without "when" or "if": "at 22:00"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An automation in its parts; the actions are beside it, as calls that the guard judges."""

    triggers: tuple[Clause, ...]
    conditions: tuple[Clause, ...] = ()
    known: bool = True
    """Whether these are all of its parts. Of an automation that a person has edited only the new ones are."""
