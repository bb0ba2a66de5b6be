"""ha_control: the tool that changes things, and says what they are afterwards."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, override
from weakref import WeakValueDictionary

import probatio

from homeassistant.const import ATTR_ENTITY_ID, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import JsonValueType

from ..const import DOMAIN
from ..context.named import known_names, names_key
from ..domains import DOMAINS, arranging, domains_of, gated_domains
from ..errors import NotPermitted, ValidationError
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..knowledge.names import NAMES, name_index
from ..languages.sentence import read
from ..planned.records import PlannedItem
from ..planned.scheduler import Scheduler
from .base import HomeAgentTool, ToolOutput, ToolRun
from .control.arguments import SLOT_WORDS, control_schema, in_order, read_args, schema_in
from .control.asked import check_asked
from .control.later import async_act_later, async_hold, async_read_timing, keep, refuse_times
from .control.places import arranged
from .control.planning import NOT_EXPOSED, OFFLINE, ControlOutcome, Plan, async_carry_out, plan
from .control.scripts import SCRIPT, fields_of, plan_script, scripts_as_tools
from .control.telling import PLANNED, tell, tell_planned
from .resolving.resolver import LANGUAGE, Target, name_languages, protected
from .results import ToldAct

MAX_TARGETS = 200
MAX_LISTED = 10
_SEPARATORS = str.maketrans(dict.fromkeys(";/|&\n", ","))
INLINE_ENTITIES = 150
"""Houses up to this size get their index of names on the event loop."""

LOCKS: HassKey[WeakValueDictionary[str, asyncio.Lock]] = HassKey(f"{DOMAIN}_entity_locks")


class ControlTool(HomeAgentTool):
    """Controls entities by a vetted table of actions."""

    name = "ha_control"
    title = "Control the home"
    description = (
        "Change devices; returns what became of each. Never for questions. Target: entity_id, or name, area, "
        "floor, domain. Levels in percent. Example: action turn_on, area Kitchen, domain light, "
        "brightness 40."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    slot_words = SLOT_WORDS
    names_targets = reports_targets = True

    def __init__(self, planned: Scheduler | None = None, *, gated: bool = False) -> None:
        self._gated = gated
        self._planned = planned
        self.parameters = control_schema()
        self._general = probatio.to_openapi(self.parameters, openapi_version="3.1.0")

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the action by its name, and what is beside the slots among the parameters."""
        return in_order(args)

    @override
    def parameters_in(self, hass: HomeAssistant, house: HouseSnapshot) -> Mapping[str, Any]:
        """Return the actions and values that some entity of this home supports."""
        shown = scripts_as_tools(hass, house) if SCRIPT in house.domains else {}
        return schema_in(
            self._general,
            house,
            gated=self._gated,
            has_fields=lambda entity_id: bool(fields_of(hass, entity_id)) and entity_id not in shown,
        )

    @override
    async def async_prepare(self, hass: HomeAssistant, house: HouseSnapshot) -> None:
        """Build the index of names, and read the words of all languages once."""
        if not house.has_derived(LANGUAGE):
            await hass.async_add_executor_job(name_languages, house, "", hass.config.language)
        await async_prepare_names(hass, house)

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        """Refuse to change anything in answer to a question, or what is forbidden. Raises ValidationError."""
        sentence = read(run.sentence, run.speaker.language)
        if sentence.only_asks or (sentence.only_forbids and not args.get("when")):  # "not now, at eight"
            check_asked(run)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Resolve, call, read back."""
        await async_prepare_names(run.hass, run.house, run.sentence, run.speaker.language)
        if arranging(args["action"]) & run.house.domains:
            args = arranged(run, args)
        verb, target, given = read_args(args)
        language = run.speaker.language
        sentence = read(run.sentence, language)
        domains = domains_of(verb) | run.meanings.keys()
        records = resolve_gated(run, target, domains, sentence.without_exceptions, gated=self._gated)
        if any(DOMAINS[record.domain].calls_members for record in records):
            records = _with_members(run, records)
        if len(records) > MAX_TARGETS:
            raise ValidationError(f"{len(records)} entities at once are too many; name the area or the floor")
        refuse_times(given, records)
        timing = await async_read_timing(args, run)
        outcome = ControlOutcome(run.house)
        async with entity_locks(run.hass, [record.entity_id for record in records]):
            plans, before = self._plans(verb, given, records, run, outcome)
            if plans and timing is not None:
                if self._planned is None:
                    raise ValidationError("when and for are not available here")
                await async_act_later(self._planned, verb, given, plans, before, timing, run, outcome)
            elif plans:
                await async_carry_out(plans, before, verb, run, outcome)
                if self._planned and verb == "turn_on" and self._planned.all():
                    keep(self._planned, run, outcome)
        return outcome.result()

    async def async_run_planned(
        self, command: PlannedItem, run: ToolRun, outcome: ControlOutcome
    ) -> JsonValueType:
        """Run a planned command on the entities that it was given for. Raises HomeAgentError."""
        records = [run.house.entities[key] for key in command.entity_ids if key in run.house.entities]
        for entity_id in set(command.entity_ids) - {record.entity_id for record in records}:
            outcome.fail(entity_id, NOT_EXPOSED)
        async with entity_locks(run.hass, [record.entity_id for record in records]):
            plans, before = self._plans(command.verb, command.given, records, run, outcome)
            if plans:
                await async_carry_out(plans, before, command.verb, run, outcome)
            if command.hold and self._planned:
                await async_hold(self._planned, command, before, run, outcome)
        return outcome.result()

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        """Return what was done, by names and values."""
        if self._planned is None or not isinstance(result, Mapping) or PLANNED.isdisjoint(result):
            if arranging(args["action"]) & run.house.domains:
                args = arranged(run, dict(args), with_groups=False)
            return tell(args, result, run)
        commands = (command for command in self._planned.all() if command.id == result.get("id"))
        return tell_planned(args, result, next(commands, None), run)

    def _plans(
        self,
        verb: str,
        given: Mapping[str, Any],
        records: Sequence[EntityRecord],
        run: ToolRun,
        outcome: ControlOutcome,
    ) -> tuple[dict[str, Plan], dict[str, State]]:
        """Return the plan for each entity with its current state; impossible ones go to the outcome."""
        unit = run.hass.config.units.temperature_unit
        plans: dict[str, Plan] = {}
        before: dict[str, State] = {}
        for record in records:
            entity_id = record.entity_id
            state = run.hass.states.get(entity_id)
            if state is None or not run.guard.is_exposed(entity_id):
                outcome.fail(entity_id, ValidationError(NOT_EXPOSED))
            elif not run.reader.permits(entity_id):
                # A plan, and its refusal, would tell what the entity shows.
                run.calls.denied[entity_id] = denied = NotPermitted(f"The user may not read {entity_id}")
                outcome.fail(entity_id, f"was refused: {denied}")
            elif state.state == STATE_UNAVAILABLE:
                outcome.fail(entity_id, OFFLINE)
            else:
                try:
                    meant = run.meanings.get(state.domain, verb)
                    if state.domain == SCRIPT:
                        made = plan_script(run, state, meant, given, gated=self._gated)
                    else:
                        alone = len(records) == 1
                        made = plan(state, meant, given, unit, gated=self._gated, alone=alone)
                    plans[entity_id], before[entity_id] = made, state
                except ValidationError as err:
                    run.note_quotes(err)
                    outcome.fail(entity_id, err)
        return plans, before


def resolve_gated(
    run: ToolRun, target: Target, domains: Collection[str], sentence: str, *, gated: bool
) -> list[EntityRecord]:
    """Return what a target means; a room or a kind of thing alone never means scenes and scripts in it.

    Raises ValidationError.
    """
    find = partial(run.resolve, target, sentence)
    gates = gated_domains()
    others = frozenset(domains) - gates
    ids = [entity_id for entity_id in target.entity_id if "*" not in entity_id]
    if target.is_empty or target.name or ids:
        try:
            records = find(domains)
        except ValidationError:
            if gated:
                raise
            return find(others)
    else:
        records = find(others | gates.intersection(target.domain) if gated else others)
    several = [record for record in records if DOMAINS[record.domain].is_gated]
    named = len(ids) or len((target.name or "").translate(_SEPARATORS).split(","))
    if len(several) > max(1, named):
        if not gated:
            return find(others)
        listed = ", ".join(f"{record.name[:40]} ({record.entity_id})" for record in several[:MAX_LISTED])
        raise ValidationError(f"Which one? Name one scene or script: {listed}")
    return records


async def async_prepare_names(
    hass: HomeAssistant, house: HouseSnapshot, sentence: str = "", language: str = ""
) -> None:
    """Have the indexes of names built, off the event loop where that takes long."""
    if len(house.entities) <= INLINE_ENTITIES:
        return
    if not house.has_derived(NAMES):
        await hass.async_add_executor_job(name_index, house)
    languages = name_languages(house, sentence, language or hass.config.language)
    if not house.has_derived(names_key(languages, places_only=False)):
        await hass.async_add_executor_job(known_names, house, languages)


def _with_members(run: ToolRun, records: Iterable[EntityRecord]) -> list[EntityRecord]:
    """Return the entities that are called: for a group its members, as far as they are exposed."""
    entities = run.house.entities
    reached: dict[str, EntityRecord] = {}
    waiting = list(records)
    while waiting:
        record = waiting.pop()
        if record.entity_id in reached:
            continue
        reached[record.entity_id] = record
        if not DOMAINS[record.domain].calls_members:
            continue
        state = run.hass.states.get(record.entity_id)
        ids = state.attributes.get(ATTR_ENTITY_ID, ()) if state else ()
        members = [entities[entity_id] for entity_id in ids if entity_id in entities]
        if not members:
            raise ValidationError(f"{record.entity_id} has no member that is exposed")
        if any(protected(member) for member in members):
            raise ValidationError(f"{record.entity_id} has locks, covers, valves or alarms in it; name those")
        waiting.extend(members)
    return [record for _id, record in sorted(reached.items()) if not DOMAINS[record.domain].calls_members]


@asynccontextmanager
async def entity_locks(hass: HomeAssistant, entity_ids: Sequence[str]) -> AsyncIterator[None]:
    """Hold the entities, so that calls on one of them follow each other."""
    locks = hass.data.setdefault(LOCKS, WeakValueDictionary())
    async with AsyncExitStack() as stack:
        for entity_id in sorted(entity_ids):
            await stack.enter_async_context(locks.setdefault(entity_id, asyncio.Lock()))
        yield
