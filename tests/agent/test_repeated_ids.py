"""Ids of entities that a model repeats are neither spoken nor shown."""

import pytest

from custom_components.home_agent.agent.rounds import NamesForIds
from homeassistant.core import HomeAssistant
from tests.helpers.agent import Agent, async_agent
from tests.helpers.listening import heard
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

NAMES = {"light.kitchen": "Kitchen Light", "light.kitchen_ceiling": "Ceiling Light"}
VOICE = {"device_id": "satellite"}
ANSWERS = [
    ("light.kitchen_ceiling: on, 40%", "Ceiling Light: on, 40%"),
    ("It is light.kitchen.", "It is Kitchen Light."),
    ("Kitchen Light (light.kitchen) is on.", "Kitchen Light is on."),
    ("The light (light.kitchen) is on.", "The light (Kitchen Light) is on."),
    ("`light.kitchen` is on", "`Kitchen Light` is on"),
    ("See http://home/light.kitchen", "See http://home/light.kitchen"),
    ("light.garden and my.light.kitchen", "light.garden and my.light.kitchen"),
    ("```\nlight.kitchen\n```\nlight.kitchen", "```\nlight.kitchen\n```\nlight.kitchen"),
    ("entity_id: light.kitchen", "entity_id: light.kitchen"),
    ("The light is bright (very", "The light is bright (very"),
    ("A light. (", "A light. ("),
]


def test_ids_become_names(subtests: pytest.Subtests) -> None:
    """An id is a name; addresses and unknown ids stay; code stays behind its beginning."""
    for answer, out in ANSWERS:
        with subtests.test(answer=answer, out=out):
            assert NamesForIds(NAMES.get).feed(answer) == out


async def test_repeated_ids(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """Neither a voice nor a chat gets ids."""
    agent = await async_agent(hass, model_server)
    for options in [{}, VOICE]:
        with subtests.test(options=options):
            model_server.script([text(chunks=["light.kitchen_", "ceiling: off"])])
            answer, pieces = await heard(agent, "Is the kitchen light on?", **options)
            assert answer == f"{hass.states.get('light.kitchen_ceiling').name}: off"
            assert "".join(pieces).strip() == answer


async def test_who_asks_for_ids_gets_them(
    model_server: ModelServer, agent: Agent, subtests: pytest.Subtests
) -> None:
    """Ids stay where the person asks for one, names one, or wants code."""
    for sentence, language in [
        ("What is the entity id of the kitchen light?", "en"),
        ("Wie heißt die Entitäts-ID des Küchenlichts?", "de"),
        ("Quel est l'identifiant de la lumière ?", "fr"),
        ("Jaki identyfikator ma światło?", "pl"),
        ("Is light.kitchen_ceiling on?", "en"),
        ("Write the YAML for that", "en"),
    ]:
        with subtests.test(sentence=sentence, language=language):
            model_server.script([text("light.kitchen_ceiling: off")])
            assert (await heard(agent, sentence, language=language))[0] == "light.kitchen_ceiling: off"
