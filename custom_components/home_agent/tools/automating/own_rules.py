"""What an automation calls, compared with the rules and the exposed entities of today."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID

from ...automating.records import OwnAutomation
from ...errors import PermissionDenied
from ...knowledge.speaker import Speaker
from ..base import ServiceCall, ToolRun

NESTED: Final = ("sequence", "then", "else", "default", "parallel", "choose")
MAX_DEPTH: Final = 6


def calls_in(config: Mapping[str, Any]) -> list[ServiceCall]:
    """Return the services that an automation calls, with those of steps that a person has added."""
    return list(_calls(config.get("actions") or config.get("action") or ()))


def entities_in_clauses(config: Mapping[str, Any]) -> list[str]:
    """Return the entities that triggers and conditions are about."""
    found: list[str] = []
    for part in ("triggers", "conditions"):
        items = [item for item in _listed(config.get(part)) if isinstance(item, Mapping)]
        inner = [one for item in items for one in _listed(item.get("conditions")) if isinstance(one, Mapping)]
        found += [str(one) for clause in (*items, *inner) for one in _listed(clause.get(ATTR_ENTITY_ID))]
    return list(dict.fromkeys(found))


def unattended(speaker: Speaker) -> Speaker:
    """Return a speaker for whom calls are judged that an automation makes: at any time, with nobody there.

    A person confirms the automation itself, also after text from outside was read.
    """
    return replace(speaker, tainted=False, anytime=True)


async def async_check_allowed(automation: OwnAutomation, run: ToolRun) -> None:
    """Raise PermissionDenied if an automation calls what is not free for the speaker now."""
    speaker = unattended(run.speaker)
    for call in calls_in(automation.config):
        if await run.guard.async_foresee([call], speaker) is not None:
            raise PermissionDenied(
                f"{automation.alias} calls {call.domain}.{call.service}, which needs a confirmation now, "
                "so it is not restored. Say so"
            )


def _calls(steps: Any, depth: int = MAX_DEPTH) -> Iterator[ServiceCall]:
    """Yield the calls of steps, at any depth."""
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
