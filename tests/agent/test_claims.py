"""Nothing is said to be done that no call has done; what is true is said at once."""

# ruff: noqa: RUF001 - marks of many languages
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
import re

from hypothesis import given, settings, strategies as st
import pytest

from custom_components.home_agent.agent.claims.gate import ClaimGate
from custom_components.home_agent.agent.claims.kinds import ClaimKind, SentenceKind
from custom_components.home_agent.agent.claims.wording import kind_of
from homeassistant.core import HomeAssistant
from tests.helpers.agent import async_agent, speech
from tests.helpers.examples import many
from tests.helpers.listening import heard
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text, tool_calls

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})
NOT_DONE = "Sorry, I didn't do that. Nothing was changed."
FIXTURES = Path(__file__).parents[1] / "fixtures"


def corpus(name: str) -> list[tuple[str, ...]]:
    """Return the fields of each line: language, sentence and answer, and what precedes them."""
    lines = (FIXTURES / name).read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


FALSE = corpus("claims_false.tsv")
PROMISES = corpus("claims_promises.tsv")
"""Verdict, language, sentence and answer: what is promised, kept or offered, and what is honest."""
HARMLESS = corpus("claims_harmless.tsv")
UNKNOWN = {ClaimKind.STATE, ClaimKind.FORECAST}
"""What passes unless the house shows that it is not so."""


def passed(pieces: Iterable[str], sentence: str, language: str, *, backed: bool = False) -> tuple[str, bool]:
    """Return what is let out of an answer, and whether a claim was kept back. No state is known."""
    gate = ClaimGate(sentence, language, lambda reading, _kind: backed or reading.claims <= UNKNOWN)
    out = "".join([*map(gate.feed, pieces), gate.finish()])
    return out, gate.unbacked is not None


@pytest.mark.parametrize("language", sorted({line[0] for line in FALSE}))
def test_claims_are_found(language: str) -> None:
    """What was never done is found in every language of the corpus, and nothing of the claim gets out."""
    lines = [line for line in FALSE if line[0] == language]
    missed = [line for line in lines if not passed([line[2]], line[1], language)[1]]
    assert len(missed) <= len(lines) * 0.05, missed


@pytest.mark.parametrize("language", sorted({line[0] for line in HARMLESS}))
def test_harmless_answers_pass(language: str) -> None:
    """States, questions, refusals and stories are no claims, and pass letter by letter as they are."""
    for _, sentence, answer in (line for line in HARMLESS if line[0] == language):
        assert passed([answer], sentence, language) == (answer, False), (sentence, answer)


@pytest.mark.parametrize("language", sorted({line[1] for line in PROMISES}))
def test_promises(language: str) -> None:
    """What is promised, kept or offered without a call is held back; what is honest passes."""
    found = []
    for verdict, spoken, sentence, answer in PROMISES:
        if spoken == language:
            gate = ClaimGate(
                sentence, language, lambda reading, _kind: reading.claims <= UNKNOWN, refuses_offers=True
            )
            out = gate.feed(answer) + gate.finish()
            found.append((verdict, answer, gate.unbacked.name if gate.unbacked else "PASSES"))
            assert out in ("", answer) or gate.unbacked
    assert [line for line in found if line[0] != line[2]] == []


def test_backed_claims_pass() -> None:
    """With a call behind them, all claims pass as they are."""
    for language, sentence, answer in FALSE:
        assert passed([answer], sentence, language, backed=True) == (answer, False)


@settings(max_examples=many(300), deadline=None)
@given(
    line=st.sampled_from(FALSE + HARMLESS),
    tail=st.sampled_from(("", " Anything else?", " It is 20.5 °C.")),
    cuts=st.lists(st.integers(0, 120)),
)
def test_cutting_changes_nothing(line: tuple[str, str, str], tail: str, cuts: list[int]) -> None:
    """What is let out does not depend on how the answer was cut."""
    language, sentence, answer = line
    answer += tail
    places = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    pieces = [answer[start:end] for start, end in pairwise(places)]
    assert passed(pieces, sentence, language) == passed([answer], sentence, language)


@settings(max_examples=many(200), deadline=None)
@given(
    answer=st.text(max_size=300),
    sentence=st.text(max_size=60),
    language=st.sampled_from(("en", "de", "", "ja", "zh-Hans", "ko")),
)
def test_nothing_is_lost(answer: str, sentence: str, language: str) -> None:
    """Whatever passes is a beginning of the answer, and all of it where nothing was kept back."""
    out, unbacked = passed(answer, sentence, language)
    assert answer.startswith(out)
    assert unbacked or out == answer


STORY = "This house has many rooms, and each of them has a lamp. " * 10


@pytest.mark.slow
def test_late_claims() -> None:
    """Far into an answer a sentence that says that the agent did something is still found; states pass."""
    late = [line for line in FALSE if line[0] == "en"]
    found = [line for line in late if passed([STORY, line[2]], line[1], "en")[1]]
    of_agent = [line for line in late if re.search(r"\bI('ve| have)? (?!will)[a-z]+", line[2])]
    assert [line for line in of_agent if line not in found] == []
    for _, sentence, answer in (line for line in HARMLESS if line[0] == "en"):
        assert passed([STORY, answer], sentence, "en") == (STORY + answer, False), (sentence, answer)
    cut = passed([STORY, "I have turned on the light. And more."], "Turn on the light", "en")
    assert cut == (STORY.rstrip(), True)


@pytest.mark.parametrize(
    ("sentence", "language", "pieces", "out"),
    [
        ("電気をつけて", "ja", ["わかりました。電気", "をつけ", "ました。", "ほかは？"], "わかりました。"),
        ("電気をつけて", "en", ["電気をつけました。"], ""),
        ("打开灯", "zh-Hans", ["好的，灯已经", "打开了。"], ""),
        ("불 켜줘", "ko", ["현재 21.5도입니다. ", "불을 켰습니다."], "현재 21.5도입니다."),
        ("Turn it on", "ja", ["I have turned it on."], ""),
    ],
)
def test_without_spaces(sentence: str, language: str, pieces: list[str], out: str) -> None:
    """Whole sentences are let out until one claims something; English ones are read there too."""
    assert passed(pieces, sentence, language)[0].rstrip() == out
    assert passed(pieces, sentence, language)[1]
    assert passed(pieces, sentence, language, backed=True) == ("".join(pieces), False)


def test_answers_to_questions_stream_at_once() -> None:
    """The first word of an answer to a question that begins in another way is not held back."""
    for sentence, answer in (
        ("How warm is it?", "It is 21 degrees."),
        ("Is the light on?", "The light is on."),
        ("Tell me a story", "I opened the door."),
    ):
        gate = ClaimGate(sentence, "en", lambda _reading, _kind: False)
        first = answer.split()[0]
        assert gate.feed(f"{first} ").strip() == first.strip(), answer


@pytest.mark.parametrize(
    ("sentence", "language", "answer"),
    [
        ("Turn on the light", "en", "I'll need the name of the room for that. "),
        ("Mach das Licht an", "de", "Welche Lampe im Wohnzimmer meinst du? "),
        ("Mach das Licht an", "de", "Das hat leider nicht geklappt. "),
        ("Allume la lumière", "fr", "Quelle lumière voulez-vous allumer ? "),
        ("Doe het licht aan", "nl", "Welk licht bedoel je? "),
    ],
)
def test_answers_to_commands_stream_by_sentence(sentence: str, language: str, answer: str) -> None:
    """An honest sentence is let out when it ends, and not when the answer does."""
    gate = ClaimGate(sentence, language, lambda _reading, _kind: False)
    assert gate.feed(answer[:-3]) == ""
    assert gate.feed(answer[-3:]).strip() == answer.strip()
    assert gate.feed("It ") == ""


def test_a_call_lets_the_held_words_out() -> None:
    """A sentence that is held back passes at its end if a call is behind it by then."""
    done: list[bool] = []
    gate = ClaimGate("Mach das Licht an", "de", lambda _reading, _kind: bool(done))
    assert gate.feed("Das Licht") == ""
    done.append(True)
    assert gate.feed(" im Bad ist jetzt an. Noch") == "Das Licht im Bad ist jetzt an."
    assert not gate.unbacked


def test_holding_is_bounded() -> None:
    """A sentence that does not end is let out long before the end of the answer."""
    gate = ClaimGate("Mach das Licht an", "de", lambda _reading, _kind: False)
    out = gate.feed("Das " + "sehr schöne " * 60)
    assert len(out) > 400


@pytest.mark.parametrize(
    ("sentence", "language", "kind"),
    [
        ("Can you turn on the light?", "en", SentenceKind.ORDER),
        ("Is the light on?", "en", SentenceKind.QUESTION),
        ("Is it dark? Turn on the light.", "en", SentenceKind.ORDER),
        ("Kannst du mir sagen, ob das Licht an ist?", "de", SentenceKind.QUESTION),
        ("Kannst du das Licht anmachen?", "de", SentenceKind.ORDER),
        ("Write a poem", "en", SentenceKind.STORY),
        ("Status of the house", "en", SentenceKind.REMARK),
        ("J'ai froid", "fr", SentenceKind.REMARK),
        ("Ho freddo", "it", SentenceKind.REMARK),
        ("Ho chiuso la porta", "it", SentenceKind.QUESTION),
        ("Hab ich das Licht angemacht", "de", SentenceKind.QUESTION),
        ("Kitchen light off", "en", SentenceKind.ORDER),
        ("Und das andere?", "de", SentenceKind.QUESTION),
        ("Ändere die Farbe", "de", SentenceKind.ORDER),
        ("", "en", SentenceKind.REMARK),
        ("Summarise the house", "en", SentenceKind.QUESTION),
        ("Summarise the house and turn off the lights", "en", SentenceKind.ORDER),
        ("Summarise the house. Then turn off the lights.", "en", SentenceKind.ORDER),
        ("Make the report lamp red", "en", SentenceKind.ORDER),
        ("Play the news briefing", "en", SentenceKind.ORDER),
        ("Put the report on my list", "en", SentenceKind.ORDER),
        ("Tell me a story", "en", SentenceKind.STORY),
        ("Fasse zusammen und mach das Licht aus", "de", SentenceKind.ORDER),
    ],
)
def test_what_a_sentence_wants(sentence: str, language: str, kind: SentenceKind) -> None:
    """Orders, questions and wishes for a story are told apart."""
    assert kind_of(sentence, language) is kind


@pytest.mark.parametrize(
    ("greeting", "order", "language"),
    [
        ("Good evening", "Good evening, turn on the light", "en"),
        ("Hello again", "Hello turn on the light", "en"),
        ("Guten Abend", "Guten Abend, mach das Licht an", "de"),
        ("Bonne nuit", "Bonsoir, allume la lumière", "fr"),
        ("Buenas tardes", "Buenas tardes, enciende la luz", "es"),
        ("Goedemorgen", "Goedemorgen, doe het licht aan", "nl"),
        ("Buonasera", "Buonasera, accendi la luce", "it"),
        ("Bom dia", "Bom dia, acende a luz", "pt"),
        ("Dzień dobry", "Dzień dobry, włącz światło", "pl"),
        ("God natt", "Hej, tänd lampan", "sv"),
        ("Godnat", "Godaften, tænd lyset", "da"),
        ("God kveld", "God kveld, slå på lyset", "nb"),
        ("Спокойной ночи", "Добрый вечер, включи свет", "ru"),
    ],
)
def test_a_greeting_asks_for_nothing(greeting: str, order: str, language: str) -> None:
    """What answers a greeting is no claim; what follows it may be an order."""
    gate = ClaimGate(greeting, language, lambda _reading, _kind: False)
    assert gate.feed("Done.") + gate.finish() == "Done."
    assert kind_of(order, language) is SentenceKind.ORDER


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_false_claim_becomes_true(
    hass: HomeAssistant, model_server: ModelServer, streaming: bool
) -> None:
    """One more request, with a note that is never stored; its call runs; the false words were never heard."""
    agent = await async_agent(hass, model_server, {"streaming_enabled": streaming})
    claim = ["I've ", "turned on", " the kitchen ", "light. Enjoy!"]
    model_server.script([text(chunks=claim), tool_calls([ON]), text("The kitchen light is now on.")])
    answer, pieces = await heard(agent, "Turn on the kitchen light")
    assert answer == "The kitchen light is now on."
    assert hass.states.get(LIGHT).state == "on"
    first, second, third = (request.messages for request in model_server.chats)
    assert second[: len(first)] == first, "the server has read this before"
    assert [message["role"] for message in second[len(first) :]] == ["assistant", "user"]
    assert second[-2]["content"] == "".join(claim)
    assert "no tool call" in second[-1]["content"]
    assert not [message for message in third if "no tool call" in str(message["content"])]
    assert "Enjoy" not in "".join(pieces)
    assert "turned" not in "".join(pieces)

    model_server.script([text("You're welcome!")])
    await agent.say("Thanks")
    assert "Enjoy" not in str(model_server.chats[-1].messages)


async def test_a_claim_that_stays_false(hass: HomeAssistant, model_server: ModelServer) -> None:
    """There is exactly one more request, then an honest sentence in the person's language."""
    agent = await async_agent(hass, model_server)
    model_server.script([text("Done!"), text("I have turned on the light.")])
    answer, pieces = await heard(agent, "Turn on the light")
    assert answer == NOT_DONE
    assert "".join(pieces).strip() == NOT_DONE
    assert len(model_server.chats) == 2

    model_server.script([text("Erledigt."), text("Das Licht ist jetzt an.")])
    answer, _ = await heard(agent, "Mach das Licht an", language="de")
    assert "nicht getan" in answer


@pytest.mark.parametrize(
    ("language", "sentence", "promise"),
    [
        ("en", "Turn on the light", "Okay, I'll turn on the light."),
        ("de", "Mach das Licht an", "Ich werde das Licht einschalten."),
        ("nb", "Slå på lyset", "Jeg skal slå på lyset."),
    ],
)
async def test_a_promise_without_a_call(
    hass: HomeAssistant, model_server: ModelServer, language: str, sentence: str, promise: str
) -> None:
    """What is promised and not called is asked for once more, as a claim is; nobody hears the promise."""
    agent = await async_agent(hass, model_server)
    model_server.script([text(promise), tool_calls([ON]), text("OK.")])
    answer, pieces = await heard(agent, sentence, language=language)
    assert answer == "OK."
    assert "".join(pieces) == answer
    assert hass.states.get(LIGHT).state == "on"


@pytest.mark.parametrize(
    ("sentence", "answer", "is_claim"),
    [
        ("Zapni světlo v kuchyni", "Světlo v kuchyni je zapnuté.", True),
        ("Zapni světlo v kuchyni", "I have turned on the light.", True),
        ("Zapni světlo v kuchyni", "Světlo se nepodařilo najít.", False),
        ("Je světlo v kuchyni zapnuté?", "Světlo v kuchyni je zapnuté.", False),
    ],
)
def test_a_language_without_claims(sentence: str, answer: str, is_claim: bool) -> None:
    """A state that answers an order counts as a claim; what else there may be is not known."""
    assert passed([answer], sentence, "cs")[1] is is_claim


@pytest.mark.parametrize("answer", ["I've turned on the light.", "Ich habe das Licht angemacht.", "Fatto!"])
def test_an_unknown_language(answer: str) -> None:
    """The words of all languages count."""
    assert passed([answer], "Turn on the light", "*")[1]


async def test_the_model_takes_it_back(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Honest words in the second answer are spoken as they are."""
    agent = await async_agent(hass, model_server)
    model_server.script([text("Done!"), text("I cannot reach the sauna.")])
    assert (await heard(agent, "Turn on the sauna"))[0] == "I cannot reach the sauna."


async def test_words_before_a_claim_stay(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What was said before the claim is one answer with what is said instead of it."""
    agent = await async_agent(hass, model_server)
    model_server.script(
        [text(chunks=["It is 20.5 degrees. ", "I've turned on the heating."]), text("There is no heating.")]
    )
    answer, _ = await heard(agent, "Make it warmer")
    assert answer == "It is 20.5 degrees. There is no heating."


async def test_a_failed_call_backs_nothing(hass: HomeAssistant, model_server: ModelServer) -> None:
    """After a call that failed a claim is as false as without one."""
    agent = await async_agent(hass, model_server)
    wrong = ("ha_control", {"action": "turn_on", "entity_id": "light.sauna"})
    model_server.script([tool_calls([wrong]), text("The sauna is now on."), text("Done.")])
    assert (await heard(agent, "Turn on the sauna"))[0] == NOT_DONE
    assert len(model_server.chats) == 3


async def test_a_call_that_worked_backs_all(hass: HomeAssistant, model_server: ModelServer) -> None:
    """After a call that worked nothing is held back, and there is no further request."""
    agent = await async_agent(hass, model_server)
    model_server.script([tool_calls([ON]), text(chunks=["I", "'ve turned ", "on the light."])])
    answer, pieces = await heard(agent, "Turn on the light")
    assert answer == "I've turned on the light."
    assert "".join(pieces) == answer
    assert len(model_server.chats) == 2


async def test_a_claim_ahead_of_its_call(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A claim in the same message as its call is left out; what the model says afterwards counts."""
    agent = await async_agent(hass, model_server)
    model_server.script([tool_calls([ON], text="I've turned on the light."), text("It is on.")])
    answer, pieces = await heard(agent, "Turn on the light")
    assert answer == "It is on."
    assert "".join(pieces) == answer
    assert len(model_server.chats) == 2


async def test_words_before_and_after_a_call(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A space parts them in the stream, and the answer does not begin with one."""
    agent = await async_agent(hass, model_server)
    query = ("ha_query", {"entity_id": LIGHT})
    model_server.script([tool_calls([query], text="One moment."), text(chunks=["It ", "is off."])])
    answer, pieces = await heard(agent, "Is the kitchen light on?")
    assert answer == "It is off."
    assert "".join(pieces) == "One moment. It is off."


async def test_looking_backs_nothing(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A query is no action."""
    agent = await async_agent(hass, model_server)
    model_server.script(
        [tool_calls([("ha_query", {"entity_id": LIGHT})]), text("Done."), text("It stays off.")]
    )
    assert (await heard(agent, "Turn on the light"))[0] == "It stays off."


async def test_a_question_about_earlier_deeds(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What was done before in the conversation may be told when somebody asks, and only then."""
    agent = await async_agent(hass, model_server)
    model_server.script([text("I turned on the light."), text("Nothing.")])
    assert speech(await agent.say("What did you do?", conversation_id=None)) == "Nothing."
    model_server.script([tool_calls([ON]), text("The light is on.")])
    first = await agent.say("Turn on the light")
    model_server.script([text("I've turned on the kitchen light.")])
    again = await agent.say("What did you do?", conversation_id=first.conversation_id)
    assert speech(again) == "I've turned on the kitchen light."
    model_server.script([text("I've turned on the bed light."), text("Which light?")])
    other = await agent.say("And the bed light", conversation_id=first.conversation_id)
    assert speech(other) == "Which light?"


async def test_the_server_fails_at_the_second_request(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The person still hears an honest sentence."""
    agent = await async_agent(hass, model_server)
    model_server.script([text("Done.")])
    model_server.default = lambda _request: status(400, "no")
    assert (await heard(agent, "Turn on the light"))[0] == NOT_DONE
