"""The entities that a sentence is about, found by words: one, many at once, or what somebody wishes for."""

from typing import Any

import pytest

from custom_components.home_agent.context import named
from custom_components.home_agent.context.retrieval import async_retrieve
from custom_components.home_agent.knowledge.house import House
from custom_components.home_agent.languages import languages_with
from custom_components.home_agent.texts import words
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from tests.helpers.checks import every
from tests.helpers.homes import DIAGNOSTICS, build_home, expose

LANGUAGES = languages_with("concepts")


async def found(hass: HomeAssistant, known: House, query: str, limit: int = 10, **kwargs: Any) -> list[str]:
    records = await async_retrieve(hass, await known.async_snapshot(), query, limit, **kwargs)
    return [item.entity_id for item in records]


async def test_readings_of_a_device_stay_behind_it_unless_named(house: HomeAssistant, known: House) -> None:
    build_home(house, 40, devices=True, diagnostics=len(DIAGNOSTICS))
    assert (await found(house, known, "turn on the kitchen light"))[0] == "light.kitchen_light"
    assert (await found(house, known, "battery of the kitchen light"))[0] == "sensor.kitchen_light_battery"


async def test_aliases_areas_and_labels_are_found_after_a_change(house: HomeAssistant, known: House) -> None:
    build_home(house, 40)
    await found(house, known, "anything")
    label = lr.async_get(house).async_create("Party")
    er.async_get(house).async_update_entity(
        "switch.kitchen_socket", aliases=[er.COMPUTED_NAME, "Mixer"], labels={label.label_id}
    )
    ar.async_get(house).async_update("bathroom", name="Wellness")
    assert (await found(house, known, "start the mixer"))[0] == "switch.kitchen_socket"
    assert (await found(house, known, "party"))[0] == "switch.kitchen_socket"
    assert "light.bathroom_light" in await found(house, known, "wellness light", 3)


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


ALL_MEANT: dict[str, list[tuple[str, str, str | None]]] = {
    "en": [
        ("turn off all lights upstairs", "light", "Upstairs"),
        ("close all the blinds upstairs", "cover", "Upstairs"),
        ("turn off all lights", "light", None),
    ],
    "de": [("mach oben alle Lampen aus", "light", "Obergeschoss")],
    "fr": [
        ("éteins toutes les lumières à l'étage", "light", "Étage"),
        ("ferme tous les volets", "cover", None),
    ],
    "ru": [("выключи все лампы на втором этаже", "light", "Второй этаж")],
}
"""Sentences about all of a kind, on a floor or in the house."""
IN_A_ROOM = {
    "en": ("turn off everything in the kitchen", "Kitchen"),
    "de": ("mach in der Küche alles aus", "Küche"),
    "fr": ("éteins tout dans la cuisine", "Cuisine"),
    "ru": ("выключи всё на кухне", "Кухня"),
}
ONE_MEANT = {
    "en": ("it is too dark in the kitchen", "light.kitchen_light"),
    "de": ("mach die Glotze im Wohnzimmer aus", "media_player.wohnzimmer_fernseher"),
    "fr": ("ferme les volets de la chambre", "cover.chambre_volet"),
    "ru": ("выключи свет на кухне", "light.kukhnia_svet"),
}


@pytest.mark.parametrize("language", ALL_MEANT)
async def test_one_and_many_in_the_language_of_the_house(
    house: HomeAssistant, known: House, language: str
) -> None:
    house.config.language = language
    build_home(house, 300, language=language, rooms=12)
    query, entity_id = ONE_MEANT[language]
    assert entity_id in (await found(house, known, query))[:5]
    for query, domain, floor in ALL_MEANT[language]:
        expected = members(house, domain, floor=floor)
        assert len(expected) > 8
        shown = await found(house, known, query, language=language)
        assert expected <= set(shown)
        assert floor is None or set(shown[: len(expected)]) == expected
    query, area = IN_A_ROOM[language]
    domains = ("light", "switch", "fan", "cover", "climate", "media_player")
    expected = set().union(*(members(house, domain, area=area) for domain in domains))
    assert len(expected) > 10
    assert expected <= set(await found(house, known, query, language=language))


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
    assert target not in await found(house, known, "fire up the fountain")
    shown = await found(
        house, known, "fire up the fountain", semantic=[(target, 0.6), ("fan.attic_fan", 0.3)]
    )
    assert shown[0] == target
    named = await found(house, known, "turn on the kitchen floor lamp", semantic=[(target, 0.9)])
    assert named[0] == "light.kitchen_floor_lamp"
    assert target in named


def test_every_language_has_wishes_of_its_classes(subtests: pytest.Subtests) -> None:
    """A wish is about a class that has words, and says something that these do not."""
    for language in LANGUAGES:
        with subtests.test(language=language):
            known = named.vocabulary(language)
            assert len(known.wishes.names) >= 4
            first = {said.split()[0] for said in known.classes.values()}
            assert known.wishes.names.keys() <= first
            phrases = [phrase for texts in known.wishes.names.values() for phrase in texts]
            assert all(words(phrase) for phrase in every(phrases))
            assert all(len(set(texts)) == len(texts) for texts in every(known.wishes.names.values()))


WISHES = {
    "en": (
        ("I can hardly see anything in the {}", "light."),
        ("the neighbours can see me in the {}", "cover."),
        ("I am shivering in the {}", "climate."),
        ("has somebody left crumbs in the {}", "vacuum."),
    ),
    "de": (("{}: da ist es ja stockfinster", "light."), ("im {} schwitze ich", "climate.")),
    "fr": (("je n'y vois rien dans le {}", "light."),),
    "es": (("el sol me da en la cara en el {}", "cover."),),
    "pl": (("{}: jest tu przeciąg", "binary_sensor."),),
    "ru": (("{}: я замёрз", "climate."),),
    "sv": (("{}: det drar här", "binary_sensor."),),
}


@pytest.mark.parametrize("language", WISHES)
async def test_a_wish_is_found_by_words_alone(house: HomeAssistant, known: House, language: str) -> None:
    """The things that a wish is about come first of those in the room."""
    house.config.language = language
    built = build_home(house, 84, language=language, rooms=7)
    room = ar.async_get(house).async_get_area(built.areas[0])
    assert room is not None
    for sentence, meant in WISHES[language]:
        shown = await found(house, known, sentence.format(room.name), 8)
        assert shown[0].startswith(meant), sentence


async def test_a_wish_without_a_room_is_about_the_speakers(house: HomeAssistant, known: House) -> None:
    """Who says only that it is too dark to see means the lights of the room."""
    built = build_home(house, 84, rooms=7)
    shown = await found(house, known, "I can't see a thing", 8, area_id=built.areas[2])
    assert shown[0] == "light.bedroom_light"
    assert all(entity_id.startswith("light.") for entity_id in every(shown[:7]))


async def test_what_is_named_comes_before_a_wish(house: HomeAssistant, known: House) -> None:
    """A thing that the sentence names stays first, whatever else the sentence says."""
    build_home(house, 84, rooms=7)
    shown = await found(house, known, "turn off the kitchen tv, the glare is dazzling", 8)
    assert shown[0] == "media_player.kitchen_tv"
    assert "cover.kitchen_blind" in shown
