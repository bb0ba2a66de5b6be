"""What an automation calls, compared with the rules and the exposed entities of today."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.const import ATTR_ENTITY_ID

from ...errors import PermissionDenied
from ...knowledge.speaker import Speaker
from ...safety.rules import Verdict
from ..base import ServiceCall, ToolRun
from .records import OwnAutomation

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


def entities_of_clause(clause: Mapping[str, Any]) -> list[str]:
    """Return the entities that a trigger or a condition is about."""
    inner = [each for each in _listed(clause.get("conditions")) if isinstance(each, Mapping)]
    return [str(each) for part in (clause, *inner) for each in _listed(part.get(ATTR_ENTITY_ID))]


def entities_in_clauses(config: Mapping[str, Any]) -> list[str]:
    """Return the entities that the triggers and conditions of an automation are about."""
    clauses = (*_listed(config.get("triggers")), *_listed(config.get("conditions")))
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
    for step in _listed(steps) if depth else ():
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
            entity_ids=tuple(map(str, _listed(ids))),
            data=dict(data) if isinstance(data, Mapping) else {},
        )


def _listed(value: Any) -> Sequence[Any]:
    """Return a value, or the values of a list; none for nothing."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)
