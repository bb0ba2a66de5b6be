"""Calls that do not fit: how often the model may try, what is counted, and when the person is asked."""

from typing import Any

from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_CONVERSATION_FINISHED
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
from tests.helpers.agent import async_agent, speech
from tests.helpers.sensors import enable_all, figure
from tests.helpers.turns import LIGHT, ON, tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

WRONG = ["kitchen celery", "kitchen counting", "kitchen cooker", "kitchen clock"]


def wrong(name: str) -> Any:
    """Return the call of a model that names what is not there."""
    return tool_calls([("ha_control", {"action": "turn_on", "name": name, "area": "Attic"})])


def quality(events: list[Any]) -> dict[str, Any]:
    """Return the counters of the last turn."""
    return events[-1].data["tool_quality"]


async def test_first_try(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A call that fits counts as such."""
    agent = await async_agent(hass, model_server)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    call = ("ha_control", {"action": "turn_on", "entity_id": [LIGHT]})
    model_server.script([tool_calls([call]), text("On.")])
    await agent.say("Kitchen ceiling on")
    counts = quality(finished)
    assert counts == {
        "first_try": 1,
        "repaired": 0,
        "retried": 0,
        "refused": 0,
        "exhausted": 0,
        "rules": {},
        "tools": {"ha_control": {"first_try": 1, "repaired": 0, "retried": 0, "refused": 0, "exhausted": 0}},
    }


async def test_repaired(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A call that was repaired runs, and each rule is counted."""
    agent = await async_agent(hass, model_server)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    call = ("HassTurnOn", {"name": "Kitchen Ceiling", "floor": "", "device_class": ["light"]})
    model_server.script([tool_calls([call]), text("On.")])
    await agent.say("Kitchen ceiling on")
    assert hass.states.get(LIGHT).state == "on"
    counts = quality(finished)
    assert (counts["repaired"], counts["first_try"]) == (1, 0)
    assert counts["rules"]["intent_mapped"] == 1


async def test_retried(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The error names slot, value, what comes near and the request; the second attempt works."""
    agent = await async_agent(hass, model_server)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    call = ("ha_control", {"action": "turn_on", "name": "Cupboard Lamp"})
    model_server.script([tool_calls([call]), tool_calls([ON]), text("On.")])
    await agent.say("Kitchen ceiling on")
    error = tool_results(model_server.chats[1])[0]["error"]
    for part in ("name", "Cupboard Lamp", "light.", "Kitchen ceiling on"):
        assert part in error
    assert len(error) <= 300
    counts = quality(finished)
    assert (counts["refused"], counts["retried"], counts["exhausted"]) == (1, 1, 0)


async def test_after_three_attempts_the_person_is_asked(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """The model is told to ask and may say how; it gets no fourth attempt."""
    agent = await async_agent(hass, model_server, {"tools_max_calls_per_turn": 20})
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    model_server.script([*(wrong(name) for name in WRONG[:3]), text("Which light do you mean?")])
    result = await agent.say("Kitchen thing on")
    assert speech(result) == "Which light do you mean?"
    assert result.continue_conversation
    error = tool_results(model_server.chats[3])[-1]["error"]
    assert "ask the person" in error
    assert len(error) <= 300
    assert model_server.chats[3].json["tool_choice"] == "none"
    assert len(model_server.chats) == 4
    counts = quality(finished)
    assert (counts["refused"], counts["exhausted"]) == (2, 1)


async def test_a_model_that_only_calls_ends_with_a_question(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    """We ask ourselves, in the person's language, with the likely names."""
    agent = await async_agent(hass, model_server, {"tools_max_calls_per_turn": 20})
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    call = ("ha_control", {"action": "turn_on", "name": "kitchen"})
    numbers = iter(range(100))
    model_server.default = lambda _request: tool_calls([(call[0], {**call[1], "floor": f"x{next(numbers)}"})])
    result = await agent.say("Küche an", language="de")
    assert len(model_server.chats) == 4
    assert speech(result) == "Das habe ich nicht herausgefunden. Kannst du es anders sagen?"
    assert result.continue_conversation
    assert [event for event in services if event.data["domain"] == "light"] == []


async def test_the_question_names_what_is_likely(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What came nearest is offered by name."""
    agent = await async_agent(hass, model_server, {"tools_max_calls_per_turn": 20})
    names = iter(["Kitchen Ceilingcounter", "Kitchen Countceiling", "Kitchen Ceilcount", "x"])
    model_server.default = lambda _request: tool_calls(
        [("ha_control", {"action": "turn_on", "name": next(names)})]
    )
    result = await agent.say("Kitchen thing on")
    assert speech(result).startswith("Which one do you mean: ")
    assert "Kitchen Ceiling" in speech(result)
    assert result.continue_conversation


async def test_figures_as_sensors(hass: HomeAssistant, model_server: ModelServer) -> None:
    """They are disabled by default, and follow the turns, with names and units."""
    agent = await async_agent(hass, model_server)
    assert figure(agent, "tokens") is None
    await enable_all(agent)
    assert figure(agent, "tokens").state == "unknown"
    model_server.script(
        [
            tool_calls([("HassTurnOn", {"name": "Kitchen Ceiling"})], usage=(10, 0, 0)),
            text("On.", usage=(90, 5, 60)),
        ]
    )
    await agent.say("Kitchen ceiling on")
    assert figure(agent, "tokens").state == "105"
    assert figure(agent, "tokens").name == "Home Agent Tokens of the last turn"
    assert figure(agent, "cached_tokens").state == "60"
    assert float(figure(agent, "latency").state) >= float(figure(agent, "first_token").state) > 0
    assert figure(agent, "first_try_rate").state == "0.0"
    assert figure(agent, "first_try_rate").attributes["unit_of_measurement"] == "%"
    assert [figure(agent, key).state for key in ("repaired", "retried", "exhausted")] == ["1", "0", "0"]
