"""What people say who want something without naming it."""

import pytest

from custom_components.home_agent.context import named
from custom_components.home_agent.context.retrieval import async_retrieve
from custom_components.home_agent.knowledge.house import House
from custom_components.home_agent.languages import languages_with
from custom_components.home_agent.texts import words
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent
from tests.helpers.checks import every
from tests.helpers.demo_house import async_demo_house
from tests.helpers.homes import build_home
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

LANGUAGES = languages_with("concepts")


@pytest.fixture
def expected_lingering_timers() -> bool:
    """Let timers of the demo house stay."""
    return True


async def _find(hass: HomeAssistant, query: str, limit: int, area_id: str | None = None) -> list[str]:
    known = House(hass)
    await known.async_start()
    found = await async_retrieve(hass, await known.async_snapshot(), query, limit, area_id)
    await known.async_stop()
    return [record.entity_id for record in found]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_wishes_of_its_classes(language: str) -> None:
    """A wish is about a class that has words, and says something that these do not."""
    known = named.vocabulary(language)
    assert len(known.wishes.names) >= 4
    first = {said.split()[0] for said in known.classes.values()}
    assert known.wishes.names.keys() <= first
    phrases = [phrase for texts in known.wishes.names.values() for phrase in texts]
    assert all(words(phrase) for phrase in every(phrases))
    assert all(len(set(texts)) == len(texts) for texts in every(known.wishes.names.values()))


@pytest.mark.parametrize(
    ("language", "sentence", "meant"),
    [
        ("en", "I can hardly see anything in the {}", "light."),
        ("en", "the neighbours can see me in the {}", "cover."),
        ("en", "I am shivering in the {}", "climate."),
        ("en", "has somebody left crumbs in the {}", "vacuum."),
        ("de", "{}: da ist es ja stockfinster", "light."),
        ("de", "im {} schwitze ich", "climate."),
        ("fr", "je n'y vois rien dans le {}", "light."),
        ("es", "el sol me da en la cara en el {}", "cover."),
        ("pl", "{}: jest tu przeciąg", "binary_sensor."),
        ("ru", "{}: я замёрз", "climate."),
        ("sv", "{}: det drar här", "binary_sensor."),
    ],
)
async def test_a_wish_is_found_by_words_alone(
    house: HomeAssistant, language: str, sentence: str, meant: str
) -> None:
    """The things that a wish is about come first of those in the room."""
    house.config.language = language
    built = build_home(house, 84, language=language, rooms=7)
    room = ar.async_get(house).async_get_area(built.areas[0])
    assert room is not None
    found = await _find(house, sentence.format(room.name), 8)
    assert found[0].startswith(meant)


async def test_a_wish_without_a_room_is_about_the_speakers(house: HomeAssistant) -> None:
    """Who says only that it is too dark to see means the lights of the room."""
    built = build_home(house, 84, rooms=7)
    found = await _find(house, "I can't see a thing", 8, area_id=built.areas[2])
    assert found[0] == "light.bedroom_light"
    assert all(entity_id.startswith("light.") for entity_id in every(found[:7]))


async def test_what_is_named_comes_before_a_wish(house: HomeAssistant) -> None:
    """A thing that the sentence names stays first, whatever else the sentence says."""
    build_home(house, 84, rooms=7)
    found = await _find(house, "turn off the kitchen tv, the glare is dazzling", 8)
    assert found[0] == "media_player.kitchen_tv"
    assert "cover.kitchen_blind" in found


async def test_an_article_is_no_word_for_a_device(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Spanish "las" is not Swedish "lås": a sentence about lights does not bring a lock into the request."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent = await async_add_agent(hass, model_server)
    model_server.default = text("All right.")
    for sentence, language in (("Todas las luces", "es"), ("Är låset låst", "sv")):
        await agent.say(sentence, language=language)
    spanish, swedish = (str(request.messages[-1]["content"]) for request in model_server.chats)
    assert "lights: 3 of 16 on" in spanish
    assert "lock.front_door" not in spanish
    assert "lock.front_door" in swedish
