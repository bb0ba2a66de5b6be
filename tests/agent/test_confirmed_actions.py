"""What is said after a yes: what was done, by name, and only if it shows."""

from typing import Any

import pytest

from homeassistant.core import HomeAssistant, ServiceCall
from tests.helpers.agent import Agent, speech
from tests.helpers.checks import for_each
from tests.helpers.secure_house import SecureHouse, agent  # noqa: F401 - a fixture
from tests.helpers.undo import control
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


@for_each(
    ("calls", "language", "yes", "said"),
    [
        ([control("unlock", "lock.front_door")], "en", "yes", "I unlocked the Front Door."),
        ([control("unlock", "lock.front_door")], "de", "ja", "Ich habe Front Door aufgeschlossen."),
        ([control("unlock", "lock.front_door")], "fr", "oui", "J'ai déverrouillé Front Door."),
        ([control("unlock", "lock.front_door")], "es", "sí", "He desbloqueado Front Door."),
        ([control("unlock", "lock.front_door")], "nl", "ja", "Ik heb Front Door van het slot gedaan."),
        ([control("disarm", "alarm_control_panel.home")], "en", "yes", "I disarmed the Home."),
        ([control("open", "cover.garage")], "en", "yes", "I opened the Garage."),
        (
            [control("set_position", "cover.garage", position=40)],
            "en",
            "yes",
            "I set the Garage to 40 percent.",
        ),
        ([control("turn_on", "siren.roof")], "en", "yes", "I turned on the Roof."),
        (
            [control("unlock", "lock.front_door"), control("open", "valve.water")],
            "en",
            "yes",
            "I unlocked the Front Door and opened the Water.",
        ),
    ],
)
async def test_what_was_done(
    secure: SecureHouse,
    agent: Agent,
    calls: list[tuple[str, dict[str, Any]]],
    language: str,
    yes: str,
    said: str,
) -> None:
    secure.reset()
    agent.server.clear()
    agent.server.script([tool_calls(calls), text("Hm.")])
    asked = await agent.say("Open it", language=language)
    done = await agent.say(yes, language=language, conversation_id=asked.conversation_id)
    assert speech(done) == said
    assert done.continue_conversation is False


async def test_what_does_not_show(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that is slow or stuck is not called unlocked."""
    monkeypatch.setattr("custom_components.home_agent.tools.control.planning.SETTLE_SECONDS", 0.01)
    agent = await secure.async_agent(model_server)
    shown = iter(("unlocking", "jammed"))

    async def unlock(call: ServiceCall) -> None:
        hass.states.async_set("lock.front_door", next(shown), {"friendly_name": "Front Door"})

    hass.services.async_register("lock", "unlock", unlock)
    for said in (
        "I'm still working on the Front Door.",
        "I sent the command, but the Front Door hasn't changed yet.",
    ):
        secure.reset()
        model_server.script([tool_calls([control("unlock", "lock.front_door")]), text("Hm.")])
        asked = await agent.say("Open it")
        done = await agent.say("yes", conversation_id=asked.conversation_id)
        assert speech(done) == said


async def test_a_mixed_turn_tells_what_it_did(model_server: ModelServer, agent: Agent) -> None:
    """The question comes behind what was done already; after the yes only the new deed is told."""
    calls = [control("turn_on", "light.hall"), control("unlock", "lock.front_door")]
    model_server.script([tool_calls(calls), text("Hm.")])
    asked = await agent.say("Open it", language="de")
    assert speech(asked) == "Ich habe Hall eingeschaltet. Soll ich Front Door aufschließen?"
    assert asked.continue_conversation is True
    done = await agent.say("ja", language="de", conversation_id=asked.conversation_id)
    assert speech(done) == "Ich habe Front Door aufgeschlossen."
    assert len(model_server.chats) == 1


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (control("turn_on", "light.hall"), control("open", "cover.garage"), "I turned on the Hall."),
        (control("turn_on", ["light.hall", "siren.roof"]), None, "I turned on the Hall."),
        (control("turn_on", "light.nowhere"), control("open", "cover.garage"), ""),
    ],
    ids=["two rounds", "one call", "nothing done"],
)
async def test_what_is_told_before_a_question(
    model_server: ModelServer,
    agent: Agent,
    first: tuple[str, dict[str, Any]],
    second: tuple[str, dict[str, Any]] | None,
    said: str,
) -> None:
    """What was done is told, whatever the rounds and calls that it took, and what failed is not."""
    model_server.script([tool_calls([call]) for call in (first, second) if call])
    spoken = speech(await agent.say("Turn it on and open it"))
    assert spoken.startswith(f"{said} Should I ".lstrip())
    assert spoken.endswith("?")


async def test_a_question_that_is_over_stops_no_later_call(model_server: ModelServer, agent: Agent) -> None:
    """In the history of the next turn nothing waits any more, and the lock can be asked for again."""
    unlock = tool_calls([control("unlock", "lock.front_door")])
    model_server.script([unlock, text("It is late."), unlock])
    asked = await agent.say("Open it")
    await agent.say("How late is it?", conversation_id=asked.conversation_id)
    again = await agent.say("Open it", conversation_id=asked.conversation_id)
    (result,) = (message for message in model_server.chats[2].messages if message["role"] == "tool")
    assert "do not call again" not in result["content"]
    assert "that question is over" in result["content"]
    assert speech(again) == speech(asked) == "Should I unlock the Front Door?"
    assert again.continue_conversation is True
