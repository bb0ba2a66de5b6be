"""What was sent, reports, the overview, undo, and turns that stay when the agent is reloaded."""

import json

import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.helpers.checks import every
from tests.helpers.panel import Panel
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, status, text, tool_calls

LAMP = ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
CODE = {"action": "unlock", "entity_id": "lock.front_door", "parameters": {"code": "4711"}}


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent that learns nothing by itself and asks the model each time."""
    assert await async_setup_component(hass, "websocket_api", {})
    options = {"memory_extraction_enabled": False, "quick_confirmations": False}
    return await async_agent(hass, model_server, options)


@pytest.fixture
async def panel(agent: Agent, hass_ws_client: WebSocketGenerator) -> Panel:
    """The panel of an administrator."""
    return Panel(await hass_ws_client(agent.hass), agent)


@pytest.fixture
def owner(hass_admin_user: MockUser) -> Context:
    """The administrator who looks at the panel, speaking."""
    return Context(user_id=hass_admin_user.id)


async def test_turns_stay_when_the_agent_is_reloaded(panel: Panel, agent: Agent) -> None:
    """Turns before and after a change of options can be compared; each keeps the name of its model."""
    await agent.say("Before")
    await agent.set_options(temperature=0.3)
    before = await panel.turn()
    data = {**agent.entry.data, "llm_model": "another-model"}
    agent.hass.config_entries.async_update_entry(agent.entry, data=data)
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    await agent.say("After")
    turns = (await panel.get("turns"))["turns"]
    assert [turn["sentence"] for turn in turns] == ["After", "Before"]
    assert (await panel.turn())["requests"][0]["model"] == "another-model"
    assert await panel.get("turn", turn_id=before["id"]) == before
    assert before["requests"][0]["model"] == "test-model"


async def test_turns_go_with_the_panel(panel: Panel, agent: Agent) -> None:
    """Where the options do not want the panel, nothing is kept."""
    await agent.say("Before")
    await agent.set_options(panel_enabled=False)
    await agent.set_options(panel_enabled=True)
    assert (await panel.get("turns"))["turns"] == []


async def test_turns_go_with_the_agent(hass: HomeAssistant, agent: Agent) -> None:
    await agent.say("Before")
    shared = agent.entry.runtime_data.shared
    assert agent.entry.entry_id in shared.turn_logs
    await hass.config_entries.async_remove(agent.entry.entry_id)
    assert agent.entry.entry_id not in shared.turn_logs


async def test_what_was_sent(panel: Panel, agent: Agent, model_server: ModelServer) -> None:
    """Messages and tools as the server got them."""
    model_server.script([tool_calls([LAMP]), text("The bed light is on.")])
    await agent.say("Turn on the bed light")
    shown = (await panel.turn())["requests"]
    sent = model_server.chats[-2:]
    assert len(shown) == len(sent) == 2
    for request, captured in zip(shown, sent, strict=True):
        assert [(item["role"], item["content"]) for item in request["messages"]] == [
            (item["role"], item["content"] or "") for item in captured.messages
        ]
        assert [json.loads(tool) for tool in request["tools"]] == captured.json["tools"]
    (call,) = (call for message in shown[1]["messages"] for call in message["calls"])
    assert json.loads(call["arguments"])["entity_id"] == "light.bed_light"


async def test_no_code_is_in_what_was_sent(panel: Panel, agent: Agent, model_server: ModelServer) -> None:
    """Neither in the request that led to the call, nor in the one behind it, nor in a report."""
    model_server.script([tool_calls([("ha_control", CODE)]), text("Done.")])
    await agent.say("Unlock the front door with 4711")
    assert "4711" in str(model_server.chats[-1].messages)
    turn = await panel.turn()
    assert "4711" not in json.dumps(turn)
    assert "Unlock the front door" in json.dumps(turn["requests"])
    assert "4711" not in (await panel.get("report", turn_id=turn["id"]))["report"]


@pytest.mark.parametrize("history", [True, False])
async def test_no_code_of_an_earlier_turn_is_in_what_was_sent(
    panel: Panel, agent: Agent, model_server: ModelServer, history: bool
) -> None:
    """The conversation goes on, with or without a history, and the code is in no later turn."""
    await agent.set_options(history_enabled=history)
    model_server.script([tool_calls([("ha_control", CODE)]), text("Done.")])
    first = await agent.say("Unlock the front door with 4711")
    model_server.script([text("It is a door.")])
    await agent.say("Which door was that?", conversation_id=first.conversation_id)
    turn = await panel.turn()
    assert turn["sentence"] == "Which door was that?"
    assert "4711" not in json.dumps(turn)


async def test_a_report_has_no_private_words(
    hass: HomeAssistant, panel: Panel, agent: Agent, model_server: ModelServer, hass_admin_user: MockUser
) -> None:
    """Names, addresses and entities are masked; what helps to find the fault stays."""
    person = {"id": "p-anna", "user_id": hass_admin_user.id, "friendly_name": "Annabell"}
    hass.states.async_set("person.annabell", "home", person)
    model_server.script([tool_calls([LAMP]), text("Annabell has mail at annabell@example.org, 192.168.7.9.")])
    await agent.say("Turn on the bed light for Annabell")
    report = (await panel.get("report", turn_id=(await panel.turn())["id"]))["report"]
    for private in ("Annabell", "annabell@example.org", "192.168.7.9", "light.bed_light"):
        assert private not in report
    for told in ("[person]", "[email]", "[ip_address]", "[entity_id]", "test-model", "ha_control", "worked"):
        assert told in report


async def test_outcomes(panel: Panel, agent: Agent, model_server: ModelServer, owner: Context) -> None:
    """What became of each turn, in one word."""
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    unlock = {"action": "unlock", "entity_id": "lock.front_door"}
    missing = {"action": "turn_on", "entity_id": "light.not_there"}
    model_server.script([text("Hello.")])
    await agent.say("Hello there", context=owner)
    model_server.script([tool_calls([("ha_control", unlock)])])
    asked = await agent.say("Unlock the front door", context=owner)
    await agent.say("yes", context=owner, conversation_id=asked.conversation_id)
    model_server.script([tool_calls([("ha_control", missing)]), text("That is not possible.")])
    await agent.say("Turn on the light on the moon", context=owner)
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    await agent.set_options(local_fallback_enabled=False, local_first_enabled=True)
    await agent.say("Unlock Front Door", context=owner)
    model_server.default = status(500, "CUDA out of memory")
    await agent.say("Tell me a story", context=owner)
    turns = (await panel.get("turns"))["turns"]
    found = [(turn["outcome"], turn["tokens"] > 0) for turn in turns]
    assert found == [
        ("failed", False),
        ("asked", False),
        ("refused", True),
        ("local", False),
        ("asked", True),
        ("answered", True),
    ]


async def test_the_overview(panel: Panel, agent: Agent, model_server: ModelServer) -> None:
    """The server without its key, the model, what waits, and the figures of today."""
    model_server.default = Reply(text="Yes.", usage=(100, 20, 60))
    await agent.say("One")
    found = await panel.get("overview")
    assert found["reachable"] is True
    assert found["server"] in model_server.url
    assert "/" not in found["server"]
    assert (found["model"], found["waiting"], found["issues"]) == ("test-model", 0, 0)
    assert (found["today"]["turns"], found["today"]["prompt"], found["today"]["failed"]) == (1, 100, 0)
    assert found["exposed"] > 3
    assert found["features"]["memory"]


async def test_undo(hass: HomeAssistant, panel: Panel, agent: Agent, model_server: ModelServer) -> None:
    """An action has the names of its targets and can be put back once."""
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    model_server.script([tool_calls([LAMP]), text("The bed light is on.")])
    await agent.say("Turn on the bed light")
    (entry,) = (await panel.get("audit"))["entries"]
    assert (entry["names"], entry["kept"], entry["undoable"]) == (["Bed Light"], True, True)
    await panel.get("undo", turn_id=entry["turn_id"])
    assert hass.states.get("light.bed_light").state == "off"
    entries = (await panel.get("audit"))["entries"]
    assert [entry["undoable"] for entry in every(entries)] == [False, False]
    again = await panel.ask("undo", turn_id=entry["turn_id"])
    assert again["error"]["translation_key"] == "nothing_to_undo"


async def test_a_confirmation_says_what_is_to_be_done(
    panel: Panel, agent: Agent, model_server: ModelServer, owner: Context
) -> None:
    """One row for each question, with the action and how it stands."""
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    model_server.script([tool_calls([("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})])])
    await agent.say("Unlock the front door", context=owner)
    (asked,) = (await panel.get("audit", kind="confirmation"))["entries"]
    assert (asked["service"], asked["names"], asked["outcome"]) == (
        "lock.unlock",
        ["Front Door"],
        "requested",
    )
    (waiting,) = (await panel.get("confirmations"))["actions"]
    await panel.get("reject", action_id=waiting["id"])
    (asked,) = (await panel.get("audit", kind="confirmation"))["entries"]
    assert asked["outcome"] == "rejected"


async def test_a_memory_is_added_for_a_person(
    hass: HomeAssistant, panel: Panel, agent: Agent, owner: Context
) -> None:
    """For a person or the household, and not for anybody who is not there."""
    person = {"id": "p-ben", "friendly_name": "Ben"}
    hass.states.async_set("person.ben", "home", person)
    written = {"memory_type": "fact", "importance": 0.7, "private": False}
    assert {"id": "p-ben", "name": "Ben"} in (await panel.get("memories"))["people"]
    await panel.get("memory/add", content="Ben likes jazz", person="p-ben", **written)
    await panel.get("memory/add", content="The bins go out on Tuesday", person=None, **written)
    found = {item["content"]: item["name"] for item in (await panel.get("memories"))["memories"]}
    assert found == {"Ben likes jazz": "Ben", "The bins go out on Tuesday": None}
    refused = await panel.ask("memory/add", content="x", person="nobody", **written)
    assert refused["error"]["translation_key"] == "person_unknown"
    assert DOMAIN in refused["error"]["translation_domain"]
