"""What did not happen: automations that a condition stopped, and those that are turned off."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, STATE_OFF
from homeassistant.core import HomeAssistant

from .traces import Trigger, async_traced

AUTOMATION: Final = "automation"
FAILED: Final = "failed_conditions"
MOST: Final = 3
CONDITIONS: Final[Mapping[str, str]] = {
    "time": "the time of day",
    "sun": "the sun",
    "zone": "a zone",
    "template": "a template",
    "trigger": "its trigger",
}
"""What the kind of a condition is about, where it is no entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """An automation that was stopped by a condition at a time, or that is turned off (`at` is None)."""

    entity_id: str
    at: float | None = None
    trigger: Trigger | None = None
    about: str = ""
    """The entity or the kind of the condition that was not met."""
    is_idle: bool = False
    """Whether it has not run in the time that is asked about; `at` is then its last run."""


async def async_stopped(
    hass: HomeAssistant, entity_id: str, since: float, *, with_idle: bool = False
) -> list[Stopped]:
    """Return the automations that use an entity and did nothing, the newest last.

    With `with_idle` also those that were not triggered at all.
    """
    if AUTOMATION not in hass.config.components:
        return []
    from homeassistant.components.automation import automations_with_entity  # noqa: PLC0415

    using = automations_with_entity(hass, entity_id)
    off = [one for one in using if (state := hass.states.get(one)) and state.state == STATE_OFF]
    found = [Stopped(entity_id=one) for one in off]
    for run, told in await async_traced(hass, frozenset(using)):
        if told.get("script_execution") == FAILED and run.started >= since:
            found.append(
                Stopped(entity_id=run.entity_id, at=run.started, trigger=run.trigger, about=_condition(told))
            )
    told_of = {one.entity_id for one in found}
    idle = _idle(hass, [one for one in using if one not in told_of], since) if with_idle else []
    return [*idle, *sorted(found, key=lambda one: one.at or 0.0)][-MOST:]


def _idle(hass: HomeAssistant, automations: Sequence[str], since: float) -> list[Stopped]:
    """Return the automations that have not run since a time."""
    found = []
    for entity_id in automations:
        state = hass.states.get(entity_id)
        last = state.attributes.get("last_triggered") if state else None
        at = last.timestamp() if isinstance(last, datetime) else None
        if state is not None and (at is None or at < since):
            found.append(Stopped(entity_id=entity_id, at=at, is_idle=True))
    return found


def _condition(told: Mapping[str, Any]) -> str:
    """Return the entity or the kind of the condition that was not met; empty if it is not known."""
    steps, config = told.get("trace"), told.get("config")
    if not isinstance(steps, Mapping) or not isinstance(config, Mapping):
        return ""
    conditions = config.get("conditions", config.get("condition"))
    listed = (
        conditions if isinstance(conditions, Sequence) and not isinstance(conditions, str) else [conditions]
    )
    failed = next(_failed(steps), None)
    if failed is None or failed >= len(listed) or not isinstance(condition := listed[failed], Mapping):
        return ""
    target = condition.get("target")
    given = condition.get(ATTR_ENTITY_ID) or (
        target.get(ATTR_ENTITY_ID) if isinstance(target, Mapping) else None
    )
    entity_id = given[0] if isinstance(given, Sequence) and given and not isinstance(given, str) else given
    return str(entity_id or condition.get("condition") or "")


def _failed(steps: Mapping[str, Any]) -> Iterator[int]:
    """Yield the positions of the conditions that were not met."""
    for path, elements in steps.items():
        kind, _, position = str(path).partition("/")
        if kind != "condition" or not position.isdigit():
            continue
        for element in elements:
            result = element.get("result") if isinstance(element, Mapping) else None
            if isinstance(result, Mapping) and result.get("result") is False:
                yield int(position)
