"""Home Agent speaks each language: from a question to a timer."""

import csv
from pathlib import Path

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
FIXTURE = Path(__file__).parents[1] / "fixtures" / "heard.tsv"
with FIXTURE.open(encoding="utf-8") as lines:
    HEARD = {row["language"]: row for row in csv.DictReader(lines, delimiter="\t")}
"""A yes, and what is heard before and after it, by language."""
REGIONS = {"it": "it-CH", "nb": "nn", "pt": "pt-BR", "uk": "uk-UA", "zh-Hans": "zh-CN"}
"""Codes that are sent instead of a language's own."""
HEARD_ELSEWHERE = {"de", "en", "es", "fr", "nl"}
"""Languages whose sentences many other tests expect."""


def test_every_language_is_heard() -> None:
    assert set(HEARD) == {*SPOKEN, *WHOLE} - HEARD_ELSEWHERE


async def test_turns(
    hass: HomeAssistant,
    model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    secure: SecureHouse,
    subtests: pytest.Subtests,
) -> None:
    """A question, its yes, a call without words, a timer that ends, and a server without credit."""
    satellite = await async_add_satellite(hass)
    agent = await secure.async_agent(model_server, {"local_fallback_enabled": False})
    for language, heard in HEARD.items():
        with subtests.test(language):
            code = REGIONS.get(language, language)
            secure.reset()
            satellite.said.clear()
            model_server.clear()
            model_server.default = tool_calls([UNLOCK])
            asked = await agent.say("Open it", language=code)
            assert speech(asked) == heard["question"]
            assert secure.calls == []
            done = await agent.say(heard["yes"], language=code, conversation_id=asked.conversation_id)
            assert speech(done) == heard["deed"]
            assert secure.moved() == [("lock.unlock", ("lock.front_door",))]

            model_server.script([tool_calls([LIGHT])])
            model_server.default = text()
            assert speech(await agent.say("Make it bright", language=code)) == heard["done"]

            await agent.act(TIMER, sentence="Set it", language=code, device_id=satellite.device)
            await async_pass(hass, freezer, 601)
            assert satellite.said == [heard["timer"]]

            model_server.default = status(402, "Insufficient credits")
            assert speech(await agent.say("Tell me a story", language=code)) == heard["no_credit"]
