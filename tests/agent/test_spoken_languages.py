"""Home Agent speaks each language: from a question to a timer."""

# ruff: noqa: RUF001 - letters and marks of many scripts

from dataclasses import dataclass

from freezegun.api import FrozenDateTimeFactory
import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import speech
from tests.helpers.everyday_house import NOW, async_add_satellite, async_pass
from tests.helpers.secure_house import SecureHouse
from tests.helpers.spoken_languages import SPOKEN, WHOLE
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text, tool_calls

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
    "cs": Said(
        yes="ano",
        question="Front Door: mám odemknout?",
        deed="Odemčeno: Front Door.",
        done="Hotovo.",
        no_credit="Na účtu jazykového modelu už není žádný kredit.",
        timer="Je čas: Pasta.",
    ),
    "da": Said(
        yes="ja",
        question="Skal jeg låse Front Door op?",
        deed="Låst op: Front Door.",
        done="Det er gjort.",
        no_credit="Sprogmodellens konto er tom.",
        timer="Så er det tid: Pasta.",
    ),
    "fi": Said(
        yes="kyllä",
        question="Avataanko lukitus: Front Door?",
        deed="Front Door auki lukosta.",
        done="Tehty.",
        no_credit="Kielimallin tilillä ei ole enää saldoa.",
        timer="Aika täynnä: Pasta.",
    ),
    "hu": Said(
        yes="igen",
        question="Front Door: kinyissam a zárat?",
        deed="Front Door kinyitva.",
        done="Kész.",
        no_credit="A nyelvi modell fiókjában elfogyott az egyenleg.",
        timer="Lejárt az idő: Pasta.",
    ),
    "it": Said(
        yes="sì",
        question="Vuoi che sblocchi Front Door?",
        deed="Ho sbloccato Front Door.",
        done="Fatto.",
        no_credit="L'account del modello linguistico non ha più credito.",
        timer="È ora: Pasta.",
    ),
    "ja": Said(
        yes="お願いします",
        question="Front Doorを解錠しますか？",
        deed="Front Doorを解錠しました。",
        done="完了しました。",
        no_credit="言語モデルのアカウントの残高がありません。",
        timer="時間です。Pasta。",
    ),
    "ko": Said(
        yes="네",
        question="Front Door 잠금을 해제할까요?",
        deed="Front Door: 잠금을 풀었습니다.",
        done="완료했어요.",
        no_credit="언어 모델 계정에 남은 크레딧이 없어요.",
        timer="시간 됐어요: Pasta.",
    ),
    "nb": Said(
        yes="ja",
        question="Skal jeg låse opp Front Door?",
        deed="Låst opp: Front Door.",
        done="Det er gjort.",
        no_credit="Kontoen til språkmodellen er tom.",
        timer="Nå er det på tide: Pasta.",
    ),
    "pl": Said(
        yes="tak",
        question="Front Door: odblokować?",
        deed="Otwarto zamek: Front Door.",
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
        no_credit="На счёте языковой модели закончились средства.",
        timer="Пора: Pasta.",
    ),
    "sv": Said(
        yes="ja",
        question="Ska jag låsa upp Front Door?",
        deed="Upplåst: Front Door.",
        done="Klart.",
        no_credit="Språkmodellens konto är tomt.",
        timer="Nu är det dags: Pasta.",
    ),
    "tr": Said(
        yes="olur",
        question="Front Door: kilidi açayım mı?",
        deed="Front Door: kilit açıldı.",
        done="Tamam.",
        no_credit="Dil modeli hesabında bakiye kalmadı.",
        timer="Vakit geldi: Pasta.",
    ),
    "uk": Said(
        yes="так",
        question="Front Door: відімкнути?",
        deed="Front Door: відімкнено.",
        done="Готово.",
        no_credit="На рахунку мовної моделі закінчилися кошти.",
        timer="Час настав: Pasta.",
    ),
    "zh-Hans": Said(
        yes="可以",
        question="要解锁Front Door，可以吗？",
        deed="Front Door已解锁。",
        done="好了。",
        no_credit="语言模型的账户余额已用完。",
        timer="时间到了：Pasta。",
    ),
}
REGIONS = {"it": "it-CH", "nb": "nn", "pt": "pt-BR", "uk": "uk-UA", "zh-Hans": "zh-CN"}
"""Codes that are sent instead of a language's own."""
HEARD_ELSEWHERE = {"de", "en", "es", "fr", "nl"}
"""Languages whose sentences many other tests expect."""


def test_every_language_is_heard() -> None:
    assert set(HEARD) == {*SPOKEN, *WHOLE} - HEARD_ELSEWHERE


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
