"""The last 24 hours from a real recorder, in words."""

from collections.abc import AsyncGenerator, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done
from sqlalchemy.exc import OperationalError

from custom_components.home_agent.knowledge import summaries
from custom_components.home_agent.knowledge.house import House
from custom_components.home_agent.knowledge.semantic import KnowledgeDocument
from custom_components.home_agent.knowledge.summaries import Summaries
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import Recorder
from homeassistant.components.recorder.models import StatisticMeanType
from homeassistant.components.recorder.statistics import async_import_statistics
from homeassistant.core import HomeAssistant
from tests.helpers.query_house import QueryHouse

pytestmark = pytest.mark.usefixtures("recorder_db_url")  # before Home Assistant is there

NOON = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)
LIGHT = "light.ceiling"
TEMPERATURE = {"unit_of_measurement": "°C", "device_class": "temperature", "state_class": "measurement"}
ENERGY = {"unit_of_measurement": "kWh", "device_class": "energy", "state_class": "total_increasing"}


@pytest.fixture
async def rooms(
    recorder_mock: Recorder, house: HomeAssistant, freezer: FrozenDateTimeFactory
) -> AsyncGenerator[QueryHouse]:
    """Return a recorded house at noon."""
    await house.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to(NOON)
    known = House(house)
    await known.async_start()
    yield QueryHouse(house, known)
    await known.async_stop()


async def record(
    rooms: QueryHouse,
    freezer: FrozenDateTimeFactory,
    entity_id: str,
    states: Iterable[tuple[float, str]],
    attributes: dict[str, Any] | None = None,
    area: str | None = None,
) -> None:
    """Let an entity go through states so many hours before noon."""
    for hours, state in states:
        freezer.move_to(NOON - timedelta(hours=hours))
        rooms.add(entity_id, state, attributes, area=area)
        await rooms.hass.async_block_till_done()
    await async_wait_recording_done(rooms.hass)
    freezer.move_to(NOON)


async def count(rooms: QueryHouse, entity_id: str, unit: str, hours: Iterable[dict[str, float]]) -> None:
    """Import hourly statistics up to noon."""
    rows = list(hours)
    metered = "sum" in rows[0]
    metadata = {
        "has_sum": metered,
        "mean_type": StatisticMeanType.NONE if metered else StatisticMeanType.ARITHMETIC,
        "name": None,
        "source": "recorder",
        "statistic_id": entity_id,
        "unit_class": "energy" if metered else "temperature",
        "unit_of_measurement": unit,
    }
    first = NOON - timedelta(hours=len(rows))
    stamped = [{"start": first + timedelta(hours=index), **row} for index, row in enumerate(rows)]
    async_import_statistics(rooms.hass, metadata, stamped)  # type: ignore[arg-type]
    await async_wait_recording_done(rooms.hass)


async def documents(source: Summaries, rooms: QueryHouse) -> list[KnowledgeDocument]:
    """Return the documents of now."""
    return await source.async_documents(await rooms.house.async_snapshot())


async def summary(rooms: QueryHouse) -> dict[str, KnowledgeDocument]:
    """Return what is known of the last 24 hours."""
    source = Summaries(rooms.hass, rooms.house)
    await source.async_refresh()
    return {document.id: document for document in await documents(source, rooms)}


async def test_time_and_times(rooms: QueryHouse, freezer: FrozenDateTimeFactory) -> None:
    """On before the 24 hours, on now, on in between; what was never on is counted only."""
    await record(
        rooms, freezer, LIGHT, [(30, "on"), (23, "off"), (10, "on"), (8, "off"), (1.5, "on")], area="Kitchen"
    )
    await record(
        rooms,
        freezer,
        "binary_sensor.window",
        [(20, "off"), (5, "on"), (4.5, "off")],
        {"device_class": "window"},
        area="Kitchen",
    )
    await record(rooms, freezer, "switch.oven", [(20, "off")], area="Kitchen")
    await record(rooms, freezer, "lock.door", [(30, "unlocked")])
    found = await summary(rooms)
    assert found["summary:kitchen"].title == "Kitchen, last 24 hours"
    assert found["summary:kitchen"].text == (
        "Kitchen, last 24 hours. Until 2026-01-14 13:00: Ceiling on 4 h 30 min, 2 times; "
        "Window open 30 min, once. Not in use: 1."
    )
    assert found["summary:kitchen"].entity_ids == (LIGHT, "binary_sensor.window")
    assert "Door unlocked 1 d." in found["summary:elsewhere"].text


async def test_measured_and_counted(rooms: QueryHouse, freezer: FrozenDateTimeFactory) -> None:
    await record(rooms, freezer, "sensor.temperature", [(1, "21")], TEMPERATURE, area="Kitchen")
    await record(rooms, freezer, "sensor.energy", [(1, "107.5")], ENERGY)
    readings = [{"mean": 20.0 + hour / 10, "min": 19.0, "max": 22.5} for hour in range(24)]
    await count(rooms, "sensor.temperature", "°C", readings)
    await count(rooms, "sensor.energy", "kWh", [{"state": 100.0 + h / 4, "sum": h / 4} for h in range(30)])
    found = await summary(rooms)
    assert "Temperature 19 to 22.5 °C, average 21.15." in found["summary:kitchen"].text
    assert "Energy counted 6 kWh." in found["summary:elsewhere"].text


async def test_hidden_entities_are_not_told(rooms: QueryHouse, freezer: FrozenDateTimeFactory) -> None:
    await record(rooms, freezer, LIGHT, [(5, "on")], area="Kitchen")
    source = Summaries(rooms.hass, rooms.house)
    await source.async_refresh()
    assert len(list(await documents(source, rooms))) == 1
    async_expose_entity(rooms.hass, "conversation", LIGHT, should_expose=False)
    assert list(await documents(source, rooms)) == []


async def test_read_at_start_and_every_six_hours(rooms: QueryHouse, freezer: FrozenDateTimeFactory) -> None:
    await record(rooms, freezer, LIGHT, [(5, "on")], area="Kitchen")
    source = Summaries(rooms.hass, rooms.house)
    told: list[None] = []
    stop = source.async_listen(lambda: told.append(None))
    await rooms.hass.async_block_till_done(wait_background_tasks=True)
    assert len(told) == 1
    (first,) = await documents(source, rooms)
    assert "Ceiling on 5 h" in first.text
    freezer.move_to(NOON + timedelta(hours=6, minutes=1))
    async_fire_time_changed(rooms.hass)
    await rooms.hass.async_block_till_done(wait_background_tasks=True)
    assert len(told) == 2
    (second,) = await documents(source, rooms)
    assert "Ceiling on 11 h" in second.text
    stop()
    stop = source.async_listen(lambda: told.append(None))  # another agent, right after: nothing to read again
    await rooms.hass.async_block_till_done(wait_background_tasks=True)
    assert "Ceiling on 11 h 1 min" in next(iter(await documents(source, rooms))).text
    stop()


async def test_failing_database_leaves_the_old_figures(
    rooms: QueryHouse,
    freezer: FrozenDateTimeFactory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await record(rooms, freezer, LIGHT, [(5, "on")])
    source = Summaries(rooms.hass, rooms.house)
    await source.async_refresh()

    def fail(*_: Any) -> None:
        raise OperationalError("SELECT secret", None, Exception("locked"))

    monkeypatch.setattr(summaries, "_read_timed", fail)
    await source.async_refresh()
    assert len(list(await documents(source, rooms))) == 1
    assert "OperationalError" in caplog.text
    assert "secret" not in caplog.text
