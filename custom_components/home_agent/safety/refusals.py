"""Why a rule of the household refuses a call: what a person hears of it, and what the model reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, floor_registry as fr

from ..knowledge.view import FLOORS
from ..texts import one_line
from .choices import PickedRule
from .occasions import NOBODY, SOMEBODY, Occasion, clock, presence_holds
from .profiles import AREAS
from .rules import Effect

MAX_NAME: Final = 60
PLACE: Final = "place"
THING: Final = "thing"
_TOLD: Final[Mapping[str, str]] = {
    PLACE: "nothing may be changed in {place}",
    THING: "this may not be done with {thing}",
}
_REASONS: Final[Mapping[str, str]] = {
    "": "",
    "hours": " from {start} to {end}",
    NOBODY: " while nobody is at home",
    SOMEBODY: " while somebody is at home",
    "now": " at the moment",
    "whom": " by this person",
}


@dataclass(frozen=True, slots=True)
class RuleRefusal:
    """One refusal."""

    key: str
    """The sentence in the translations, under `exceptions`."""
    placeholders: Mapping[str, str]
    detail: str
    """What the model reads."""


@callback
def refusal_of(
    rule: PickedRule,
    effect: Effect,
    targets: Sequence[str],
    occasion: Occasion,
    is_exposed: Callable[[str], bool],
) -> RuleRefusal:
    """Return why a rule refuses a call with an effect on one entity; `targets` are those of the call."""
    seen = effect.entity_id if effect.entity_id and is_exposed(effect.entity_id) else ""
    what, told = _what(rule, seen or next(iter(targets), ""), occasion.hass, is_seen=bool(seen))
    reason, times = _reason(rule, occasion)
    told |= times
    sentence = f"{_TOLD[what]}{_REASONS[reason]}".format(**told)
    detail = f"A rule of the household says: {sentence}. It holds for every call; tell the person why"
    return RuleRefusal("_".join(filter(None, ("rule", what, reason))), told, detail)


def _what(
    rule: PickedRule, entity_id: str, hass: HomeAssistant, *, is_seen: bool
) -> tuple[str, dict[str, str]]:
    """Return what may not be changed: a place where nothing may be, or the thing that was asked for.

    Something in a script that the agent may not see is not named, and neither is its place.
    """
    if is_seen and not (rule.actions or rule.kinds):
        field, key = rule.place_of(entity_id) or ("", "")
        place = ar.async_get(hass).async_get_area(key) if field == AREAS else None
        floor = fr.async_get(hass).async_get_floor(key) if field == FLOORS else None
        if name := (place and place.name) or (floor and floor.name):
            return PLACE, {PLACE: one_line(name, MAX_NAME)}
    state = hass.states.get(entity_id)
    return THING, {THING: one_line(state.name if state else entity_id, MAX_NAME)}


def _reason(rule: PickedRule, occasion: Occasion) -> tuple[str, dict[str, str]]:
    """Return the part of the condition that is told, and its times.

    Where one person is, is nothing that the agent tells, and nobody unknown hears that all are away.
    """
    now = occasion.now
    if rule.hours and now and (span := rule.hours.now(now)) and span in rule.hours.spans:
        return "hours", {"start": clock(span.start), "end": clock(span.end)}
    told = (NOBODY, SOMEBODY) if occasion.user is not None else (SOMEBODY,)
    if rule.presence in told and presence_holds(rule.presence, occasion):
        return rule.presence, {}
    if rule.hours or rule.presence:
        return "now", {}
    return ("whom", {}) if rule.whom else ("", {})
