"""A question about how things are switches nothing, a request does, in every language that is known."""

import json

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.languages import languages_with
from custom_components.home_agent.tools.control.questions import asks_about_state
from homeassistant.core import HomeAssistant
from tests.helpers import spoken_sentences_two as second
from tests.helpers.agent import async_agent
from tests.helpers.checks import every
from tests.helpers.secure_house import SecureHouse
from tests.helpers.spoken_reasons import REASONS
from tests.helpers.spoken_sentences import QUESTIONS, REQUESTS
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

TURN_ON = ("ha_control", {"action": "turn_on", "entity_id": "light.hall"})


@pytest.fixture
async def secure(hass: HomeAssistant) -> SecureHouse:
    """Return the furnished house."""
    house = SecureHouse(hass)
    await house.async_build()
    return house


def spellings(sentence: str) -> tuple[str, ...]:
    """Return a sentence as it is written, and as speech recognition often gives it."""
    heard = sentence.strip("¿?？ ")  # noqa: RUF001 - the full width one
    return tuple(dict.fromkeys((sentence, heard)))


def lower(sentence: str) -> str:
    """Return a sentence without capitals and the mark at its end."""
    return spellings(sentence)[-1].rstrip(".").lower()


@pytest.mark.parametrize("language", REASONS)
def test_why_and_who_are_questions(language: str) -> None:
    said = [each for sentence in every(REASONS[language]) for each in spellings(sentence)]
    assert [each for each in said if not asks_about_state(each, language)] == []


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Why not turn on the light?", "en"),
        ("Why don't you open the blinds?", "en"),
        ("Mach das Licht an, warum ist es aus?", "de"),
        ("Warum machst du nicht das Licht an?", "de"),
        ("Acende a luz porque está escuro", "pt"),
    ],
)
def test_why_may_invite_or_stand_beside_a_request(sentence: str, language: str) -> None:
    assert not asks_about_state(sentence, language)


@pytest.mark.parametrize("language", QUESTIONS)
async def test_a_question_switches_nothing(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, language: str
) -> None:
    """The model tries to turn on the light; nothing is called, and the result contains the reason."""
    agent = await secure.async_agent(model_server, {"history_enabled": False})
    sentences = [spelling for sentence in QUESTIONS[language] for spelling in spellings(sentence)]
    told: dict[str, bool] = {}
    for sentence in sentences:
        model_server.clear()
        model_server.script([tool_calls([TURN_ON]), text("I do not know.")])
        await agent.say(sentence, language=language)
        told[sentence] = "only asks how things are" in json.dumps(model_server.chats[1].json)
    assert secure.moved() == []
    assert [sentence for sentence in sentences if not told[sentence]] == []


@pytest.mark.parametrize("language", REQUESTS)
async def test_a_request_is_carried_out(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, language: str
) -> None:
    agent = await secure.async_agent(model_server, {"history_enabled": False})
    refused = []
    for sentence in (spelling for said in REQUESTS[language] for spelling in spellings(said)):
        secure.reset()
        model_server.clear()
        model_server.script([tool_calls([TURN_ON]), text("Done.")])
        await agent.say(sentence, language=language)
        if secure.moved() != [("light.turn_on", ("light.hall",))]:
            refused.append(sentence)
    assert refused == []


@pytest.mark.parametrize("language", second.QUESTIONS)
def test_the_second_set(language: str) -> None:
    """Also in lower case, as some speech recognition writes."""
    asked = {form for said in second.QUESTIONS[language] for form in (*spellings(said), lower(said))}
    wanted = {form for said in second.REQUESTS[language] for form in (*spellings(said), lower(said))}
    assert {sentence for sentence in asked if not asks_about_state(sentence, language)} == set()
    assert {sentence for sentence in wanted if asks_about_state(sentence, language)} == set()


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Hallway lights off please, and is the washing machine done?"),
        ("en", "Heater off, what time is it?"),
        ("de", "Flurlicht aus bitte, und ist die Waschmaschine fertig?"),
        ("nl", "Licht uit, en hoe laat is het?"),
        ("sv", "Lampan av, och är dörren låst?"),
        ("fr", "J'ai sommeil, tu peux éteindre la lumière ?"),
        ("es", "He terminado, ¿puedes apagar la luz?"),
        ("it", "Ho caldo, puoi abbassare il riscaldamento?"),
    ],
)
def test_a_request_beside_a_question_or_a_report(language: str, sentence: str) -> None:
    assert not asks_about_state(sentence, language)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "TV off, or is it still on?"),
        ("en", "Is the hall light on and the office light off?"),
        ("de", "Heizung an, oder ist sie aus?"),
        ("fr", "Tu as éteint la lumière, tu peux vérifier ?"),
        ("es", "¿Has cerrado la puerta, puedes mirar?"),
        ("it", "Ho chiuso la porta?"),
    ],
)
def test_two_parts_of_one_question(language: str, sentence: str) -> None:
    assert asks_about_state(sentence, language)


def test_the_languages_are_all_there() -> None:
    assert set(QUESTIONS) == set(REQUESTS) == set(languages_with("questions"))
    assert sum(map(len, QUESTIONS.values())) > 100
    assert sum(map(len, REQUESTS.values())) > 100


@pytest.mark.parametrize("language", QUESTIONS)
def test_the_language_of_the_turn_may_be_another_one(language: str) -> None:
    """Somebody writes in another language than the one of the pipeline: what is a request stays one."""
    said = [spelling for sentence in REQUESTS[language] for spelling in spellings(sentence)]
    for other in ("en", "de", "fr"):
        assert [sentence for sentence in said if asks_about_state(sentence, other)] == []


@pytest.mark.parametrize("language", ["en", "de", "sv", "el", "*"])
@pytest.mark.parametrize(
    "sentence", ["Is the hallway light on?", "Ist das Licht im Flur an?", "La lumière est-elle allumée ?"]
)
def test_a_question_in_another_language(sentence: str, language: str) -> None:
    assert asks_about_state(sentence, language)


def test_a_language_whose_words_are_not_known() -> None:
    """A question mark is enough there; without one nothing can be known."""
    assert asks_about_state("Είναι αναμμένο το φως?", "el")
    assert not asks_about_state("Άναψε το φως", "el")


@pytest.mark.parametrize(
    ("sentence", "language", "asks"),
    [
        ("E aperta la porta", "it", False),
        ("È aperta la porta", "it", True),
        ("esta encendida la luz", "es", True),
        ("ar lampan tand", "sv", True),
        ("Tänd lampan i hallen", "sv", False),
        ("is the light on " * 20, "en", False),
        ("", "en", False),
        ("?", "en", False),
        ("Light?", "en", False),
    ],
)
def test_spellings(sentence: str, language: str, asks: bool) -> None:
    assert asks_about_state(sentence, language) is asks


async def test_intents_are_held_to_it_too(hass: HomeAssistant, model_server: ModelServer) -> None:
    """HassTurnOn of the API Assist neither answers a question nor opens what is to be closed."""
    agent = await async_agent(hass, model_server, {"llm_apis": ["assist"]})
    calls = async_capture_events(hass, "call_service")
    model_server.script([text("Hello.")])
    await agent.say("Hello")
    offered = [tool["function"]["name"] for tool in model_server.chats[0].json["tools"]]
    name = next(each for each in offered if each.endswith("HassTurnOn"))
    for sentence, entity, reason in (
        ("Is the kitchen ceiling on?", "Kitchen Ceiling", "only asks how things are"),
        ("Open the front door", "Front Door", "asked for the opposite"),
    ):
        model_server.clear()
        model_server.script([tool_calls([(name, {"name": entity})]), text("No.")])
        await agent.say(sentence)
        assert reason in json.dumps(model_server.chats[1].json)
    assert calls == []


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("it", "È troppo alto il volume"),
        ("es", "Está demasiado alto el volumen"),
        ("pt", "Está alto demais o volume"),
        ("pl", "Jest za głośno"),
    ],
)
def test_a_complaint_is_no_question(language: str, sentence: str) -> None:
    """Where a statement begins as a question does, "too loud" asks for a change; a question mark decides."""
    assert not asks_about_state(sentence, language)
    assert asks_about_state(f"{sentence}?", language)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Haben wir diese Woche mehr Strom gebraucht als sonst?", "de"),
        ("Hebben we deze week meer stroom gebruikt dan anders en?", "nl"),
        ("Did we use more power this week and then?", "en"),
    ],
)
def test_a_word_that_joins_may_be_the_last(sentence: str, language: str) -> None:
    assert asks_about_state(sentence, language)


@pytest.mark.parametrize("sentence", ["Then do the hallway", "Now do the kitchen", "Also do the bedroom"])
def test_do_may_be_the_verb_of_a_request(sentence: str) -> None:
    assert not asks_about_state(sentence, "en")
    assert asks_about_state("Do the lights in the hallway work", "en")
