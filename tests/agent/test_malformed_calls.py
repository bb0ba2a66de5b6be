"""Calls as models write them wrongly: what is clear runs at once, and nothing of it is spoken."""

from collections.abc import Callable, Mapping
import json
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.const import EVENT_CONVERSATION_FINISHED
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, async_agent, speech
from tests.helpers.demo_house import async_demo_house
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.helpers.tables import tables
from tests.helpers.turns import LIGHT, ON, tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

TABLES = tables(__file__)

NAME = "ha_control"
HALLWAY = {"light.hallway": "on"}


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    return await async_add_agent(hass, model_server, {"memory_extraction_enabled": False})


RESTORED: Mapping[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "light": lambda was: (f"turn_{was}", {}),
    "climate": lambda was: ("set_hvac_mode", {"hvac_mode": was}),
    "cover": lambda was: ("open_cover" if was == "open" else "close_cover", {}),
    "lock": lambda was: (was.removesuffix("ed"), {}),
    "switch": lambda was: (f"turn_{was}", {}),
}
"""The service that restores a state, by domain."""


async def changes(agent: Agent, sentence: str, language: str, reply: Reply) -> tuple[dict[str, str], str]:
    """Return the states that an answer of the model changes, which are restored, and what is spoken."""
    hass = agent.hass
    before = {state.entity_id: state.state for state in hass.states.async_all(RESTORED)}
    agent.server.clear()
    agent.server.script([reply, text("Fine.")])
    user = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    result = await agent.say(sentence, language=language, context=Context(user_id=user.id))
    changed = {
        state.entity_id: state.state
        for state in hass.states.async_all(RESTORED)
        if before[state.entity_id] != state.state
    }
    for entity_id in changed:
        domain = entity_id.partition(".")[0]
        service, data = RESTORED[domain](before[entity_id])
        await hass.services.async_call(domain, service, {"entity_id": entity_id, **data}, blocking=True)
    await hass.async_block_till_done()
    return changed, speech(result)


async def test_a_made_call(agent: Agent, subtests: pytest.Subtests) -> None:
    """Arguments that are almost right are carried out, and stand in the history as they were meant."""
    for name, args in TABLES["native"].items():
        with subtests.test(name):
            changed = await changes(agent, "Turn on the hallway light", "en", tool_calls([(NAME, args)]))
            assert changed == (HALLWAY, "Fine.")
            (message,) = (item for item in agent.server.chats[1].messages if item.get("tool_calls"))
            assert "_unparsed" not in message["tool_calls"][0]["function"]["arguments"]


async def test_a_written_call(agent: Agent, subtests: pytest.Subtests) -> None:
    """A call in the answer's text is carried out, in the form of any family of models, streamed or not."""
    for streaming in (True, False):
        await agent.set_options(streaming_enabled=streaming)
        for family, written in TABLES["written"].items():
            if streaming or "Mistral" in family:
                with subtests.test(family, streaming=streaming):
                    changed = await changes(agent, "Turn on the hallway light", "en", text(written))
                    assert changed == (HALLWAY, "Fine.")


async def test_what_is_clear(agent: Agent, subtests: pytest.Subtests) -> None:
    """Rooms, verbs and the whole house are found in the speaker's language."""
    for sentence, language, args, after in TABLES["meant"]:
        with subtests.test(sentence):
            reply = tool_calls([(NAME, {"domain": "light", **args})])
            assert (await changes(agent, sentence, language, reply))[0] == after


async def test_what_is_not_guessed(agent: Agent, subtests: pytest.Subtests) -> None:
    """What is not clear, and what would move a door on a guess, is told to the model."""
    for sentence, language, args in TABLES["not_moved"]:
        with subtests.test(sentence, args=args):
            assert (await changes(agent, sentence, language, tool_calls([(NAME, args)])))[0] == {}
            assert json.loads(agent.server.chats[1].messages[-1]["content"])["success"] is False


WRONG = ["kitchen celery", "kitchen counting", "kitchen cooker", "kitchen clock"]


def wrong(name: str) -> Any:
    """Return the call of a model that names what is not there."""
    return tool_calls([("ha_control", {"action": "turn_on", "name": name, "area": "Attic"})])


def quality(events: list[Any]) -> dict[str, Any]:
    return events[-1].data["tool_quality"]


async def test_how_calls_are_counted(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What fits, what is repaired, by each rule, and what is written again after an error that says why."""
    agent = await async_agent(hass, model_server)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    repaired = ("HassTurnOn", {"name": "Kitchen Ceiling", "floor": "", "device_class": ["light"]})
    unknown = ("ha_control", {"action": "turn_on", "name": "Cupboard Lamp"})
    none = {"first_try": 0, "repaired": 0, "retried": 0, "refused": 0, "exhausted": 0, "rules": {}}
    for calls, counts in (
        ([ON], {"first_try": 1}),
        ([repaired], {"repaired": 1, "rules": {"intent_mapped": 1}}),
        ([unknown, ON], {"refused": 1, "retried": 1}),
    ):
        model_server.clear()
        await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
        model_server.script([*(tool_calls([call]) for call in calls), text("On.")])
        await agent.say("Kitchen ceiling on")
        assert hass.states.get(LIGHT).state == "on"
        assert quality(finished) == {**none, **counts}
    error = tool_results(model_server.chats[1])[0]["error"]
    for part in ("name", "Cupboard Lamp", "light.", "Kitchen ceiling on"):
        assert part in error
    assert len(error) <= 300


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
