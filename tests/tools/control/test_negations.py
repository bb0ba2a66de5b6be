"""What a sentence forbids, asks or commands decides what may be moved, in the words of many languages."""

from pathlib import Path

import pytest

from custom_components.home_agent.tools.control.direction import commanded
from custom_components.home_agent.tools.control.negation import forbids
from custom_components.home_agent.tools.control.questions import asks_about_state
from homeassistant.core import HomeAssistant
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

FIXTURE = Path(__file__).parents[2] / "fixtures" / "said_about_doors.tsv"
LINES = [line.split("\t") for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
LANGUAGES = sorted({line[1] for line in LINES})


def reading(sentence: str, language: str, wanted: str) -> str:
    """Return what a sentence is read as, in the terms of the fixture."""
    if wanted in {"forbids", "allows"}:
        return "forbids" if forbids(sentence, language) else "allows"
    if wanted == "asks":
        return "asks" if asks_about_state(sentence, language) else "commands"
    return "+".join(sorted(way.value for way in commanded(sentence, language)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences(language: str) -> None:
    lines = [(wanted, sentence) for wanted, spoken, sentence in LINES if spoken == language]
    assert [(sentence, reading(sentence, language, wanted)) for wanted, sentence in lines] == [
        (sentence, wanted) for wanted, sentence in lines
    ]


@pytest.mark.parametrize(
    ("sentence", "language", "is_moved"),
    [
        ("Don't turn on the hall light", "en", False),
        ("Mach das Licht im Flur nicht an", "de", False),
        ("N'allume pas la lumière", "fr", False),
        ("Zet het licht niet aan", "nl", False),
        ("I can't see, turn on the hall light", "en", True),
        ("Mach das Licht an, ich sehe nichts", "de", True),
    ],
)
async def test_what_is_forbidden_is_not_done(
    hass: HomeAssistant, model_server: ModelServer, sentence: str, language: str, is_moved: bool
) -> None:
    """The model acts all the same; nothing is called, and the result contains the reason."""
    house = SecureHouse(hass)
    await house.async_build()
    agent = await house.async_agent(model_server)
    call = ("ha_control", {"action": "turn_on", "entity_id": "light.hall"})
    model_server.script([tool_calls([call]), text("Okay.")])
    await agent.say(sentence, language=language)
    assert house.moved() == ([("light.turn_on", ("light.hall",))] if is_moved else [])
    told = "what is not to be done" in str(model_server.chats[1].json)
    assert told is not is_moved
