"""An automation in one sentence, in the language of the person who is asked about it."""

from collections.abc import Sequence
from typing import Final

from homeassistant.core import HomeAssistant

from ..automating.clauses import Clause
from ..safety.frozen import AutomationChange, FrozenAutomation
from ..timers.timers import EVERY_DAY, WEEKDAYS, WEEKEND, WORKDAYS
from ..timespans import format_span
from ..tools.automating.reading import StateWords
from .phrases import async_phrase
from .spoken_names import Case, async_joined, async_targets

MAX_NAME: Final = 32
"""Characters of a name that a person has given; a longer one is a whole sentence."""
GROUPS: Final = {EVERY_DAY: "every_day", WORKDAYS: "workdays", WEEKEND: "weekend"}


async def async_question(
    hass: HomeAssistant, language: str, item: FrozenAutomation, deeds: Sequence[str]
) -> str:
    """Return the question about an automation; `deeds` are its actions in words."""
    if item.rule is None:
        key = f"ask_automation_{item.change.value}"
        if item.change in (AutomationChange.ON, AutomationChange.OFF):
            return await async_phrase(hass, language, f"ask_turn_{item.change.value}", targets=item.name)
        return await async_phrase(hass, language, key, name=item.name)
    rule = await _async_rule(hass, language, item, deeds)
    rule = (rule[:1].upper() + rule[1:]).rstrip(".!?")
    return await async_phrase(
        hass, language, f"ask_automation_{item.change.value}", name=item.name, rule=rule
    )


async def async_done(hass: HomeAssistant, language: str, item: FrozenAutomation) -> str:
    """Return the sentence about what was done with an automation."""
    if item.change in (AutomationChange.ON, AutomationChange.OFF):
        return await async_phrase(hass, language, f"did_turn_{item.change.value}", targets=item.name)
    if item.change is AutomationChange.CREATE and len(item.name) > MAX_NAME:
        # It is the sentence that the person has just said.
        return await async_phrase(hass, language, "did_automation_new")
    return await async_phrase(hass, language, f"did_automation_{item.change.value}", name=item.name)


async def _async_rule(
    hass: HomeAssistant, language: str, item: FrozenAutomation, deeds: Sequence[str]
) -> str:
    """Return when an automation does what; of one that is changed, the parts that are new."""
    rule = item.rule
    assert rule is not None
    states = await StateWords.async_load(hass, language)
    triggers = [await _async_clause(hass, language, one, "when", states) for one in rule.triggers]
    days = [one for one in rule.conditions if one.key == "days"]
    # "At 7:00 on workdays": the days of a time are no condition for those who hear it.
    is_on_days = len(rule.triggers) == 1 and rule.triggers[0].is_moment and len(days) == 1
    if is_on_days:
        said = await _async_days(hass, language, days[0].days)
        triggers = [await async_phrase(hass, language, "auto_on_days", when=triggers[0], days=said)]
    conditions = [
        await _async_clause(hass, language, one, "if", states)
        for one in rule.conditions
        if not (is_on_days and one is days[0])
    ]
    when = await async_joined(hass, language, triggers, "auto_or") if triggers else ""
    if conditions:
        only = await async_joined(hass, language, conditions, "names_and")
        when = await async_phrase(hass, language, "auto_only", when=when, only=only) if when else only
    if not deeds:
        return when
    does = await async_joined(hass, language, deeds, "ask_and")
    return await async_phrase(hass, language, "auto_then", when=when, actions=does) if when else does


async def _async_clause(
    hass: HomeAssistant, language: str, clause: Clause, role: str, states: StateWords
) -> str:
    if clause.key == "days":
        return await _async_days(hass, language, clause.days)
    values = dict(clause.values)
    if offset := values.pop("offset", ""):
        values["time"] = format_span(float(offset))
    if clause.entity_ids:
        case = Case.TITLE if clause.entity_ids[0].startswith("person.") else Case.OBJECT
        values["name"] = await async_targets(hass, language, clause.entity_ids, case)
        values |= await _async_states(hass, language, clause, states)
    said = await async_phrase(hass, language, f"auto_{clause.key}", **values)
    if clause.side:
        said = await async_phrase(hass, language, f"auto_{clause.side}", moment=said)
    if clause.seconds:
        time = format_span(clause.seconds)
        said = await async_phrase(hass, language, "auto_for", clause=said, time=time)
    return said if clause.is_moment else await async_phrase(hass, language, f"auto_{role}", clause=said)


async def _async_states(
    hass: HomeAssistant, language: str, clause: Clause, words: StateWords
) -> dict[str, str]:
    if (state := hass.states.get(clause.entity_ids[0])) is None:
        return {}

    def shown(value: str) -> str:
        return words.shown(state, value).lower()

    found: dict[str, str] = {}
    if clause.states:
        named = [shown(value) for value in clause.states]
        found["state"] = await async_joined(hass, language, named, "auto_or")
    if clause.before:
        found["before"] = shown(clause.before)
    return found


async def _async_days(hass: HomeAssistant, language: str, days: tuple[int, ...]) -> str:
    keys = [GROUPS[days]] if days in GROUPS else [WEEKDAYS[day].lower() for day in days]
    named = [await async_phrase(hass, language, f"days_{key}") for key in keys]
    return await async_joined(hass, language, named, "names_and")
