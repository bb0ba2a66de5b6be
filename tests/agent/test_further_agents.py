"""Several agents on one connection: each with its entity, requests, policy, history and LLM API."""

import json
from typing import Any

from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import DOMAIN, EVENT_CONVERSATION_FINISHED
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import device_registry as dr, entity_registry as er, llm
from tests.helpers.agent import Agent, async_agent, call_action, speech
from tests.helpers.checks import every
from tests.helpers.further import KITCHEN, Further, async_add_further
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

LAMP = "light.bed_light"


async def two(
    hass: HomeAssistant, server: ModelServer, options: dict[str, Any] | None = None, **own: Any
) -> tuple[Agent, Further]:
    """Return the household's agent and one that knows the kitchen only."""
    household = (await async_agent(hass, server, options)).at_satellite()
    guests = await async_add_further(hass, household, **{**KITCHEN, **own})
    await hass.services.async_call("light", "turn_off", {"entity_id": LAMP}, blocking=True)
    await hass.async_block_till_done()
    return household, guests


async def test_requests_differ(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Each has its own persona, tools and entities; both ask the same server for the same model."""
    household, guests = await two(
        hass, model_server, {"persona": "Butler"}, persona="Host", tools_disabled=["weather", "memory"]
    )
    sent = []
    for agent in (household, guests):
        model_server.clear()
        model_server.script([text("Hello.")])
        await agent.say("Hello there")
        sent.append(model_server.chats[0].json)
    ours, theirs = sent
    assert ours["model"] == theirs["model"] == "test-model"
    assert "You are Butler" in ours["messages"][0]["content"]
    assert "You are Host" in theirs["messages"][0]["content"]
    assert "bed_light" in ours["messages"][0]["content"]
    assert "bed_light" not in json.dumps(theirs)
    names = [{tool["function"]["name"] for tool in one["tools"]} for one in sent]
    assert "memory" in names[0] - names[1]


async def test_lists_bind_one_of_them(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What one agent may not see does not exist for it; the other controls it."""
    household, guests = await two(hass, model_server)
    args = {"action": "turn_on", "entity_id": LAMP}
    refused = await guests.call("ha_control", **args)
    assert not refused["success"]
    assert hass.states.get(LAMP).state == "off"
    assert (await household.call("ha_control", **args))["success"]
    assert hass.states.get(LAMP).state == "on"


async def test_entities_and_devices(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Each agent is an entity on a device of its own, of its subentry; both answer after a reload."""
    household, guests = await two(hass, model_server)
    assert guests.entity_id == "conversation.guests"
    registered = er.async_get(hass).async_get(guests.entity_id)
    assert registered.config_subentry_id == guests.agent_id
    device = dr.async_get(hass).async_get(registered.device_id)
    assert device.name == "Guests"
    assert await hass.config_entries.async_reload(household.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    for agent in (household, guests):
        model_server.clear()
        model_server.script([text("Hello.")])
        assert speech(await agent.say("Hello there")) == "Hello."


async def test_history_and_conversation_ids(hass: HomeAssistant, model_server: ModelServer) -> None:
    """No agent reads another's conversation, also with its conversation id and at the same satellite."""
    household, guests = await two(hass, model_server)
    model_server.script([text("The safe is behind the Reading Lamp.")])
    said = await household.say("Where is the safe hidden?")
    for conversation_id in (said.conversation_id, None):
        model_server.clear()
        model_server.script([text("I do not know.")])
        await guests.say("What did we talk about?", conversation_id=conversation_id)
        assert "safe" not in json.dumps(model_server.chats[0].json["messages"])
    model_server.clear()
    model_server.script([text("The safe.")])
    await household.say("And what did we talk about?", conversation_id=said.conversation_id)
    asked = json.dumps(model_server.chats[0].json["messages"])
    assert "Where is the safe hidden?" in asked
    assert "I do not know." not in asked


async def test_events_name_the_agent(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Events name the connection, those of a further agent also its subentry."""
    household, guests = await two(hass, model_server)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    for agent in (household, guests):
        model_server.script([text("Hello."), text("Hello.")])
        await agent.say("Hello there")
    assert [event.data["config_entry_id"] for event in finished] == [household.entry.entry_id] * 2
    assert [event.data.get("subentry_id") for event in finished] == [None, guests.agent_id]


async def test_llm_apis(hass: HomeAssistant, model_server: ModelServer) -> None:
    """There is one LLM API for each agent, with its entities and its policy, also for MCP clients."""
    _household, guests = await two(hass, model_server)
    apis = {api.id: api.name for api in llm.async_get_apis(hass) if api.id.startswith(DOMAIN)}
    own = f"{DOMAIN}_{guests.agent_id}"
    assert apis == {DOMAIN: "Home Agent", own: "Home Agent: Guests"}
    context = llm.LLMContext("mcp_server", Context(), "en", "conversation", None)
    turn_on = llm.ToolInput("ha_control", {"action": "turn_on", "entity_id": LAMP})
    instance = await llm.async_get_api(hass, own, context)
    assert (await instance.async_call_tool(turn_on)).error
    assert hass.states.get(LAMP).state == "off"
    seen = await instance.async_call_tool(llm.ToolInput("ha_query", {"entity_id": "light.*"}))
    assert "kitchen_ceiling" in json.dumps(seen.data)
    assert "bed_light" not in json.dumps(seen.data)
    instance = await llm.async_get_api(hass, DOMAIN, context)
    assert not (await instance.async_call_tool(turn_on)).error
    hass.config_entries.async_remove_subentry(guests.entry, guests.agent_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert own not in [api.id for api in llm.async_get_apis(hass)]
    assert DOMAIN in [api.id for api in llm.async_get_apis(hass)]


async def test_services(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A service means the first agent unless it names another one, by its entity or its id."""
    _household, guests = await two(hass, model_server)
    tool = {"tool_name": "ha_query", "parameters": {"entity_id": "light.*"}}

    async def lamps(**agent: str) -> str:
        found = await call_action(hass, "execute_tool", {**tool, **agent})
        return json.dumps(found)

    assert LAMP in await lamps()
    for named in every([{"agent_id": guests.entity_id}, {"config_entry_id": guests.agent_id}]):
        found = await lamps(**named)
        assert "kitchen_ceiling" in found
        assert LAMP not in found
    model_server.script([text("Hello.")])
    answer = await call_action(hass, "process", {"text": "Hello there", "agent_id": guests.entity_id})
    assert answer["response"] == "Hello."
    assert "bed_light" not in json.dumps(model_server.chats[0].json)


async def test_planned_commands_and_undo(hass: HomeAssistant, model_server: ModelServer) -> None:
    """An agent neither lists, cancels nor undoes what another one has planned or done."""
    household, guests = await two(hass, model_server)
    later = {"action": "turn_on", "entity_id": LAMP, "when": "10 minutes"}
    assert (await household.call("ha_control", **later))["success"]
    assert (await household.call("ha_control", action="turn_on", entity_id=LAMP))["success"]
    for args in ({"action": "list"}, {"action": "undo"}):
        found = json.dumps(await guests.call("activity", **args))
        assert "Bed Light" not in found
        assert LAMP not in found
    assert hass.states.get(LAMP).state == "on"
    assert len(household.entry.runtime_data.planned.all()) == 1
