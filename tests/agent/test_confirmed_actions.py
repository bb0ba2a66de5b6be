"""What is said after a yes: what was done, by name, and only if it shows."""

from typing import Any

import pytest

from homeassistant.core import HomeAssistant, ServiceCall
from tests.helpers.agent import speech
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls


@pytest.fixture
async def secure(hass: HomeAssistant) -> SecureHouse:
    """Return the furnished house."""
    house = SecureHouse(hass)
    await house.async_build()
    return house


def control(action: str, entity_id: str | list[str], **parameters: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of the model."""
    return "ha_control", {"action": action, "entity_id": entity_id, "parameters": parameters}


@pytest.mark.parametrize(
    ("calls", "language", "yes", "said"),
    [
        ([control("unlock", "lock.front_door")], "en", "yes", "I unlocked Front Door."),
        ([control("unlock", "lock.front_door")], "de", "ja", "Ich habe Front Door aufgeschlossen."),
        ([control("unlock", "lock.front_door")], "fr", "oui", "J'ai déverrouillé Front Door."),
        ([control("unlock", "lock.front_door")], "es", "sí", "He desbloqueado Front Door."),
        ([control("unlock", "lock.front_door")], "nl", "ja", "Ik heb Front Door ontgrendeld."),
        ([control("disarm", "alarm_control_panel.home")], "en", "yes", "I disarmed Home."),
        ([control("open", "cover.garage")], "en", "yes", "I opened Garage."),
        (
            [control("set_position", "cover.garage", position=40)],
            "en",
            "yes",
            "I am setting Garage to 40 percent.",
        ),
        ([control("turn_on", "siren.roof")], "en", "yes", "I switched on Roof."),
        (
            [control("unlock", "lock.front_door"), control("open", "valve.water")],
            "en",
            "yes",
            "I unlocked Front Door. I opened Water.",
        ),
    ],
)
async def test_what_was_done(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    calls: list[tuple[str, dict[str, Any]]],
    language: str,
    yes: str,
    said: str,
) -> None:
    agent = await secure.async_agent(model_server)
    model_server.script([tool_calls(calls), text("Hm.")])
    asked = await agent.say("Open it", language=language)
    done = await agent.say(yes, language=language, conversation_id=asked.conversation_id)
    assert speech(done) == said
    assert done.continue_conversation is False


@pytest.mark.parametrize(
    ("shows", "said"),
    [
        ("unlocking", "In progress: Front Door."),
        ("jammed", "I sent the command, but Front Door does not show the change yet."),
    ],
)
async def test_what_does_not_show(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    monkeypatch: pytest.MonkeyPatch,
    shows: str,
    said: str,
) -> None:
    """A lock that is slow or stuck is not called unlocked."""
    monkeypatch.setattr("custom_components.home_agent.tools.control.readback.SETTLE_SECONDS", 0.01)

    async def unlock(call: ServiceCall) -> None:
        hass.states.async_set("lock.front_door", shows, {"friendly_name": "Front Door"})

    agent = await secure.async_agent(model_server)
    hass.services.async_register("lock", "unlock", unlock)
    model_server.script([tool_calls([control("unlock", "lock.front_door")]), text("Hm.")])
    asked = await agent.say("Open it")
    done = await agent.say("yes", conversation_id=asked.conversation_id)
    assert speech(done) == said
