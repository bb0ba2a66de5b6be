"""The parameters of an action as one entity takes them: its abilities, its choices and its bounds."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.core import State

from ...domains.base import Action, DomainFacts, Unsupported
from ...domains.features import supports
from ...errors import ValidationError
from ...knowledge.names import word_similarity
from ...texts import fold

MAX_LISTED: Final = 12
MIN_BEGINNING: Final = 3
"""Letters with which a word of a choice may begin."""


def check_action(facts: DomainFacts, state: State, verb: str, action: Action) -> None:
    """Raise Unsupported unless an entity can do an action, with those that open or close it instead."""
    if not action.features or supports(state, action.features):
        return
    others = [
        name
        for name, other in facts.actions.items()
        if name != verb
        and action.opens is not None
        and other.opens is action.opens
        and (not other.features or supports(state, other.features))
    ]
    instead = f"; use {' or '.join(others)}" if others else ""
    raise Unsupported(f"does not support {verb}{instead}", verb)


def check_features(state: State, needed: str, what: str) -> None:
    """Raise ValidationError unless the entity has one of some features."""
    if needed and not supports(state, needed):
        raise Unsupported(f"does not support {what}", what)


def fit(
    facts: DomainFacts, state: State, parameters: Mapping[str, Any], *, clamp: bool = False
) -> dict[str, Any]:
    """Return parameters as this entity takes them: one of its choices, within its bounds."""
    fitted = {}
    for name, value in parameters.items():
        parameter = facts.parameters[name]
        check_features(state, parameter.features, name)
        if parameter.choices is not None:
            fitted[name] = _chosen(state, name, parameter.choices, value)
        elif parameter.bounds is not None:
            fitted[name] = _bounded(state, name, parameter.bounds, value, clamp=clamp)
        else:
            fitted[name] = value
    return facts.fit(state, fitted) if facts.fit is not None else fitted


def _chosen(state: State, name: str, attribute: str, value: Any) -> Any:
    """Return the choice that a text means.

    Raises ValidationError naming the choices.
    """
    choices = state.attributes.get(attribute)
    if isinstance(choices, Mapping):
        choices = list(choices.values())
    if not isinstance(choices, (list, tuple)) or not choices:
        return value
    asked = fold(str(value))
    spelled = {fold(str(choice)): choice for choice in choices}
    if asked in spelled:
        return spelled[asked]
    compact = [
        choice for folded, choice in spelled.items() if folded.replace(" ", "") == asked.replace(" ", "")
    ]
    parts = [choice for folded, choice in spelled.items() if _is_part(asked, folded)]
    alike = [choice for folded, choice in spelled.items() if word_similarity(asked, folded)]
    near = compact or parts or alike
    if len(near) == 1:
        return near[0]
    listed = ", ".join(str(choice)[:30] for choice in choices[:MAX_LISTED])
    raise ValidationError(f"{name}: {str(value)[:40]!r} is not one of {listed}"[:300])


def _is_part(asked: str, choice: str) -> bool:
    """Return whether each word of a text begins or is a word of a choice: "eco" is "Eco mode"."""
    own = choice.split()
    return bool(asked) and all(
        any(word == one or (len(word) >= MIN_BEGINNING and one.startswith(word)) for one in own)
        for word in asked.split()
    )


def _bounded(state: State, name: str, bounds: tuple[str, str], value: float, *, clamp: bool) -> float:
    """Return a value within the entity's bounds.

    Raises ValidationError naming them, unless it is to be clamped.
    """
    low, high = (state.attributes.get(bound) for bound in bounds)
    if isinstance(low, (int, float)) and value < low:
        if not clamp:
            raise ValidationError(f"{name}: {value:g} is below {low:g}; {_span(low, high)}")
        return low
    if isinstance(high, (int, float)) and value > high:
        if not clamp:
            raise ValidationError(f"{name}: {value:g} is above {high:g}; {_span(low, high)}")
        return high
    return value


def _span(low: Any, high: Any) -> str:
    """Return a description of the allowed values."""
    return f"allowed {low} to {high}"
