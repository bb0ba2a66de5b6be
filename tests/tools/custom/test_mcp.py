"""Tools of MCP servers: against a real FastMCP server, and against one that misbehaves."""

from collections.abc import Callable, Iterator
from itertools import repeat
import json
import logging
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.custom_tools import OwnTools, async_confirm, async_use, reported
from tests.helpers.mcp_kitchens import TOKEN, events, kitchens, rpc  # noqa: F401 - fixtures
from tests.helpers.turns import tool_results
from tests.servers.loopback import Captured
from tests.servers.mcp_server import INJECTION, McpServer
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, hang, text, tool_calls
from tests.servers.rest_server import RestServer, data

TOOL = """
- name: {name}
  description: Something of the kitchen.
  parameters:
    type: object
    properties:
      query: {{type: string}}
      limit: {{type: integer}}
      item: {{type: string}}
  handler:
    type: mcp
    server_url: {url}
    tool: {tool}
"""


def written(url: str, tool: str, name: str = "kitchen", **handler: Any) -> str:
    """Return a tool as it is written."""
    more = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in handler.items())
    return TOOL.format(url=url, tool=tool, name=name) + more


@pytest.fixture(params=["events", "json"])
def kitchen(
    request: pytest.FixtureRequest, socket_enabled: None, kitchens: Callable[[str], McpServer]
) -> McpServer:
    """Return a real server, that answers in events or in one document."""
    return kitchens(request.param)


@pytest.fixture
def one_kitchen(socket_enabled: None, kitchens: Callable[[str], McpServer]) -> McpServer:
    """Return a real server that asks for a key."""
    return kitchens("token")


async def test_a_turn(
    hass: HomeAssistant, own: OwnTools, kitchen: McpServer, model_server: ModelServer
) -> None:
    """The model calls, the server answers, the model reads it."""
    said = await own.offer(written(kitchen.url, "search_recipes", "find_recipe"))
    assert (said["tools"], said["problems"]) == (["find_recipe"], 0)
    call = tool_calls([("find_recipe", {"query": "curry"})])
    model_server.script([call, text("Onions, chickpeas and spinach.")])
    assert "chickpeas" in speech(await own.agent.say("What goes into a curry?"))
    assert tool_results(model_server.chats[-1])[-1]["result"] == "Onions, chickpeas, spinach"
    assert kitchen.calls() == [{"tool": "search_recipes", "query": "curry", "limit": 5}]
    assert (await async_use(hass, "find_recipe", query="soup", limit=1))["result"] == "Leeks, potatoes"
    assert kitchen.calls()[-1]["limit"] == 1


async def test_answers(hass: HomeAssistant, own: OwnTools, kitchen: McpServer) -> None:
    """Data come as data, failures in words."""
    answers: dict[str, tuple[Any, str]] = {
        "count_recipes": ({"count": 2, "names": ["curry", "soup"]}, ""),
        "fail": (None, "The tool of the MCP server failed: Error executing tool fail"),
        "no_such_tool": (None, "has no tool no_such_tool. It has: count_recipes, fail"),
        "huge": (None, "longer than is read"),
        "order": (None, "does not say that this tool only reads"),
    }
    tools = [written(kitchen.url, tool, f"kitchen_{number}") for number, tool in enumerate(answers)]
    await own.offer("".join(tools))
    for number, (result, error) in enumerate(answers.values()):
        envelope = await async_use(hass, f"kitchen_{number}")
        assert envelope["result"] == result
        assert error in str(envelope["error"])
    assert not [call for call in kitchen.calls() if call["tool"] == "order"]


async def test_what_changes_something_needs_option_and_word(
    hass: HomeAssistant, own: OwnTools, one_kitchen: McpServer, hass_admin_user: MockUser
) -> None:
    """A server's own word is not enough, neither is the tool's."""
    auth = {"type": "bearer", "token": TOKEN}
    tools = written(one_kitchen.url, "order", "order", read_only=False, auth=auth)
    tools += written(one_kitchen.url, "order", "vouched", read_only=True, auth=auth)
    await own.offer(tools)
    refused = await async_use(hass, "order", item="leeks")
    assert "mcp_allow_writes" in refused["error"]
    assert one_kitchen.calls() == []
    await own.agent.set_options(mcp_allow_writes=True)
    waiting = await async_use(hass, "order", item="leeks")
    assert one_kitchen.calls() == []
    await async_confirm(hass, waiting, hass_admin_user)
    assert one_kitchen.calls() == [{"tool": "order", "item": "leeks"}]
    assert (await async_use(hass, "vouched", item="salt"))["result"] == "ordered salt"
    tools = own.agent.entry.runtime_data.handler.tools
    assert tools["order"].annotations.destructive is True
    assert tools["vouched"].annotations.read_only is True


async def test_the_key_is_in_a_header_and_nowhere_else(
    hass: HomeAssistant, own: OwnTools, one_kitchen: McpServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in the log, not in an error."""
    caplog.set_level(logging.DEBUG)
    tools = written(one_kitchen.url, "count_recipes", auth={"type": "bearer", "token": "wrong-token-4711"})
    await own.offer(tools)
    refused = await async_use(hass, "kitchen")
    assert "refuses the credentials" in refused["error"]
    tools = written(one_kitchen.url, "count_recipes", headers={"Authorization": f"Bearer {TOKEN}"})
    await own.offer(tools)
    assert (await async_use(hass, "kitchen"))["result"]["count"] == 2
    shown = " ".join(record.getMessage() for record in caplog.records)
    assert TOKEN not in shown
    assert "wrong-token-4711" not in shown + str(refused)


async def test_what_comes_back_marks_the_turn(
    own: OwnTools, one_kitchen: McpServer, model_server: ModelServer
) -> None:
    """Instructions in it are removed."""
    auth = {"type": "bearer", "token": TOKEN}
    await own.offer(written(one_kitchen.url, "inject", auth=auth))
    remember = tool_calls([("store_memory", {"content": "Anna wants every door open"})])
    model_server.script([tool_calls([("kitchen", {})]), remember, text("Fine.")])
    await own.agent.say("Which soup?")
    injected, stored = tool_results(model_server.chats[-1])[-2:]
    assert "A fine soup" in injected["result"]
    assert INJECTION not in injected["result"]
    assert "from outside" in stored["error"]


async def test_what_is_wrong_is_reported(hass: HomeAssistant, own: OwnTools) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tool": None, "include": [5]}, "expected str"),
        ({"include": ["x"]}, "include or exclude"),
        ({"tool": None, "method": "tools/call"}, "value must not be one of"),
        ({"headers": {"Mcp-Session-Id": "x"}}, "'handler->headers->Mcp-Session-Id'"),
        ({"timeout": 1000}, "at most 120"),
        ({"read_only": "maybe"}, "expected bool"),
        ({"server_url": "http://{{ query }}/mcp"}, "server_url"),
        ({"severurl": "x"}, "did you mean 'server_url'?"),
    ]
    tools = ""
    for number, (handler, _problem) in enumerate(wrong):
        values = {"type": "mcp", "server_url": "http://192.168.1.9/mcp", "tool": "x", **handler}
        lines = [f"    {key}: {json.dumps(value)}\n" for key, value in values.items() if value is not None]
        tools += f"- name: kitchen_{number}\n  description: It cooks.\n  handler:\n{''.join(lines)}"
    await own.offer(tools)
    problems = reported(hass)
    for number, (_handler, problem) in enumerate(wrong):
        assert problem in problems[f"kitchen_{number}"]


# A server that misbehaves


class Hostile:
    """An MCP server whose answers to `tools/call` are scripted."""

    def __init__(self, server: RestServer) -> None:
        self.server = server
        self.answer: Reply | Callable[[Any], Reply] = lambda body: rpc(body, {"content": []})
        self.methods: list[str] = []
        server.routes["/mcp"] = self._reply

    @property
    def url(self) -> str:
        """Return the address of the endpoint."""
        return f"{self.server.address}/mcp"

    def _reply(self, request: Captured) -> Reply:
        body = request.json
        self.methods.append(body.get("method", "(answer)"))
        match body.get("method"):
            case "initialize":
                result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
                return rpc(body, result, headers={"Mcp-Session-Id": "s1"})
            case "tools/list":
                tools = [{"name": "cook", "annotations": {"readOnlyHint": True}}]
                return rpc(body, {"tools": tools, "nextCursor": "again"})
            case "tools/call":
                return self.answer if isinstance(self.answer, Reply) else self.answer(body)
        return Reply(status=202, body=b"")


def endless(_body: Any) -> Reply:
    """Never come to an end."""
    event = b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n\n'
    pieces: Any = repeat(event)
    return Reply(pieces=pieces, content_type="text/event-stream")


def heartbeats(_body: Any) -> Reply:
    """Send comments and nothing else."""
    pieces: Any = repeat(b": still here\n\n" * 100)
    return Reply(pieces=pieces, content_type="text/event-stream")


@pytest.fixture
def hostile(socket_enabled: None) -> Iterator[Hostile]:
    """Return a server that misbehaves."""
    with RestServer() as server:
        yield Hostile(server)


HARMFUL: list[tuple[Reply | Callable[[Any], Reply], str]] = [
    (endless, "longer than is read"),
    (heartbeats, "longer than is read"),
    (rpc({"id": 999}, {"content": []}), "without a result"),
    (lambda body: events({"jsonrpc": "2.0", "id": str(body["id"]), "result": {}}), "without a result"),
    (events(), "without a result"),
    (data([]), "without a result"),
    (lambda body: rpc(body, "curry"), "holds no result"),
    (lambda body: data({"id": body["id"], "error": {"code": -32602, "message": "no\nquery"}}), "no query"),
    (Reply(body=b"x" * 30_000_000), "longer than is read"),
    (Reply(body=b"<html>", content_type="text/html"), "is no JSON"),
    (Reply(body=b'{"id":' * 5000), "is no JSON"),
    (Reply(status=500, body=b"secret"), "status 500"),
    (Reply(status=307, headers={"Location": "http://x"}, body=b""), "redirects"),
    (Reply(status=404, body=b""), "loses its sessions"),
    (Reply(status=401, body=b""), "refuses the credentials"),
    (hang(), "did not answer within 1 s"),
]


async def test_no_answer_does_harm(hass: HomeAssistant, own: OwnTools, hostile: Hostile) -> None:
    """Each is bounded in size and time and told in a short sentence; the next call works."""
    tools = written(hostile.url, "cook", timeout=20) + written(hostile.url, "cook", "hasty", timeout=1)
    await own.offer(tools)
    for number, (answer, error) in enumerate(HARMFUL):
        hostile.answer = answer
        envelope = await async_use(hass, "hasty" if "1 s" in error else "kitchen", query=f"x {number}")
        assert error in envelope["error"]
        assert len(envelope["error"]) < 200
        assert "secret" not in envelope["error"]
        hostile.answer = lambda body: rpc(body, {"content": [{"type": "text", "text": "Hot"}]})
        assert (await async_use(hass, "kitchen", query=f"y {number}"))["result"] == "Hot"


async def test_keys_that_come_back_are_not_shown(
    hass: HomeAssistant, own: OwnTools, hostile: Hostile
) -> None:
    """Whether in an answer or in an error."""
    await own.offer(written(hostile.url, "cook", auth={"type": "bearer", "token": TOKEN}))
    hostile.answer = lambda body: rpc(body, {"content": [{"type": "text", "text": f"You sent {TOKEN}"}]})
    assert TOKEN not in str(await async_use(hass, "kitchen", query="x"))
    hostile.answer = lambda body: data({"id": body["id"], "error": {"message": f"bad {TOKEN}"}})
    refused = await async_use(hass, "kitchen", query="y")
    assert refused["error"].startswith("The MCP server refuses: bad")
    assert TOKEN not in str(refused)


async def test_hosts_that_are_not_allowed(hass: HomeAssistant, own: OwnTools, hostile: Hostile) -> None:
    await own.agent.set_options(rest_allowed_hosts=["api.example.com"])
    await own.offer(written(hostile.url, "cook"))
    assert "not among the allowed" in (await async_use(hass, "kitchen"))["error"]
    assert not hostile.server.requests


# Home Assistant's own MCP client


async def test_home_assistants_own_entries(
    hass: HomeAssistant, model_server: ModelServer, kitchens: Callable[[str], McpServer], socket_enabled: None
) -> None:
    """Their tools are reached through `llm_apis`, past our guard, and what they answer marks the turn."""
    server = kitchens("events")
    entry = MockConfigEntry(domain="mcp", title="Kitchen", data={"url": server.url})
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    agent = await async_agent(hass, model_server, {"llm_apis": [f"mcp-{entry.entry_id}"]})
    name = next(name for name in await _offered(agent) if "search_recipes" in name)
    remember = tool_calls([("store_memory", {"content": "Anna wants every door open"})])
    model_server.script([tool_calls([(name, {"query": "curry"})]), remember, text("Chickpeas.")])
    await agent.say("What goes into a curry?")
    found, stored = tool_results(model_server.chats[-1])[-2:]
    assert "Onions, chickpeas, spinach" in json.dumps(found)
    assert "from outside" in stored["error"]
    assert server.calls() == [{"tool": "search_recipes", "query": "curry", "limit": 5}]
    order = next(name for name in await _offered(agent) if "order" in name)
    await agent.act((order, {"item": "leeks"}), sentence="Order leeks")
    assert len(server.calls()) == 1, "what may change something waits for a word"


async def _offered(agent: Agent) -> list[str]:
    await agent.say("Hello")
    return [tool["function"]["name"] for tool in agent.server.chats[-1].json["tools"]]
