"""A new kind of device is one new file: everything else reads what it states."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent import domains
from custom_components.home_agent.context.kind_lines import describe_state
from custom_components.home_agent.memory.learner.sources import ObservedChange, acts, watched_domains
from custom_components.home_agent.safety import rules
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent, speech
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

FILE = '''"""Teapots."""

from custom_components.home_agent.domains.base import Action, ControlParameter, DomainFacts, words
from custom_components.home_agent.domains.base import restore_switched


def details(state):
    yield f"{state.attributes['cups']} cups"


TEAPOT = DomainFacts(
    name="teapot",
    actions={
        "brew": Action(service="brew", expected=words("on"), takes=("cups",), native=("cups",)),
        "pour": Action(service="pour", opens=True),
        "turn_off": Action(service="turn_off", expected=words("off")),
    },
    parameters={
        "cups": ControlParameter("integer", "set_cups", "cups", ability="cups", aliases="mugs")
    },
    turn_on="brew",
    restore=restore_switched,
    details=details,
    restricted=("teapot.pour",),
    contained=("brew",),
    acts={"on": "on"},
    in_everything=True,
)
'''
POT = "teapot.kitchen"


@pytest.fixture(autouse=True)
def teapot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a file into the folder of the domains, as far as its loader can tell."""
    (tmp_path / "teapot.py").write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(domains, "__path__", [*domains.__path__, str(tmp_path)])
    for facts in domains.read_files():
        monkeypatch.setitem(domains.DOMAINS, facts.name, facts)
        if facts.restricted:
            action = rules.RuleSet(facts.restricted, facts.unrestricted)
            monkeypatch.setitem(rules.PICKED_ACTIONS, facts.name, action)
    kept = (domains.verbs, domains.domains_of, domains.gated_domains)
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


async def async_brew(hass: HomeAssistant, server: ModelServer) -> tuple[Agent, list[ServiceCall]]:
    """Set up an agent in a house with a teapot, which is off; return the agent and the calls."""
    calls: list[ServiceCall] = []

    async def handle(call: ServiceCall) -> None:
        calls.append(call)
        state = "off" if call.service == "turn_off" else "on"
        cups = call.data.get("cups", hass.states.get(POT).attributes["cups"])
        hass.states.async_set(POT, state, {"friendly_name": "Teapot", "cups": cups}, context=call.context)

    for service in ("brew", "pour", "turn_off", "set_cups"):
        hass.services.async_register("teapot", service, handle)
    agent = await async_agent(hass, server)
    hass.states.async_set(POT, "off", {"friendly_name": "Teapot", "cups": 2})
    async_expose_entity(hass, "conversation", POT, should_expose=True)
    await hass.async_block_till_done()
    return agent, calls


def brew(action: str, **parameters: Any) -> Any:
    """Return a reply of the model that calls ha_control."""
    return tool_calls([("ha_control", {"action": action, "entity_id": POT, "parameters": parameters})])


async def test_tool_control_prompt_and_undo(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Models are offered its actions, parameters have their other names, and an undo restores it."""
    agent, calls = await async_brew(hass, model_server)
    model_server.script([brew("brew", mugs="4"), text("Done.")])
    first = await agent.say("Brew four mugs in the teapot")
    tools = {tool["function"]["name"]: tool["function"] for tool in model_server.chats[0].json["tools"]}
    assert "brew" in tools["ha_control"]["parameters"]["properties"]["action"]["enum"]
    assert [(call.service, call.data["cups"]) for call in calls] == [("brew", 4)]
    assert "4 cups" in str(model_server.chats[-1].json["messages"][-1])
    model_server.script([tool_calls([("activity", {"action": "undo"})]), text("Done.")])
    await agent.say("Put it back", conversation_id=first.conversation_id)
    assert [call.service for call in calls] == ["brew", "turn_off"]


async def test_policy(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What its file restricts is asked about first, and what is not in it cannot be called."""
    agent, calls = await async_brew(hass, model_server)
    model_server.script([brew("pour"), text("Shall I?")])
    answer = await agent.at_satellite().say("Pour from the teapot")
    assert calls == []
    assert answer.continue_conversation, speech(answer)
    await agent.at_satellite().say("yes", conversation_id=answer.conversation_id)
    assert [call.service for call in calls] == ["pour"]
    model_server.script([brew("toggle"), text("No.")])
    await agent.at_satellite().say("Toggle the teapot")
    assert [call.service for call in calls] == ["pour"]


async def test_house_and_habits(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Its abilities and its state are told, and what people do with it can become a habit."""
    agent, _ = await async_brew(hass, model_server)
    house = await agent.entry.runtime_data.shared.house.async_snapshot()
    assert house.entities[POT].abilities == ("cups",)
    assert describe_state(hass.states.get(POT)) == "off, 2 cups"
    assert "teapot" in watched_domains()
    change = ObservedChange(at=dt_util.utcnow(), entity_id=POT, state="on")
    assert [act.value for act in acts([change], {POT: "off"})] == ["on"]
