"""Several agents on one server share its queue: people hear that others are first, the panel shows it."""

import asyncio

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events, get_system_health_info

from custom_components.home_agent.connection import queue_length, server_queue
from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.inference import queue as queues
from custom_components.home_agent.inference.models import Caller
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, async_agent, speech
from tests.servers.model_server import ModelServer
from tests.servers.replies import hang, text


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent whose server answers one request at a time."""
    return (await async_agent(hass, model_server, llm_parallel_requests=1)).at_satellite()


async def test_agents_share_the_queue_of_their_server(agent: Agent, model_server: ModelServer) -> None:
    other = (await async_add_agent(agent.hass, model_server, llm_model="other-model")).at_satellite()
    first = hang()
    model_server.script([first, text("Second.")])
    finished = async_capture_events(agent.hass, "home_agent.conversation.finished")
    asked = asyncio.create_task(agent.say("tell me a story"))
    await model_server.arrived(1)
    waiting = asyncio.create_task(other.say("tell me another story"))
    queue = server_queue(agent.hass, model_server.url)
    async with asyncio.timeout(20):
        for _ in iter(lambda: queue.waiting, 1):
            await asyncio.sleep(0)
    assert len(model_server.chats) == 1
    assert queue_length(agent.hass, model_server.url) == {"running": 1, "waiting": 1, "slots": 1}
    shown = await async_get_config_entry_diagnostics(agent.hass, agent.entry)
    assert shown["queue"] == {"running": 1, "waiting": 1, "slots": 1}
    assert await async_setup_component(agent.hass, "system_health", {})
    health = await get_system_health_info(agent.hass, "home_agent")
    assert (health["running"], health["waiting"]) == (1, 1)
    assert "ok" in await health["server"]
    first.release.set()
    assert [speech(await asked), speech(await waiting)] == ["Hello world.", "Second."]
    waited = [event.data["performance"]["queue_ms"] for event in finished]
    assert waited == sorted(waited)
    assert waited[1] > 0


async def test_a_person_hears_that_others_are_first(
    agent: Agent, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "PERSON_SECONDS", 0)
    async with server_queue(agent.hass, model_server.url).place(Caller("other")):
        said = speech(await agent.say("erzähl mir eine Geschichte", language="de"))
        assert said == "Ich antworte gerade noch anderen. Bitte frag mich gleich noch einmal."
    assert not model_server.chats
    assert agent.entry.runtime_data.server_reachable
