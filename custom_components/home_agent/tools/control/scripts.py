"""Scenes and scripts: used by name where the household allows it, scripts with values for their fields."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, cast

import probatio

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import config_validation as cv, selector

from ...domains import DOMAINS, gated_domains
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ..resolving.targets import Target
from .arguments import VARIABLES
from .planning import Plan, PlannedCall, action_of
from .readback import Expectation

SCRIPT: Final = "script"
MAX_ERROR: Final = 400
MAX_FIELD: Final = 60
MAX_VALUES: Final = 50
MAX_LISTED: Final = 10
_SEPARATORS: Final = str.maketrans(dict.fromkeys(";/|&\n", ","))


@callback
def plan_script(
    hass: HomeAssistant, state: State, verb: str, given: Mapping[str, Any], *, gated: bool
) -> Plan:
    """Return the call that runs a script with values. Raises ValidationError for what does not fit."""
    action = action_of(SCRIPT, verb, gated=gated)
    fields = fields_of(hass, state.entity_id)
    if action.service != "turn_on":
        if given:
            raise ValidationError(f"{verb} on a script takes no values")
        values: dict[str, Any] = {}
    else:
        values = _values(given, fields)
    data = {VARIABLES: values} if values else {}
    return Plan(SCRIPT, [PlannedCall(str(action.service), data)], Expectation())


def fields_of(hass: HomeAssistant, entity_id: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the fields that a script declares."""
    component = hass.data.get(SCRIPT)
    entity = component.get_entity(entity_id) if component is not None else None
    fields = getattr(entity, "fields", None)
    return fields if isinstance(fields, Mapping) else {}


def _values(given: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values by field. Raises ValidationError naming the fields."""
    loose = dict(given)
    nested = loose.pop(VARIABLES, None) if VARIABLES not in fields else None
    if nested is not None and not isinstance(nested, Mapping):
        raise ValidationError(f"{VARIABLES}: an object is needed, not {str(nested)[:40]!r}")
    found: dict[str, Any] = {}
    for key, value in {**loose, **(nested or {})}.items():
        if key not in fields:
            raise ValidationError(f"{str(key)[:40]!r} is none of its fields. {_told(fields)}"[:MAX_ERROR])
        found[key] = _fitted(key, value, fields[key])
    required = {key: field for key, field in fields.items() if field.get("required") and key not in found}
    found |= {key: field["default"] for key, field in required.items() if "default" in field}
    if missing := required.keys() - found.keys():
        raise ValidationError(f"is missing {', '.join(sorted(missing))}. {_told(fields)}"[:MAX_ERROR])
    return found


def _fitted(key: str, value: Any, field: Mapping[str, Any]) -> Any:
    """Return a value as the field's selector takes it. Raises ValidationError."""
    config = field.get("selector")
    if not isinstance(config, Mapping):
        return value
    try:
        if "boolean" in config and isinstance(value, str):
            value = cv.boolean(value)  # the selector takes any text for true
        # Every selector checks values; their base class does not declare it.
        check = cast("Callable[[Any], Any]", selector.selector(dict(config)))
        return check(value)
    except (probatio.Invalid, ValueError, TypeError) as err:
        raise ValidationError(f"{key}: {str(value)[:40]!r} does not fit: {err}"[:MAX_ERROR]) from err


def _told(fields: Mapping[str, Mapping[str, Any]]) -> str:
    """Return which fields there are."""
    if not fields:
        return "This script takes no values"
    named = []
    for key, field in fields.items():
        about = str(field.get("description") or field.get("name") or "")[:MAX_FIELD]
        named.append(f"{key} ({about})" if about else key)
    return f"Its fields, given as parameters: {', '.join(named[:MAX_VALUES])}"


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
