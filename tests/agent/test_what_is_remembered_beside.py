"""Memories and profile entries in a home that knows much: only those that fit stand beside a sentence."""

from datetime import UTC, datetime

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.memory.memories import make_memory
from custom_components.home_agent.memory.records import Origin, ProfileEntry, Provenance, Sensitivity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.demo_house import async_demo_house
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.helpers.remembering import remember_much
from tests.servers.model_server import ModelServer

NOW = datetime(2026, 6, 1, tzinfo=UTC)
WARM, BED, NUTS, JAZZ = "22", "acht|eight|huit|ocho", "nuts|Nüsse|noix|nueces", "jazz|Jazz"
MEMORIES = {
    "en": (
        "Anna likes the living room at 22 degrees",
        "Leo goes to bed at eight on weekdays",
        "Leo is allergic to nuts",
        "Ruth listens to jazz on Sundays",
    ),
    "de": (
        "Anna mag das Wohnzimmer auf 22 Grad",
        "Leo geht im Winter um acht ins Bett",
        "Leo ist allergisch gegen Nüsse",
        "Ruth hört sonntags im Bad Jazz",
    ),
    "fr": (
        "Anna aime le salon à 22 degrés",
        "Leo va au lit à huit heures",
        "Leo est allergique aux noix",
        "Ruth écoute du jazz le dimanche",
    ),
    "es": (
        "A Anna le gusta el salón a 22 grados",
        "Leo se acuesta a las ocho",
        "Leo es alérgico a las nueces",
        "Ruth escucha jazz los domingos",
    ),
}
COMMANDS = [
    ("Turn on the printer", "en"),
    ("Activate movie night", "en"),
    ("Is the printer on?", "en"),
    ("Which windows are open on the ground floor?", "en"),
    ("Schalte den Drucker im Büro ein", "de"),
    ("Mach mir bitte im Flur das Licht an", "de"),
    ("Allume l'imprimante du bureau", "fr"),
    ("Enciende la impresora de la oficina", "es"),
    ("un poco menos, que me vuelan los papeles", "es"),
    ("Oui je veux bien", "fr"),
    ("Is the washing machine done?", "en"),
    ("Kannst du mir einen Witz erzählen?", "de"),
]
TOUCHED = [
    ("Play some jazz", "en", {JAZZ}),
    ("Spiel Jazz", "de", {JAZZ}),
    ("Mets du jazz dans la cuisine", "fr", {JAZZ}),
    ("Pon jazz en la cocina", "es", {JAZZ}),
    ("Find a recipe for dinner", "en", {NUTS}),
    ("Such ein Rezept fürs Abendessen", "de", {NUTS}),
    ("Un gâteau au Nutella pour le goûter de Léo", "fr", {NUTS}),
]
ASKED = [
    ("When does Leo go to bed?", "en", BED),
    ("Wann geht Leo ins Bett?", "de", BED),
    ("À quelle heure Leo va au lit ?", "fr", BED),
    ("¿A qué hora se acuesta Leo?", "es", BED),
    ("What do I like to drink?", "en", WARM),
    ("Was mag ich gern?", "de", WARM),
    ("Qu'est-ce que j'aime ?", "fr", WARM),
    ("¿Qué me gusta?", "es", WARM),
]
"""Questions about a person have what matters most beside them, whether or not a word fits."""


async def beside(hass: HomeAssistant, server: ModelServer, sentence: str, language: str) -> str:
    """Return what the request with a sentence holds of people."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent: Agent = await async_add_agent(hass, server, {"memory_extraction_enabled": False})
    data = agent.entry.runtime_data
    for content in MEMORIES[language]:
        await data.memories.async_remember(make_memory(content, importance=0.9, heard=Provenance(at=NOW)))
    await remember_much(agent)
    for key, value in (("nickname", "Annie"), ("diet", "vegetarian"), ("allergies", "shellfish")):
        await data.profile.async_note(
            ProfileEntry(
                category="person",
                key=key,
                value=value,
                person=None,
                sensitivity=Sensitivity.PUBLIC,
                confidence=0.9,
                origin=Origin.TOLD,
                first_seen=NOW,
                last_seen=NOW,
            )
        )
    user = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    await agent.say(sentence, language=language, context=Context(user_id=user.id))
    return str(server.chats[0].messages[-1]["content"])


def told(content: str) -> set[str]:
    """Return the memories in a request."""
    remembered = content.partition("Remembered; quoted")[2]
    return {one for one in (WARM, BED, NUTS, JAZZ) if any(word in remembered for word in one.split("|"))}


@pytest.mark.parametrize(("sentence", "language"), COMMANDS)
async def test_nothing_beside_a_command(
    hass: HomeAssistant, model_server: ModelServer, sentence: str, language: str
) -> None:
    """Small words such as "the", "on" and "im" are no match; only how the person is called stays."""
    content = await beside(hass, model_server, sentence, language)
    assert told(content) == set()
    assert "Annie" in content
    assert "vegetarian" not in content


@pytest.mark.parametrize(("sentence", "language", "expected"), TOUCHED)
async def test_what_a_command_touches(
    hass: HomeAssistant, model_server: ModelServer, sentence: str, language: str, expected: set[str]
) -> None:
    """A word in common, and one diet where it is about food."""
    content = await beside(hass, model_server, sentence, language)
    assert told(content) == expected
    assert ("vegetarian" in content) + ("shellfish" in content) == (NUTS in expected)


@pytest.mark.parametrize(("sentence", "language", "expected"), ASKED)
async def test_questions_about_a_person(
    hass: HomeAssistant, model_server: ModelServer, sentence: str, language: str, expected: str
) -> None:
    """What matters most is beside a question about a person, as nobody knows which words it has."""
    assert expected in told(await beside(hass, model_server, sentence, language))
