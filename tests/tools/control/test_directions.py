"""What is to be closed is never opened, and the other way round, whatever the model makes of the sentence."""

import json

import pytest

from custom_components.home_agent.languages import languages, languages_with
from custom_components.home_agent.tools.control.direction import Direction, commanded
from homeassistant.core import HomeAssistant
from tests.helpers.secure_house import SecureHouse
from tests.helpers.spoken_sentences import DIRECTIONS
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

OPPOSITES = {
    "close": ({"action": "open", "entity_id": "cover.blind"}, "cover.open_cover", "closed"),
    "open": ({"action": "close", "entity_id": "cover.blind"}, "cover.close_cover", "open"),
}
"""By what a sentence commands: the opposite call, its service, and how the cover stands before."""


@pytest.fixture
async def secure(hass: HomeAssistant) -> SecureHouse:
    """Return the furnished house."""
    house = SecureHouse(hass)
    await house.async_build()
    return house


@pytest.mark.parametrize("language", DIRECTIONS)
async def test_the_opposite_is_never_done(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, language: str
) -> None:
    """The model obeys the wrong way round; what was said runs if the model gets it right."""
    agent = await secure.async_agent(model_server, {"history_enabled": False})
    wrong, right = [], []
    for sentence, way in DIRECTIONS[language]:
        for key, expected in (("close", "open"), ("open", "close")):
            call, service, state = OPPOSITES[key]
            secure.reset()
            hass.states.async_set("cover.blind", state, hass.states.get("cover.blind").attributes)
            model_server.clear()
            model_server.script([tool_calls([("ha_control", call)]), text("Done.")])
            await agent.say(sentence, language=language)
            is_done = secure.moved() == [(service, ("cover.blind",))]
            told = "asked for the opposite" in json.dumps(model_server.chats[1].json)
            if way == key and (is_done or not told):
                wrong.append(sentence)
            if way == expected and not is_done:
                right.append(sentence)
    assert (wrong, right) == ([], [])


def test_every_language_has_its_words() -> None:
    assert languages_with("directions.open") == languages_with("directions.close") == languages()


@pytest.mark.parametrize(
    ("sentence", "language", "ways"),
    [
        ("Schließ die Haustür auf", "de", {"open"}),
        ("Schließ die Haustür ab", "de", {"close"}),
        ("Schließ die Tür auf der Terrasse", "de", {"close"}),
        ("Schließ die Haustür auf", "en", {"open"}),
        ("lås opp døra", "no", {"open"}),
        ("Stäng av larmet", "sv", set()),
        ("Close the garage and open the gate", "en", {"open", "close"}),
        ("Mach das Licht an", "de", set()),
        ("x" * 100_000, "en", set()),
    ],
)
def test_directions(sentence: str, language: str, ways: set[str]) -> None:
    assert commanded(sentence, language) == {Direction(way) for way in ways}


@pytest.mark.parametrize(
    ("state", "call"),
    [
        ("closed", {"action": "toggle"}),
        ("closed", {"action": "set_position", "parameters": {"position": 100}}),
        ("closed", {"action": "open"}),
    ],
)
async def test_other_ways_to_open(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, state: str, call: dict[str, object]
) -> None:
    """Neither a toggle nor a position bypasses the check."""
    agent = await secure.async_agent(model_server)
    hass.states.async_set("cover.blind", state, hass.states.get("cover.blind").attributes)
    call = ("ha_control", {**call, "entity_id": "cover.blind"})
    model_server.script([tool_calls([call]), text("Done.")])
    await agent.say("Close the blind")
    assert secure.moved() == []
    assert "asked for the opposite" in json.dumps(model_server.chats[1].json)
