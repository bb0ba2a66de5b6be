"""How entities work in rooms and in groups."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkInRooms:
    """How a kind of machine is sent into single rooms."""

    action: str
    """The action whose `value` parameter lists rooms by area ID."""
    everywhere: frozenset[str]
    """Actions that work in all rooms, so that they become `action` if the person names a room."""
    areas: Callable[[Mapping[str, Any]], Iterable[str]]
    """From the options of an entity in the registry to the IDs of the areas that it can be sent to."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """How entities of a kind form groups that do the same."""

    join: str
    """The action that adds entities to a group."""
    leave: str
    members: str
    """The parameter and the attribute with a group; its leader is the first."""
    shared: frozenset[str]
    """Actions that mean the whole group, unless the person names one of it."""
    values: frozenset[str]
    """The parameters that these may set."""
    heard: frozenset[str]
    """Services after which the whole group plays."""
