"""An automation in one sentence, in the language of the person who is asked about it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, STATE_HOME, WEEKDAYS
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..safety.frozen import AutomationChange, FrozenAutomation
from ..texts import one_line
from ..timers import timers as repeating
from ..timespans import format_span
from ..tools.automating.clauses import StateWords
from .phrases import async_phrase
from .spoken_names import Case, async_joined, async_targets

MAX_NAME: Final = 32
"""Characters of a name that a person has given; a longer one is a whole sentence."""
GROUPS: Final = {
    repeating.EVERY_DAY: "every_day",
    repeating.WORKDAYS: "workdays",
    repeating.WEEKEND: "weekend",
}

type Config = Mapping[str, Any]


async def async_question(
    hass: HomeAssistant, language: str, item: FrozenAutomation, steps: Sequence[str]
) -> str:
    """Return the question about an automation; `steps` are its actions in words."""
    if item.change in (AutomationChange.ON, AutomationChange.OFF):
        return await async_phrase(hass, language, f"ask_turn_{item.change.value}", targets=item.name)
    rule = ""
    if item.change is not AutomationChange.DELETE:
        words = _RuleWords(hass, language, await StateWords.async_load(hass, language))
        rule = await words.async_rule(item.triggers, item.conditions, steps)
        rule = (rule[:1].upper() + rule[1:]).rstrip(".!?")
    key = f"ask_automation_{item.change.value}"
    return await async_phrase(hass, language, key, name=item.name, rule=rule)


async def async_done(hass: HomeAssistant, language: str, item: FrozenAutomation) -> str:
    """Return the sentence about what was done with an automation."""
    if item.change in (AutomationChange.ON, AutomationChange.OFF):
        return await async_phrase(hass, language, f"did_turn_{item.change.value}", targets=item.name)
    if item.change is AutomationChange.CREATE and len(item.name) > MAX_NAME:
        # It is the sentence that the person has just said.
        return await async_phrase(hass, language, "did_automation_new")
    return await async_phrase(hass, language, f"did_automation_{item.change.value}", name=item.name)


class _RuleWords:
    """Tells triggers and conditions, as Home Assistant writes them, in a language."""

    def __init__(self, hass: HomeAssistant, language: str, states: StateWords) -> None:
        self._hass = hass
        self._language = language
        self._states = states

    async def async_rule(
        self, triggers: Sequence[Config], conditions: Sequence[Config], steps: Sequence[str]
    ) -> str:
        """Return when an automation does what; of one that is changed, the parts that are new."""
        begins = [await self._async_clause(each, "when") for each in triggers]
        when = await self._async_joined(begins, "auto_or") if begins else ""
        if conditions:
            only = await self._async_joined([await self._async_clause(each, "if") for each in conditions])
            when = await self._async_phrase("only", when=when, only=only) if when else only
        if not steps:
            return when
        does = await self._async_joined(steps, "ask_and")
        return await self._async_phrase("then", when=when, actions=does) if when else does

    async def _async_clause(self, config: Config, role: str) -> str:
        kind = config.get("trigger") or config.get("condition")
        if kind in ("time", "sun"):
            return await self._async_moment(config)
        if ids := config.get(ATTR_ENTITY_ID):
            ids = [ids] if isinstance(ids, str) else list(ids)
        else:
            ids = config["conditions"][0][ATTR_ENTITY_ID]
        key, values = await self._async_state(str(kind), config, ids)
        if key not in ("nobody_home", "somebody_home", "somebody_comes", "somebody_leaves"):
            case = Case.TITLE if ids[0].startswith("person.") else Case.OBJECT
            values["name"] = await async_targets(self._hass, self._language, ids, case)
        clause = await self._async_phrase(key, **values)
        if "for" in config:
            clause = await self._async_phrase("for", clause=clause, time=_span(config["for"]))
        return await self._async_phrase(role, clause=clause)

    async def _async_state(self, kind: str, config: Config, ids: list[str]) -> tuple[str, dict[str, str]]:
        """Return the key of the sentence about entities or persons, and what it names beside them."""
        if kind == "not":
            return "is_away", {}
        if kind == "zone":
            key = {"enter": "arrives", "leave": "leaves"}.get(config.get("event", ""), "is_at")
            zone = self._hass.states.get(config["zone"])
            return key, {"zone": one_line(zone.name) if zone else config["zone"]}
        if kind == "numeric_state":
            return self._number(config, ids[0])
        if ids[0].startswith("person."):
            persons = self._hass.states.async_entity_ids("person")
            if config.get("state") == STATE_HOME:
                return "is_home", {}
            does = "comes" if config.get("to") == STATE_HOME else "leaves"
            return (f"somebody_{does}" if len(ids) == len(persons) > 1 else f"{does}_home"), {}
        values = {}
        for key, name in (("from", "before"), ("to", "state"), ("state", "state")):
            if wanted := config.get(key):
                several = [wanted] if isinstance(wanted, str) else wanted
                shown = [self._shown(ids[0], each) for each in several]
                values[name] = await self._async_joined(shown, "auto_or")
        if "before" in values and "state" in values:
            return "from_to", values
        if "before" in values:
            return "no_longer", {"state": values["before"]}
        return ("is" if values else "changes"), values

    def _number(self, config: Config, entity_id: str) -> tuple[str, dict[str, str]]:
        if entity_id == "zone.home":
            return ("nobody_home" if "below" in config else "somebody_home"), {}
        state = self._hass.states.get(entity_id)
        unit = str(state.attributes.get("unit_of_measurement") or "") if state else ""
        if not unit and "temperature" in config.get("attribute", ""):
            unit = self._hass.config.units.temperature_unit
        limits = {side: f"{config[side]:g} {unit}".strip() for side in ("above", "below") if side in config}
        if len(limits) > 1:
            return "between", {"low": limits["above"], "high": limits["below"]}
        ((side, value),) = limits.items()
        return side, {"value": value}

    def _shown(self, entity_id: str, value: str) -> str:
        state = self._hass.states.get(entity_id)
        return self._states.shown(state, value).lower() if state else value

    async def _async_moment(self, config: Config) -> str:
        """Return a time of the day or a window, on its days."""
        said = await self._async_window(config)
        if not (days := config.get("weekday")):
            return said
        named = await self._async_days(tuple(WEEKDAYS.index(day) for day in days))
        return await self._async_phrase("on_days", when=said, days=named) if said else named

    async def _async_window(self, config: Config) -> str:
        if "at" in config:
            return await self._async_phrase("at", time=_clock(config["at"]))
        if "event" in config:
            return await self._async_sun(config["event"], config.get("offset"))
        sides = {side: config[side] for side in ("after", "before") if side in config}
        if config["condition"] == "time":
            if not sides or "after" not in sides:
                return await self._async_phrase("before", time=_clock(sides["before"])) if sides else ""
            end = _clock(sides.get("before", "00:00"))
            return await self._async_phrase("between_times", start=_clock(sides["after"]), end=end)
        if not any(f"{side}_offset" in config for side in sides):
            return await self._async_phrase("is_" + "_".join(f"{side}_{sides[side]}" for side in sides))
        told = []
        for side, key in (("after", "from"), ("before", "until")):
            if side in sides:
                moment = await self._async_sun(sides[side], config.get(f"{side}_offset"))
                told.append(await self._async_phrase(key, moment=moment))
        return await self._async_joined(told)

    async def _async_sun(self, event: str, offset: str | None) -> str:
        if not offset:
            return await self._async_phrase(event)
        side = "before" if offset.startswith("-") else "after"
        return await self._async_phrase(f"{side}_{event}", time=_span(offset.lstrip("-")))

    async def _async_days(self, days: tuple[int, ...]) -> str:
        keys = [GROUPS[days]] if days in GROUPS else [repeating.WEEKDAYS[day].lower() for day in days]
        named = [await async_phrase(self._hass, self._language, f"days_{key}") for key in keys]
        return await self._async_joined(named)

    async def _async_phrase(self, key: str, **values: str) -> str:
        return await async_phrase(self._hass, self._language, f"auto_{key}", **values)

    async def _async_joined(self, texts: Sequence[str], key: str = "names_and") -> str:
        return await async_joined(self._hass, self._language, texts, key)


def _clock(value: str) -> str:
    """Return a time as it is spoken: without seconds that are none."""
    return value.removesuffix(":00") if value.count(":") > 1 else value


def _span(value: str) -> str:
    length = dt_util.parse_duration(value)
    return format_span(length.total_seconds()) if length else value
