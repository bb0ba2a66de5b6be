"""Conversations of a household, held on a real `hass`."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from freezegun import freeze_time
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed

from custom_components.home_agent.const import CONF_POLICY_PIN, DOMAIN
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import get_instance
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    label_registry as lr,
)
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.demo_house import async_demo_house
from tests.helpers.energy import async_energy
from tests.helpers.everyday_house import async_add_calendar, async_add_list, async_items
from tests.helpers.firmware import async_add_updates
from tests.helpers.further import async_add_further
from tests.helpers.music import LIBRARY, async_add_music, installed_component
from tests.helpers.own_automations import (
    add_users,
    async_add_persons,
    async_include_automations,
    async_read_automations,
)
from tests.helpers.scenario_checks import Heard, problems, read_results, states, unlike
from tests.helpers.scenario_listeners import (
    async_add_listeners,
    async_happen,
    async_reply,
    change,
    options_of,
    prepare,
)
from tests.helpers.scenarios import Problem, Result, Run, Verdict, localized, replies_of
from tests.helpers.weather import async_add_weather
from tests.servers.model_server import ModelServer

OPTIONS = {"memory_extraction_enabled": False, "quick_confirmations": True}
"""A request that follows a turn would take a reply that is meant for the next one. Else as by default."""


async def async_run(hass: HomeAssistant, server: ModelServer, run: Run) -> Result:
    """Hold a conversation in a fresh demo house, at its time of day, and return what became of it."""
    if (at := run.scenario.get("at")) is None:
        return await _async_run(hass, server, run)
    hour, minute = map(int, at.split(":"))
    with freeze_time(dt_util.as_utc(dt_util.now().replace(hour=hour, minute=minute, second=0)), tick=True):
        return await _async_run(hass, server, run)


async def _async_run(hass: HomeAssistant, server: ModelServer, run: Run) -> Result:
    scenario = run.scenario
    users = add_users(hass)
    if any("say" not in turn for turn in scenario["turns"]):
        hass.config.language = run.language
    first = await _async_home(hass, server, scenario, users)
    further = await _async_further(hass, first, scenario)
    heard_by = await async_add_listeners(hass, scenario, users, run.language)
    result = Result()
    conversation_id = None
    for number, turn in enumerate(scenario["turns"]):
        if "say" not in turn:
            server.script(replies_of(turn, None, run.language))
            result.problems += await async_happen(hass, turn, heard_by, run.language)
            continue
        mistake = run.mistake if number == run.mistaken_turn else None
        if turn.get("new"):
            await hass.services.async_call(DOMAIN, "clear_conversation", {}, blocking=True)
            conversation_id = None
        before = states(hass)
        speaker = turn.get("speaker", "Anna")
        server.clear()
        server.script(replies_of(turn, mistake, run.language))
        agent = first if turn.get("first") else further
        prepare(turn, heard_by, run.language)
        answer = await agent.say(
            localized(turn["say"], run.language),
            conversation_id=conversation_id,
            context=Context(user_id=None if speaker == "unknown" else users[speaker].id),
            language=turn.get("assistant", run.language),
            **_device(hass, agent, turn.get("area")),
        )
        conversation_id = answer.conversation_id
        if "answers" in turn:
            await async_reply(hass, turn, heard_by, run.language)
        result.rounds.append(len(server.chats))
        heard = Heard(run.language, before, answer, server.chats, read_results(hass, answer))
        result.problems += problems(hass, turn, mistake, heard)
        result.problems += heard_by.problems(mistake or turn, run.language)
        for entity_id, items in turn.get("items", {}).items() if not mistake else ():
            if (found := list(await async_items(hass, entity_id))) != localized(items, run.language):
                result.problems.append(Problem(Verdict.BAD, f"{entity_id} contains {found}"))
        written = await async_read_automations(hass)
        if written != (mistake.get("written", 0) if mistake else turn.get("written", written)):
            result.problems.append(Problem(Verdict.BAD, f"{written} automations"))
        if "happens" in turn and not mistake:
            await _async_happen(hass, turn["happens"]["states"])
            result.problems += unlike(hass, turn["happens"]["after"])
        if "later" in turn and not mistake:
            for _ in range(2):  # what is planned waits for the next item after each one
                async_fire_time_changed(hass, dt_util.utcnow() + timedelta(hours=turn["later"]["hours"]))
                await hass.async_block_till_done(wait_background_tasks=True)
            result.problems += unlike(hass, turn["later"]["after"])
        if mistake:
            break  # what follows depends on what the mistake was
    return result


async def _async_add_automations(
    hass: HomeAssistant, scenario: Mapping[str, Any], users: Mapping[str, MockUser]
) -> None:
    if scenario.get("automations"):
        await async_include_automations(hass, Path(hass.config.config_dir))
        await async_add_persons(hass, users)


async def _async_home(
    hass: HomeAssistant, server: ModelServer, scenario: Mapping[str, Any], users: Mapping[str, MockUser]
) -> Agent:
    """Set up the demo house as a scenario begins, and the agent."""
    await _async_add_automations(hass, scenario, users)
    await async_demo_house(hass, {"script": scenario.get("scripts", {})})
    assert await async_setup_component(hass, "conversation", {})
    for name in scenario.get("lists", ()):
        await async_add_list(hass, name)
    for name in scenario.get("calendars", ()):
        await async_add_calendar(hass, name)
    for entity_id in scenario.get("expose", ()):
        async_expose_entity(hass, "conversation", entity_id, should_expose=True)
    for name, entity_ids in scenario.get("labels", {}).items():
        label = lr.async_get(hass).async_create(name)
        for entity_id in entity_ids:
            er.async_get(hass).async_update_entity(entity_id, labels={label.label_id})
    if "music" in scenario:
        with installed_component() as services:
            await async_add_music(hass, services, LIBRARY, **scenario["music"])
    if scenario.get("weather"):
        await async_add_weather(hass)
    if "history" in scenario:
        await _async_record(hass, scenario["history"])
    if "energy" in scenario:
        await async_energy(hass, scenario["energy"])
    if "done" in scenario:
        await _async_do(hass, scenario["done"], users)
    await async_add_updates(hass, scenario.get("updates", {}))
    for entity_id, attributes in scenario.get("home", {}).items():
        change(hass, entity_id, attributes)
    await hass.async_block_till_done()
    options = {**OPTIONS, **options_of(scenario), **scenario.get("options", {})}
    if pin := options.get(CONF_POLICY_PIN):
        options[CONF_POLICY_PIN] = hash_pin(pin)  # a file says it in plain text
    return await async_add_agent(hass, server, options)


async def _async_further(hass: HomeAssistant, agent: Agent, scenario: Mapping[str, Any]) -> Agent:
    """Return the further agent of a scenario, which is spoken to; the agent itself if there is none."""
    if "further" not in scenario:
        return agent
    return await async_add_further(hass, agent, **{**OPTIONS, **scenario["further"]})


async def _async_record(hass: HomeAssistant, history: Mapping[str, Mapping[float, str]]) -> None:
    """Write past states of entities into the recorder: state by hours ago, the oldest first."""
    now = dt_util.utcnow()
    for entity_id, past in history.items():
        state = hass.states.get(entity_id)
        assert state is not None, entity_id
        for hours, value in past.items():
            at = (now - timedelta(hours=hours)).timestamp()
            hass.states.async_set(entity_id, value, state.attributes, force_update=True, timestamp=at)
        hass.states.async_set(entity_id, state.state, state.attributes)
    await hass.async_block_till_done()
    await get_instance(hass).async_block_till_done()


async def _async_do(
    hass: HomeAssistant, done: Sequence[Mapping[str, Any]], users: Mapping[str, MockUser]
) -> None:
    """Have people, and devices by themselves, do something before the conversation."""
    people = [{"id": name.lower(), "name": name, "user_id": user.id} for name, user in users.items()]
    assert await async_setup_component(hass, "person", {"person": people})
    await hass.async_block_till_done()
    for each in done:
        context = Context(user_id=users[each["by"]].id) if "by" in each else Context()
        if "call" in each:
            domain, _, service = each["call"].partition(".")
            data = {"entity_id": each["entity"], **each.get("data", {})}
            await hass.services.async_call(domain, service, data, blocking=True, context=context)
        else:
            state = hass.states.get(each["entity"])
            assert state is not None, each
            hass.states.async_set(state.entity_id, each["state"], state.attributes, context=context)
        await hass.async_block_till_done()
    await get_instance(hass).async_block_till_done()


async def _async_happen(hass: HomeAssistant, states_of: Mapping[str, Sequence[str]]) -> None:
    for entity_id, seen in states_of.items():
        for state in seen:
            change(hass, entity_id, state)
            await hass.async_block_till_done()


def _device(hass: HomeAssistant, agent: Agent, area_name: str | None) -> dict[str, str]:
    """Return the fields of a sentence that is spoken to a satellite in an area; none for a chat."""
    if area_name is None:
        return {}
    devices = dr.async_get(hass)
    area = ar.async_get(hass).async_get_area_by_name(area_name)
    assert area is not None, area_name
    satellite = devices.async_get_or_create(
        config_entry_id=agent.entry.entry_id, identifiers={("test", area_name)}, name=f"{area_name} satellite"
    )
    devices.async_update_device(satellite.id, area_id=area.id)
    entity_id = f"assist_satellite.{area.id}_satellite"
    return {"device_id": satellite.id, "satellite_id": entity_id}
