"""The self-test on the websocket: progress, result, one test at a time, for administrators."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.typing import MockHAClientWebSocket, WebSocketGenerator

from custom_components.home_agent.self_test.cases import cases
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.checks import every
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text

COUNT = len(cases("en"))


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent whose model only talks."""
    assert await async_setup_component(hass, "websocket_api", {})
    agent = await async_agent(hass, model_server)
    model_server.clear()
    model_server.default = text("I am a language model.")
    return agent


async def ask(socket: MockHAClientWebSocket, command: str, entry_id: str) -> dict[str, Any]:
    """Send a command and return the answer."""
    await socket.send_json_auto_id({"type": f"home_agent/self_test/{command}", "entry_id": entry_id})
    answer: dict[str, Any] = await socket.receive_json()
    return answer


async def events(socket: MockHAClientWebSocket) -> list[dict[str, Any]]:
    """Return the events of a test up to the last one."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["type"] == "progress":
        found.append((await socket.receive_json())["event"])
    return found


async def test_progress_and_result(
    hass: HomeAssistant, agent: Agent, hass_ws_client: WebSocketGenerator
) -> None:
    socket = await hass_ws_client(hass)
    entry_id = agent.entry.entry_id
    assert (await ask(socket, "result", entry_id))["result"] == {"result": None}

    assert (await ask(socket, "run", entry_id))["success"]
    *progress, last = await events(socket)

    assert [event["done"] for event in every(progress)] == list(range(COUNT))
    assert {event["total"] for event in progress} == {COUNT}
    assert last["type"] == "result"
    assert last["result"]["verdict"] == "poor"
    assert last["result"]["model"] == "test-model"
    assert (await ask(socket, "result", entry_id))["result"] == {"result": last["result"]}


async def test_a_server_that_cannot_be_asked(
    hass: HomeAssistant, agent: Agent, hass_ws_client: WebSocketGenerator, model_server: ModelServer
) -> None:
    model_server.default = status(401, "bad key")
    socket = await hass_ws_client(hass)
    assert (await ask(socket, "run", agent.entry.entry_id))["success"]

    *_, last = await events(socket)

    assert last["type"] == "error"
    assert "key" in last["message"]


@pytest.mark.parametrize("command", ["run", "result"])
async def test_only_administrators_and_only_agents(
    hass: HomeAssistant,
    agent: Agent,
    hass_ws_client: WebSocketGenerator,
    hass_read_only_access_token: str,
    command: str,
) -> None:
    guest = await hass_ws_client(hass, hass_read_only_access_token)
    assert (await ask(guest, command, agent.entry.entry_id))["error"]["code"] == "unauthorized"
    socket = await hass_ws_client(hass)
    assert (await ask(socket, command, "nobody"))["error"]["code"] == "not_found"
