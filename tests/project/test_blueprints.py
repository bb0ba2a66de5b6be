"""The blueprints are valid, and do what they say."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
import shutil
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed, async_mock_service
import yaml

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.planned.records import REMIND, PlannedItem, Schedule
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent
from tests.helpers.checks import every
from tests.helpers.documents import ROOT
from tests.helpers.everyday_house import async_add_satellite, async_pass
from tests.helpers.indexed import equipped
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

FOLDER = ROOT / "blueprints"


class Loader(yaml.SafeLoader):
    """Reads `!input` as its name."""


Loader.add_constructor("!input", lambda loader, node: loader.construct_scalar(node))


@pytest.fixture
async def agent(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer, tmp_path: Path
) -> AsyncIterator[Agent]:
    async with equipped(hass, model_server, other_model_server, tmp_path) as agent:
        model_server.default = text("It is 21 degrees.")
        shutil.copytree(FOLDER, hass.config.path("blueprints"), dirs_exist_ok=True)
        yield agent
        await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


async def async_use(hass: HomeAssistant, name: str, message: str, **inputs: Any) -> list[ServiceCall]:
    """Add an automation that sends a message; return the messages."""
    sent = async_mock_service(hass, "notify", "family")
    if message:
        inputs["actions"] = [{"action": "notify.family", "data": {"message": message}}]
    config = {
        "id": name,
        "alias": name,
        "use_blueprint": {"path": f"home_agent/{name}.yaml", "input": inputs},
    }
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    await hass.async_block_till_done()
    assert hass.states.async_entity_ids("automation") == [f"automation.{name}"]
    return sent


async def test_briefing(hass: HomeAssistant, agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    now = dt_util.now()
    today = now.strftime("%a").lower()
    sent = await async_use(hass, "briefing", "{{ answer }}", time=f"{now:%H}:59:59", weekdays=[today])
    freezer.move_to(now.replace(minute=59, second=59))
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [call.data["message"] for call in sent] == ["It is 21 degrees."]
    requests = [chat.messages[-1]["content"] for chat in agent.server.chats]
    assert [request for request in requests if request.startswith("Say in two sentences")]


async def test_server_down(hass: HomeAssistant, agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    (server,) = (
        state.entity_id for state in hass.states.async_all("binary_sensor") if DOMAIN in state.entity_id
    )
    sent = await async_use(hass, "server_down", "down", server=server)
    hass.states.async_set(server, "off")
    await hass.async_block_till_done()
    assert sent == []
    freezer.tick(timedelta(minutes=10, seconds=1))
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert len(sent) == 1


async def test_confirmation(hass: HomeAssistant, agent: Agent) -> None:
    sent = await async_use(hass, "confirmation", "{{ question }}")
    await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    unlock = {"tool_name": "ha_control", "parameters": {"action": "unlock", "entity_id": "lock.front_door"}}
    await hass.services.async_call(DOMAIN, "execute_tool", unlock, blocking=True, return_response=True)
    await hass.async_block_till_done()
    assert ["Front Door" in call.data["message"] for call in every(sent)] == [True]


async def test_announce_timer(hass: HomeAssistant, agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    """The phone gets it, and the device where it was set speaks once."""
    kitchen = await async_add_satellite(hass)
    sent = async_mock_service(hass, "notify", "send_message")
    inputs = {"satellites": [kitchen.entity_id], "recipients": ["notify.pixel"]}
    await async_use(hass, "announce_timer", "", **inputs)
    agent.server.script([tool_calls([("timer", {"action": "set", "when": "5 min", "name": "Tea"})])])
    await agent.say("Set a tea timer for five minutes", device_id=kitchen.device)
    await async_pass(hass, freezer, 301)
    assert kitchen.said == ["It is time: Tea."]
    assert [made.data["message"] for made in sent] == ["Tea: the time is up."]
    soon = Schedule(due=dt_util.utcnow() + timedelta(minutes=5))
    await agent.entry.runtime_data.planned.async_add(PlannedItem(verb=REMIND, schedule=soon))
    await async_pass(hass, freezer, 301)
    assert kitchen.said[1:] == ["The timer: the time is up."]
