"""An order without a call is asked once more, and a failure is never hidden; all else is spoken."""

from pathlib import Path

import pytest

from custom_components.home_agent.agent.rounds import may_answer_order
from custom_components.home_agent.languages.sentence import Mood, read
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.listening import heard
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text, tool_calls

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})
SAUNA = ("ha_control", {"action": "turn_on", "entity_id": "light.sauna"})
NOT_DONE = "Sorry, I didn't do that. Nothing was changed."
FIXTURES = Path(__file__).parents[1] / "fixtures"


def answers(name: str) -> list[list[str]]:
    """Return language, order and answer of each line of a corpus whose sentence is an order."""
    lines = (line.split("\t")[-3:] for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines())
    return [line for line in lines if read(line[1], line[0]).kind is Mood.ORDER]


def test_answers_without_a_call() -> None:
    """Of what models made up nearly all is asked again, of what is honest hardly anything."""
    false = answers("claims_false.tsv")
    harmless = answers("claims_harmless.tsv")
    passed = [line for line in false if may_answer_order(line[2], line[0])]
    held = [line for line in harmless if not may_answer_order(line[2], line[0])]
    assert len(passed) <= len(false) * 0.05, passed
    assert len(held) <= len(harmless) * 0.15, held


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_order_without_a_call_is_asked_once_more(
    hass: HomeAssistant, model_server: ModelServer, streaming: bool
) -> None:
    """Its call runs; nobody has heard the first answer, and it is never stored."""
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
    assert "No tool was called" in second[-1]["content"]
    assert not [message for message in third if "No tool was called" in str(message["content"])]
    assert "Enjoy" not in "".join(pieces)
    model_server.script([text("You're welcome!")])
    await agent.say("Thanks")
    assert "Enjoy" not in str(model_server.chats[-1].messages)


async def test_the_second_answer_counts(
    model_server: ModelServer, agent: Agent, subtests: pytest.Subtests
) -> None:
    for again in ["I cannot reach the sauna.", "There you go: a poem about a lamp."]:
        with subtests.test(again=again):
            model_server.clear()
            model_server.script([text("Done!"), text(again)])
            answer, pieces = await heard(agent, "Turn on the sauna")
            assert answer == "".join(pieces) == again
            assert len(model_server.chats) == 2


async def test_no_second_answer(model_server: ModelServer, agent: Agent, subtests: pytest.Subtests) -> None:
    """The person still hears an honest sentence."""
    for second in [text(""), status(400, "no")]:
        with subtests.test(second=second):
            model_server.script([text("Done."), second])
            assert (await heard(agent, "Turn on the light"))[0] == NOT_DONE


async def test_an_answer_is_spoken_as_it_is(
    model_server: ModelServer, agent: Agent, subtests: pytest.Subtests
) -> None:
    for sentence, answer in [
        ("Turn on the light", "Which light do you mean?"),
        ("Turn on the light", "It is on already."),
        ("Turn on the sauna", "There is no sauna here."),
        ("How warm is it?", "It is 21 degrees."),
        ("i'm off is everything shut", "Everything is shut and locked."),
        ("it is freezing in here", "The living room is at 17 degrees."),
        ("Tell me a story", "I opened the door. It was dark."),
        ("leave it like that", "Okay, enjoy your book."),
    ]:
        with subtests.test(sentence=sentence, answer=answer):
            model_server.clear()
            model_server.script([text(chunks=[f"{word} " for word in answer.split()])])
            spoken, pieces = await heard(agent, sentence)
            assert spoken.strip() == answer
            assert (len(pieces) == 1) is (read(sentence, "en").kind is Mood.ORDER), "all else streams"
            assert len(model_server.chats) == 1


async def test_words_beside_the_call_of_an_order_are_early(model_server: ModelServer, agent: Agent) -> None:
    model_server.script([tool_calls([ON], text="I've turned on the light."), text("It is on.")])
    answer, pieces = await heard(agent, "Turn on the light")
    assert answer == "".join(pieces) == "It is on."


async def test_a_failure_is_never_hidden(
    model_server: ModelServer, agent: Agent, subtests: pytest.Subtests
) -> None:
    """One sentence is added, and nothing is asked again."""
    for answer, spoken in [
        ("The sauna is now on.", f"The sauna is now on. {NOT_DONE}"),
        ("Done.", f"Done. {NOT_DONE}"),
        ("There is no sauna.", "There is no sauna."),
        ("I could not find it.", "I could not find it. "),
        ("Which room is it in?", "Which room is it in?"),
    ]:
        with subtests.test(answer=answer, spoken=spoken):
            model_server.clear()
            model_server.script([tool_calls([SAUNA]), text(answer)])
            heard_answer, pieces = await heard(agent, "Turn on the sauna")
            assert heard_answer == "".join(pieces).strip() == spoken.strip()
            assert len(model_server.chats) == 2
