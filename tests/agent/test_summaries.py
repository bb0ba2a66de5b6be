"""Long conversations: what is left out was summed up before, and the beginning stays the same between."""

from datetime import timedelta
from itertools import pairwise
import json
from pathlib import Path

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from homeassistant.core import HomeAssistant
from tests.helpers.agent import IDLE_SECONDS, Agent, async_agent
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

SUMMARY = "The person plans a party for twelve guests on Saturday."


def asks_for_summary(request: Captured) -> bool:
    return "Sum up what was said" in str(request.messages[-1]["content"])


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    agent = await async_agent(
        hass, model_server, {"history_summarize": True, "memory_extraction_enabled": False}
    )
    model_server.on(asks_for_summary, text(SUMMARY))
    return agent


async def talk(agent: Agent, turns: int, freezer: FrozenDateTimeFactory, begin: int = 0) -> list[Captured]:
    """Say something so often, with pauses; return the requests of the turns."""
    conversation_id = None
    for number in range(begin, begin + turns):
        agent.server.script([text(f"Answer {number}.")])
        result = await agent.say(
            f"Remark number {number} about the party", conversation_id=conversation_id, device_id="tablet"
        )
        conversation_id = result.conversation_id
        freezer.tick(timedelta(seconds=IDLE_SECONDS + 1))
        async_fire_time_changed(agent.hass)
        await agent.hass.async_block_till_done(wait_background_tasks=True)
    return [request for request in agent.server.chats if not asks_for_summary(request)]


async def test_what_is_left_out_was_summed_up(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, agent: Agent
) -> None:
    """The summary stands where the turns stood; the request for it begins with the conversation."""
    requests = await talk(agent, 8, freezer)
    last = str(requests[-1].messages)
    assert "Remark number 0" not in last
    assert SUMMARY in last
    assert [message["role"] for message in requests[-1].messages[:4]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    asked = next(request for request in model_server.chats if asks_for_summary(request))
    before = model_server.chats[model_server.chats.index(asked) - 1]
    assert asked.messages[: len(before.messages)] == before.messages


async def test_the_beginning_stays_between(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, agent: Agent
) -> None:
    """It changes only when the window moves on, with the summary in the same step."""
    requests = await talk(agent, 14, freezer)
    changed = [earlier.messages[1] != later.messages[1] for earlier, later in pairwise(requests[1:])]
    assert sum(changed) <= 3
    assert sum(map(asks_for_summary, model_server.chats)) <= 4


async def test_a_summary_survives_a_restart_and_goes_with_the_conversation(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, agent: Agent
) -> None:
    """On disk it stands with the conversation, and is cleared with it."""
    await talk(agent, 8, freezer)
    shared = agent.entry.runtime_data.shared
    await shared.history.async_flush()
    path = Path(hass.config.path(".storage", "home_agent.history"))
    stored = json.loads(await hass.async_add_executor_job(path.read_text))
    (conversation,) = stored["data"]["entries"][agent.entry.entry_id].values()
    assert conversation["summary"] == SUMMARY
    await hass.services.async_call("home_agent", "clear_history", blocking=True)
    assert SUMMARY not in await hass.async_add_executor_job(path.read_text)
