"""What is there already: a restricted action that would change nothing needs neither a call nor a yes."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from homeassistant.const import ATTR_ASSUMED_STATE
from homeassistant.core import State

from ...domains import DOMAINS, opens
from ...errors import PermissionDenied
from ..base import ToolRun
from .later import calls_of
from .planning import Plan

WIDE_OPEN: Final = 100
UNTOLD: Final = frozenset({"code"})
"""Parameters that change nothing of what an entity shows afterwards."""


async def async_needless(
    plans: Mapping[str, Plan], before: Mapping[str, State], verb: str, already: Iterable[str], run: ToolRun
) -> list[str]:
    """Return the entities that a person would have to confirm a change of that is already there."""
    found = []
    for entity_id in sorted(already):
        made = plans[entity_id]
        if not _is_there(made, before[entity_id], run.meanings.get(made.domain, verb)):
            continue
        with suppress(PermissionDenied):
            if await run.guard.async_foresee(calls_of(made, entity_id), run.speaker) is not None:
                found.append(entity_id)
    return found


def _is_there(made: Plan, state: State, verb: str) -> bool:
    """Return whether a state that is as expected leaves nothing to do for an action.

    Not where the state is only assumed, where a value is set that the state does not show, or where a door
    is open but not all the way.
    """
    action = DOMAINS[made.domain].actions.get(verb)
    if (action is not None and action.is_momentary) or state.attributes.get(ATTR_ASSUMED_STATE):
        return False
    given = {name for call in made.calls for name in call.data} - UNTOLD
    if given and not made.expectation.attributes:
        return False
    is_opened = any(opens(call.service, call.data) for call in made.calls)
    position = state.attributes.get("current_position")
    return not (is_opened and isinstance(position, int | float) and position < WIDE_OPEN)
