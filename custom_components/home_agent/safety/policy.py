"""The policy: allow, ask first, or block, decided on the actual effects of a call."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from time import monotonic
from typing import Any, Final, NamedTuple

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr

from ..const import CONF_DEVICE_PERSONS, DOMAIN
from ..domains import DOMAINS
from ..errors import RefusedByRule, TooManyRequests
from ..knowledge.house import AREAS, FLOORS, AgentView
from ..knowledge.speaker import Speaker
from ..texts import one_line
from .contents import effects
from .rules import (
    BLOCKED,
    INSIDE,
    NOBODY,
    NOT_INSIDE,
    PICKED_ACTIONS,
    RESTRICTED,
    SOMEBODY,
    UNBLOCKED,
    UNRESTRICTED,
    Effect,
    Occasion,
    Rule,
    RuleSet,
    Verdict,
    clock,
    presence_holds,
    read_rules,
    strictest,
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


NOTIFY, SPEECH = "notify", "tts"
CONTAINERS = frozenset({"scene", "script"})

_BLOCKED = RuleSet(BLOCKED, UNBLOCKED)
_RESTRICTED = RuleSet(RESTRICTED, UNRESTRICTED)
_INSIDE = RuleSet(INSIDE)
_NOT_INSIDE = RuleSet(NOT_INSIDE)


class Judgement(NamedTuple):
    """What the policy says of one call."""

    verdict: Verdict
    """The strictest over everything that the call comes down to."""
    contents: tuple[Effect, ...]
    """Effects in groups, scripts and scenes that are not allowed freely."""
    refusal: RefusedByRule | None
    """The rule of the household that blocks it."""


class Policy:
    """What one agent may do, for whom and when.

    Of the household's rules that apply, the strictest counts; where none is about something, what is shipped.
    Nothing lifts what is shipped as blocked. What is not known well needs a confirmation at least.
    Where the speaker's turn is tainted, nothing lifts what is shipped as restricted. What runs automations,
    other people's tools, and scripts and scenes that do more than control devices needs a confirmation too.
    """

    def __init__(self, hass: HomeAssistant, settings: Mapping[str, Any]) -> None:
        self._hass = hass
        self.view = AgentView(hass, settings)
        self._rules = read_rules(hass, settings)
        self._owners = settings[CONF_DEVICE_PERSONS]

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
        occasion, targets = Occasion(self._hass, speaker, user, self._owners), list(entity_ids)
        rules = [rule for rule in self._rules if rule.applies(occasion)]
        found = effects(self._hass, domain, service, targets, data)
        verdicts = [self._of(effect, rules, user) for effect in found]
        verdict = max(verdicts, default=Verdict.ALLOW)
        contents = dict.fromkeys(
            effect
            for effect, own in zip(found, verdicts, strict=True)
            if (effect.inside or effect.entity_id not in (None, *targets))
            and (own is not Verdict.ALLOW or (speaker.tainted and is_shipped_restricted(effect)))
        )
        refusal = None
        if verdict is Verdict.BLOCK:
            refusals = (
                self._refusal(rule, effect, targets, occasion)
                for effect in found
                for rule in rules
                if rule.verdict(effect) is Verdict.BLOCK
            )
            refusal = next(filter(None, refusals), None)
        elif speaker.tainted or speaker.unprompted:
            # What is done in a turn that has read text from outside, or that may be nobody's; a skipped
            # update stays away until somebody notices.
            is_serious = any(
                (effect.domain, effect.service) == ("update", "skip")
                or not effect.known
                or DOMAINS[effect.domain].runs
                or is_shipped_restricted(effect)
                for effect in found
            ) and not (_only_controls(found) and not data)
            verdict = max(verdict, Verdict.CONFIRM) if is_serious else verdict
        elif verdict is Verdict.CONFIRM and DOMAINS[domain].runs:
            # A script that is allowed by name is trusted with its content.
            outer = [effect for effect in found if effect.entity_id in targets and effect.known]
            if outer and all(
                strictest(rules, effect) is Verdict.ALLOW and any(rule.trusts(effect) for rule in rules)
                for effect in outer
            ):
                verdict = Verdict.ALLOW
        return Judgement(verdict, tuple(contents), refusal)

    def _refusal(
        self, rule: Rule, effect: Effect, targets: Sequence[str], occasion: Occasion
    ) -> RefusedByRule | None:
        """Return why a rule refuses a call on targets because of an effect; None if nothing can be named.

        Something in a script that the agent may not see is not named, and neither is its place. Where one
        person is, is nothing that the agent tells, and nobody unknown hears that all are away.
        """
        is_seen = bool(effect.entity_id) and self.view.is_exposed(effect.entity_id or "")
        entity_id = str(effect.entity_id) if is_seen else next(iter(targets), "")
        if not entity_id:
            return None
        what, reason, state = THING, "", self._hass.states.get(entity_id)
        told = {THING: one_line(state.name if state else entity_id, MAX_NAME)}
        if is_seen and not (rule.actions or rule.kinds):
            field, key = rule.place_of(entity_id) or ("", "")
            area = ar.async_get(self._hass).async_get_area(key) if field == AREAS else None
            floor = fr.async_get(self._hass).async_get_floor(key) if field == FLOORS else None
            if place := area or floor:
                what, told = PLACE, {PLACE: one_line(place.name, MAX_NAME)}
        span = rule.hours.now(occasion.now) if rule.hours and occasion.now else None
        presences = (NOBODY, SOMEBODY) if occasion.user is not None else (SOMEBODY,)
        if rule.hours and span and span in rule.hours.spans:
            reason = "hours"
            told |= {"start": clock(span.start), "end": clock(span.end)}
        elif rule.presence in presences and presence_holds(rule.presence, occasion):
            reason = rule.presence
        elif rule.hours or rule.presence:
            reason = "now"
        elif rule.whom:
            reason = "whom"
        sentence = f"{_TOLD[what]}{_REASONS[reason]}".format(**told)
        detail = f"A rule of the household says: {sentence}. It holds for every call; tell the person why"
        return RefusedByRule("_".join(filter(None, ("rule", what, reason))), detail, **told)

    @callback
    def trusts_tool(self, name: str) -> bool:
        """Return whether the household lets a third-party tool run without asking anybody, by its name."""
        return strictest((rule for rule in self._rules if not rule.has_conditions), name) is Verdict.ALLOW

    @callback
    def judge_tool(
        self, name: str, *, read_only: bool, speaker: Speaker, user: User | None = None
    ) -> Verdict:
        """Return the verdict on a third-party tool: one that acts is restricted."""
        occasion = Occasion(self._hass, speaker, user, self._owners)
        rules = (rule for rule in self._rules if rule.applies(occasion))
        verdict = strictest(rules, name, read_only=read_only)
        if verdict is None:
            verdict = Verdict.ALLOW if read_only else Verdict.CONFIRM
        is_serious = not read_only and (speaker.tainted or speaker.unprompted)
        return max(verdict, Verdict.CONFIRM) if is_serious else verdict

    def _of(self, effect: Effect, rules: Sequence[Rule], user: User | None) -> Verdict:
        if _BLOCKED.fits(effect) or self._is_beyond(effect) or self._is_own(effect, user):
            return Verdict.BLOCK
        # Whether a script or a scene does something restricted to an entity that is not exposed.
        out_of_sight = (
            effect.inside
            and effect.entity_id is not None
            and _is_listed(effect)
            and not self.view.is_exposed(effect.entity_id)
        )
        verdict = strictest(rules, effect)
        if verdict is None:
            verdict = Verdict.CONFIRM if is_shipped_restricted(effect) else Verdict.ALLOW
        return verdict if effect.known and not out_of_sight else max(verdict, Verdict.CONFIRM)

    def _is_own(self, effect: Effect, user: User | None) -> bool:
        """Return whether an effect is on a setting of an agent, such as guest mode, by no administrator."""
        entry = er.async_get(self._hass).async_get(effect.entity_id) if effect.entity_id else None
        is_setting = entry is not None and entry.platform == DOMAIN and entry.domain == Platform.SWITCH
        return is_setting and not (user is not None and user.is_admin)

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


def _is_listed(effect: Effect) -> bool:
    own = (effect.entity_id or "").partition(".")[0]
    return _RESTRICTED.fits(effect) or any(
        PICKED_ACTIONS[facts.name].fits(effect)
        for facts in (DOMAINS[effect.domain], DOMAINS[own])
        if facts.restricted
    )


def is_shipped_restricted(effect: Effect) -> bool:
    """Return whether an effect needs a confirmation where no rule of the household is about it."""
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
            or (effect.service in DOMAINS[effect.domain].services and not is_shipped_restricted(effect))
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


class Reader(NamedTuple):
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
