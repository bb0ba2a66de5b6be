"""Questions for a confirmation are one sentence, as a person would say it."""

from typing import Any

import pytest

from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, speech
from tests.helpers.secure_house import agent  # noqa: F401 - a fixture
from tests.helpers.spoken_languages import SPOKEN, WHOLE
from tests.helpers.tables import tables
from tests.servers.replies import text, tool_calls

TABLES = tables(__file__)

LANGUAGES = sorted((*WHOLE, *SPOKEN))


def control(action: str, *entity_ids: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "ha_control", {"action": action, "entity_id": list(entity_ids), **more}


async def asked(agent: Agent, language: str, *calls: tuple[str, dict[str, Any]], sentence: str = "Go") -> str:
    agent.server.clear()
    agent.server.script([tool_calls(list(calls)), text("Hm.")])
    question = speech(await agent.say(sentence, language=language))
    await agent.entry.runtime_data.confirmations.async_stop()
    return question


async def test_two_calls_are_one_question(agent: Agent, subtests: pytest.Subtests) -> None:
    for language in LANGUAGES:
        with subtests.test(language=language):
            calls = control("unlock", "lock.front_door"), control("open", "cover.garage")
            assert await asked(agent, language, *calls) == TABLES["joined"][language]


async def test_articles(hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests) -> None:
    """An article stands where it is certain to be right, and nowhere else."""
    for language, name, question in TABLES["articles"]:
        with subtests.test(language=language, name=name):
            hass.states.async_set("lock.front_door", "locked", {"friendly_name": name})
            assert await asked(agent, language, control("unlock", "lock.front_door")) == question


async def test_other_questions(agent: Agent, subtests: pytest.Subtests) -> None:
    """What happens now and what happens later are not mixed in one sentence."""
    for calls, question in TABLES["other_questions"]:
        with subtests.test(calls=calls, question=question):
            sentence = "Turn on the roof. Unlock the front door in ten minutes."
            said = await asked(agent, "en", *calls, sentence=sentence)
            before, placeholder, _ = question.partition("{time}?")
            assert said.startswith(before)
            assert said.endswith("?")
            assert placeholder or said == question
