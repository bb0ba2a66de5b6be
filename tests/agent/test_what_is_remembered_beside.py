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
from tests.helpers.tables import tables
from tests.servers.model_server import ModelServer

TABLES = tables(__file__)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
WARM, BED, NUTS, JAZZ = "22", "acht|eight|huit|ocho", "nuts|Nüsse|noix|nueces", "jazz|Jazz"
SENTENCES: list[tuple[str, str, str, set[str]]] = [
    # Small words such as "the", "on" and "im" are no match; only how the person is called stays.
    ("Turn on the printer", "en", "command", set()),
    ("Is the printer on?", "en", "command", set()),
    ("Which windows are open on the ground floor?", "en", "command", set()),
    ("Is the washing machine done?", "en", "command", set()),
    ("Schalte den Drucker im Büro ein", "de", "command", set()),
    ("Mach mir bitte im Flur das Licht an", "de", "command", set()),
    ("Kannst du mir einen Witz erzählen?", "de", "command", set()),
    ("Allume l'imprimante du bureau", "fr", "command", set()),
    ("Oui je veux bien", "fr", "command", set()),
    ("Enciende la impresora de la oficina", "es", "command", set()),
    ("un poco menos, que me vuelan los papeles", "es", "command", set()),
    ("Play some jazz", "en", "command", {JAZZ}),
    ("Spiel Jazz", "de", "command", {JAZZ}),
    ("Mets du jazz dans la cuisine", "fr", "command", {JAZZ}),
    ("Pon jazz en la cocina", "es", "command", {JAZZ}),
    ("Find a recipe for dinner", "en", "command", {NUTS}),
    ("Such ein Rezept fürs Abendessen", "de", "command", {NUTS}),
    ("Un gâteau au Nutella pour le goûter de Léo", "fr", "command", {NUTS}),
    # Nobody knows which words what matters most has.
    ("When does Leo go to bed?", "en", "asked", {BED}),
    ("Wann geht Leo ins Bett?", "de", "asked", {BED}),
    ("À quelle heure Leo va au lit ?", "fr", "asked", {BED}),
    ("¿A qué hora se acuesta Leo?", "es", "asked", {BED}),
    ("What do I like to drink?", "en", "asked", {WARM}),
    ("Was mag ich gern?", "de", "asked", {WARM}),
    ("Qu'est-ce que j'aime ?", "fr", "asked", {WARM}),
    ("¿Qué me gusta?", "es", "asked", {WARM}),
]


def told(content: str) -> set[str]:
    remembered = content.partition("Remembered; quoted")[2]
    return {one for one in (WARM, BED, NUTS, JAZZ) if any(word in remembered for word in one.split("|"))}


@pytest.mark.parametrize("language", TABLES["memories"])
async def test_what_stands_beside_a_sentence(
    hass: HomeAssistant, model_server: ModelServer, language: str, subtests: pytest.Subtests
) -> None:
    """A word in common and one diet where it is about food; what matters most beside a question."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent: Agent = await async_add_agent(hass, model_server, {"memory_extraction_enabled": False})
    data = agent.entry.runtime_data
    for content in TABLES["memories"][language]:
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
    anna = Context(user_id=MockUser(name="Anna", is_owner=True).add_to_hass(hass).id)
    for sentence, spoken, kind, expected in SENTENCES:
        if spoken != language:
            continue
        with subtests.test(sentence):
            model_server.clear()
            await agent.say(sentence, language=language, context=anna)
            content = str(model_server.chats[0].messages[-1]["content"])
            if kind == "asked":
                assert expected <= told(content)
                continue
            assert "Annie" in content
            assert told(content) == expected
            assert ("vegetarian" in content) + ("shellfish" in content) == (NUTS in expected)
