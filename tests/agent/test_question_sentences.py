"""Questions for a confirmation are one sentence, as a person would say it."""

from typing import Any

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, speech
from tests.helpers.secure_house import agent  # noqa: F401 - a fixture
from tests.helpers.spoken_languages import SPOKEN, WHOLE
from tests.servers.replies import text, tool_calls

LANGUAGES = sorted((*WHOLE, *SPOKEN))
JOINED = {
    "cs": "Mám odemknout: Front Door a otevřít: Garage?",
    "da": "Skal jeg låse Front Door op og åbne Garage?",
    "de": "Soll ich Front Door aufschließen und die Garage öffnen?",
    "en": "Should I unlock the Front Door and open the Garage?",
    "es": "¿Desbloqueo Front Door y abro Garage?",
    "fi": "Avataanko lukitus: Front Door ja avataanko Garage?",
    "fr": "Dois-je déverrouiller Front Door et ouvrir le Garage ?",
    "hu": "Kinyissam a zárat: Front Door, és kinyissam: Garage?",
    "it": "Vuoi che sblocchi Front Door e apra il Garage?",
    "ja": "Front Doorを解錠し、Garageを開けますか？",  # noqa: RUF001 - Japanese
    "ko": "Front Door 잠금을 해제하고 Garage 열까요?",
    "nb": "Skal jeg låse opp Front Door og åpne Garage?",
    "nl": "Zal ik Front Door van het slot doen en de Garage openen?",
    "pl": "Czy mam odblokować: Front Door i otworzyć: Garage?",
    "pt": "Quer que destranque Front Door e abra Garage?",
    "ru": "Отпереть: Front Door и открыть: Garage?",
    "sv": "Ska jag låsa upp Front Door och öppna Garage?",
    "tr": "Front Door için kilit açılsın ve Garage açılsın mı?",  # noqa: RUF001 - Turkish
    "uk": "Відімкнути: Front Door і відкрити: Garage?",  # noqa: RUF001 - Ukrainian
    "zh-Hans": "要解锁Front Door，并打开Garage，可以吗？",  # noqa: RUF001 - Chinese
}
"""One question about two calls, by language."""


def control(action: str, *entity_ids: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of the model."""
    return "ha_control", {"action": action, "entity_id": list(entity_ids), **more}


async def asked(agent: Agent, language: str, *calls: tuple[str, dict[str, Any]], sentence: str = "Go") -> str:
    """Return the question about calls."""
    agent.server.clear()
    agent.server.script([tool_calls(list(calls)), text("Hm.")])
    question = speech(await agent.say(sentence, language=language))
    await agent.entry.runtime_data.confirmations.async_stop()
    return question


async def test_two_calls_are_one_question(agent: Agent, subtests: pytest.Subtests) -> None:
    for language in LANGUAGES:
        with subtests.test(language=language):
            calls = control("unlock", "lock.front_door"), control("open", "cover.garage")
            assert await asked(agent, language, *calls) == JOINED[language]


async def test_articles(hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests) -> None:
    """An article stands where it is certain to be right, and nowhere else."""
    for language, name, question in [
        ("en", "Mia's lock", "Should I unlock Mia's lock?"),
        ("en", "The Den", "Should I unlock The Den?"),
        ("en", "Our Door", "Should I unlock Our Door?"),
        ("en", "Front Door Lock", "Should I unlock the Front Door Lock?"),
        ("de", "Haustürschloss", "Soll ich das Haustürschloss aufschließen?"),
        ("de", "Kellertür", "Soll ich die Kellertür aufschließen?"),
        ("de", "Großes Tor", "Soll ich Großes Tor aufschließen?"),
        ("de", "Mias Tür", "Soll ich Mias Tür aufschließen?"),
        ("de", "Motor", "Soll ich den Motor aufschließen?"),
        ("nl", "Voordeur", "Zal ik de Voordeur van het slot doen?"),
        ("nl", "Deurslot", "Zal ik het Deurslot van het slot doen?"),
        ("fr", "Porte d'entrée", "Dois-je déverrouiller la Porte d'entrée ?"),
        ("fr", "Alarme du garage", "Dois-je déverrouiller l'Alarme du garage ?"),
        ("fr", "Vieille porte", "Dois-je déverrouiller Vieille porte ?"),
        ("es", "Puerta principal", "¿Desbloqueo la Puerta principal?"),
        ("it", "Portone", "Vuoi che sblocchi il Portone?"),
        ("pt", "Portão da rua", "Quer que destranque o Portão da rua?"),
        ("sv", "Ytterdörren", "Ska jag låsa upp Ytterdörren?"),
    ]:
        with subtests.test(language=language, name=name):
            hass.states.async_set("lock.front_door", "locked", {"friendly_name": name})
            assert await asked(agent, language, control("unlock", "lock.front_door")) == question


async def test_other_questions(agent: Agent, subtests: pytest.Subtests) -> None:
    """What happens now and what happens later are not mixed in one sentence."""
    for calls, question in [
        (
            [control("unlock", "lock.front_door", when="10 minutes")],
            "Should I unlock the Front Door at {time}?",
        ),
        (
            [control("turn_on", "siren.roof"), control("unlock", "lock.front_door", when="10 minutes")],
            "Should I turn on the Roof? Should I unlock the Front Door at {time}?",
        ),
        (
            [
                control("open", "cover.garage"),
                control("open", "valve.water"),
                control("turn_on", "siren.roof"),
            ],
            "Should I open the Garage, open the Water and turn on the Roof?",
        ),
    ]:
        with subtests.test(calls=calls, question=question):
            sentence = "Turn on the roof. Unlock the front door in ten minutes."
            said = await asked(agent, "en", *calls, sentence=sentence)
            before, placeholder, _ = question.partition("{time}?")
            assert said.startswith(before)
            assert said.endswith("?")
            assert placeholder or said == question
