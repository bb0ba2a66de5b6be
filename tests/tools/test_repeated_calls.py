"""The same call twice in one request: it runs once, unless something else has changed its targets since."""

from typing import Any

from pytest_homeassistant_custom_component.common import async_capture_events

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.undo import BED, LIGHT, control
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

ON, OFF = control("turn_on"), control("turn_off")


async def run(agent: Agent, *answers: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Have a turn make calls, answer by answer, and return what the model was told."""
    agent.server.script([*map(tool_calls, answers), text("Okay.")])
    await agent.say("Do it")
    return agent.results


async def test_on_off_on(hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
    """Each change runs in its order, in one answer and in several, and the last one holds."""
    orders: list[list[list[tuple[str, dict[str, Any]]]]] = [
        [[ON], [OFF], [ON]],
        [[ON, OFF, ON]],
        [[ON, OFF], [ON, ON]],
    ]
    for answers in orders:
        model_server.clear()
        await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
        services = async_capture_events(hass, EVENT_CALL_SERVICE)
        results = await run(agent, *answers)
        made = [event.data["service"] for event in services if event.data["domain"] == "light"]
        assert made == ["turn_on", "turn_off", "turn_on"]
        assert hass.states.get(LIGHT).state == "on"
        assert "on" in results[2]["result"]["done"][LIGHT]


async def test_the_same_call_twice_in_a_row(hass: HomeAssistant, agent: Agent) -> None:
    """What another call does to another light is no reason to toggle twice."""
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    toggle = control("toggle")
    await run(agent, [toggle], [control("turn_on", BED)], [toggle])
    made = [event.data["service"] for event in services if event.data["domain"] == "light"]
    assert len(made) == 2
    assert hass.states.get(LIGHT).state == "on"


async def test_after_a_change_the_question_is_asked_again(agent: Agent) -> None:
    """A question about a light is answered with what it shows now."""
    query = ("ha_query", {"entity_id": LIGHT})
    before, _on, after = await run(agent, [query], [ON], [query])
    assert before["result"]["states"][LIGHT].startswith("off")
    assert after["result"]["states"][LIGHT].startswith("on")


async def test_too_often_is_no_success(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A call that the limit of repetitions stops does not count as done."""
    agent = await async_agent(hass, model_server, {"tools_max_calls_per_turn": 12})
    results = await run(agent, [ON], [OFF], [ON], [OFF], [ON])
    assert [one["success"] for one in results] == [True, True, True, True, False]
    assert "Not run" in results[-1]["error"]
    assert hass.states.get(LIGHT).state == "off"
