"""Automations for habits, as drafts."""

from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

from homeassistant.components.climate.const import (
    ATTR_HVAC_MODE,
    ATTR_HVAC_MODES,
    ATTR_MAX_TEMP,
    ATTR_MIN_TEMP,
)
from homeassistant.const import ATTR_ENTITY_ID, ATTR_TEMPERATURE, WEEKDAYS
from homeassistant.core import HomeAssistant, State, callback

from ..domains import DOMAINS
from ..memory.learner.patterns import DAY_BEGINS, EVERY_DAY, Habit
from ..memory.learner.presentation import clock
from ..regex import lazy_regex
from ..tools.base import ServiceCall
from .messenger import speakable

_MODE: Final = lazy_regex(r"^[a-z0-9_]{1,40}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationDraft:
    """An automation that could be suggested."""

    call: ServiceCall
    config: dict[str, Any] = field(hash=False)


@callback
def draft(hass: HomeAssistant, habit: Habit, name: str, text: str) -> AutomationDraft | None:
    """Return the automation for a habit, None if no automation can replace it.

    `name` is that of the entity, `text` the habit in words; both may be anything.
    """
    domain = habit.subject.partition(".")[0]
    states = [hass.states.get(subject) for subject in habit.subjects]
    value, _, detail = habit.value.partition(":")
    service = DOMAINS[domain].suggested.get(value)
    found = [_data(state, value, detail) for state in states if state is not None]
    data = found[0] if found and len(found) == len(states) and None not in found else None
    if service is None or data is None:
        return None
    call = ServiceCall(domain=domain, service=service, entity_ids=habit.subjects, data=data)
    target = list(habit.subjects) if habit.others else habit.subject
    action: dict[str, Any] = {
        "action": f"{call.domain}.{call.service}",
        "target": {ATTR_ENTITY_ID: target},
    }
    if data:
        action["data"] = dict(data)
    at = clock(habit.minute)
    config: dict[str, Any] = {
        "alias": f"{speakable(name)}, {at}",
        "description": " ".join(text.split())[:500],
        "triggers": [{"trigger": "time", "at": f"{at.zfill(5)}:00"}],
        "conditions": _conditions(habit),
        "actions": [action],
        "mode": "single",
    }
    return AutomationDraft(call=call, config=config)


def _conditions(habit: Habit) -> list[dict[str, Any]]:
    """Return the days; actions after midnight belong to the evening before."""
    if habit.days == EVERY_DAY:
        return []
    hours, minutes = clock(habit.minute).split(":")
    late = int(hours) * 60 + int(minutes) < DAY_BEGINS
    days = sorted((day + late) % len(WEEKDAYS) for day in habit.days)
    return [{"condition": "time", "weekday": [WEEKDAYS[day] for day in days]}]


def _data(state: State, value: str, detail: str) -> dict[str, Any] | None:
    """Return the parameters of a call; None for a value that the entity does not take.

    Values of actions are templates to Home Assistant, so only plain ones pass.
    """
    if state.domain != "climate":
        return {}
    if value == "temperature":
        try:
            degrees = float(detail)
        except ValueError:
            return None
        low, high = state.attributes.get(ATTR_MIN_TEMP), state.attributes.get(ATTR_MAX_TEMP)
        fits = isfinite(degrees) and (low is None or degrees >= low) and (high is None or degrees <= high)
        return {ATTR_TEMPERATURE: degrees} if fits else None
    mode = "off" if value == "off" else detail
    modes = [str(known) for known in state.attributes.get(ATTR_HVAC_MODES) or ()]
    return {ATTR_HVAC_MODE: mode} if _MODE.match(mode) and mode in modes else None
