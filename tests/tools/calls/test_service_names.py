"""A tool named like a service, without a target: a lock has to be named by its ID."""

from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse, agent  # noqa: F401 - a fixture
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

DOOR, CELLAR = "lock.front_door", "lock.cellar"


async def say(agent: Agent, sentence: str, name: str, args: dict[str, Any], language: str = "en") -> Any:
    """Have the model answer a sentence with one call."""
    agent.server.clear()
    agent.server.script([tool_calls([(name, args)]), text("Okay.")])
    return await agent.say(sentence, language=language)


async def test_the_only_lock_is_not_guessed(secure: SecureHouse, model_server: ModelServer) -> None:
    """The error names the only lock, so that the next call can; the word for an action is no name."""
    agent = await secure.async_agent(model_server)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("lock.unlock", {}),
        ("call_service", {"domain": "lock", "service": "unlock"}),
        ("HassUnlock", {}),
    ]
    for number, (sentence, language) in enumerate(
        (
            ("Unlock the front door", "en"),
            ("Unlock the door please", "en"),
            ("Let me in", "en"),
            ("Unlock it", "en"),
            ("Good evening everybody", "en"),
            ("Schließ die Haustür auf", "de"),
            ("Ouvre la porte", "fr"),
            ("Abre la cerradura", "es"),
        )
    ):
        asked = await say(agent, sentence, *calls[number % len(calls)], language)
        error = tool_results(model_server.chats[-1])[-1]["error"]
        assert "Give its entity_id: lock.front_door (Front Door, Hall)" in error
        assert not asked.continue_conversation
    assert secure.moved() == []


async def test_one_of_two_locks(hass: HomeAssistant, secure: SecureHouse, model_server: ModelServer) -> None:
    """With two locks nothing is guessed, even if the sentence names one of them."""
    async_expose_entity(hass, "conversation", CELLAR, True)
    agent = await secure.async_agent(model_server)
    await say(agent, "Unlock the door", "lock.unlock", {})
    error = tool_results(model_server.chats[-1])[-1]["error"]
    assert "Name a target by its entity_id: " in error
    assert DOOR in error
    assert CELLAR in error
    await say(agent, "Unlock the front door", "lock.unlock", {})
    assert "Too uncertain" in tool_results(model_server.chats[-1])[-1]["error"]
    assert secure.moved() == []
