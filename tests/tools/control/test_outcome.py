"""What the model reads of each target: done, unchanged, failed."""

from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from tests.helpers.agent import Agent, async_agent, call_action, speech
from tests.helpers.turns import LIGHT, tool_results
from tests.helpers.undo import control
from tests.servers.model_server import ModelServer

BED = "light.bed_light"
GONE = "light.ceiling_lights"


async def test_one_that_is_offline_does_not_hide_the_others(
    hass: HomeAssistant, model_server: ModelServer, agent: Agent
) -> None:
    """What worked, what was so already and what failed are told apart, in one success."""
    await agent.act(control("turn_on", BED))
    hass.states.async_set(GONE, "unavailable", {"friendly_name": "Ceiling Lights"})
    executed = async_capture_events(hass, EVENT_TOOL_EXECUTED)
    progress = async_capture_events(hass, EVENT_TOOL_PROGRESS)
    answer = await agent.act(control("turn_on", [LIGHT, BED, GONE]))
    read = tool_results(model_server.chats[-1])[-1]
    assert read["success"] is True
    assert set(read["result"]["done"]) == {LIGHT}
    assert set(read["result"]["unchanged"]) == {BED}
    assert read["result"]["failed"] == {GONE: "is unavailable (offline)"}
    assert read["error"] == "Ceiling Lights is unavailable (offline)"
    assert speech(answer).startswith("Okay. Sorry, this did not work: ")
    assert executed[-1].data["success"] is True
    assert (progress[-1].data["status"], progress[-1].data["error"]) == ("completed", read["error"])


async def test_all_that_failed_is_no_success(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Nothing done: the reasons by entity, and an error that can be read alone."""
    agent = await async_agent(hass, model_server)
    hass.states.async_set(GONE, "unavailable", {"friendly_name": "Ceiling Lights"})
    await agent.act(control("turn_off", GONE))
    assert tool_results(model_server.chats[-1])[-1] == {
        "success": False,
        "result": {"failed": {GONE: "is unavailable (offline)"}},
        "error": "Ceiling Lights is unavailable (offline)",
    }


async def test_an_automation_hears_of_a_part_that_failed(hass: HomeAssistant, agent: Agent) -> None:
    """Without a response variable the action fails, as before; with one the lists are there."""
    hass.states.async_set(GONE, "unavailable")
    data = {"tool_name": "ha_control", "parameters": {"action": "turn_on", "entity_id": [LIGHT, GONE]}}
    response = await call_action(hass, "execute_tool", data)
    assert response["success"] is True
    assert set(response["result"]) == {"done", "failed"}
    error = None
    try:
        await hass.services.async_call("home_agent", "execute_tool", data, blocking=True)
    except HomeAssistantError as err:
        error = str(err)
    assert "offline" in str(error)
