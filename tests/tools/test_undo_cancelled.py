"""Undoing a cancellation, several undos in one request, and what a request itself has done."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.timers import call
from tests.helpers.turns import tool_results
from tests.helpers.undo import BED, LIGHT, UNDO, act, control, undo
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

HERE: dict[str, Any] = {"device_id": "kitchen"}


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent."""
    return await async_agent(hass, model_server)


async def listed(agent: Agent) -> str:
    """Return what the list of timers and plans says."""
    return str((await call(agent, action="list", **HERE))["result"])


async def test_a_cancelled_timer_is_set_again(agent: Agent) -> None:
    """The timer comes back with its name and time, and the plan of an earlier request stays."""
    await act(agent, ("ha_control", {"action": "turn_on", "entity_id": BED, "when": "2 hours"}), **HERE)
    await call(agent, action="set", when="10 minutes", name="Rabbit", **HERE)
    before = (await call(agent, action="list", **HERE))["result"]["timers"]
    await call(agent, action="cancel", name="Rabbit", **HERE)
    result = (await undo(agent, **HERE))["result"]
    assert "Rabbit" in result["set_again"][0]
    after = (await call(agent, action="list", **HERE))["result"]
    assert [(one["id"], one["due"]) for one in after["timers"]] == [(one["id"], one["due"]) for one in before]
    assert list(after["commands"][0]["planned"]) == [BED]


async def test_a_cancelled_plan_is_set_again(agent: Agent) -> None:
    """A planned command comes back, and a further undo cancels it, as the last thing that is left."""
    await act(agent, ("ha_control", {"action": "turn_on", "entity_id": BED, "when": "2 hours"}), **HERE)
    await call(agent, action="cancel", **HERE)
    assert "None of yours" in await listed(agent)
    result = (await undo(agent, **HERE))["result"]
    assert list(result["set_again"][0]["planned"]) == [BED]
    assert BED in await listed(agent)
    assert list((await undo(agent, **HERE))["result"]["cancelled"][0]["planned"]) == [BED]


async def test_too_late_is_told(hass: HomeAssistant, agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    """A timer whose time has passed is named, and nothing older is undone instead of it."""
    await act(agent, control("turn_on"), **HERE)
    freezer.tick(timedelta(seconds=20))
    await call(agent, action="set", when="2 minutes", name="Tea", **HERE)
    await call(agent, action="cancel", name="Tea", **HERE)
    freezer.tick(timedelta(minutes=5))
    assert "The last request cancelled Tea" in (await undo(agent, **HERE))["error"]
    assert hass.states.get(LIGHT).state == "on"
    assert set((await undo(agent, **HERE))["result"]["restored"]) == {LIGHT}


async def test_what_the_request_has_done_itself(hass: HomeAssistant, agent: Agent) -> None:
    """A model that does something before the undo still undoes the earlier request."""
    await act(agent, control("turn_on"), **HERE)
    await act(agent, control("turn_on", BED), UNDO, **HERE)
    assert (hass.states.get(LIGHT).state, hass.states.get(BED).state) == ("off", "on")


async def test_two_undos_in_one_request(hass: HomeAssistant, agent: Agent) -> None:
    """The second one goes on to the request before, and each result names what it restored."""
    await act(agent, control("turn_on"), **HERE)
    await act(agent, control("turn_on", BED), **HERE)
    agent.server.script([tool_calls([UNDO]), tool_calls([UNDO]), text("Both are off.")])
    await agent.say("Undo the last two things", **HERE)
    first, second = tool_results(agent.server.chats[-1])[-2:]
    assert (set(first["result"]["restored"]), set(second["result"]["restored"])) == ({BED}, {LIGHT})
    assert (hass.states.get(LIGHT).state, hass.states.get(BED).state) == ("off", "off")


async def test_two_undos_in_one_answer(hass: HomeAssistant, agent: Agent) -> None:
    """Both run, one after the other."""
    await act(agent, control("turn_on"), **HERE)
    await act(agent, control("turn_on", BED), **HERE)
    await act(agent, UNDO, UNDO, **HERE)
    assert (hass.states.get(LIGHT).state, hass.states.get(BED).state) == ("off", "off")
