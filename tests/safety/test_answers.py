"""Answers to our questions: what is a yes, what is a no, and a PIN that nobody else reads."""

from itertools import product
import json
import re

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.languages import languages, words
from custom_components.home_agent.runtime import DATA_SHARED
from custom_components.home_agent.safety.answers import Answer, Ordered, read_answer, read_reply
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant
from tests.helpers.agent import speech
from tests.helpers.checks import for_each
from tests.helpers.secure_house import RAN, SecureHouse, ask
from tests.servers.replies import text


@for_each("language", languages())
def test_every_phrase_of_the_tables(language: str) -> None:
    for phrase in (*words(language, "answers.yes"), *words(language, "answers.go_ahead")):
        assert read_answer(phrase, language).answer is Answer.YES, phrase
    for phrase in words(language, "answers.no"):
        assert read_answer(phrase, language).answer is Answer.NO, phrase
    for yes, filler in product(words(language, "answers.yes"), words(language, "answers.fillers")):
        assert read_answer(f"{yes}, {filler}!", language).answer is Answer.YES, (yes, filler)


@for_each("language", languages())
def test_what_is_made_of_a_yes_is_none(language: str) -> None:
    """Said twice, asked back, with a no or another word beside it, or only polite: none of it is a yes."""
    agreeing = words(language, "answers.yes")
    turning = (*words(language, "answers.no"), *words(language, "answers.beside_no"), "xyz", "google")
    said = [f"{yes} {other}" for yes in agreeing for other in (yes, *turning)]
    said += [f"{other} {yes}" for yes in agreeing for other in turning]
    said += [f"{yes}{mark}" for yes in agreeing for mark in ("?", "\uff1f", "؟", "...", " 🙄", " 50%")]
    said += words(language, "answers.fillers")
    own = {*agreeing, *words(language, "answers.go_ahead")}
    wrong = [each for each in said if each not in own and read_answer(each, language).answer is Answer.YES]
    assert wrong == []


CLOSE = Ordered(frozenset({"close"}), ("Garage",))


@for_each(
    ("order", "refusal", "other", "language"),
    [
        ("close it", "no, leave it open", "open it", "en"),
        ("mach es zu", "nein, lass es offen", "öffne es", "de"),
        ("ferme-la", "non, laisse-la ouverte", "ouvre-la", "fr"),
        ("ciérrala", "no, déjala abierta", "ábrela", "es"),
        ("chiudila", "no, lasciala aperta", "aprila", "it"),
        ("doe de garage dicht", "nee, laat maar open", "doe de garage open", "nl"),
        ("fecha-a", "não, deixa aberta", "abre-a", "pt"),
        ("zamknij ją", "nie, zostaw otwartą", "otwórz ją", "pl"),
        ("stäng den", "nej, låt den vara öppen", "öppna den", "sv"),
        ("luk den", "nej, lad den være åben", "åbn den", "da"),
        ("lukk den", "nei, la den stå åpen", "åpne den", "nb"),
        ("закрой её", "нет, оставь открытой", "открой её", "ru"),
    ],
)
def test_replies_that_no_model_hears(order: str, refusal: str, other: str, language: str) -> None:
    """The action itself is a yes, a no may have a reason, and everything else is asked again."""
    yes = words(language, "answers.yes")[0]
    no = words(language, "answers.no")[0]
    for sentence in (order, f"{order}!", f"{yes}, {order}"):
        assert read_reply(sentence, language, CLOSE).answer is Answer.YES, sentence
    assert read_reply(refusal, language, CLOSE).answer is Answer.NO
    assert read_reply(f"{no}, {other}", language, CLOSE).answer is Answer.NO
    for sentence in (
        f"{order}?",
        f"{order}...",
        other,
        f"{no}, {order}",
        f"{order} 2",
        "the weather is nice",
    ):
        assert read_reply(sentence, language, CLOSE).answer is Answer.OTHER, sentence
    assert read_reply(order, language).answer is Answer.OTHER, "nothing was asked about"


@for_each(
    ("sentence", "language", "answer"),
    [
        ("Yes.", "en", Answer.YES),
        ("YES PLEASE!", "en-GB", Answer.YES),
        ("Yes, do it, thank you", "en", Answer.YES),
        ("Yeah, go ahead.", "en", Answer.YES),
        ("Yep, let him in", "en", Answer.YES),
        ("Yes please, go on", "en", Answer.YES),
        ("yes yes do it", "en", Answer.YES),
        ("Jo, mach ruhig", "de", Answer.YES),
        ("Bah oui, évidemment", "fr", Answer.YES),
        ("Oui oui, vas-y", "fr", Answer.YES),
        ("Venga, sí", "es", Answer.YES),
        ("Sí, hazlo ya", "es", Answer.YES),
        ("go on", "en", Answer.OTHER),
        ("yes let the dog out", "en", Answer.OTHER),
        ("ja, mach das Licht an", "de", Answer.OTHER),
        ("yes but not the door", "en", Answer.OTHER),
        ("yes but", "en", Answer.OTHER),
        ("yes and also the back door", "en", Answer.OTHER),
        ("yeah right", "en", Answer.OTHER),
        ("right", "en", Answer.OTHER),
        ("that's fine", "en", Answer.OTHER),
        ("ok google", "en", Answer.OTHER),
        ("don't do it", "en", Answer.NO),
        ("do not", "en", Answer.NO),
        ("Is yes an option?", "en", Answer.OTHER),
        ("yesterday", "en", Answer.OTHER),
        ("ja", "en", Answer.OTHER),
        ("no", "pl", Answer.OTHER),
        ("Ja, mach das nicht", "de", Answer.NO),
        ("Ja, mach das bitte", "de-CH", Answer.YES),
        ("Ja klar", "de", Answer.YES),
        ("Na ja", "de", Answer.OTHER),
        ("Ist ja gut", "de", Answer.OTHER),
        ("Ja ja", "de", Answer.OTHER),
        ("ja gut", "de", Answer.OTHER),
        ("Ja, maar", "nl", Answer.OTHER),
        ("Doe maar", "nl", Answer.YES),
        ("Ja ja", "nl", Answer.OTHER),
        ("Oui, bien sûr, s'il te plaît", "fr-CA", Answer.YES),
        ("oui bien", "fr", Answer.OTHER),
        ("merci", "fr", Answer.OTHER),
        ("sì certo", "it", Answer.YES),
        ("sí", "es-MX", Answer.YES),
        ("Claro que no", "es", Answer.NO),
        ("да ладно", "ru", Answer.OTHER),
        ("да нет", "ru", Answer.NO),
        ("いいです", "ja", Answer.NO),
        ("結構です", "ja", Answer.NO),
        ("はい、お願いします", "ja", Answer.YES),
        ("はいお願いします。", "ja", Answer.YES),
        ("はいはい", "ja", Answer.OTHER),
        ("好的、可以", "zh-Hant", Answer.YES),
        ("好了", "zh-Hans", Answer.NO),
        ("嗯", "zh", Answer.OTHER),
        ("네", "ko", Answer.YES),
        ("ja", "no", Answer.YES),
        ("ja", "nn", Answer.YES),
        ("", "en", Answer.OTHER),
        ("yes", "xx", Answer.YES),
        ("please", "en", Answer.OTHER),
    ],
)
def test_answers(sentence: str, language: str, answer: Answer) -> None:
    assert read_answer(sentence, language).answer is answer


@for_each(
    ("sentence", "language", "pin"),
    [
        ("1234", "en", "1234"),
        ("pin1234", "en", "1234"),
        ("twelve thirty four", "en", "1234"),
        ("one-two-three-four", "en", "1234"),
        ("one two three four", "de", "1234"),
        ("double four seven eight", "en", "4478"),
        ("oh four seven eleven", "en", "04711"),
        ("four-seven one one or so", "en", "4711"),
        ("vier sieben eins eins", "de", "4711"),
        ("zwölf vierunddreißig", "de", "1234"),
        ("siebenundvierzig elf", "en", "4711"),
        ("douze trente-quatre", "fr", "1234"),
        ("quatre-vingt-dix-sept onze", "fr", "9711"),
        ("quatre sept un un", "fr", "4711"),
        ("oui, quatre un quatre sept", "fr", "4147"),
        ("doce treinta y cuatro", "es", "1234"),
        ("dodici trentaquattro", "it", "1234"),
        ("twaalf vierendertig", "nl", "1234"),
        ("doze trinta e quatro", "pt-BR", "1234"),
        ("dwanaście trzydzieści cztery", "pl", "1234"),
        ("tolv trettiofyra", "sv", "1234"),
        ("tolv fireogtredive", "da", "1234"),
        ("tolv trettifire", "no", "1234"),
        ("fire sju en en", "no", "4711"),
        ("fire syv en en", "nb", "4711"),
        ("двенадцать тридцать четыре", "ru", "1234"),
        ("двадцать одна сорок две", "ru", "2142"),
        ("一二三四", "zh", "1234"),
        ("密码是一二三四", "zh", "1234"),
        ("十二三十四", "zh-Hant", "1234"),
        ("いちにさんよん", "ja", "1234"),
        ("暗証番号は1234です", "ja", "1234"),
        ("일이삼사", "ko", "1234"),
        ("一二三四", "en", "1234"),
        ("٤٧١١", "ar", "4711"),
        ("１２３４", "en", "1234"),  # noqa: RUF001 - full width
    ],
)
def test_a_pin_is_read(sentence: str, language: str, pin: str) -> None:
    read = read_answer(sentence, language)
    assert (read.answer, read.pin) == (Answer.PIN, pin)


@for_each(
    ("sentence", "language", "answer"),
    [
        ("twelve", "en", Answer.NUMBERS),
        ("maybe twelve", "en", Answer.NUMBERS),
        ("one thousand two hundred thirty four", "en", Answer.NUMBERS),
        ("it should be 4711 I think", "en", Answer.NUMBERS),
        ("zwölfhundertvierunddreißig", "de", Answer.NUMBERS),
        ("no, 4711", "en", Answer.NO),
        ("one moment", "en", Answer.OTHER),
        ("ein Licht an", "de", Answer.OTHER),
        ("Heizung auf 21 Grad", "de", Answer.OTHER),
        ("set the heating to twenty one degrees", "en", Answer.OTHER),
        ("wake me up at half past seven tomorrow morning", "en", Answer.OTHER),
        ("打开一下灯", "zh", Answer.OTHER),
        ("リビングの電気をつけて", "ja", Answer.OTHER),
    ],
)
def test_numbers_that_are_no_pin(sentence: str, language: str, answer: Answer) -> None:
    """What may be a part of a PIN stays with us; an ordinary sentence is a new request."""
    assert read_answer(sentence, language).answer is answer


@pytest.mark.parametrize(
    ("sentence", "language", "secrets"),
    [
        ("twelve thirty four", "en", ("thirty", "1234")),
        ("pin1234", "en", ("1234",)),
        ("double four double one", "en", ("double", "4411")),
        ("twelve hundred thirty four", "en", ("hundred", "1234")),
        ("it is twelve", "en", ("twelve",)),
        ("zwölf vierunddreißig", "de", ("zwölf", "1234")),
        ("douze trente-quatre", "fr", ("trente", "1234")),
        ("一二三四", "zh", ("一二三四",)),
        ("zwölf vierunddreißig", "en", ("zwölf", "1234")),
        ("no, twelve thirty four", "en", ("thirty",)),
    ],
)
async def test_a_pin_in_words_stays_with_us(
    hass: HomeAssistant, secure: SecureHouse, sentence: str, language: str, secrets: tuple[str, ...]
) -> None:
    """Neither the model nor history, events or the chat log get it; a wrong one unlocks nothing."""
    agent = await secure.async_with({"policy_pin": hash_pin("9999")})
    conversation_id = (await ask(agent, language=language)).conversation_id
    events = async_capture_events(hass, MATCH_ALL)
    secure.server.clear()
    await agent.say(sentence, conversation_id=conversation_id, language=language)
    assert secure.moved() == []
    assert secure.server.chats == []
    secure.server.script([text("Fine.")])
    await agent.say("What a nice day", conversation_id=conversation_id, language=language)
    shared = hass.data[DATA_SHARED]
    await shared.history.async_flush()
    places = [
        json.dumps(secure.server.chats[0].json, ensure_ascii=False),
        str(hass.data[DATA_CHAT_LOGS][conversation_id].content),
        str(shared.history.__dict__),
        *(json.dumps(event.as_dict(), default=str, ensure_ascii=False) for event in events),
    ]
    assert events
    # as a word of its own: ids and times may hold any four digits
    told = [secret for secret in secrets for place in places if re.search(rf"(?<!\w){secret}(?!\w)", place)]
    assert told == []


async def test_an_unclear_pin_is_asked_for_again(secure: SecureHouse) -> None:
    """It does not count as wrong: the right PIN still opens the door after many of them."""
    agent = await secure.async_with({"policy_pin": hash_pin("4711")})
    conversation_id = (await ask(agent)).conversation_id
    for _ in range(5):
        answer = await agent.say("it is four", conversation_id=conversation_id)
        answer = await agent.say("forty seven", conversation_id=conversation_id)
        assert speech(answer) == "Please give me the PIN digit by digit."
        assert answer.continue_conversation is True
    await agent.say("forty-seven eleven", conversation_id=conversation_id)
    assert secure.moved() == RAN
