"""Commands for later when they are given: times, refusals, confirmations, sentences."""

from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, speech
from tests.helpers.everyday_house import NOW, async_pass
from tests.helpers.planned import ASKS, DOOR, HALL, IN_TEN, LATER, UNLOCK, Wait, made, planned
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import tool_calls

pytestmark = pytest.mark.freeze_time(NOW)


async def test_what_cannot_be_planned(secure: SecureHouse, agent: Agent) -> None:
    """The error names what is wrong; nothing is done and nothing is planned."""
    refused: list[tuple[dict[str, Any], str]] = [
        ({"when": "blue"}, "when: 'blue'"),
        ({"when": "tomorrow"}, "has no time"),
        ({"when": "2020-01-01 10:00"}, "is over already"),
        ({"when": "2 years"}, "at most a year"),
        ({"when": "18:30", "repeat": "hourly"}, "repeat: 'hourly'"),
        ({"repeat": "daily"}, "when: say at which time"),
        ({"for": "blue"}, "for: 'blue'"),
        ({"when": "18:30", "parameters": {"code": "1234"}}, "code"),
    ]
    for args, part in refused:
        told = await agent.call("ha_control", IN_TEN, **{"action": "turn_on", "entity_id": [HALL], **args})
        assert part in told["error"]
        assert not told["success"]
    assert (made(secure), planned(agent).all()) == ([], [])


async def test_what_is_closed_is_not_opened_again(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse
) -> None:
    """Locking for a while would unlock without a word."""
    hass.states.async_set(DOOR, "unlocked", {"friendly_name": "Front Door", "supported_features": 1})
    agent = await secure.async_agent(model_server, ASKS)
    told = await agent.call(
        "ha_control",
        "Lock the front door for 5 minutes",
        action="lock",
        entity_id=[DOOR],
        **{"for": "5 minutes"},
    )
    assert "never opened without a request" in told["error"]
    assert (made(secure), planned(agent).all()) == ([], [])


async def test_restricted(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, freezer: FrozenDateTimeFactory
) -> None:
    """It is asked about when it is given: a no plans nothing, and the PIN has it run at its time."""
    pin = await hass.async_add_executor_job(hash_pin, "4711")
    agent = await secure.async_agent(model_server, {**ASKS, "policy_pin": pin})
    own = Context(user_id=secure.anna.id)
    for answer, count in (("no", 0), ("4711", 1)):
        model_server.clear()
        model_server.script([tool_calls([("ha_control", UNLOCK)])])
        asked = await agent.say("Unlock the front door in ten minutes", context=own)
        assert "at 10:10?" in speech(asked)
        assert asked.continue_conversation
        assert planned(agent).all() == []
        said = speech(await agent.say(answer, context=own, conversation_id=asked.conversation_id))
        assert len(planned(agent).all()) == count
    assert said == "I'll do that at 10:10."
    assert "4711" not in str(planned(agent).stored())
    assert made(secure) == []
    await async_pass(hass, freezer, 601)
    assert made(secure) == [("lock.unlock", (DOOR,))]


async def test_for_a_while_after_a_yes(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    own = Context(user_id=secure.anna.id)
    args = {"action": "unlock", "entity_id": [DOOR], "for": "5 minutes"}
    agent.server.script([tool_calls([("ha_control", args)])])
    asked = await agent.say("Unlock the front door for five minutes", context=own)
    assert speech(asked).endswith("for 5 min?")
    await agent.say("yes", context=own, conversation_id=asked.conversation_id)
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    assert made(secure) == [("lock.unlock", (DOOR,))]
    await wait(301)
    assert made(secure)[1:] == [("lock.lock", (DOOR,))]


async def test_an_automation_cannot_plan_what_is_restricted(
    secure: SecureHouse, agent: Agent, wait: Wait
) -> None:
    """The question goes to people, and until one of them has answered nothing is planned."""
    agent.device_id = None
    agent.server.script([tool_calls([("ha_control", UNLOCK)])])
    await agent.say("Unlock the front door in ten minutes")
    await agent.say("yes")
    await wait(601)
    assert (made(secure), planned(agent).all()) == ([], [])


async def test_a_similar_plan_is_named_and_cancelled(agent: Agent) -> None:
    """A plan at another time names the earlier one; words of its name and time cancel it."""
    await agent.call("ha_control", IN_TEN, **LATER)
    (first,) = planned(agent).all()
    later = await agent.call("ha_control", "Turn on the hall light at 18:30", **{**LATER, "when": "18:30"})
    (note,) = later["result"]["notes"]
    assert note.startswith(f"also planned: turn on at 10:10, id {first.id}")
    wrong = await agent.call("timer", "Cancel the music", action="cancel", name="music")
    assert "There is: Hall turn on at 10:10; Hall turn on at 18:30" in wrong["error"]
    assert len(planned(agent).all()) == 2
    await agent.call("timer", "Cancel that at 10:10", action="cancel", name="light at 10:10")
    (left,) = planned(agent).all()
    assert left.id != first.id


async def test_the_same_command_again_replaces_the_first(agent: Agent) -> None:
    args = {**LATER, "when": "13:00"}
    await agent.call("ha_control", "Turn on the hall light at 13:00", **args)
    told = await agent.call("ha_control", "Turn on the hall light at 13:00", **args)
    assert any("replaces the same" in note for note in told["result"]["notes"])
    (command,) = planned(agent).all()
    assert command.id == told["result"]["id"]


async def test_left_on_what_was_on_for_a_while(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    on = {"action": "turn_on", "entity_id": [HALL]}
    await agent.call("ha_control", "Turn on the hall light for 5 minutes", **on, **{"for": "5 minutes"})
    (_ending,) = planned(agent).all()
    told = await agent.call("ha_control", "Leave the hall light on", **on)
    assert any("no longer set back" in note for note in told["result"]["notes"])
    await wait(360)
    assert (secure.state(HALL), planned(agent).all()) == ("on", [])
