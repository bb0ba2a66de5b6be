"""What a call was about, which shows whose results no longer hold after a change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, valid_entity_id

from ..domains import DOMAINS

MAX_DEPTH: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a call was about that has ended."""

    tool: str
    action: str
    entity_ids: frozenset[str]
    """The entities that it names, and the members of groups; empty for what concerns no entity."""
    changes: bool
    """Whether it changed something, be it only in part, or found it as asked."""
    reads_home: bool
    """Whether it only read, and nothing outside the home."""
    is_open: bool
    """Whether it may have reached entities that it does not name."""
    reverses: bool
    """Whether it may reverse what any tool has done."""
    waits: bool
    """Whether something of it waits for a confirmation."""

    def outdates(self, earlier: Reach) -> bool:
        """Return whether the result of an earlier call may no longer hold after this one.

        Calls of one tool with the same action add up: a second entry on a list leaves the first one there.
        """
        if not self.changes or earlier.waits:
            return False
        if self.reverses or earlier.reads_home:
            return True
        if not earlier.changes:
            return False
        if self.is_open or (earlier.is_open and earlier.entity_ids and self.entity_ids):
            return earlier.is_open or bool(earlier.entity_ids)
        if self.entity_ids and earlier.entity_ids:
            return not self.entity_ids.isdisjoint(earlier.entity_ids)
        return self.tool == earlier.tool and self.action != earlier.action


def entities_of(hass: HomeAssistant, *named_in: object) -> frozenset[str]:
    """Return the entities that arguments and results name, with the members of groups and scenes."""
    found: set[str] = set()
    _collect(hass, _entities(named_in), found)
    return frozenset(found)


def runs_others(entity_ids: frozenset[str]) -> bool:
    """Return whether entities such as scripts may change others, which they do not name."""
    return any(DOMAINS[entity_id.partition(".")[0]].runs for entity_id in entity_ids)


def _entities(value: Any, depth: int = MAX_DEPTH) -> Iterator[str]:
    if isinstance(value, str):
        if valid_entity_id(value):
            yield value
    elif isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield from _entities(key)
            yield from _entities(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for item in value:
            yield from _entities(item, depth - 1)


def _collect(hass: HomeAssistant, entity_ids: Iterable[str], found: set[str]) -> None:
    for entity_id in entity_ids:
        if entity_id in found:
            continue
        found.add(entity_id)
        state = hass.states.get(entity_id)
        members = state.attributes.get(ATTR_ENTITY_ID) if state is not None else None
        if isinstance(members, list | tuple):
            _collect(hass, map(str, members), found)
