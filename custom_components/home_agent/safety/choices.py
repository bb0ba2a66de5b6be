"""Rules that the household picks from lists: actions, entities, and whether these need a confirmation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er

from ..domains import DOMAINS
from .profiles import AREAS, as_texts
from .rules import Effect, RuleSet, Verdict

DECISION: Final = "decision"
ACTIONS: Final = "actions"
KINDS: Final = "kinds"
ENTITIES: Final = "entities"
LABELS: Final = "labels"
TARGETS: Final = (ENTITIES, AREAS, LABELS)
"""Fields of a rule that name what it applies to."""

DECISIONS: Final = {"never": Verdict.BLOCK, "ask": Verdict.CONFIRM, "always": Verdict.ALLOW}

EVERYDAY_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "turn_on": ("*.turn_on", "*.toggle"),
    "turn_off": ("*.turn_off", "*.toggle"),
    "set_temperature": ("climate", "water_heater"),
    "play": ("media_player",),
    "run": ("script", "scene", "automation"),
}
"""Actions that need no confirmation by default, by name, as rules in text."""


@dataclass(frozen=True, slots=True)
class PickedAction:
    """What one name in the list of actions stands for."""

    rules: RuleSet
    exceptions: RuleSet

    def fits(self, effect: Effect) -> bool:
        """Return whether an effect is such an action."""
        return self.rules.fits(effect) and not self.exceptions.fits(effect)


PICKED_ACTIONS: Final[Mapping[str, PickedAction]] = {
    **{
        facts.name: PickedAction(RuleSet(facts.restricted), RuleSet(facts.unrestricted))
        for facts in DOMAINS.values()
        if facts.restricted
    },
    **{name: PickedAction(RuleSet(rules), RuleSet(())) for name, rules in EVERYDAY_ACTIONS.items()},
}
"""The actions to pick from: what needs a confirmation by default, by domain, and everyday ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedRule:
    """One rule; an empty field means everything."""

    hass: HomeAssistant
    actions: tuple[PickedAction, ...]
    kinds: RuleSet
    entities: frozenset[str]
    areas: frozenset[str]
    labels: frozenset[str]

    @classmethod
    def of(cls, hass: HomeAssistant, item: Mapping[str, Any], decision: Verdict) -> Self | None:
        """Read a rule; None if it would allow more than it says, because one of its actions is unknown."""
        named = as_texts(item.get(ACTIONS))
        if decision is Verdict.ALLOW and not PICKED_ACTIONS.keys() >= set(named):
            return None
        return cls(
            hass=hass,
            actions=tuple(PICKED_ACTIONS[name] for name in named if name in PICKED_ACTIONS),
            kinds=RuleSet(as_texts(item.get(KINDS))),
            entities=frozenset(as_texts(item.get(ENTITIES))),
            areas=frozenset(as_texts(item.get(AREAS))),
            labels=frozenset(as_texts(item.get(LABELS))),
        )

    @callback
    def fits(self, effect: Effect) -> bool:
        """Return whether the rule is about an effect."""
        if self.actions and not any(action.fits(effect) for action in self.actions):
            return False
        if self.kinds and not self.kinds.fits(effect):
            return False
        if not (self.entities or self.areas or self.labels):
            return bool(self.actions or self.kinds)
        return effect.entity_id is not None and self._names(effect.entity_id)

    def _names(self, entity_id: str) -> bool:
        """Return whether the rule names an entity, its area or one of its labels."""
        if entity_id in self.entities:
            return True
        entry = er.async_get(self.hass).async_get(entity_id)
        if entry is None or not (self.areas or self.labels):
            return False
        device = dr.async_get(self.hass).async_get(entry.device_id) if entry.device_id else None
        area_id = entry.area_id or (device.area_id if device else None)
        if area_id in self.areas:
            return True
        area = ar.async_get(self.hass).async_get_area(area_id) if area_id else None
        labels = entry.labels | (device.labels if device else set()) | (area.labels if area else set())
        return not self.labels.isdisjoint(labels)


def read_choices(hass: HomeAssistant, value: object) -> dict[Verdict, list[PickedRule]]:
    """Return the rules by what they decide; anything that is not a rule is left out."""
    found: dict[Verdict, list[PickedRule]] = {verdict: [] for verdict in Verdict}
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, Mapping) or (decision := DECISIONS.get(str(item.get(DECISION)))) is None:
            continue
        if rule := PickedRule.of(hass, item, decision):
            found[decision].append(rule)
    return found
