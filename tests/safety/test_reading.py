"""What a speaker may not read is told nowhere: every place that tells states, for each reason to hide one."""

from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.const import DOMAIN
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import MAJOR_VERSION, MINOR_VERSION
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent, call_action, speech
from tests.helpers.checks import every
from tests.helpers.custom_tools import async_offer
from tests.helpers.everyday_house import async_add_calendar, async_add_list
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

SURGERY, DEGREES = "Surgery", "42.5"
CALENDAR, SENSOR, LIST = "calendar.ann", "sensor.pool", "todo.gifts"
LAMP = "light.kitchen_ceiling"


def never(**fields: Any) -> dict[str, Any]:
    """Return the option with one rule that was picked from lists."""
    return {"policy_choices": [{"decision": "never", **fields}]}


HIDING: Mapping[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "a person, the calendar": (never(entities=[CALENDAR], whom=["person.ben"]), "ben", (SURGERY,)),
    "guests, all calendars": (never(kinds=["calendar"], whom=["guests"]), "satellite", (SURGERY,)),
    "a rule as text": ({"policy_blocked": ["calendar"]}, "ben", (SURGERY,)),
    "a rule that asks": ({"policy_restricted": ["calendar.ann"]}, "ben", (SURGERY,)),
    "only something else": (
        {"policy_choices": [{"decision": "only", "kinds": ["light"], "whom": ["person.ben"]}]},
        "ben",
        (SURGERY,),
    ),
    "no right to read": ({}, "limited", (SURGERY, DEGREES)),
    "a user who is gone": ({}, "nobody", (SURGERY, DEGREES)),
}
"""Options, who asks, and what must not be told."""

CALLS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("ha_query", {**target, **how})
        for target in (
            {"entity_id": [CALENDAR, SENSOR]},
            {"domain": ["calendar", "sensor"]},
            {"area": "Kitchen"},
        )
        for how in (
            {},
            {"attributes": ["message", "unit_of_measurement"]},
            {"why": True},
            {"history": {"duration": "24h"}},
        )
    ),
    ("ha_query", {"entity_id": "*"}),
    ("ha_query", {"domain": ["calendar"], "state": "on"}),
    ("ha_query", {"domain": ["sensor"], "state": ">40"}),
    ("retrieve_knowledge", {"query": "what is in Ann, how warm is the pool"}),
    ("calendar", {}),
    ("calendar", {"calendar": "Ann"}),
    ("ha_control", {"action": "turn_on", "entity_id": SENSOR}),
    ("activity", {"action": "list", "entity_id": SENSOR}),
    ("note_state", {"entity_id": CALENDAR}),
    ("note_state", {"entity_id": SENSOR}),
]
TEMPLATE = """
- name: note_state
  description: Tells the state of an entity.
  parameters: {type: object, properties: {entity_id: {type: string}}}
  handler: {type: template, template: "{{ states(entity_id) }} {{ state_attr(entity_id, 'message') }}"}
"""
SENTENCES = (
    "What is in the calendar Ann?",
    "What is going on in Ann now?",
    "How warm is the pool?",
    "What is the temperature of Pool?",
    "What is the state of Pool?",
    "Which calendars are on?",
    "How is everything in the kitchen?",
)
CHOSEN = {"direct_entities": [CALENDAR, SENSOR], "direct_attributes": ["message"]}
"""Entities that are shown with each sentence."""


class Home:
    """A house with a calendar in which something goes on, a sensor, and people with other rights."""

    def __init__(self, hass: HomeAssistant) -> None:
        self.hass = hass
        users = {name: MockUser(name=name).add_to_hass(hass) for name in ("ben", "limited")}
        users["ben"].mock_policy({"entities": True})
        users["limited"].mock_policy({"entities": {"entity_ids": {LAMP: True}}})
        self.ids = {name: user.id for name, user in users.items()} | {"nobody": "f" * 32}

    async def async_build(self, server: ModelServer, **options: Any) -> Agent:
        """Put it up, with an agent."""
        hass = self.hass
        agent = await async_agent(hass, server, {"memory_extraction_enabled": False, **options})
        assert await async_setup_component(hass, "intent", {})
        await async_add_calendar(hass, "Ann")
        await async_add_list(hass, "Gifts")
        now = dt_util.utcnow()
        event = {"summary": SURGERY, "description": SURGERY, "location": SURGERY}
        event |= {"start_date_time": now.replace(hour=0).isoformat()}
        event |= {"end_date_time": now.replace(hour=23).isoformat()}
        await hass.services.async_call(
            "calendar", "create_event", {"entity_id": CALENDAR, **event}, blocking=True
        )
        attributes = {"friendly_name": "Pool", "device_class": "temperature", "unit_of_measurement": "°C"}
        hass.states.async_set(SENSOR, DEGREES, attributes)
        async_expose_entity(hass, "conversation", SENSOR, True)
        hass.states.async_set("person.ben", "home", {"user_id": self.ids["ben"], "id": "ben"})
        await hass.async_block_till_done()
        assert hass.states.get(CALENDAR).attributes["message"] == SURGERY
        server.clear()
        return agent.at_satellite()

    def came(self, who: str) -> dict[str, Any]:
        """Return how a sentence of somebody arrives."""
        return {} if who == "satellite" else {"context": Context(user_id=self.ids[who])}


@pytest.fixture
def home(hass: HomeAssistant) -> Home:
    return Home(hass)


def told(found: object, secrets: tuple[str, ...]) -> list[str]:
    """Return the secrets in what was told."""
    return [secret for secret in secrets if secret in json.dumps(found, default=str)]


@pytest.mark.parametrize("why", HIDING)
async def test_calls(home: Home, model_server: ModelServer, tmp_path: Path, why: str) -> None:
    """No tool tells it, whichever way it is asked."""
    options, who, secrets = HIDING[why]
    agent = await home.async_build(model_server, **options)
    await async_offer(agent, tmp_path, TEMPLATE)
    for name, args in every(CALLS):
        model_server.clear()
        model_server.script([tool_calls([(name, args)]), text("Well."), text("Well.")])
        answer = speech(await agent.say("Please do as you are told", **home.came(who)))
        assert told([answer, *(chat.json["messages"] for chat in model_server.chats)], secrets) == [], args


@pytest.mark.parametrize("why", HIDING)
@pytest.mark.parametrize("settings", [{}, {"local_first_enabled": True}, CHOSEN])
async def test_sentences(home: Home, model_server: ModelServer, why: str, settings: dict[str, Any]) -> None:
    """Neither the states beside a sentence nor Home Assistant's own sentences tell it."""
    options, who, secrets = HIDING[why]
    agent = await home.async_build(model_server, **settings, **options)
    for sentence in every(SENTENCES):
        model_server.clear()
        answer = speech(await agent.say(sentence, **home.came(who)))
        assert told([answer, *(chat.json for chat in model_server.chats)], secrets) == [], sentence


async def test_who_may_read_it(home: Home, model_server: ModelServer, tmp_path: Path) -> None:
    """The same calls and sentences tell it to those from whom nothing hides it."""
    options, _who, _secrets = HIDING["guests, all calendars"]
    agent = await home.async_build(model_server, local_first_enabled=True, **options)
    await async_offer(agent, tmp_path, TEMPLATE)
    seen: dict[str, list[str]] = {}
    for name, args in CALLS:
        model_server.clear()
        model_server.script([tool_calls([(name, args)]), text("Well."), text("Well.")])
        await agent.say("Please do as you are told", **home.came("ben"))
        seen.setdefault(name, []).extend(told(tool_results(model_server.chats[-1]), (SURGERY, DEGREES)))
    assert {name for name, found in seen.items() if found} >= {"ha_query", "calendar", "note_state"}
    await agent.set_options(**CHOSEN)
    for sentence in SENTENCES:
        model_server.clear()
        await agent.say(sentence, **home.came("ben"))
        seen[sentence] = told([chat.json["messages"][-1] for chat in model_server.chats], (SURGERY, DEGREES))
    assert [SURGERY, DEGREES] in [seen[sentence] for sentence in SENTENCES]
    model_server.clear()
    assert DEGREES in speech(await agent.say(SENTENCES[4], **home.came("ben")))


@pytest.mark.parametrize("why", HIDING)
async def test_other_ways(home: Home, model_server: ModelServer, why: str) -> None:
    """Other agents, actions, and the states that a caller asks for go through the same gate."""
    options, who, secrets = HIDING[why]
    hass, context = home.hass, home.came(who).get("context", Context())
    agent = await home.async_build(model_server, **options)
    api = await llm.async_get_api(
        hass, DOMAIN, llm.LLMContext("mcp_server", context, "en", "conversation", None)
    )
    for name, args in every(CALLS[:-2]):
        result = (await api.async_call_tool(llm.ToolInput(name, args))).data
        assert told(result, secrets) == [], args
    answer = await call_action(
        hass, "process", {"text": "What is going on?", "context_entities": [CALENDAR, SENSOR]}, context
    )
    assert told([answer, *(chat.json for chat in model_server.chats)], secrets) == []
    assert agent.entry.runtime_data is not None


@pytest.mark.parametrize("tool", ["homeassistant__GetLiveContext", "calendar__get_events"])
@pytest.mark.parametrize("why", HIDING)
async def test_tools_of_home_assistant(home: Home, model_server: ModelServer, why: str, tool: str) -> None:
    """Assist's own tools, which tell everything that is exposed, are refused where that is too much."""
    options, who, secrets = HIDING[why]
    agent = await home.async_build(model_server, llm_apis=["assist"], **options)
    args = {"calendar": "Ann", "range": "today"} if tool.startswith("calendar") else {}
    for came in dict.fromkeys((who, "ben")):
        model_server.clear()
        model_server.script([tool_calls([(tool, args)]), text("Well."), text("Well.")])
        await agent.say("Please do as you are told", **home.came(came))
        result = tool_results(model_server.chats[-1])[-1]
        assert (result["error"] is None) is (came != who)
        assert came != who or told(result, secrets) == []


async def test_a_refusal_tells_no_state(home: Home, model_server: ModelServer) -> None:
    """It does not end with what an entity shows that the person may not read."""
    agent = await home.async_build(model_server)
    home.hass.states.async_set("light.bed_light", "on", home.hass.states.get("light.bed_light").attributes)
    for action in ("turn_on", "turn_off", "toggle"):
        model_server.clear()
        call = ("ha_control", {"action": action, "entity_id": "light.bed_light"})
        model_server.script([tool_calls([call]), text("I may not."), text("I may not.")])
        await agent.say(f"Please {action} the bed light", **home.came("limited"))
        result = tool_results(model_server.chats[-1])[-1]
        assert "may not read" in result["error"]
        assert "It is" not in result["error"]


async def test_a_rule_says_why(home: Home, model_server: ModelServer) -> None:
    """Who asks for a hidden calendar hears of the rule; its name is no secret."""
    options, who, _secrets = HIDING["a person, the calendar"]
    agent = await home.async_build(model_server, **options)
    model_server.script([tool_calls([("calendar", {"calendar": "Ann"})]), text("I may not.")])
    await agent.say("What is in Ann's calendar?", **home.came(who))
    (result,) = tool_results(model_server.chats[-1])
    assert "A rule of the household says" in result["error"]


@pytest.mark.parametrize(
    ("tool", "args", "hidden"), [("calendar", {}, CALENDAR), ("todo_list", {"action": "read"}, LIST)]
)
async def test_the_others_are_still_read(
    home: Home, model_server: ModelServer, tool: str, args: dict[str, Any], hidden: str
) -> None:
    """A question about all lists or calendars is answered from those that may be read."""
    agent = await home.async_build(model_server, **never(entities=[hidden], whom=["person.ben"]))
    await async_add_calendar(home.hass, "Family")
    await async_add_list(home.hass, "Food")
    await agent.act((tool, args), sentence="What is there?", **home.came("ben"))
    (result,) = tool_results(model_server.chats[-1])
    assert result["success"]
    assert told(result, ("Ann", "Gifts", SURGERY)) == []


async def test_the_prompt_is_the_same_for_all(home: Home, model_server: ModelServer) -> None:
    """Rights and rules change nothing in the part of the request that a server keeps in its cache."""
    options, _who, _secrets = HIDING["a person, the calendar"]
    agent = await home.async_build(model_server, **options)
    for who in ("ben", "limited", "satellite"):
        await agent.say("What is in the calendar Ann?", **home.came(who))
    systems = {
        chat.json["messages"][0]["content"].split("\n\nWhat is known")[0] for chat in model_server.chats
    }
    assert len(systems) == 1


@pytest.mark.skipif((MAJOR_VERSION, MINOR_VERSION) < (2026, 11), reason="the tool is not there yet")
@pytest.mark.parametrize("entity_id", ["light.secret_light", "lock.cellar_door", LAMP])
async def test_the_tool_that_calls_anything(home: Home, model_server: ModelServer, entity_id: str) -> None:
    """It is not offered, and calling it reaches no more than Home Agent's own tool."""
    agent = await home.async_build(model_server, llm_apis=["homeassistant"], policy_allowed=["tool:*"])
    admin = MockUser(is_owner=True).add_to_hass(home.hass)
    before = home.hass.states.get(entity_id).state
    action = "lock.unlock" if entity_id.startswith("lock") else "light.turn_on"
    call = ("homeassistant__call_action", {"action": action, "target": {"entity_id": entity_id}})
    restart = ("homeassistant__call_action", {"action": "homeassistant.restart"})
    model_server.script([tool_calls([call, restart]), text("Well."), text("Well.")])
    await agent.say("Do it", context=Context(user_id=admin.id))
    offered = {tool["function"]["name"] for tool in model_server.chats[0].json["tools"]}
    assert "homeassistant__render_template" in offered
    assert "homeassistant__call_action" not in offered
    is_on = home.hass.states.get(entity_id).state
    assert is_on == ("on" if entity_id == LAMP else before)
    assert not tool_results(model_server.chats[-1])[1]["success"]
