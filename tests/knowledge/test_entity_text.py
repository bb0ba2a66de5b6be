"""Entities as texts to be found by meaning."""

import pytest

from custom_components.home_agent.knowledge.documents import entity_text
from custom_components.home_agent.knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from custom_components.home_agent.knowledge.spoken_words import async_class_words, known_language
from homeassistant.core import HomeAssistant


def house_with(record: EntityRecord) -> HouseSnapshot:
    return HouseSnapshot(
        entities={record.entity_id: record},
        areas={"bad": Area(area_id="bad", name="Bad", aliases=("Wellness",), floor_id="eg")},
        floors={"eg": Floor(floor_id="eg", name="Erdgeschoss")},
    )


async def test_everything_static_is_in_the_text(house: HomeAssistant, subtests: pytest.Subtests) -> None:
    for language, kind in [("de", "Fenster"), ("en", "Window"), ("pt", "Janela")]:
        with subtests.test(language=language, kind=kind):
            record = EntityRecord(
                entity_id="binary_sensor.dach",
                domain="binary_sensor",
                name="Luke",
                aliases=("Dachluke",),
                area_id="bad",
                floor_id="eg",
                device="Velux",
                device_class="window",
            )
            snapshot = house_with(record)
            words = await async_class_words(house, snapshot, (known_language(language),))
            assert entity_text(record, snapshot, words) == (
                f"Luke, Dachluke, {kind}, Bad, Wellness, Erdgeschoss, Velux"
            )
