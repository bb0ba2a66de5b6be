"""The policy: allow, ask first, or block, decided on the actual effects of a call."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from time import monotonic
from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, floor_registry as fr

from ..const import (
    CONF_POLICY_ALLOWED,
    CONF_POLICY_BLOCKED,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PROFILES,
    CONF_POLICY_RESTRICTED,
)
from ..domains import DOMAINS
from ..domains.base import DomainFacts
from ..errors import RefusedByRule, TooManyRequests
from ..knowledge.house import FLOORS, AgentView
from ..knowledge.speaker import Speaker
from ..texts import one_line
from .contents import effects
from .rules import (
    AREAS,
    BLOCKED,
    INSIDE,
    NOBODY,
    NOT_INSIDE,
    RESTRICTED,
    SOMEBODY,
    UNBLOCKED,
    UNRESTRICTED,
    Effect,
    Occasion,
    PickedRule,
    PolicyProfile,
    RuleSet,
    Verdict,
    clock,
    presence_holds,
    read_choices,
    read_profiles,
)

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


NOTIFY, SPEECH = "notify", "tts"
CONTAINERS = frozenset({"scene", "script"})

_BLOCKED = RuleSet(BLOCKED)
_UNBLOCKED = RuleSet(UNBLOCKED)
_RESTRICTED = RuleSet(RESTRICTED)
_UNRESTRICTED = RuleSet(UNRESTRICTED)
_INSIDE = RuleSet(INSIDE)
_NOT_INSIDE = RuleSet(NOT_INSIDE)


@cache
def _rules_of(facts: DomainFacts) -> tuple[RuleSet, RuleSet]:
    """Return the default restrictions of a domain, and the exceptions."""
    return RuleSet(facts.restricted), RuleSet(facts.unrestricted)


@dataclass(frozen=True, slots=True)
class _Applying:
    """The profiles and picked rules that apply to one call, or to one question about a tool."""

    profiles: tuple[PolicyProfile, ...]
    picked: tuple[PickedRule, ...]

    def decided_by(self, decision: Verdict, effect: Effect) -> PickedRule | None:
        """Return the first picked rule with this decision on an effect."""
        return next((rule for rule in self.picked if rule.decision is decision and rule.fits(effect)), None)

    def trusts(self, effect: Effect) -> bool:
        """Return whether a picked rule allows this very script, scene or automation."""
        return any(rule.decision is Verdict.ALLOW and rule.trusts(effect) for rule in self.picked)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the policy says of one call."""

    verdict: Verdict
    """The strictest over everything that the call comes down to."""
    contents: tuple[Effect, ...]
    """Effects in groups, scripts and scenes that are not allowed freely."""
    refusal: RefusedByRule | None
    """The rule of the household that blocks it, if it is one that was picked from lists."""


class Policy:
    """What one agent may do, for whom and when.

    In this order: blocked by the household or by what is shipped, then restricted by a rule that was picked
    from lists, then what the speaker's profiles say, then restricted by the household, allowed by the
    household, restricted by what is shipped. Picked rules count while they apply.
    Where the speaker's turn is tainted, nothing lifts what is shipped as restricted. What runs automations,
    other people's tools, and scripts and scenes that do more than control devices needs a confirmation too.
    """

    def __init__(self, hass: HomeAssistant, settings: Mapping[str, Any]) -> None:
        self._hass = hass
        self.view = AgentView(hass, settings)
        self._picked = read_choices(hass, settings[CONF_POLICY_CHOICES])
        self._blocked = RuleSet(settings[CONF_POLICY_BLOCKED])
        self._restricted = RuleSet(settings[CONF_POLICY_RESTRICTED])
        self._allowed = RuleSet(settings[CONF_POLICY_ALLOWED])
        self._profiles = read_profiles(settings[CONF_POLICY_PROFILES])

    @callback
    def judge(
        self,
        domain: str,
        service: str,
        entity_ids: Iterable[str],
        speaker: Speaker,
        data: Mapping[str, Any] | None = None,
        user: User | None = None,
    ) -> Judgement:
        """Judge everything that a call comes down to, now."""
        occasion = Occasion(self._hass, speaker, user, self._profiles)
        case, targets = self._case(occasion), list(entity_ids)
        found = effects(self._hass, domain, service, targets, data)
        verdicts = [self._of(effect, case) for effect in found]
        verdict = max(verdicts, default=Verdict.ALLOW)
        contents = dict.fromkeys(
            effect
            for effect, own in zip(found, verdicts, strict=True)
            if (effect.inside or effect.entity_id not in (None, *targets))
            and (own is not Verdict.ALLOW or (speaker.tainted and _is_shipped_restricted(effect)))
        )
        refusal = None
        if verdict is Verdict.BLOCK:
            blocking = ((case.decided_by(Verdict.BLOCK, effect), effect) for effect in found)
            refusals = (self._refusal(rule, effect, targets, occasion) for rule, effect in blocking if rule)
            refusal = next(refusals, None)
        elif speaker.tainted:
            # What is done in a turn that has read text from outside; a skipped update stays away until
            # somebody notices.
            is_serious = any(
                (effect.domain, effect.service) == ("update", "skip")
                or not effect.known
                or DOMAINS[effect.domain].runs
                or _is_shipped_restricted(effect)
                for effect in found
            ) and not (_only_controls(found) and not data)
            verdict = max(verdict, Verdict.CONFIRM) if is_serious else verdict
        elif verdict is Verdict.CONFIRM and DOMAINS[domain].runs:
            # A script that is allowed by name is trusted with its content.
            outer = [effect for effect in found if effect.entity_id in targets and effect.known]
            if outer and all(self._is_allowed(effect, case) for effect in outer):
                verdict = Verdict.ALLOW
        return Judgement(verdict, tuple(contents), refusal)

    def _refusal(
        self, rule: PickedRule, effect: Effect, targets: Sequence[str], occasion: Occasion
    ) -> RefusedByRule:
        """Return why a rule refuses a call on targets because of an effect."""
        is_seen = bool(effect.entity_id) and self.view.is_exposed(effect.entity_id or "")
        entity_id = str(effect.entity_id) if is_seen else next(iter(targets), "")
        what, told = _what(rule, entity_id, self._hass, is_seen=is_seen)
        reason, times = _reason(rule, occasion)
        told |= times
        sentence = f"{_TOLD[what]}{_REASONS[reason]}".format(**told)
        detail = f"A rule of the household says: {sentence}. It holds for every call; tell the person why"
        return RefusedByRule("_".join(filter(None, ("rule", what, reason))), detail, **told)

    def _case(self, occasion: Occasion) -> _Applying:
        profiles = (each for each in self._profiles if each.applies(self._hass, occasion.speaker))
        return _Applying(tuple(profiles), tuple(rule for rule in self._picked if rule.applies(occasion)))

    @callback
    def trusts_tool(self, name: str) -> bool:
        """Return whether the household lets a third-party tool run without asking, by its name."""
        return self._allowed.fits(name) and not self._restricted.fits(name)

    @callback
    def judge_tool(
        self, name: str, *, read_only: bool, speaker: Speaker, user: User | None = None
    ) -> Verdict:
        """Return the verdict on a third-party tool: one that acts is restricted."""
        case = self._case(Occasion(self._hass, speaker, user, self._profiles))
        if self._blocked.fits(name):
            return Verdict.BLOCK
        votes = (
            [] if read_only else [vote for item in case.profiles if (vote := item.verdict(name)) is not None]
        )
        about_everything = [] if read_only else [rule for rule in case.picked if rule.is_about_everything]
        on_everything = max((rule.decision for rule in about_everything), default=Verdict.ALLOW)
        if on_everything is not Verdict.ALLOW:
            return max(*votes, on_everything) if votes else on_everything
        if speaker.tainted and not read_only:
            return max(*votes, Verdict.CONFIRM) if votes else Verdict.CONFIRM
        if votes:
            return max(votes)
        if self._restricted.fits(name):
            return Verdict.CONFIRM
        return Verdict.ALLOW if read_only or self._allowed.fits(name) else Verdict.CONFIRM

    def _of(self, effect: Effect, case: _Applying) -> Verdict:
        if (_BLOCKED.fits(effect) and not _UNBLOCKED.fits(effect)) or self._blocked.fits(effect):
            return Verdict.BLOCK
        if self._is_beyond(effect) or case.decided_by(Verdict.BLOCK, effect):
            return Verdict.BLOCK
        # Whether a script or a scene does something restricted to an entity that is not exposed.
        out_of_sight = (
            effect.inside
            and effect.entity_id is not None
            and _is_listed(effect)
            and not self.view.is_exposed(effect.entity_id)
        )
        certain = effect.known and not out_of_sight
        is_free = certain and not case.decided_by(Verdict.CONFIRM, effect)
        votes = [vote for profile in case.profiles if (vote := profile.verdict(effect)) is not None]
        if votes:
            return max(votes) if is_free else max(*votes, Verdict.CONFIRM)
        if not is_free or self._restricted.fits(effect):
            return Verdict.CONFIRM
        if self._allowed.fits(effect) or case.decided_by(Verdict.ALLOW, effect):
            return Verdict.ALLOW
        return Verdict.CONFIRM if _is_shipped_restricted(effect) else Verdict.ALLOW

    def _is_beyond(self, effect: Effect) -> bool:
        """Return whether an effect is, or may be, on something that the agent's lists leave out.

        A message goes to a target of the options, speech to speakers that are judged by themselves, and what
        is only read needs no right to control.
        """
        if not self.view.narrows or (effect.domain in (NOTIFY, SPEECH) and not effect.inside):
            return False
        if not effect.known:
            return True
        if effect.entity_id is None:
            return effect.inside and not _is_free_inside(effect)
        if not effect.inside and effect.service in DOMAINS[effect.domain].reads:
            return not self.view.lists(effect.entity_id)
        return not self.view.may_control(effect.entity_id)

    def _is_allowed(self, effect: Effect, case: _Applying) -> bool:
        """Return whether a person allowed exactly this, and no one restricted it."""
        if case.decided_by(Verdict.CONFIRM, effect):
            return False
        votes = [vote for profile in case.profiles if (vote := profile.verdict(effect)) is not None]
        if votes:
            return max(votes) is Verdict.ALLOW
        is_trusted = self._allowed.fits(effect) or case.trusts(effect)
        return is_trusted and not self._restricted.fits(effect)


def _is_listed(effect: Effect) -> bool:
    own = (effect.entity_id or "").partition(".")[0]
    rules = [_rules_of(facts) for facts in {DOMAINS[effect.domain], DOMAINS[own]} if facts.restricted]
    shipped = _RESTRICTED.fits(effect) and not _UNRESTRICTED.fits(Effect(effect.domain, effect.service))
    restricted = shipped or any(rule.fits(effect) for rule, _ in rules)
    return restricted and not any(exception.fits(effect) for _, exception in rules)


def _is_shipped_restricted(effect: Effect) -> bool:
    return _is_listed(effect) or (effect.inside and not _is_free_inside(effect))


def _is_free_inside(effect: Effect) -> bool:
    service, facts = Effect(effect.domain, effect.service), DOMAINS[effect.domain]
    if _NOT_INSIDE.fits(service) or effect.service in facts.not_contained:
        return False
    return _INSIDE.fits(service) or any(fnmatchcase(effect.service, each) for each in facts.contained)


def _only_controls(found: Sequence[Effect]) -> bool:
    """Return whether scripts and scenes do nothing that the same turn could not do without asking.

    A message in one may reach people, and what runs automations or programs is not known well enough.
    """
    inside = [effect for effect in found if effect.inside and effect.domain not in CONTAINERS]
    return bool(inside) and all(
        effect.known
        and (
            effect.domain in CONTAINERS
            or (effect.service in DOMAINS[effect.domain].services and not _is_shipped_restricted(effect))
        )
        for effect in found
    )


WINDOW = 60.0


class Throttle:
    """Counts the turns of the last minute that were not started by a person."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._times: deque[float] = deque(maxlen=max(limit, 1))

    def check(self) -> None:
        """Count one turn. Raises TooManyRequests if there were too many."""
        now = monotonic()
        if len(self._times) == self._times.maxlen and now - self._times[0] < WINDOW:
            raise TooManyRequests(
                f"Automations asked more than {self._limit} times within a minute", limit=self._limit
            )
        self._times.append(now)


LISTS: Final = ("calendar", "todo")
"""Kinds that rules may hide; of all others rules are about changes only."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who asks through one agent, and what they may be told now."""

    hass: HomeAssistant
    policy: Policy
    speaker: Speaker
    user: User | None
    """The active user who speaks. Without one, a speaker with an account may read nothing."""

    @callback
    def sees(self, entity_id: str) -> bool:
        """Return whether an entity is exposed to the agent, and the speaker may read it."""
        return self.policy.view.is_exposed(entity_id) and self.permits(entity_id)

    @callback
    def permits(self, entity_id: str) -> bool:
        """Return whether rights and rules let the speaker read an entity, exposed or not."""
        if self.user is None:
            has_right = self.speaker.context.user_id is None
        else:
            has_right = self.user.permissions.check_entity(entity_id, POLICY_READ)
        domain = entity_id.partition(".")[0]
        return has_right and not (
            domain in LISTS
            and any(
                self.policy.judge(domain, service, (entity_id,), self.speaker, user=self.user).verdict
                is not Verdict.ALLOW
                for service in DOMAINS[domain].reads
            )
        )

    @property
    def narrows(self) -> bool:
        """Return whether there is anything exposed that the speaker may not be told of through the agent."""
        if self.user is None:
            reads_all = self.speaker.context.user_id is None
        else:
            reads_all = self.user.permissions.access_all_entities(POLICY_READ)
        lists = self.hass.states.async_entity_ids(LISTS)
        return self.policy.view.narrows or not reads_all or not all(map(self.permits, lists))
