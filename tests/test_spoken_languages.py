"""Languages in which Home Agent speaks while its pages are in English: from a question to a timer."""

from dataclasses import dataclass

from freezegun.api import FrozenDateTimeFactory
import pytest

from homeassistant.core import HomeAssistant

from .agent import speech
from .everyday_house import NOW, async_add_satellite, async_pass
from .secure_house import SecureHouse
from .servers.model_server import ModelServer
from .servers.replies import status, text, tool_calls
from .test_translations import SPOKEN

pytestmark = pytest.mark.freeze_time(NOW)

UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
LIGHT = ("ha_control", {"action": "turn_on", "entity_id": "light.hall"})
TIMER = ("timer", {"action": "set", "when": "10 minutes", "name": "Pasta"})


@dataclass(frozen=True, slots=True)
class Said:
    """A yes, and what is heard before and after it."""

    yes: str
    question: str
    deed: str
    done: str
    no_credit: str
    timer: str


HEARD = {
    "da": Said(
        yes="ja",
        question="Skal jeg låse Front Door op?",
        deed="Jeg har låst Front Door op.",
        done="Det er gjort.",
        no_credit="Sprogmodellens konto er tom.",
        timer="Så er det tid: Pasta.",
    ),
    "it": Said(
        yes="sì",
        question="Vuoi che sblocchi Front Door?",
        deed="Ho sbloccato Front Door.",
        done="Fatto.",
        no_credit="L'account del modello linguistico non ha più credito.",
        timer="È ora: Pasta.",
    ),
    "nb": Said(
        yes="ja",
        question="Skal jeg låse opp Front Door?",
        deed="Jeg har låst opp Front Door.",
        done="Det er gjort.",
        no_credit="Kontoen til språkmodellen er tom.",
        timer="Nå er det på tide: Pasta.",
    ),
    "pl": Said(
        yes="tak",
        question="Front Door: odblokować?",
        deed="Odblokowano: Front Door.",
        done="Gotowe.",
        no_credit="Na koncie modelu językowego skończyły się środki.",
        timer="Już czas: Pasta.",
    ),
    "pt": Said(
        yes="sim",
        question="Quer que destranque Front Door?",
        deed="Destranquei Front Door.",
        done="Feito.",
        no_credit="A conta do modelo de linguagem já não tem crédito.",
        timer="Está na hora: Pasta.",
    ),
    "ru": Said(
        yes="да",
        question="Front Door: отпереть?",
        deed="Front Door: отперто.",
        done="Готово.",
        no_credit="На счёте языковой модели закончились средства.",  # noqa: RUF001
        timer="Пора: Pasta.",
    ),
    "sv": Said(
        yes="ja",
        question="Ska jag låsa upp Front Door?",
        deed="Jag har låst upp Front Door.",
        done="Klart.",
        no_credit="Språkmodellens konto är tomt.",
        timer="Nu är det dags: Pasta.",
    ),
}
REGIONS = {"it": "it-CH", "nb": "nn", "pt": "pt-BR"}
"""Codes that are sent instead of a language's own."""


def test_every_language_is_heard() -> None:
    assert sorted(HEARD) == sorted(SPOKEN)


@pytest.mark.parametrize("language", HEARD)
async def test_turns(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, language: str
) -> None:
    """A question, its yes, a call without words, a timer that ends, and a server without credit."""
    secure = SecureHouse(hass)
    await secure.async_build()
    satellite = await async_add_satellite(hass)
    agent = await secure.async_agent(model_server, {"local_fallback_enabled": False})
    heard, code = HEARD[language], REGIONS.get(language, language)

    model_server.script([tool_calls([UNLOCK])])
    asked = await agent.say("Open it", language=code)
    assert speech(asked) == heard.question
    assert secure.calls == []
    done = await agent.say(heard.yes, language=code, conversation_id=asked.conversation_id)
    assert speech(done) == heard.deed
    assert secure.moved() == [("lock.unlock", ("lock.front_door",))]

    model_server.script([tool_calls([LIGHT])])
    model_server.default = text()
    assert speech(await agent.say("Make it bright", language=code)) == heard.done

    model_server.script([tool_calls([TIMER]), text("Okay.")])
    await agent.say("Set it", language=code, device_id=satellite.device)
    await async_pass(hass, freezer, 601)
    assert satellite.said == [heard.timer]

    model_server.default = status(402, "Insufficient credits")
    assert speech(await agent.say("Tell me a story", language=code)) == heard.no_credit
