"""The learner on a real recorder: a month of the demo house, night after night."""

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
import logging
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

import custom_components
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.memory.learner.learner import EVERY, Learner
from custom_components.home_agent.memory.learner.observations import (
    DAYS as KEPT_DAYS,
    STORE_KEY,
    ObservationStore,
)
from custom_components.home_agent.memory.records import Memory, Origin
from homeassistant.components.recorder import Recorder
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, call_action
from tests.helpers.demo_house import DEMO, async_demo_house
from tests.helpers.month import ANNA, NOW, PUT_IN, TIMES, TOM, Row, add_people, async_record, at, make_month
from tests.servers.model_server import ModelServer


@pytest.fixture(autouse=True)
def _database_first(recorder_db_url: str) -> None:
    """Prepare the database first: it has to be there before Home Assistant is. So has the demo house."""
    folder = str(DEMO / "custom_components")
    if folder not in custom_components.__path__:
        custom_components.__path__.append(folder)
    logging.getLogger("sqlalchemy.engine").setLevel(logging.WARNING)


@pytest.fixture
async def home(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> AsyncGenerator[HomeAssistant]:
    """Return the demo house half an hour after a night's end."""
    await hass.config.async_set_time_zone("Europe/Amsterdam")
    freezer.move_to(NOW)
    await async_demo_house(hass)
    add_people(hass)
    assert await async_setup_component(hass, "conversation", {})
    yield hass
    for entry in hass.config_entries.async_loaded_entries(DOMAIN):
        assert await hass.config_entries.async_unload(entry.entry_id)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


@pytest.fixture
async def agent(home: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent that has learned from a month."""
    await async_record(home, make_month(0))
    found = await async_add_agent(home, model_server, {"learning_enabled": True})
    await the_learner(found).async_learn(NOW)
    return found


def the_learner(agent: Agent) -> Learner:
    """Return the learner of a running agent."""
    learner: Learner = agent.entry.runtime_data.learner
    return learner


def told(learner: Learner) -> set[tuple[str, str, frozenset[int], str | None]]:
    """Return what the habits say."""
    habits = learner.habits
    assert len(habits) == len({known.id for known in learner.habits})
    return {(habit.subject, habit.value, habit.days, habit.person) for habit in habits}


pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
COFFEE = "Anna turns Coffee Machine on at about 6:30 on workdays."
CURTAINS = "Bedroom Curtains is closed at about 22:00 every day."
COMES_HOME = "Anna comes home at about 17:30 on workdays."
WASHING = "Washing machine power is in use from about 10:10 on Saturdays."


def noted(agent: Agent) -> dict[str, Memory]:
    """Return the habits among the memories, by their words."""
    memories: list[Memory] = agent.entry.runtime_data.memories.all()
    return {memory.content: memory for memory in memories if memory.origin is Origin.OBSERVED}


async def after_nights(agent: Agent, freezer: FrozenDateTimeFactory, nights: int) -> None:
    """Let nights pass, and learn once; the learner's own clock may have been first."""
    freezer.move_to(NOW + nights * DAY)
    await the_learner(agent).async_learn(NOW + nights * DAY)
    await agent.hass.async_block_till_done(wait_background_tasks=True)


async def test_a_month_shows_the_habits_that_were_put_in_and_no_others(
    home: HomeAssistant, model_server: ModelServer
) -> None:
    """Among automations, restarts, things used at any time and what the assistant may not see."""
    await async_record(home, make_month(1))
    agent = await async_add_agent(home, model_server, {"learning_enabled": True})
    learner = the_learner(agent)
    await learner.async_learn(NOW)
    assert told(learner) == PUT_IN
    for known in learner.habits:
        hour, minute = TIMES[known.subject]
        assert known.minute == pytest.approx(hour * 60 + minute, abs=15)
    assert {memory.id: memory.content for memory in noted(agent).values()} == {
        known.id: known.text for known in learner.habits
    }


async def test_what_is_remembered(agent: Agent) -> None:
    """In words, as somebody's or the household's; whether somebody is at home stays with them."""
    found = noted(agent)
    assert {COFFEE, CURTAINS, COMES_HOME, WASHING} <= found.keys()
    assert (found[COFFEE].person, found[COFFEE].private) == ("anna", False)
    assert (found[CURTAINS].person, found[CURTAINS].private) == (None, False)
    assert (found[COMES_HOME].person, found[COMES_HOME].private) == ("anna", True)
    for memory in found.values():
        assert 0.25 < memory.importance <= 0.5
    names = {known.name: known.who for known in the_learner(agent).habits}
    assert names["Coffee Machine"] == "Anna"
    assert names["Bedroom Curtains"] == ""


async def test_it_reaches_the_model(agent: Agent) -> None:
    """Whoever asks hears of their own habits and of the household's."""
    await agent.say("When does the coffee machine go on?", context=Context(user_id=ANNA))
    assert COFFEE in str(agent.server.chats[-1].messages)
    await agent.say("When does the coffee machine go on?", context=Context(user_id=TOM))
    assert COFFEE not in str(agent.server.chats[-1].messages)
    await agent.say("When are the bedroom curtains closed?")
    assert CURTAINS in str(agent.server.chats[-1].messages)


async def test_habits_grow_fade_and_go(agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    """The same memory is brought up to date night after night, and deleted when the habit is over."""
    first = noted(agent)[COFFEE]
    days = [NOW.date() + number * DAY for number in range(11)]
    rows = [Row(at(day, 395), "switch.coffee_machine", "on", user=ANNA) for day in days if day.weekday() < 5]
    offs = [Row(row.at + timedelta(hours=3), row.entity_id, "off") for row in rows]
    await async_record_more(agent, [*rows, *offs])
    await after_nights(agent, freezer, 11)
    surer = noted(agent)[COFFEE]
    assert surer.id == first.id
    assert surer.importance > first.importance
    assert surer.created_at == first.created_at
    await after_nights(agent, freezer, 15)
    assert noted(agent)[COFFEE].importance < surer.importance
    await after_nights(agent, freezer, 45)
    assert noted(agent) == {}
    assert the_learner(agent).habits == ()
    await after_nights(agent, freezer, 46 + KEPT_DAYS)
    assert len(agent.entry.runtime_data.shared.observations.of(agent.entry.entry_id)) == 0


async def async_record_more(agent: Agent, rows: list[Row]) -> None:
    """Write what happened after the month."""
    month = make_month(0)
    month.rows, month.washing = sorted(rows, key=lambda row: row.at), []
    await async_record(agent.hass, month)


async def test_what_somebody_deleted_does_not_come_back(
    agent: Agent, freezer: FrozenDateTimeFactory, hass_storage: dict[str, Any]
) -> None:
    """Neither the next night nor after a restart; the others stay."""
    memory = noted(agent)[COFFEE]
    await call_action(agent.hass, "delete_memory", {"memory_id": memory.id})
    await after_nights(agent, freezer, 1)
    assert COFFEE not in noted(agent)
    assert CURTAINS in noted(agent)
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    stored = hass_storage[STORE_KEY]["data"]["entries"][agent.entry.entry_id]
    assert [item["subject"] for item in stored["silenced"]] == ["switch.coffee_machine"]
    agent.hass.data[DOMAIN].observations = store = ObservationStore(agent.hass)
    await store.async_load()
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await after_nights(agent, freezer, 2)
    assert COFFEE not in noted(agent)
    assert CURTAINS in noted(agent)


async def test_a_person_is_erased(agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    """What Anna did is gone, also what she had deleted; what others did stays."""
    kept = agent.entry.runtime_data.shared.observations.of(agent.entry.entry_id)
    await agent.entry.runtime_data.memories.async_forget([noted(agent)[COFFEE].id])
    assert kept.silenced
    assert kept.erase_person("anna") > 0
    assert not kept.silenced
    assert {item.person for item in kept.all()} == {None, "tom"}
    await after_nights(agent, freezer, 1)
    assert {known.person for known in the_learner(agent).habits} == {None, "tom"}


async def test_it_learns_by_itself_at_night(
    home: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """Once, as soon as the day is over; a night that was missed is made up for."""
    await async_record(home, make_month(0))
    agent = await async_add_agent(home, model_server, {"learning_enabled": True})
    kept = home.data[DOMAIN].observations.of(agent.entry.entry_id)
    assert kept.read_until is None
    for hour in (1, 2):
        freezer.move_to(NOW + hour * EVERY)
        async_fire_time_changed(home, NOW + hour * EVERY)
        await home.async_block_till_done(wait_background_tasks=True)
        assert kept.read_until == datetime(2026, 4, 3, 4, tzinfo=NOW.tzinfo)
    assert COFFEE in noted(agent)
    freezer.move_to(NOW + 3 * DAY)
    async_fire_time_changed(home, NOW + 3 * DAY)
    await home.async_block_till_done(wait_background_tasks=True)
    assert kept.read_until == datetime(2026, 4, 6, 4, tzinfo=NOW.tzinfo)


async def test_switched_off_it_forgets(agent: Agent) -> None:
    """What was observed and the habits that were noted; what somebody deleted stays so."""
    await agent.entry.runtime_data.memories.async_forget([noted(agent)[COFFEE].id])
    await agent.set_options(learning_enabled=False)
    assert agent.entry.runtime_data.learner is None
    assert noted(agent) == {}
    kept = agent.hass.data[DOMAIN].observations.of(agent.entry.entry_id)
    assert (len(kept), kept.habits, len(kept.silenced)) == (0, [], 1)
    await agent.set_options(learning_enabled=True)
    await the_learner(agent).async_learn(NOW)
    assert COFFEE not in noted(agent)
    assert CURTAINS in noted(agent)
