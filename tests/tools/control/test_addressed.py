"""A clause about one device says nothing about another one."""

from typing import Any, Final

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

NAMES: Final = {
    "en": ("Front Door Lock", "Garage Door"),
    "de": ("Haustür", "Garagentor"),
    "fr": ("Porte d'entrée", "Porte du garage"),
    "es": ("Puerta de entrada", "Puerta del garaje"),
    "nl": ("Voordeur", "Garagedeur"),
    "it": ("Porta d'ingresso", "Garage"),
    "pt": ("Porta da frente", "Portão da garagem"),
    "pl": ("Drzwi wejściowe", "Brama garażowa"),
    "sv": ("Ytterdörren", "Garageporten"),
    "da": ("Hoveddøren", "Garageporten"),
    "nb": ("Ytterdøra", "Garasjeporten"),
    "ru": ("Входная дверь", "Гараж"),
}
"""What the lock and the garage are called, by language."""

LOCK, GARAGE = "lock.front_door", "cover.garage"


@pytest.fixture
async def secure(hass: HomeAssistant) -> SecureHouse:
    """Return the furnished house."""
    house = SecureHouse(hass)
    await house.async_build()
    return house


def name_devices(hass: HomeAssistant, language: str) -> None:
    """Give the lock and the garage their names in a language."""
    for entity_id, name in zip((LOCK, GARAGE), NAMES[language], strict=True):
        state = hass.states.get(entity_id)
        assert state is not None
        hass.states.async_set(entity_id, state.state, {**state.attributes, "friendly_name": name})


async def opened(
    hass: HomeAssistant, server: ModelServer, secure: SecureHouse, language: str, sentence: str
) -> set[str]:
    """Return which of the two open after a yes when the model opens both."""
    name_devices(hass, language)
    agent = await secure.async_agent(server, {"history_enabled": False})
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ha_control", {"action": "unlock", "entity_id": LOCK}),
        ("ha_control", {"action": "open", "entity_id": GARAGE}),
    ]
    server.script([tool_calls(calls), text("Done."), text("Done.")])
    asked = await agent.say(sentence, language=language)
    assert secure.moved() == []  # both need a confirmation
    await agent.say("yes", language="en", conversation_id=asked.conversation_id)
    return {entity_id for _service, entity_ids in secure.moved() for entity_id in entity_ids}


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Just the door please, leave the garage shut"),
        ("en", "Let her in, but the garage stays shut"),
        ("en", "Let her in and close the garage"),
        ("en", "Keep the garage closed and unlock the front door"),
        ("de", "Nur die Tür bitte, lass die Garage zu"),
        ("de", "Lass sie rein, aber das Garagentor bleibt zu"),
        ("fr", "Juste la porte d'entrée, laisse le garage fermé"),
        ("es", "Solo la puerta de entrada, deja cerrado el garaje"),
        ("nl", "Alleen de voordeur, houd de garage dicht"),
        ("it", "Falla entrare, ma il garage resta chiuso"),
        ("pt", "Só a porta da frente, deixa a garagem fechada"),
        ("pl", "Tylko drzwi wejściowe, zostaw garaż zamknięty"),
        ("sv", "Bara ytterdörren, håll garaget stängt"),
        ("da", "Luk hende ind, men garagen forbliver lukket"),
        ("nb", "Bare ytterdøra, hold garasjen lukket"),
        ("ru", "Впусти её, но гараж пусть останется закрытым"),
    ],
)
async def test_only_the_garage_stays_closed(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, language: str, sentence: str
) -> None:
    assert await opened(hass, model_server, secure, language, sentence) == {LOCK}


@pytest.mark.parametrize(
    ("language", "sentence", "expected"),
    [
        ("en", "Lock the front door", set()),
        ("en", "It's late, lock the front door", set()),
        ("en", "Close the garage and the front door", set()),
        ("en", "Leave it locked", set()),
        ("en", "Open the garage, leave the front door locked", {GARAGE}),
        ("en", "Open the garage and lock the front door", {GARAGE}),
        ("de", "Mach das Tor auf und schließ die Haustür ab", {GARAGE}),
        ("fr", "Laisse la porte d'entrée verrouillée et ouvre le garage", {GARAGE}),
        ("nl", "Doe de voordeur op slot", set()),
    ],
)
async def test_the_opposite_stays_refused(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    language: str,
    sentence: str,
    expected: set[str],
) -> None:
    assert await opened(hass, model_server, secure, language, sentence) == expected
