"""Scenes and scripts: used by name where the household allows it, scripts with values for their fields."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from homeassistant.core import State, callback

from ...domains import DOMAINS, gated_domains
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ..base import ToolRun
from ..resolving.resolver import Target
from .arguments import VARIABLES
from .planning import Plan, PlannedCall, action_of
from .readback import Expectation
from .script_fields import SCRIPT, field_values, fields_of

MAX_LISTED: Final = 10
NOT_RUNNING: Final = (
    "does not run now, so there is nothing to stop. What it turned on stays on: turn off those devices"
)
_SEPARATORS: Final = str.maketrans(dict.fromkeys(";/|&\n", ","))


@callback
def plan_script(run: ToolRun, state: State, verb: str, given: Mapping[str, Any], *, gated: bool) -> Plan:
    """Return the call that runs a script with values. Raises ValidationError for what does not fit."""
    action = action_of(SCRIPT, verb, gated=gated)
    fields = fields_of(run.hass, state.entity_id)
    if action.service != "turn_on":
        if given:
            raise ValidationError(f"{verb} on a script takes no values")
        if state.state == "off":
            raise ValidationError(NOT_RUNNING)
        values: dict[str, Any] = {}
    else:
        values = _values(run, given, fields)
    data = {VARIABLES: values} if values else {}
    return Plan(SCRIPT, [PlannedCall(str(action.service), data)], Expectation())


def _values(
    run: ToolRun, given: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the values by field. Raises ValidationError naming the fields."""
    loose = dict(given)
    nested = loose.pop(VARIABLES, None) if VARIABLES not in fields else None
    if nested is not None and not isinstance(nested, Mapping):
        raise ValidationError(f"{VARIABLES}: an object is needed, not {str(nested)[:40]!r}")
    return field_values(run, {**loose, **(nested or {})}, fields)


def resolve_gated(
    target: Target,
    domains: Collection[str],
    resolve: Callable[[Collection[str]], list[EntityRecord]],
    *,
    gated: bool,
) -> list[EntityRecord]:
    """Return what a target means; a room or a kind of thing alone never means scenes and scripts in it.

    `resolve` takes the domains that count. Raises ValidationError.
    """
    gates = gated_domains()
    others = frozenset(domains) - gates
    if not (target.is_empty or target.name or any("*" not in key for key in target.entity_id)):
        asked = gates.intersection(target.domain)
        return _one_by_one(target, resolve(others | asked if gated else others))
    try:
        return _one_by_one(target, resolve(domains))
    except ValidationError:
        if gated:
            raise
    return resolve(others)


def _one_by_one(target: Target, found: list[EntityRecord]) -> list[EntityRecord]:
    """Return what was found. Raises ValidationError for more scenes and scripts than were named."""
    several = [record for record in found if DOMAINS[record.domain].is_gated]
    if len(several) > max(1, _named(target)):
        raise ValidationError(f"Which one? Name one scene or script: {_listed(several)}")
    return found


def _named(target: Target) -> int:
    """Return how many things a target names."""
    ids = sum("*" not in key for key in target.entity_id)
    return ids or len((target.name or "").translate(_SEPARATORS).split(","))


def _listed(records: Sequence[EntityRecord]) -> str:
    """Return names to choose from."""
    return ", ".join(f"{record.name[:40]} ({record.entity_id})" for record in records[:MAX_LISTED])
