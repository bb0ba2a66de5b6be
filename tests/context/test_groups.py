"""Requests that mean many entities at once, in several languages."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from custom_components.home_agent.context.retrieval import MANY, async_retrieve
from custom_components.home_agent.knowledge.house import House
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from tests.helpers.homes import build_home, expose


@pytest.fixture
async def known(house: HomeAssistant) -> AsyncGenerator[House]:
    """A started house that knows what `hass` has."""
    agent_house = House(house)
    await agent_house.async_start()
    yield agent_house
    await agent_house.async_stop()


async def ask(hass: HomeAssistant, known: House, query: str, limit: int = 8, **kwargs: Any) -> list[str]:
    """Return the ids found."""
    records = await async_retrieve(hass, await known.async_snapshot(), query, limit, **kwargs)
    return [record.entity_id for record in records]


def members(
    hass: HomeAssistant, domain: str, *, area: str | None = None, floor: str | None = None
) -> set[str]:
    """Return the ids of a domain in a place, both by name."""
    areas = ar.async_get(hass)
    found = set()
    for entry in er.async_get(hass).entities.values():
        room = areas.async_get_area(entry.area_id) if entry.area_id else None
        level = fr.async_get(hass).async_get_floor(room.floor_id) if room and room.floor_id else None
        if entry.domain != domain or entry.entity_category is not None:
            continue
        if (area is None or (room and room.name == area)) and (
            floor is None or (level and level.name == floor)
        ):
            found.add(entry.entity_id)
    return found


@pytest.mark.parametrize(
    ("language", "query", "domain", "floor"),
    [
        ("en", "turn off all lights upstairs", "light", "Upstairs"),
        ("en", "close all the blinds upstairs", "cover", "Upstairs"),
        ("de", "mach oben alle Lampen aus", "light", "Obergeschoss"),
        ("fr", "éteins toutes les lumières à l'étage", "light", "Étage"),
        ("ru", "выключи все лампы на втором этаже", "light", "Второй этаж"),
    ],
)
async def test_all_of_a_kind_on_a_floor(
    house: HomeAssistant, known: House, language: str, query: str, domain: str, floor: str
) -> None:
    house.config.language = language
    build_home(house, 300, language=language, rooms=12)
    expected = members(house, domain, floor=floor)
    assert len(expected) > 8
    found = await ask(house, known, query, language=language)
    if "switch" in query:  # means sockets as well
        assert expected <= set(found)
    else:
        assert set(found[: len(expected)]) == expected


@pytest.mark.parametrize(
    ("language", "query", "domain"),
    [
        ("en", "turn off all lights", "light"),
        ("fr", "ferme tous les volets", "cover"),
        ("nl", "doe alle lampen uit", "light"),
    ],
)
async def test_all_of_a_kind_in_the_house(
    house: HomeAssistant, known: House, language: str, query: str, domain: str
) -> None:
    home_language = language if language != "nl" else "de"
    house.config.language = language
    build_home(house, 120, language=home_language, rooms=12)
    expected = members(house, domain)
    assert len(expected) > 8
    assert expected <= set(await ask(house, known, query, language=language))


@pytest.mark.parametrize(
    ("language", "query", "area"),
    [
        ("en", "turn off everything in the kitchen", "Kitchen"),
        ("de", "mach in der Küche alles aus", "Küche"),
        ("ru", "выключи всё на кухне", "Кухня"),
    ],
)
async def test_everything_in_a_room(
    house: HomeAssistant, known: House, language: str, query: str, area: str
) -> None:
    house.config.language = language
    build_home(house, 200, language=language, rooms=4)
    domains = ("light", "switch", "fan", "cover", "climate", "media_player")
    expected = set().union(*(members(house, domain, area=area) for domain in domains))
    assert len(expected) > 20
    assert expected <= set(await ask(house, known, query, language=language))


async def test_everything_is_what_is_in_the_speakers_room(house: HomeAssistant, known: House) -> None:
    built = build_home(house, 200, rooms=4)
    found = await ask(house, known, "turn everything off", area_id=built.areas[1])
    assert members(house, "light", area="Kitchen") <= set(found)
    assert not members(house, "light", area="Bedroom") & set(found)


async def test_two_rooms(house: HomeAssistant, known: House) -> None:
    build_home(house, 300, rooms=6)
    found = await ask(house, known, "turn on the lights in the kitchen and the bedroom")
    expected = members(house, "light", area="Kitchen") | members(house, "light", area="Bedroom")
    assert len(expected) > 8
    assert set(found[: len(expected)]) == expected


async def test_one_thing_stays_first(house: HomeAssistant, known: House) -> None:
    build_home(house, 300, rooms=12)
    assert (await ask(house, known, "turn on the kitchen floor lamp"))[0] == "light.kitchen_floor_lamp"
    assert len(await ask(house, known, "what time is it")) <= 8


async def test_a_bound(house: HomeAssistant, known: House) -> None:
    build_home(house, 1000, rooms=12)
    assert len(members(house, "light")) > MANY
    assert len(await ask(house, known, "turn off all lights")) == MANY


async def test_what_is_hidden_is_in_no_group(house: HomeAssistant, known: House) -> None:
    build_home(house, 100, rooms=12, diagnostics=1, devices=True)
    snapshot = await known.async_snapshot()
    hidden = min(members(house, "light"))
    records = await async_retrieve(house, snapshot, "turn off all lights", 8)
    assert hidden in {record.entity_id for record in records}
    expose(house, hidden, exposed=False)
    for house_now in (snapshot, await known.async_snapshot()):
        records = await async_retrieve(
            house, house_now, "turn off all lights", 8, semantic=[(hidden, 0.99), ("light.never_was", 0.9)]
        )
        assert records
        assert not {hidden, "light.never_was"} & {record.entity_id for record in records}


async def test_what_is_close_in_meaning_is_found(house: HomeAssistant, known: House) -> None:
    build_home(house, 300, rooms=12)
    target = "switch.garden_socket"
    assert target not in await ask(house, known, "fire up the fountain")
    found = await ask(house, known, "fire up the fountain", semantic=[(target, 0.6), ("fan.attic_fan", 0.3)])
    assert found[0] == target
    named = await ask(house, known, "turn on the kitchen floor lamp", semantic=[(target, 0.9)])
    assert named[0] == "light.kitchen_floor_lamp"
    assert target in named
