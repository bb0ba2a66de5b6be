"""The policy: allow, ask first, or block, decided on the actual effects of a call."""

from collections import deque
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from time import monotonic
from typing import Any

from homeassistant.core import HomeAssistant, callback

from ..const import (
    CONF_POLICY_ALLOWED,
    CONF_POLICY_BLOCKED,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PROFILES,
    CONF_POLICY_RESTRICTED,
)
from ..domains import DOMAINS
from ..domains.base import DomainFacts
from ..errors import TooManyRequests
from ..knowledge.speaker import Speaker
from ..knowledge.view import AgentView
from . import defaults
from .choices import read_choices
from .contents import effects
from .profiles import PolicyProfile, read_profiles
from .rules import Effect, RuleSet, Verdict

NOTIFY = "notify"

_BLOCKED = RuleSet(defaults.BLOCKED)
_UNBLOCKED = RuleSet(defaults.UNBLOCKED)
_RESTRICTED = RuleSet(defaults.RESTRICTED)
_INSIDE = RuleSet(defaults.INSIDE)
_NOT_INSIDE = RuleSet(defaults.NOT_INSIDE)


@cache
def _rules_of(facts: DomainFacts) -> tuple[RuleSet, RuleSet]:
    """Return the default restrictions of a domain, and the exceptions."""
    return RuleSet(facts.restricted), RuleSet(facts.unrestricted)


class Policy:
    """What one agent may do, for whom.

    In this order: blocked by the household or by what is shipped, then what the speaker's profiles say,
    then restricted by the household, allowed by the household, restricted by what is shipped.
    Where the speaker's turn is tainted, nothing lifts what is shipped as restricted, and what runs scripts,
    scenes, automations and other people's tools needs a confirmation too.
    """

    def __init__(self, hass: HomeAssistant, settings: Mapping[str, Any]) -> None:
        """Read the options once; an entry is reloaded when they change."""
        self._hass = hass
        self.view = AgentView(hass, settings)
        picked = read_choices(hass, settings[CONF_POLICY_CHOICES])
        self._blocked = RuleSet(settings[CONF_POLICY_BLOCKED], picked[Verdict.BLOCK])
        self._restricted = RuleSet(settings[CONF_POLICY_RESTRICTED], picked[Verdict.CONFIRM])
        self._allowed = RuleSet(settings[CONF_POLICY_ALLOWED], picked[Verdict.ALLOW])
        self._profiles = read_profiles(settings[CONF_POLICY_PROFILES])

    @callback
    def judge(
        self,
        domain: str,
        service: str,
        entity_ids: Iterable[str],
        speaker: Speaker,
        data: Mapping[str, Any] | None = None,
    ) -> Verdict:
        """Return the strictest verdict over everything that a call comes down to."""
        profiles = self._profiles_of(speaker)
        targets = list(entity_ids)
        found = effects(self._hass, domain, service, targets, data)
        verdict = max((self._of(effect, profiles) for effect in found), default=Verdict.ALLOW)
        if speaker.tainted:
            return max(verdict, Verdict.CONFIRM) if any(map(_is_serious, found)) else verdict
        if verdict is Verdict.CONFIRM and DOMAINS[domain].runs:
            # A script that is allowed by name is trusted with its content.
            outer = [effect for effect in found if effect.entity_id in targets and effect.known]
            if outer and all(self._is_allowed(effect, profiles) for effect in outer):
                return Verdict.ALLOW
        return verdict

    @callback
    def reasons(
        self,
        domain: str,
        service: str,
        entity_ids: Iterable[str],
        speaker: Speaker,
        data: Mapping[str, Any] | None = None,
    ) -> tuple[Effect, ...]:
        """Return the restricted effects of a call in groups, scripts and scenes."""
        profiles = self._profiles_of(speaker)
        targets = list(entity_ids)
        found = effects(self._hass, domain, service, targets, data)
        hidden = (effect for effect in found if effect.inside or effect.entity_id not in (None, *targets))
        return tuple(
            dict.fromkeys(
                effect
                for effect in hidden
                if self._of(effect, profiles) is not Verdict.ALLOW
                or (speaker.tainted and _is_shipped_restricted(effect))
            )
        )

    def _profiles_of(self, speaker: Speaker) -> list[PolicyProfile]:
        """Return the profiles that fit a speaker."""
        return [profile for profile in self._profiles if profile.applies(self._hass, speaker)]

    @callback
    def trusts_tool(self, name: str) -> bool:
        """Return whether the household lets a third-party tool run without asking, by its name."""
        return self._allowed.fits_tool(name) and not self._restricted.fits_tool(name)

    @callback
    def judge_tool(self, name: str, *, read_only: bool, speaker: Speaker) -> Verdict:
        """Return the verdict on a third-party tool: one that acts is restricted."""
        profiles = self._profiles_of(speaker)
        if self._blocked.fits_tool(name):
            return Verdict.BLOCK
        votes = (
            [] if read_only else [vote for item in profiles if (vote := item.tool_verdict(name)) is not None]
        )
        if speaker.tainted and not read_only:
            return max(*votes, Verdict.CONFIRM) if votes else Verdict.CONFIRM
        if votes:
            return max(votes)
        if self._restricted.fits_tool(name):
            return Verdict.CONFIRM
        return Verdict.ALLOW if read_only or self._allowed.fits_tool(name) else Verdict.CONFIRM

    def _of(self, effect: Effect, profiles: Iterable[PolicyProfile]) -> Verdict:
        """Return the verdict on one effect."""
        if (_BLOCKED.fits(effect) and not _UNBLOCKED.fits(effect)) or self._blocked.fits(effect):
            return Verdict.BLOCK
        if self._is_beyond(effect):
            return Verdict.BLOCK
        certain = effect.known and not self._is_out_of_sight(effect)
        votes = [vote for profile in profiles if (vote := profile.verdict(effect)) is not None]
        if votes:
            return max(votes) if certain else max(*votes, Verdict.CONFIRM)
        if not certain or self._restricted.fits(effect):
            return Verdict.CONFIRM
        if self._allowed.fits(effect):
            return Verdict.ALLOW
        return Verdict.CONFIRM if _is_shipped_restricted(effect) else Verdict.ALLOW

    def _is_out_of_sight(self, effect: Effect) -> bool:
        """Return whether a script or a scene does something restricted to an entity that is not exposed."""
        entity_id = effect.entity_id
        if not effect.inside or entity_id is None or not _is_listed(effect):
            return False
        return not self.view.is_exposed(entity_id)

    def _is_beyond(self, effect: Effect) -> bool:
        """Return whether an effect is, or may be, on something that the agent's lists leave out.

        A message goes to a target of the options, and what is only read needs no right to control.
        """
        if not self.view.narrows or (effect.domain == NOTIFY and not effect.inside):
            return False
        if not effect.known:
            return True
        if effect.entity_id is None:
            return effect.inside and not _is_free_inside(effect)
        if not effect.inside and effect.service in DOMAINS[effect.domain].reads:
            return not self.view.lists(effect.entity_id)
        return not self.view.may_control(effect.entity_id)

    def _is_allowed(self, effect: Effect, profiles: Iterable[PolicyProfile]) -> bool:
        """Return whether a person allowed exactly this, and no one restricted it."""
        votes = [vote for profile in profiles if (vote := profile.verdict(effect)) is not None]
        if votes:
            return max(votes) is Verdict.ALLOW
        return self._allowed.trusts(effect) and not self._restricted.fits(effect)


def _is_listed(effect: Effect) -> bool:
    """Return whether an effect needs a confirmation by default."""
    own = (effect.entity_id or "").partition(".")[0]
    rules = [_rules_of(facts) for facts in {DOMAINS[effect.domain], DOMAINS[own]} if facts.restricted]
    restricted = _RESTRICTED.fits(effect) or any(rule.fits(effect) for rule, _ in rules)
    return restricted and not any(exception.fits(effect) for _, exception in rules)


def _is_shipped_restricted(effect: Effect) -> bool:
    """Return whether an effect needs a confirmation as shipped."""
    return _is_listed(effect) or (effect.inside and not _is_free_inside(effect))


def _is_free_inside(effect: Effect) -> bool:
    """Return whether a service in a step is checked like a separate call, whatever its target."""
    service, facts = Effect(effect.domain, effect.service), DOMAINS[effect.domain]
    if _NOT_INSIDE.fits(service) or effect.service in facts.not_contained:
        return False
    return _INSIDE.fits(service) or any(fnmatchcase(effect.service, each) for each in facts.contained)


def _is_serious(effect: Effect) -> bool:
    """Return whether an effect needs a confirmation in a turn that has read text from outside."""
    return not effect.known or bool(DOMAINS[effect.domain].runs) or _is_shipped_restricted(effect)


WINDOW = 60.0


class Throttle:
    """Counts the turns of the last minute that were not started by a person."""

    def __init__(self, limit: int) -> None:
        """Allow so many per minute."""
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
