"""The automations that there are: which one is meant, and what may be done with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

from ...errors import PermissionDenied, ValidationError
from ...knowledge.names import called, content_words, word_similarity
from ...knowledge.speaker import Speaker
from ...safety.frozen import ServiceCall
from ...safety.rules import Verdict
from ...texts import words
from ..base import ToolRun
from ..resolving.resolver import MAX_ERROR, listed
from .files import AUTOMATION, entity_of
from .records import OwnAutomation, OwnAutomations, as_values, entities_of_clause

SAME = 0.86


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An automation that Home Assistant has."""

    entity_id: str
    name: str
    id: str
    own: OwnAutomation | None = None
    """What is kept of one that was asked for."""


@callback
def known_automations(hass: HomeAssistant, own: OwnAutomations) -> list[Known]:
    """Return the automations of Home Assistant, those that were asked for first, the newest first."""
    registry = er.async_get(hass)
    automations: dict[str, Known] = {}
    for kept in own.all():
        entity_id = entity_of(hass, kept.id)
        state = hass.states.get(entity_id) if entity_id else None
        if entity_id and state is not None:
            automations[entity_id] = Known(entity_id=entity_id, name=state.name, id=kept.id, own=kept)
    for state in sorted(hass.states.async_all(AUTOMATION), key=lambda state: state.name.casefold()):
        entry = registry.async_get(state.entity_id)
        automation_id = str(entry.unique_id) if entry else str(state.attributes.get("id") or "")
        other = Known(entity_id=state.entity_id, name=state.name, id=automation_id)
        automations.setdefault(state.entity_id, other)
    return list(automations.values())


@callback
def seen_automations(run: ToolRun, own: OwnAutomations, user: User | None) -> list[Known]:
    """Return the automations that the speaker may know of: those that are exposed, an administrator all.

    Through an agent with lists, an administrator knows those in the lists, and those made with that agent.
    """
    is_admin = user is not None and user.is_admin and user.is_active
    narrows = run.guard.policy.view.narrows
    return [
        known
        for known in known_automations(run.hass, own)
        if run.reader.sees(known.entity_id) or (is_admin and (known.own is not None or not narrows))
    ]


def choose_automation(candidates: Sequence[Known], name: str, own: OwnAutomations, run: ToolRun) -> Known:
    """Return the automation of a name; without one the last of this conversation, or the only one.

    Raises ValidationError that lists those that there are.
    """
    if not candidates:
        raise ValidationError("name: there is no automation that can be meant")
    if name:
        chosen = _named(candidates, name)
    else:
        chosen = [candidate for candidate in candidates if candidate.own is not None]
        here = run.speaker.conversation_id
        changed = next((each for each in own.changes if here and each.conversation_id == here), None)
        spoken_of = [each for each in candidates if changed is not None and each.id == changed.automation.id]
        chosen = spoken_of or chosen
    if len(chosen) == 1:
        return chosen[0]
    names = listed([candidate.name for candidate in chosen or candidates], MAX_ERROR - 100)
    problem = "which one?" if chosen or not name else f"{name[:40]!r} is none of them."
    raise ValidationError(f"name: {problem} Automations: {names}"[:MAX_ERROR])


def _named(candidates: Sequence[Known], name: str) -> list[Known]:
    wanted = name.strip().casefold()
    for candidate in candidates:
        if wanted in (candidate.entity_id, candidate.id, candidate.name.casefold()):
            return [candidate]
    asked = content_words(name)
    if found := called(candidates, " ".join(asked), lambda candidate: (candidate.name,), in_parts=True):
        return found

    # "The hallway automation": the word for an automation itself is in no name.
    def score(candidate: Known) -> int:
        has = {*words(candidate.name), *words(candidate.own.sentence if candidate.own else "")}
        return sum(any(word_similarity(word, other) >= SAME for other in has) for word in asked)

    best = max(map(score, candidates))
    return [candidate for candidate in candidates if best and score(candidate) == best]


NESTED: Final = ("sequence", "then", "else", "default", "parallel", "choose", "repeat")
MAX_DEPTH: Final = 6
ADMINISTRATORS: Final = (
    "Only an administrator of this home can create, change or delete automations. Nothing was done; say so"
)
NOT_KNOWN: Final = (
    "Only an administrator can do this, and it is not known who speaks. Nothing was done. Tell the person to "
    "ask in the Home Assistant app, as an administrator"
)


def calls_in(config: Mapping[str, Any]) -> list[ServiceCall]:
    """Return the services that an automation calls, with those of steps that a person has added."""
    return list(_calls(config.get("actions") or config.get("action") or ()))


def entities_in_clauses(config: Mapping[str, Any]) -> list[str]:
    """Return the entities that the triggers and conditions of an automation are about."""
    clauses = (*as_values(config.get("triggers")), *as_values(config.get("conditions")))
    return [each for clause in clauses if isinstance(clause, Mapping) for each in entities_of_clause(clause)]


def unattended(speaker: Speaker) -> Speaker:
    """Return a speaker for whom calls are judged that an automation makes: at any time, with nobody there.

    A person confirms the automation itself, also after text from outside was read.
    """
    return replace(speaker, tainted=False, names=None, anytime=True)


def check_administrator(user: User | None) -> None:
    """Raise PermissionDenied for anybody but an administrator."""
    if user is None:
        raise PermissionDenied(NOT_KNOWN)
    if not user.is_admin or not user.is_active:
        raise PermissionDenied(ADMINISTRATORS)


def judge_switch(run: ToolRun, entity_id: str, user: User | None, *, on: bool) -> Verdict:
    """Return what the rules say of switching an automation that need not be exposed.

    Raises PermissionDenied if they forbid it, or if the lists of the agent leave it out.
    """
    service = f"turn_{'on' if on else 'off'}"
    verdict = run.guard.policy.judge("automation", service, [entity_id], run.speaker, user=user)
    if verdict is Verdict.BLOCK:
        raise PermissionDenied(f"The household does not allow automation.{service} here")
    return verdict


async def async_check_allowed(
    automation: OwnAutomation, run: ToolRun, kept: str = "it is not restored"
) -> None:
    """Raise PermissionDenied if an automation calls what is not free for the speaker now."""
    speaker = unattended(run.speaker)
    for call in calls_in(automation.config):
        if await run.guard.async_foresee([call], speaker) is not None:
            raise PermissionDenied(
                f"{automation.alias} calls {call.domain}.{call.service}, which needs a confirmation now, "
                f"so {kept}. Say so"
            )


def _calls(steps: Any, depth: int = MAX_DEPTH) -> Iterator[ServiceCall]:
    for step in as_values(steps) if depth else ():
        if not isinstance(step, Mapping):
            continue
        for key in NESTED:
            yield from _calls(step.get(key), depth - 1)
        service = step.get("action") or step.get("service")
        if not isinstance(service, str) or "." not in service:
            continue
        domain, _, name = service.partition(".")
        target = step.get("target")
        ids = target.get(ATTR_ENTITY_ID) if isinstance(target, Mapping) else step.get(ATTR_ENTITY_ID)
        data = step.get("data")
        yield ServiceCall(
            domain=domain,
            service=name,
            entity_ids=tuple(map(str, as_values(ids))),
            data=dict(data) if isinstance(data, Mapping) else {},
        )
