"""Files as version 0.1.0 wrote them on 2026-11-23: all that they hold is there, and what is due is done."""

from datetime import UTC, datetime
import json
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockUser,
    async_fire_time_changed,
    async_mock_service,
)

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.setup import async_setup_component
from tests.helpers.agent import MODEL_SPEAKS, Agent, async_agent, call_action
from tests.helpers.demo_house import async_demo_house
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.helpers.own_automations import async_add_persons
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

FIRST_RELEASE = Path(__file__).parent / "fixtures" / "stores_first_release"
FILES = Path(__file__).parent / "fixtures" / "stored_2026_11_23"
ENTRY = "agent-of-2026-11-23"
OPTIONS = {
    **MODEL_SPEAKS,
    "learner_enabled": True,
    "proactive_enabled": True,
    "user_profile_enabled": True,
    "history_persist": True,
    "session_persistence_enabled": True,
    "memory_extraction_enabled": False,
    "notify_targets": [{"person": "person.anna", "targets": ["notify.mobile_app_anna"]}],
    "proactive_rules": [{"rule": "leak"}],
}


def copy(hass: HomeAssistant) -> None:
    """Write the files, with the ids that this home's registry gave to its entities."""
    registry = er.async_get(hass)
    folder = Path(hass.config.path(".storage"))
    folder.mkdir(exist_ok=True)
    for file in FILES.glob("home_agent.*"):
        content = json.loads(file.read_text(encoding="utf-8"))
        if file.name == "home_agent.planned":
            for command in content["data"]["entries"][ENTRY]:
                command["registered"] = {
                    entity_id: registry.entities[entity_id].id for entity_id in command["registered"]
                }
        (folder / file.name).write_text(json.dumps(content), encoding="utf-8")
    automations = (FILES / "automations.yaml").read_text(encoding="utf-8")
    Path(hass.config.path("automations.yaml")).write_text(automations, encoding="utf-8")
    Path(hass.config.path("configuration.yaml")).write_text("automation: !include automations.yaml\n")


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory) -> Agent:
    """An agent that finds the files three minutes after they were written."""
    freezer.move_to("2026-11-23 12:03:00+00:00")
    await hass.config.async_set_time_zone("UTC")
    await async_demo_house(hass)
    users = {
        name: MockUser(id=f"user-{name.lower()}", name=name, is_owner=name == "Anna").add_to_hass(hass)
        for name in ("Anna", "Tom")
    }
    await async_add_persons(hass, users)
    assert await async_setup_component(hass, "conversation", {})
    await hass.async_add_executor_job(copy, hass)
    await hass.services.async_call("automation", "reload", blocking=True)
    data = {"name": "Home Agent", "llm_base_url": model_server.url, "llm_model": "test-model"}
    entry = MockConfigEntry(
        domain=DOMAIN, entry_id=ENTRY, minor_version=1, title="Home Agent", data=data, options=OPTIONS
    )
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(ENTRY)
    await hass.async_block_till_done(wait_background_tasks=True)
    model_server.clear()
    return Agent(hass, entry, model_server)


async def call(agent: Agent, tool: str, who: str = "anna", /, **args: Any) -> str:
    agent.server.clear()
    await agent.act((tool, args), sentence="What is there?", context=Context(user_id=f"user-{who}"))
    return json.dumps(agent.results[-1])


async def test_everything_is_there(hass: HomeAssistant, agent: Agent) -> None:
    assert not [issue for issue in ir.async_get(hass).issues.values() if "store" in issue.issue_id]
    anna = Context(user_id="user-anna")

    async def service(name: str, **data: Any) -> str:
        answer = await call_action(hass, name, data, anna)
        return json.dumps(answer)

    memories = await service("list_memories")
    assert ("Bello" in memories, "bins are collected" in memories) == (True, True)
    assert "Tom is a vegetarian" in await service("export_data", person="user-tom")
    exported = await service("export_data")
    for part in ("a dog", "Turn on the hallway light", "take the pills"):
        assert part in exported, part
    timers = await call(agent, "timer", action="list")
    assert "Unlock the front door" in json.dumps(agent.server.chats[0].messages), "the conversation"
    for part in ("tea", "17:00", "take the pills", "07:00", "daily"):
        assert part in timers, part
    assert "get up" in await call(agent, "timer", "tom", action="list")
    assert "hallway light" in await call(agent, "automation", action="list")
    done = await call(agent, "activity", action="list")
    assert '"light.hallway": {"state": "off -> on"}' in done
    assert "Shall I?" in await service("list_suggestions")


@pytest.mark.parametrize("as_list", [False, True])
async def test_memories_of_the_first_release(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, as_list: bool
) -> None:
    """All agents shared them: they are the household's, with their times and what somebody asked for.

    What cannot be read is told and stays in a copy.
    """
    freezer.move_to("2025-10-27 12:00:00+00:00")
    file = FIRST_RELEASE / "home_agent.memories"
    content = json.loads(await hass.async_add_executor_job(file.read_text))
    if as_list:
        content["data"]["memories"] = list(content["data"]["memories"].values())
    path = Path(hass.config.path(".storage", file.name))

    def write() -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))

    await hass.async_add_executor_job(write)
    agent = await async_agent(hass, model_server, {"memory_preference_ttl": "1000d"})
    listed = (await call_action(hass, "list_memories", {}))["memories"]
    found = {memory["content"]: memory for memory in listed}
    assert set(found) == {
        "The family prefers the bedroom at 68 degrees at night",
        "The spare key is with the neighbours",
    }
    assert [found[text]["source"] for text in sorted(found)] == ["extracted", "told"]
    assert {memory["person"] for memory in listed} == {None}
    assert found["The spare key is with the neighbours"]["created_at"].startswith("2025-10-25T13:48:20")
    agent.server.script([text("With the neighbours.")])
    await agent.say("Where is the spare key?")
    assert "with the neighbours" in json.dumps(agent.server.chats[-1].messages)
    assert [issue for issue in ir.async_get(hass).issues.values() if "unreadable" in issue.issue_id]
    assert [*path.parent.glob("home_agent.memories.corrupt-*")]


async def test_what_is_due_is_done(hass: HomeAssistant, agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    told = async_mock_service(hass, "notify", "mobile_app_anna")
    entities = ("light.kitchen_ceiling", "light.hallway", "switch.coffee_machine")
    for entity_id in entities[1:]:
        await hass.services.async_call("homeassistant", "turn_on", {"entity_id": entity_id}, blocking=True)
    for moment in (datetime(2026, 11, 23, hour, 0, 30, tzinfo=UTC) for hour in (14, 15, 18, 22)):
        freezer.move_to(moment)
        async_fire_time_changed(hass, moment)
        await hass.async_block_till_done(wait_background_tasks=True)
    states = [hass.states.get(entity_id).state for entity_id in entities]
    assert states == ["on", "off", "off"]
    assert "Dinner is ready" in str([dict(sent.data) for sent in told])
