"""Sentences that except something from a command for a room, a floor or a kind."""

import pytest

from custom_components.home_agent.knowledge.names import word_similarity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from tests.helpers.planned import ASKS, give
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer

LAMPS = {"light.leo_night": ("Night Light", "Leo"), "light.bed": ("Bed Lamp", "Bedroom")}


@pytest.fixture
async def house(hass: HomeAssistant) -> SecureHouse:
    """Build a house with a hall, a bedroom and the room of a child; all its lights are on."""
    built = SecureHouse(hass)
    await built.async_build()
    areas, entities = ar.async_get(hass), er.async_get(hass)
    for entity_id, (name, room) in LAMPS.items():
        area = areas.async_get_or_create(room)
        entry = entities.async_get_or_create(
            "light", "demo", entity_id, suggested_object_id=entity_id.partition(".")[2]
        )
        entities.async_update_entity(entry.entity_id, area_id=area.id, name=name)
        hass.states.async_set(
            entry.entity_id, "on", {"friendly_name": name, "supported_color_modes": ["onoff"]}
        )
    hall = hass.states.get("light.hall")
    assert hall is not None
    hass.states.async_set("light.hall", "on", hall.attributes)
    return built


ALL_OFF = {"action": "turn_off", "domain": "light"}


@pytest.mark.parametrize(
    ("language", "sentence", "left_out"),
    [
        ("de", "Mach überall das Licht aus, außer bei Leo", "Night Light"),
        ("de", "Mach alle Lichter aus, nur nicht das Nachtlicht bei Leo", "Night Light"),
        ("en", "Turn off all lights except the night light", "Night Light"),
        ("en", "Turn off all lights, but not in the bedroom", "Bed Lamp"),
        ("fr", "Éteins toutes les lumières sauf chez Leo", "Night Light"),
        ("es", "Apaga todas las luces excepto en Leo", "Night Light"),
        ("nl", "Doe alle lampen uit, behalve bij Leo", "Night Light"),
        ("it", "Spegni tutte le luci tranne da Leo", "Night Light"),
        ("pt", "Apaga todas as luzes exceto Leo", "Night Light"),
        ("pl", "Wyłącz wszystkie światła oprócz Leo", "Night Light"),
        ("sv", "Släck alla lampor utom hos Leo", "Night Light"),
        ("da", "Sluk alle lys undtagen hos Leo", "Night Light"),
        ("nb", "Slå av alle lys unntatt hos Leo", "Night Light"),
        ("ru", "Выключи весь свет, кроме Leo", "Night Light"),
    ],
)
async def test_left_out(
    hass: HomeAssistant,
    model_server: ModelServer,
    house: SecureHouse,
    language: str,
    sentence: str,
    left_out: str,
) -> None:
    agent = await house.async_agent(model_server, ASKS)
    told = await give(agent, sentence, **ALL_OFF, language=language)
    assert f"left out: {left_out}" in told["result"]["notes"]
    (kept,) = [entity_id for entity_id, (name, _room) in LAMPS.items() if name == left_out]
    assert house.state(kept) == "on"
    assert house.state("light.hall") == "off"


async def test_an_exception_that_names_nothing(
    hass: HomeAssistant, model_server: ModelServer, house: SecureHouse
) -> None:
    agent = await house.async_agent(model_server, ASKS)
    told = await give(agent, "Mach alle Lichter aus, außer bei Gunther", **ALL_OFF, language="de")
    assert "name the entity_ids" in told["error"]
    assert not house.calls


async def test_nothing_is_excepted(
    hass: HomeAssistant, model_server: ModelServer, house: SecureHouse
) -> None:
    agent = await house.async_agent(model_server, ASKS)
    told = await give(agent, "Turn off all lights", **ALL_OFF)
    assert "notes" not in told["result"]
    assert house.state("light.leo_night") == "off"


def test_a_word_that_excepts_is_no_misspelt_name() -> None:
    assert word_similarity("ausser", "aussen") == 0
    assert word_similarity("aussen", "aussem") > 0
