"""What the agent knows of the house, and that it stays true at no cost."""

import asyncio

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.knowledge.house import House, is_exposed
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from tests.helpers.homes import build_home, expose


def register(hass: HomeAssistant, unique_id: str, name: str, **kwargs: object) -> er.RegistryEntry:
    """Register an exposed lamp that is on."""
    entry = er.async_get(hass).async_get_or_create("light", "test", unique_id, original_name=name, **kwargs)
    expose(hass, entry.entity_id)
    hass.states.async_set(entry.entity_id, "on", {"friendly_name": name})
    return entry


async def test_a_record_has_everything_that_outlasts_a_change_of_state(
    house: HomeAssistant, known: House
) -> None:
    hass = house
    floor = fr.async_get(hass).async_create("Upstairs", aliases={"First floor"}, level=1)
    area = ar.async_get(hass).async_create("Bedroom", aliases={"Sleeping room"}, floor_id=floor.floor_id)
    label = lr.async_get(hass).async_create("Christmas")
    config_entry = MockConfigEntry(domain="test")
    config_entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=config_entry.entry_id, identifiers={("test", "lamp")}, name="Fancy lamp"
    )
    dr.async_get(hass).async_update_device(device.id, area_id=area.id)
    entry = er.async_get(hass).async_get_or_create(
        "light", "test", "1", config_entry=config_entry, device_id=device.id, has_entity_name=True
    )
    er.async_get(hass).async_update_entity(
        entry.entity_id,
        aliases=[er.COMPUTED_NAME, "Glow ", "", "fancy LAMP", "Glow"],
        labels={label.label_id},
    )
    expose(hass, entry.entity_id)
    hass.states.async_set(
        entry.entity_id,
        "on",
        {
            "friendly_name": "Fancy lamp",
            "supported_color_modes": ["color_temp", "hs"],
            "supported_features": 4,
        },
    )

    snapshot = await known.async_snapshot()

    record = snapshot.entities[entry.entity_id]
    assert record.name == "Fancy lamp"
    assert record.aliases == ("Glow",)
    assert (record.area_id, record.floor_id, record.device) == (area.id, floor.floor_id, "Fancy lamp")
    assert record.labels == ("Christmas",)
    assert record.abilities == ("brightness", "color", "color_temp", "effect")
    assert snapshot.areas[area.id].aliases == ("Sleeping room",)
    assert snapshot.floors[floor.floor_id].level == 1
    assert snapshot.in_area(area.id) == (record,)
    assert snapshot.in_area("nowhere") == ()
    with pytest.raises(AttributeError):
        record.name = "Other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        snapshot.entities["light.x"] = record  # type: ignore[index]


async def test_only_exposed_entities_are_known(house: HomeAssistant, known: House) -> None:
    shown, hidden = register(house, "1", "Shown"), register(house, "2", "Hidden")
    expose(house, hidden.entity_id, exposed=False)
    house.states.async_set("light.unregistered", "on")
    house.states.async_set("lock.front_door", "locked")

    snapshot = await known.async_snapshot()

    assert list(snapshot.entities) == [shown.entity_id, "light.unregistered"]
    assert snapshot.entities["light.unregistered"].name == "unregistered"
    assert is_exposed(house, shown.entity_id)
    assert not is_exposed(house, hidden.entity_id)
    assert not is_exposed(house, "lock.front_door")


async def test_exposure_is_followed_with_and_without_registry_entry(
    house: HomeAssistant, known: House
) -> None:
    entry = register(house, "1", "Lamp")
    house.states.async_set("light.unregistered", "on")
    before = await known.async_snapshot()
    for entity_id in (entry.entity_id, "light.unregistered"):
        expose(house, entity_id, exposed=False)
    hidden = await known.async_snapshot()
    expose(house, "light.unregistered")
    expose(house, entry.entity_id)
    after = await known.async_snapshot()
    assert not hidden.entities
    assert after.entities == before.entities
    assert after.version == before.version + 2


async def test_a_change_of_state_changes_nothing(house: HomeAssistant, known: House) -> None:
    entry = register(house, "1", "Lamp")
    before = await known.async_snapshot()
    for brightness in range(50):
        house.states.async_set(entry.entity_id, "on", {"friendly_name": "Lamp", "brightness": brightness})
    house.states.async_set(entry.entity_id, "unavailable", {"friendly_name": "Lamp"})
    assert await known.async_snapshot() is before


async def test_registry_changes_reach_the_entities_they_touch(house: HomeAssistant, known: House) -> None:
    hass = house
    built = build_home(hass, 6, rooms=3, devices=True)
    label = lr.async_get(hass).async_create("Old")
    er.async_get(hass).async_update_entity(built.entities[0], labels={label.label_id})
    before = await known.async_snapshot()
    entity_id = built.entities[0]
    device_id = er.async_get(hass).async_get(entity_id).device_id  # type: ignore[union-attr]

    dr.async_get(hass).async_update_device(device_id, name_by_user="Renamed", area_id=built.areas[1])
    ar.async_get(hass).async_update(built.areas[1], floor_id=built.floors[0], name="Moved")
    fr.async_get(hass).async_update(built.floors[0], name="Level 0")
    lr.async_get(hass).async_update(label.label_id, name="Fresh")
    er.async_get(hass).async_update_entity(built.entities[1], new_entity_id="light.renamed")
    hass.states.async_remove(built.entities[1])
    hass.states.async_set("light.renamed", "on")
    after = await known.async_snapshot()

    record = after.entities[entity_id]
    assert (record.device, record.area_id, record.floor_id) == ("Renamed", built.areas[1], built.floors[0])
    assert record.labels == ("Fresh",)
    assert after.areas[built.areas[1]].name == "Moved"
    assert after.floors[built.floors[0]].name == "Level 0"
    assert "light.renamed" in after.entities
    assert built.entities[1] not in after.entities
    assert before.entities[entity_id].labels == ("Old",)
    assert after.entities[built.entities[5]] == before.entities[built.entities[5]]


async def test_callers_share_one_rebuild_and_changes_during_it_are_not_lost(
    house: HomeAssistant, known: House
) -> None:
    built = build_home(house, 600)
    first = asyncio.ensure_future(known.async_snapshot())
    others = [asyncio.ensure_future(known.async_snapshot()) for _ in range(5)]
    await asyncio.sleep(0)
    last = built.entities[0]
    house.states.async_set(last, "on", {"friendly_name": "Changed meanwhile"})
    snapshots = await asyncio.gather(first, *others)
    assert len({id(snapshot) for snapshot in snapshots}) == 1
    assert (await known.async_snapshot()).entities[last].name == "Changed meanwhile"
    assert len((await known.async_snapshot()).entities) == 600
