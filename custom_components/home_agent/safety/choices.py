"""Rules that the household picks from lists: what is never done or needs a yes, when, and for whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er

from ..domains import DOMAINS
from ..knowledge.view import FLOORS
from .occasions import Hours, Occasion, presence_holds, whom_holds
from .profiles import AREAS, as_texts
from .rules import Effect, RuleSet, Verdict

DECISION: Final = "decision"
ACTIONS: Final = "actions"
KINDS: Final = "kinds"
ENTITIES: Final = "entities"
LABELS: Final = "labels"
TARGETS: Final = (ENTITIES, AREAS, FLOORS, LABELS)
"""Fields of a rule that name what it applies to."""
HOURS: Final = "hours"
PRESENCE: Final = "presence"
WHOM: Final = "whom"

DECISIONS: Final = {"never": Verdict.BLOCK, "ask": Verdict.CONFIRM, "always": Verdict.ALLOW}

EVERYDAY_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "turn_on": ("*.turn_on", "*.toggle"),
    "turn_off": ("*.turn_off", "*.toggle"),
    "set_temperature": ("climate", "water_heater"),
    "play": ("media_player",),
    "run": ("script", "scene", "automation"),
    "announce": ("assist_satellite.announce", "tts.speak"),
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
    """One rule; an empty field means everything, everybody and always."""

    hass: HomeAssistant
    decision: Verdict
    actions: tuple[PickedAction, ...]
    kinds: RuleSet
    entities: frozenset[str]
    areas: frozenset[str]
    floors: frozenset[str]
    labels: frozenset[str]
    hours: Hours | None
    presence: str
    whom: tuple[str, ...]

    @classmethod
    def of(cls, hass: HomeAssistant, item: Mapping[str, Any], decision: Verdict) -> Self | None:
        """Read a rule; None if it says nothing, or would allow more than it says.

        It would if this release does not know one of its actions, or if it has no limit at all.
        """
        named = as_texts(item.get(ACTIONS))
        if decision is Verdict.ALLOW and not PICKED_ACTIONS.keys() >= set(named):
            return None
        rule = cls(
            hass=hass,
            decision=decision,
            actions=tuple(PICKED_ACTIONS[name] for name in named if name in PICKED_ACTIONS),
            kinds=RuleSet(as_texts(item.get(KINDS))),
            entities=frozenset(as_texts(item.get(ENTITIES))),
            areas=frozenset(as_texts(item.get(AREAS))),
            floors=frozenset(as_texts(item.get(FLOORS))),
            labels=frozenset(as_texts(item.get(LABELS))),
            hours=Hours.of(as_texts(item.get(HOURS))),
            presence=str(item.get(PRESENCE) or ""),
            whom=tuple(as_texts(item.get(WHOM))),
        )
        says_something = not rule.is_about_everything or (
            decision is not Verdict.ALLOW and not named and (rule.hours or rule.presence or rule.whom)
        )
        return rule if says_something else None

    @property
    def is_about_everything(self) -> bool:
        """Return whether the rule is about every change of everything."""
        return not (self.actions or self.kinds or self._has_targets)

    @property
    def _has_targets(self) -> bool:
        """Return whether the rule is about some entities only."""
        return bool(self.entities or self.areas or self.floors or self.labels)

    @callback
    def applies(self, occasion: Occasion) -> bool:
        """Return whether the rule applies now and to the one who asks.

        What is not known counts as the strict side.
        """
        held = [
            self.hours.holds(occasion) if self.hours else True,
            presence_holds(self.presence, occasion) if self.presence else True,
            whom_holds(self.whom, occasion) if self.whom else True,
        ]
        return all(held) if self.decision is Verdict.ALLOW else False not in held

    @callback
    def fits(self, effect: Effect) -> bool:
        """Return whether the rule is about an effect.

        A rule is about changes: to read a calendar or a list is one only where the rule names it or its kind.
        """
        if self.actions and not any(action.fits(effect) for action in self.actions):
            return False
        if self.kinds and not self.kinds.fits(effect):
            return False
        if effect.service in DOMAINS[effect.domain].reads and not self.kinds:
            return effect.entity_id in self.entities
        if not self._has_targets:
            return True
        return effect.entity_id is not None and self.place_of(effect.entity_id) is not None

    @callback
    def trusts(self, effect: Effect) -> bool:
        """Return whether the rule names this very script, scene or automation, and so trusts its content.

        A rule for a kind, an area or a label does not: nobody looked at what each of them does.
        """
        return effect.entity_id in self.entities and self.fits(effect)

    @callback
    def place_of(self, entity_id: str) -> tuple[str, str] | None:
        """Return how the rule names an entity: the field, and the entity, area, floor or label in it."""
        if entity_id in self.entities:
            return ENTITIES, entity_id
        entry = er.async_get(self.hass).async_get(entity_id)
        if entry is None or not (self.areas or self.floors or self.labels):
            return None
        area_id = er.async_get_effective_area_id(self.hass, entry)
        if area_id in self.areas:
            return AREAS, str(area_id)
        area = ar.async_get(self.hass).async_get_area(area_id) if area_id else None
        if area is not None and area.floor_id in self.floors:
            return FLOORS, str(area.floor_id)
        device = dr.async_get(self.hass).async_get(entry.device_id) if entry.device_id else None
        labels = entry.labels | (device.labels if device else set()) | (area.labels if area else set())
        return next(((LABELS, label) for label in sorted(labels & self.labels)), None)


def read_choices(hass: HomeAssistant, value: object) -> list[PickedRule]:
    """Return the rules; anything that is not a rule is left out."""
    found: list[PickedRule] = []
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, Mapping) or (decision := DECISIONS.get(str(item.get(DECISION)))) is None:
            continue
        if rule := PickedRule.of(hass, item, decision):
            found.append(rule)
    return found
