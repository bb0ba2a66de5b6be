"""The logbook shows who made a request, to which agent, and what it was about."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.const import DOMAIN
from homeassistant.components.recorder import Recorder
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent
from tests.helpers.household import async_lock_door
from tests.servers.model_server import ModelServer
from tests.servers.replies import tool_calls

pytestmark = pytest.mark.usefixtures("recorder_db_url")  # before Home Assistant is there

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})
UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})


@pytest.fixture
async def agent(
    recorder_mock: Recorder, hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser
) -> Agent:
    """Return an agent in a house with a logbook, where the administrator is Anna."""
    people = [{"id": "anna", "name": "Anna", "user_id": hass_admin_user.id}]
    assert await async_setup_component(hass, "person", {"person": people})
    assert await async_setup_component(hass, "logbook", {})
    agent = await async_agent(hass, model_server)
    await async_lock_door(hass)
    return agent


async def entries_of(agent: Agent, hass_client: ClientSessionGenerator) -> list[dict[str, Any]]:
    await async_wait_recording_done(agent.hass)
    client = await hass_client()
    response = await client.get(f"/api/logbook/{(dt_util.utcnow() - timedelta(minutes=5)).isoformat()}")
    return list(await response.json())


async def test_states_go_back_to_person_agent_and_request(
    agent: Agent, hass_admin_user: MockUser, hass_client: ClientSessionGenerator
) -> None:
    """The entry of the switched light shows who made the request, and to which agent."""
    await agent.act(ON, sentence="Turn on the kitchen ceiling", context=Context(user_id=hass_admin_user.id))
    entries = await entries_of(agent, hass_client)
    (light,) = [entry for entry in entries if entry.get("entity_id") == LIGHT and entry.get("state") == "on"]
    assert light["context_user_id"] == hass_admin_user.id
    assert light["context_entity_id"] == agent.entity_id
    (request,) = [entry for entry in entries if entry.get("domain") == DOMAIN]
    assert (request["name"], request["message"]) == ("Home Agent", "received a request from Anna")


async def test_questions_and_answers_are_shown(
    agent: Agent, hass_admin_user: MockUser, hass_client: ClientSessionGenerator
) -> None:
    """A door that was unlocked shows the question before it."""
    context = Context(user_id=hass_admin_user.id)
    agent.server.script([tool_calls([UNLOCK])])
    asked = await agent.say("Unlock the front door", context=context)
    await agent.say("No", conversation_id=asked.conversation_id, context=context)
    told = [e["message"] for e in await entries_of(agent, hass_client) if e.get("domain") == DOMAIN]
    assert "received a request from Anna" in told
    assert [message for message in told if message.startswith("asked: ") and "Front Door" in message]
    assert len(told) == 4
