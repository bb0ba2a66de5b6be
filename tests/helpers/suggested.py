"""Habits as the learner finds them, suggestions that come from them, and a house that takes automations."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed, async_mock_service

from custom_components.home_agent.memory.learner.habits import WORKDAYS, Habit
from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_add_agent, call_action
from tests.servers.model_server import ModelServer

COFFEE = "switch.coffee_machine"
MONDAY = datetime(2026, 5, 4, 7, tzinfo=dt_util.UTC)


def habit(subject: str = COFFEE, value: str = "on", minute: int = 6 * 60 + 31, **more: Any) -> Habit:
    name = more.pop("name", subject.partition(".")[2].replace("_", " ").title())
    return Habit(
        id=more.get("id", f"habit-{subject}-{value}"),
        name=name,
        text="\u2026",
        subject=subject,
        value=value,
        person=more.get("person"),
        days=more.get("days", WORKDAYS),
        minute=minute,
        confidence=more.get("confidence", 0.85),
    )


async def async_suggested(agent: Agent) -> str:
    """Have an automation for the bed's light suggested at noon, and return the suggestion's id."""
    suggestions = (await agent.entry.runtime_data.async_proactive()).suggestions
    suggestions._habits = lambda: [habit("light.bed_light")]
    await suggestions.async_consider(dt_util.now().replace(hour=12))
    (found,) = suggestions.all()
    return str(found.id)


class Home:
    """A house with automations on disk, an agent that learns, and its clock."""

    def __init__(self, hass: HomeAssistant, clock: FrozenDateTimeFactory, admin: MockUser) -> None:
        self.hass = hass
        self.clock = clock
        self.admin = Context(user_id=admin.id)
        self.path = Path(hass.config.path("automations.yaml"))
        self.agent: Agent | None = None
        self.switched = async_mock_service(hass, "switch", "turn_on")

    def put(self, entity_id: str, state: str, **attributes: Any) -> None:
        name = entity_id.partition(".")[2].replace("_", " ").title()
        self.hass.states.async_set(entity_id, state, {"friendly_name": name, **attributes})
        async_expose_entity(self.hass, "conversation", entity_id, True)

    async def add(self, server: ModelServer, *habits: Habit, **options: Any) -> None:
        self.agent = await async_add_agent(
            self.hass, server, {"proactive_enabled": True, "learning_enabled": True, **options}
        )
        self.found(*habits)

    def found(self, *habits: Habit) -> None:
        assert self.agent
        self.hass.data[DATA_SHARED].observations.of(self.agent.entry.entry_id).set_habits(habits)

    async def morning(self, days: int = 1) -> None:
        for _ in range(days):
            now = dt_util.utcnow()
            self.clock.move_to(now.replace(hour=7, minute=0, second=0) + timedelta(days=1))
            async_fire_time_changed(self.hass, dt_util.utcnow())
            await self.hass.async_block_till_done(wait_background_tasks=True)

    async def suggested(self, state: str | None = "open") -> list[Any]:
        data = {"state": state} if state else {}
        found = await self.call("list_suggestions", data)
        return list(found["suggestions"])

    async def answer(self, answer: str, context: Context | None = None) -> Any:
        (newest, *_) = await self.suggested(None)
        data = {"suggestion_id": newest["suggestion_id"], "answer": answer}
        return await self.call("answer_suggestion", data, context or self.admin)

    async def call(self, service: str, data: dict[str, Any], context: Context | None = None) -> Any:
        found = await call_action(self.hass, service, data, context)
        await self.hass.async_block_till_done()
        return found

    async def text(self) -> str:
        return await self.hass.async_add_executor_job(self.path.read_text)

    async def write(self, text: str) -> None:
        await self.hass.async_add_executor_job(self.path.write_text, text)

    def notes(self) -> list[str]:
        return [note["message"] for note in self.hass.data.get("persistent_notification", {}).values()]


@pytest.fixture
async def home(
    hass: HomeAssistant,
    house: HomeAssistant,
    freezer: FrozenDateTimeFactory,
    hass_admin_user: MockUser,
    tmp_path: Path,
) -> AsyncIterator[Home]:
    """Return a house with automations as Home Assistant is shipped."""
    await hass.config.async_set_time_zone("UTC")
    freezer.move_to(MONDAY)
    hass.config.config_dir = str(tmp_path)
    await hass.async_add_executor_job(
        (tmp_path / "configuration.yaml").write_text, "automation: !include automations.yaml\n"
    )
    assert await async_setup_component(hass, "switch", {})  # its services would replace those of the test
    found = Home(hass, freezer, hass_admin_user)
    await found.write("[]\n")
    assert await async_setup_component(hass, "conversation", {})
    assert await async_setup_component(hass, "automation", {})
    found.put(COFFEE, "off")
    yield found
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)
    if found.agent:
        await hass.config_entries.async_unload(found.agent.entry.entry_id)
