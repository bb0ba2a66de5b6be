"""A yes in the words of a household, a yes with more behind it, and answers that are neither yes nor no."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from custom_components.home_agent.safety.answers import Answer, Ordered, read_answer_and_rest, read_reply
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, speech
from tests.helpers.checks import for_each
from tests.helpers.cloud import names_lead_home, outside
from tests.helpers.listening import Listener, start_turn
from tests.helpers.secure_house import UNLOCK, SecureHouse, agent  # noqa: F401 - a fixture
from tests.servers.replies import hang, status, text, tool_calls

__all__ = ["names_lead_home"]

FIXTURE = Path(__file__).parent.parent / "fixtures" / "answers.yaml"
TABLES: dict[str, Any] = yaml.safe_load(FIXTURE.read_text(encoding="utf-8"))
GARAGE = {"action": "open", "entity_id": "cover.garage"}
UNLOCKS = {
    "en": Ordered(frozenset({"unlock", "open"}), ("Front Door",)),
    "de": Ordered(frozenset({"unlock", "open"}), ("Haustür",)),
    "fr": Ordered(frozenset({"unlock", "open"}), ("Porte d'entrée",)),
    "es": Ordered(frozenset({"unlock", "open"}), ("Puerta principal",)),
    "nl": Ordered(frozenset({"unlock", "open"}), ("Voordeur",)),
}


def answer(sentence: str, language: str) -> Answer:
    """Return the answer to the question whether to unlock the front door."""
    return read_answer_and_rest(sentence, [language], UNLOCKS[language]).answer


@for_each(("language", "count"), [("en", 46), ("de", 28)])
def test_ways_to_say_yes(language: str, count: int) -> None:
    ways = TABLES["ways"][language]
    missed = [way for way in ways if answer(way, language) is not Answer.YES]
    assert len(ways) == count
    assert len(missed) <= 0.05 * count, missed


@for_each("language", UNLOCKS)
def test_what_is_no_yes(language: str) -> None:
    """Sentences that begin or sound like a yes are none in a home with several languages either."""
    asked = UNLOCKS[language]
    others, alike = TABLES["others"].get(language, ()), TABLES["yes_like"][language]
    taken = [each for each in others if answer(each, language) is Answer.YES]
    for each in alike:
        reads = (read_answer_and_rest(each, [language, "en", "de"], asked), read_reply(each, language, asked))
        taken += [each for read in reads if read.answer is Answer.YES]
    assert taken == []


def test_enough_of_them() -> None:
    assert sum(len(each) for name in ("others", "yes_like") for each in TABLES[name].values()) >= 400


class Conversation:
    """One conversation with an agent that has asked whether to unlock the front door."""

    def __init__(self, agent: Agent, conversation_id: str | None) -> None:
        self.agent = agent
        self.conversation_id = conversation_id

    @classmethod
    async def async_asked(cls, agent: Agent, **options: Any) -> Self:
        """Have the agent ask."""
        asked = await agent.act(UNLOCK, sentence="Open the front door", **options)
        assert asked.continue_conversation
        agent.server.clear()
        return cls(agent, asked.conversation_id)

    async def answer(self, sentence: str, *replies: Any, **options: Any) -> str:
        """Return what is spoken to an answer; `replies` are the model's."""
        self.agent.server.script([*replies])
        said = await self.agent.say(sentence, conversation_id=self.conversation_id, **options)
        self.listens = said.continue_conversation
        return speech(said)


LIGHT_ON = tool_calls([("ha_control", {"action": "turn_on", "entity_id": "light.hall"})])
IT_IS_ON = text("The hall light is on.")
YES_AND = "Yes, and put the hall light on too"
BOTH = [("lock.unlock", ("lock.front_door",)), ("light.turn_on", ("light.hall",))]
QUESTION = "Should I unlock the Front Door?"
CLOSED = "I left that as it was."


async def test_a_yes_with_another_order(secure: SecureHouse) -> None:
    """The answer tells both; the model gets the order as the sentence, and what was done before it."""
    talk = await Conversation.async_asked(await secure.async_with())
    said = await talk.answer(YES_AND, LIGHT_ON, IT_IS_ON)
    assert said == "I unlocked the Front Door. The hall light is on."
    assert secure.moved() == BOTH
    *_, yes, done, sentence = secure.server.chats[0].json["messages"]
    assert yes == {"role": "user", "content": YES_AND}
    assert done == {"role": "assistant", "content": "I unlocked the Front Door."}
    assert sentence["content"].startswith("put the hall light on too\n")
    await talk.answer("And now?", text("Fine."))
    told = [message["content"] for message in secure.server.chats[-1].json["messages"]]
    assert told.count(YES_AND) == 1
    assert "I unlocked the Front Door. The hall light is on." in told


async def test_what_was_confirmed_is_not_asked_again(secure: SecureHouse, agent: Agent) -> None:
    """Nor is it done again. Anything else waits for a yes of its own."""
    talk = await Conversation.async_asked(agent)
    await talk.answer(YES_AND, tool_calls([UNLOCK]), LIGHT_ON, IT_IS_ON)
    assert secure.moved() == BOTH
    secure.reset()
    talk = await Conversation.async_asked(agent)
    said = await talk.answer(YES_AND, tool_calls([("ha_control", GARAGE)]), text("Hm."))
    assert said == "I unlocked the Front Door. Should I open the Garage?"
    assert talk.listens
    assert secure.moved() == BOTH[:1]


async def test_the_rest_waits_for_the_pin(secure: SecureHouse) -> None:
    """And so does the action itself."""
    talk = await Conversation.async_asked(await secure.async_with({"policy_pin": hash_pin("4711")}))
    assert await talk.answer(YES_AND) == "I need the PIN for that."
    assert await talk.answer("hm") == f"{QUESTION} I need the PIN for that."
    assert secure.moved() == []
    assert secure.server.chats == []
    said = await talk.answer("4711", LIGHT_ON, IT_IS_ON)
    assert said == "I unlocked the Front Door. The hall light is on."
    assert secure.moved() == BOTH
    assert "4711" not in str(secure.server.chats[0].json)


async def test_what_may_be_about_the_question_is_asked_once_more(secure: SecureHouse) -> None:
    """A yes to that carries it too."""
    talk = await Conversation.async_asked(await secure.async_with())
    assert await talk.answer("yes and tell me the weather") == f"Yes or no: {QUESTION}"
    assert talk.listens
    assert secure.moved() == []
    said = await talk.answer("yes", text("It is sunny."))
    assert said == "I unlocked the Front Door. It is sunny."
    assert secure.server.chats[-1].json["messages"][-1]["content"].startswith("tell me the weather\n")


async def test_an_unclear_answer_is_asked_about_once(secure: SecureHouse) -> None:
    """Then the question is closed, and the sentence goes to the model."""
    talk = await Conversation.async_asked(await secure.async_with())
    assert await talk.answer("maybe") == f"Yes or no: {QUESTION}"
    assert talk.listens
    assert await talk.answer("hm", text("Just say what you need.")) == f"{CLOSED} Just say what you need."
    assert not talk.listens
    await talk.answer("yes", text("Yes?"))
    assert secure.moved() == []


async def test_a_new_sentence_closes_the_question(secure: SecureHouse, agent: Agent) -> None:
    """This is said first, also where the answer is streamed or fails."""
    talk = await Conversation.async_asked(agent)
    assert await talk.answer("What's the weather like?", text("It is sunny.")) == f"{CLOSED} It is sunny."
    assert CLOSED not in str(secure.server.chats[0].json)
    talk = await Conversation.async_asked(agent)
    said = await talk.answer("What's the weather like?", status(500), status(500), status(500))
    assert said.startswith(f"{CLOSED} ")
    assert len(said) > len(CLOSED) + 1
    assert secure.moved() == []


async def test_the_languages_of_a_home(hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
    """A yes counts in the language of the request and of the home, and in no other."""
    talk = await Conversation.async_asked(agent)
    assert await talk.answer("ja") == f"Yes or no: {QUESTION}"
    assert secure.moved() == []
    hass.config.language = "de"
    await talk.answer("ja")
    assert secure.moved() == BOTH[:1]
    secure.reset()
    talk = await Conversation.async_asked(agent, language="fr")
    assert await talk.answer("tak", language="fr") == "Oui ou non : Dois-je déverrouiller Front Door ?"
    await talk.answer("oui", language="fr")
    assert secure.moved() == BOTH[:1]


async def test_it_is_said_at_once(agent: Agent) -> None:
    """Who listens hears what became of the yes before the model has said anything, and once."""
    talk = await Conversation.async_asked(agent)
    slow = hang()
    agent.server.script([LIGHT_ON, slow])
    options = {"device_id": agent.device_id, "satellite_id": "assist_satellite.hall"}
    listener = Listener()
    turn = start_turn(agent, YES_AND, listener, conversation_id=talk.conversation_id, **options)
    await listener.until(lambda: listener.text.startswith("I unlocked the Front Door."))
    slow.release.set()
    assert speech(await turn) == listener.text == "I unlocked the Front Door. Hello world."


async def test_nobody_else_carries_more(secure: SecureHouse, agent: Agent) -> None:
    """An automation in the same conversation gets nothing done by the same words, nor by the person's yes."""
    talk = await Conversation.async_asked(agent)
    talk.agent = replace(agent, device_id=None)
    parent = Context(parent_id=Context().id)
    options = {"device_id": agent.device_id, "context": parent}
    await talk.answer(YES_AND, text("Hm."), **options)
    await talk.answer("yes and tell me the weather", text("Hm."), **options)
    assert secure.moved() == []
    secure.server.clear()
    talk.agent = agent
    assert await talk.answer("yes") == "I unlocked the Front Door."
    assert secure.moved() == BOTH[:1]
    assert secure.server.chats == []


@pytest.mark.usefixtures("names_lead_home")
async def test_a_model_outside_is_not_told_what_was_done(secure: SecureHouse, agent: Agent) -> None:
    """Where it may not know states, it gets the other order alone."""
    data = {**agent.entry.data, "llm_base_url": outside(secure.server)}
    secure.hass.config_entries.async_update_entry(agent.entry, data=data)
    await agent.set_options(cloud_send_ha_state=False)
    talk = await Conversation.async_asked(agent)
    assert await talk.answer(YES_AND, text("Fine.")) == "I unlocked the Front Door. Fine."
    assert "put the hall light on too" in str(secure.server.chats[0].json)
    assert "Unlocked" not in str(secure.server.chats[0].json)
