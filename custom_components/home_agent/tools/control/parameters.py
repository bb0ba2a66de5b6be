"""The parameters of a call: keys put right, values read by meaning, targets refused."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from ...domains import DOMAINS
from ...domains.base import ANY, Action, DomainFacts
from ...errors import ValidationError
from ..resolving.targets import NO_VALUE
from ..vetted import target_keys
from .values import READERS, Units, read_number, read_percent, read_volume

STEP = "step"
STEP_ALIASES = frozenset(
    (
        *("by", "amount", "delta", "change", "percent", "percentage"),
        *("brightness_step_pct", "brightness_step", "percentage_step", "temperature_step", "volume_step"),
    )
)
MAX_ERROR = 300


def clean(raw: Any) -> dict[str, Any]:
    """Return parameters without what is empty.

    Raises ValidationError for keys that belong to the target.
    """
    if raw is None or raw == "":
        return {}
    if not isinstance(raw, Mapping):
        raise ValidationError(f"parameters: an object is needed, not {str(raw)[:40]!r}")
    if wrong := target_keys(raw):
        raise ValidationError(
            f"parameters: {', '.join(wrong)} does not belong here; "
            "give the target as entity_id, name, area or floor"
        )
    return {
        str(key).strip().casefold().replace(" ", "_").replace("-", "_"): value
        for key, value in raw.items()
        if not _is_empty(value)
    }


def _is_empty(value: Any) -> bool:
    """Return whether a value says nothing."""
    if isinstance(value, str):
        return value.strip().casefold() in NO_VALUE
    return value is None or (isinstance(value, (list, dict)) and not value)


def normalise(
    domain: str, verb: str, action: Action, given: Mapping[str, Any], units: Units
) -> dict[str, Any]:
    """Return the parameters of an action on a domain by their right names and in their right units.

    Raises ValidationError naming the parameter, its value and what is allowed.
    """
    accepted = accepted_by(domain, action)
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = _right_name(key, domain, action, accepted)
        if name is None:
            raise _unknown(key, domain, verb, accepted)
        for part, read in _read(domain, name, value, units).items():
            found.setdefault(part, read)
    if "brightness" in found and "brightness_pct" in found:
        del found["brightness"]
    several = [name for name in DOMAINS[domain].exclusive if name in found]
    if len(several) > 1:
        raise ValidationError(f"parameters: give only one of {', '.join(several)}")
    if action.service is None and not found and not action.direction:
        raise ValidationError(
            f"{verb} on a {domain} needs parameters, one of: {', '.join(accepted)}"[:MAX_ERROR]
        )
    return found


def accepted_by(domain: str, action: Action) -> tuple[str, ...]:
    """Return the parameters that an action takes on a domain."""
    return tuple(DOMAINS[domain].parameters) if action.takes == ANY else action.takes


def _right_name(key: str, domain: str, action: Action, accepted: Collection[str]) -> str | None:
    """Return the parameter that a key means."""
    if key in accepted:
        return key
    if key in ("value", "set_value") and action.value is not None:
        return action.value
    facts = DOMAINS[domain]
    if key in ("value", "level", "percent") and facts.step and facts.step.parameter in accepted:
        return facts.step.parameter
    return next((name for name in accepted if key in _aliases(facts, name)), None)


def _aliases(facts: DomainFacts, name: str) -> Collection[str]:
    """Return the other names of a parameter."""
    return STEP_ALIASES if name == STEP else facts.parameters[name].aliases.split()


def _unknown(key: str, domain: str, verb: str, accepted: Collection[str]) -> ValidationError:
    """Return the error for a key that means nothing here."""
    if not accepted:
        return ValidationError(f"parameters: {verb} on a {domain} takes none, so not {key[:40]!r}")
    near = get_close_matches(key, accepted, 1, 0.5)
    hint = f"; did you mean {near[0]}" if near else ""
    return ValidationError(
        f"parameters: {verb} on a {domain} does not take {key[:40]!r}{hint}. Allowed: {', '.join(accepted)}"[
            :MAX_ERROR
        ]
    )


def _read(domain: str, name: str, value: Any, units: Units) -> dict[str, Any]:
    """Return a parameter read by its kind; some come out under another name."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    try:
        if name == STEP:
            return {STEP: _read_step(domain, value, units)}
        kind = DOMAINS[domain].parameters[name].kind
        read = READERS[kind](value, units)
    except ValueError as err:
        raise ValidationError(f"parameters.{name}: {str(value)[:40]!r} is not {err}"[:MAX_ERROR]) from err
    if kind in ("color", "brightness"):
        return dict(read)
    return {name: read}


def _read_step(domain: str, value: Any, units: Units) -> float:
    """Return the size of a step, without its sign."""
    facts = DOMAINS[domain]
    kind = facts.parameters[facts.step.parameter].kind if facts.step else ""
    if kind == "volume":
        return abs(read_volume(value, units))
    if kind == "percent":
        return float(abs(read_percent(str(value).lstrip("+-"), units)))
    return abs(read_number(value, units))
