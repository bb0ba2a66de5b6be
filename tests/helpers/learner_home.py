"""A home whose states are recorded, and the learner of habits."""

from collections.abc import AsyncGenerator
import logging

from freezegun.api import FrozenDateTimeFactory
import pytest

import custom_components
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.memory.learner.learner import Learner
from homeassistant.components.recorder import Recorder
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.demo_house import DEMO, async_demo_house
from tests.helpers.month import NOW, add_people, async_record, make_month
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
