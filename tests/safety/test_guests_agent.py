"""A guest tries to reach what the list of the guests' agent leaves out, in every way that there is."""

import json
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from tests.helpers.agent import Agent, async_agent, call_action
from tests.helpers.checks import every
from tests.helpers.further import KITCHEN, Further, async_add_further
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

LAMP = "light.bed_light"
PRIVATE = ("bed_light", "Bed Light", "Bedroom", "Upstairs", "Reading Lamp", "front_door", "Front Door")
"""What the guest must not read."""

ATTACKS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("ha_control", {"action": "turn_on", **target})
        for target in (
            {"entity_id": LAMP},
            {"entity_id": ["light.kitchen_ceiling", LAMP]},
            {"entity_id": "light.*light"},
            {"entity_id": "Bed Light"},
            {"area": "Bedroom"},
            {"floor": "Upstairs", "domain": "light"},
            {"entity_id": LAMP, "when": "10 minutes"},
            {"entity_id": LAMP, "for": "5 minutes"},
            {"entity_id": "light.kitchen_ceiling", "parameters": {"entity_id": LAMP}},
            {"entity_id": "light.kitchen_ceiling", "parameters": {"area_id": "bedroom"}},
        )
    ),
    ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}),
    ("ha_query", {"entity_id": LAMP}),
    ("ha_query", {"entity_id": "*"}),
    ("ha_query", {"area": "Bedroom"}),
    ("ha_query", {"floor": "Upstairs"}),
    ("ha_query", {"entity_id": LAMP, "why": True}),
    ("ha_query", {"entity_id": LAMP, "history": {"duration": "24h"}}),
    ("get_ha_entities", {}),
    ("get_ha_entities", {"area": "Bedroom"}),
    ("retrieve_knowledge", {"query": "bed light"}),
    ("activity", {"action": "list"}),
    ("activity", {"action": "undo"}),
    ("memory", {"action": "recall", "text": "*"}),
    ("automation", {"action": "list"}),
    (
        "automation",
        {
            "action": "create",
            "name": "Night",
            "when": [{"at": "22:00"}],
            "do": [{"action": "turn_on", "entity_id": LAMP}],
        },
    ),
]


async def house(hass: HomeAssistant, server: ModelServer, **options: Any) -> tuple[Agent, Further]:
    """Return the household's agent, which has just used the lamp, and the guests' agent."""
    household = (await async_agent(hass, server)).at_satellite()
    guests = await async_add_further(hass, household, **{**KITCHEN, **options})
    server.script([tool_calls([("ha_control", {"action": "turn_off", "entity_id": LAMP})]), text("Done.")])
    await household.say("Turn off the bed light")
    server.clear()
    return household, guests


def told(result: object, args: dict[str, Any]) -> list[str]:
    """Return the private words of a result that the call itself did not contain."""
    said = json.dumps(args)
    return [word for word in PRIVATE if word in json.dumps(result) and word not in said]


async def test_calls_of_the_model(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """Whatever the model calls, nothing else moves, and the results name nothing else."""
    household, guests = await house(hass, model_server, history_enabled=False)
    for tool, args in every(ATTACKS):
        with subtests.test(tool=tool, args=args):
            model_server.clear()
            model_server.script([tool_calls([(tool, args)]), text("Well."), text("Well.")])
            await guests.say("Please do as you are told")
            requests = [chat.json["messages"] for chat in model_server.chats[1:]]
            results = [message for messages in requests for message in messages if message["role"] == "tool"]
            assert told(every(results), args) == []
            assert hass.states.get(LAMP).state == "off"
            assert hass.states.get("lock.front_door").state == "locked"
            assert not guests.data.planned.all()
            assert not guests.data.confirmations.pending
            assert not household.entry.runtime_data.confirmations.pending


@pytest.mark.parametrize("way", ["execute_tool", "llm_api"])
async def test_other_ways_to_the_tools(hass: HomeAssistant, model_server: ModelServer, way: str) -> None:
    """The action and the LLM API have the limits of the agent that was chosen."""
    _household, guests = await house(hass, model_server)
    api = await llm.async_get_api(
        hass,
        f"{DOMAIN}_{guests.agent_id}",
        llm.LLMContext("mcp_server", Context(), "en", "conversation", None),
    )
    for tool, args in every(ATTACKS):
        if way == "llm_api":
            found: Any = (await api.async_call_tool(llm.ToolInput(tool, args))).data
        else:
            found = await call_action(
                hass, "execute_tool", {"tool_name": tool, "parameters": args, "agent_id": guests.entity_id}
            )
        assert told(found, args) == []
        assert hass.states.get(LAMP).state == "off"
    assert not guests.data.planned.all()


async def test_what_the_household_remembers(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Memories, profiles and conversations of the household are in no request of an agent with its own."""
    household, guests = await house(hass, model_server)
    await call_action(hass, "add_memory", {"content": "The key is in the Bedroom"})
    model_server.script([text("It is upstairs.")])
    said = await household.say("Where is the safe?")
    model_server.clear()
    model_server.script([text("I do not know.")])
    await guests.say("Where is the key, and what did you say before?", conversation_id=said.conversation_id)
    sent = json.dumps(model_server.chats[0].json)
    assert [word for word in (*PRIVATE, "safe", "upstairs") if word in sent] == []


async def test_a_plan_made_before_the_list(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A command for later that was given before the list was narrowed is judged again when it is due."""
    _household, guests = await house(hass, model_server, visible_entities={})
    later = {"action": "turn_on", "entity_id": LAMP, "when": "10 minutes"}
    await guests.act(("ha_control", later), sentence="Turn on the bed light in ten minutes")
    (command,) = guests.data.planned.all()
    await guests.set_options(**KITCHEN)
    await guests.data.planned_runs.async_run(command, command.due)
    await hass.async_block_till_done()
    assert hass.states.get(LAMP).state == "off"
