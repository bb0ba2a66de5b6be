"""ha_query, the past: on a real recorder, with the household's clock."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.errors import ToolExecutionError
from custom_components.home_agent.knowledge.house import House
from homeassistant.components.recorder import Recorder, get_instance
from homeassistant.components.recorder.models import StatisticMeanType
from homeassistant.components.recorder.statistics import async_import_statistics
from homeassistant.core import HomeAssistant
from tests.helpers.query_house import QueryHouse

pytestmark = pytest.mark.usefixtures("recorder_db_url")  # before Home Assistant is there

NOON = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)
TEMPERATURE = {"unit_of_measurement": "°C", "device_class": "temperature", "state_class": "measurement"}


@dataclass(slots=True)
class PastHouse(QueryHouse):
    """A recorded house at noon of a Wednesday in Berlin, 13:00 there."""

    freezer: FrozenDateTimeFactory = field(kw_only=True)

    async def past(self, entity_id: str, duration: str, aggregate: str | None = None) -> Any:
        """Return what is told of the past of one entity."""
        history = {"duration": duration} | ({"aggregate": aggregate} if aggregate else {})
        return await self.ask_one(entity_id=entity_id, history=history)

    async def record(
        self, entity_id: str, states: Mapping[float, str], attributes: dict[str, Any] | None = None
    ) -> None:
        """Let an entity go through states so many hours before noon, then come back to noon."""
        for hours, state in states.items():
            self.freezer.move_to(before(hours=hours))
            self.add(entity_id, state, attributes)
            await self.hass.async_block_till_done()
        await async_wait_recording_done(self.hass)
        self.freezer.move_to(NOON)

    async def statistics(
        self, entity_id: str, rows: list[dict[str, Any]], unit: str, *, is_meter: bool = False
    ) -> None:
        """Give an entity hours of long-term statistics."""
        about = {
            "has_sum": is_meter,
            "mean_type": StatisticMeanType.NONE if is_meter else StatisticMeanType.ARITHMETIC,
            "name": None,
            "source": "recorder",
            "statistic_id": entity_id,
            "unit_of_measurement": unit,
            "unit_class": "energy" if is_meter else "temperature",
        }
        async_import_statistics(self.hass, about, rows)
        await async_wait_recording_done(self.hass)


@pytest.fixture
async def rooms(
    recorder_mock: Recorder, house: HomeAssistant, freezer: FrozenDateTimeFactory
) -> AsyncGenerator[PastHouse]:
    """Return a recorded house of which nothing is known yet."""
    await house.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to(NOON)
    known = House(house)
    await known.async_start()
    yield PastHouse(house, known, freezer=freezer)
    await known.async_stop()


def before(**length: float) -> datetime:
    return NOON - timedelta(**length)


async def test_average_is_weighted_by_time(rooms: PastHouse) -> None:
    steps = {6: "10", 3: "20", 1: "40"}
    await rooms.record("sensor.air", steps, TEMPERATURE)
    for aggregate, expected in (
        ("avg", {"avg": 22.5}),
        ("min", {"min": 10, "min_at": "2026-01-14 09:00"}),
        ("max", {"max": 40, "max_at": "2026-01-14 12:00"}),
        ("count", {"count": 2}),
        ("sum", {"sum": 70, "of": "all readings"}),
    ):
        entity = await rooms.past("sensor.air", "4h", aggregate)
        assert entity["history"] == expected
        assert (entity["shown"], entity["unit"]) == ("40 °C", "°C")


async def test_few_numbers_are_listed_many_are_summed_up(rooms: PastHouse) -> None:
    await rooms.record("sensor.air", {2: "10", 1: "12.5"}, TEMPERATURE)
    answer = await rooms.ask(entity_id="sensor.air", history={"duration": "24h"})
    assert answer["period"] == "2026-01-13 13:00 to 2026-01-14 13:00"
    assert answer["history"]["sensor.air"] == {
        "now": "12.5 °C",
        "unit": "°C",
        "changes": [["2026-01-14 11:00", 10], ["2026-01-14 12:00", 12.5]],
        "known_since": "2026-01-14 11:00",
    }
    many = {(60 - index) / 60: str(index) for index in range(60)}
    await rooms.record("sensor.many", many, TEMPERATURE)
    summary = (await rooms.past("sensor.many", "1h"))["history"]
    assert summary == {
        "first": 0,
        "last": 59,
        "avg": 29.5,
        "min": 0,
        "min_at": "2026-01-14 12:00",
        "max": 59,
        "max_at": "2026-01-14 12:59",
    }


async def test_time_per_state_and_gaps_that_are_no_change(rooms: PastHouse) -> None:
    steps = {9: "off", 7: "on", 6: "unavailable", 5: "on", 4: "off", 2: "on"}
    await rooms.record("switch.heater", steps)
    entity = await rooms.past("switch.heater", "8h", "count")
    assert entity["history"] == {
        "count": 2,
        "counted": "became on",
        "time": {"on": "4 h, 2 times", "off": "3 h, 1 time", "unavailable": "1 h"},
    }
    listed = await rooms.past("switch.heater", "8h")
    assert listed["history"]["changes"] == [
        ["2026-01-14 06:00", "on"],
        ["2026-01-14 09:00", "off"],
        ["2026-01-14 11:00", "on"],
    ]
    average = await rooms.past("switch.heater", "8h", "avg")
    assert average["history"]["note"] == "not a number, so there is no avg"


async def test_the_newest_changes_are_kept(rooms: PastHouse) -> None:
    steps = {(100 - index) / 60: "on" if index % 2 else "off" for index in range(100)}
    await rooms.record("switch.heater", steps)
    history = (await rooms.past("switch.heater", "1d"))["history"]
    assert (history["count"], history["earlier_changes"], len(history["changes"])) == (50, 79, 20)
    assert history["changes"][-1] == ["2026-01-14 12:59", "on"]
    assert history["time"] == {"off": "50 min, 49 times", "on": "50 min, 50 times"}


async def test_a_change_not_yet_written_counts(rooms: PastHouse) -> None:
    await rooms.record("switch.heater", {2: "off"})
    rooms.freezer.move_to(before(hours=1))
    get_instance(rooms.hass).set_enable(False)
    rooms.hass.states.async_set("switch.heater", "on")
    await async_wait_recording_done(rooms.hass)
    rooms.freezer.move_to(NOON)
    history = (await rooms.past("switch.heater", "2h"))["history"]
    assert history["time"] == {"off": "1 h, 0 times", "on": "1 h, 1 time"}


async def test_an_attribute_can_be_followed(rooms: PastHouse) -> None:
    for hours, temperature in ((4, 20.0), (2, 22.0)):
        await rooms.record("climate.hall", {hours: "heat"}, {"current_temperature": temperature})
    entity = await rooms.ask_one(
        entity_id="climate.hall",
        attributes=["current_temperature"],
        history={"duration": "4h", "aggregate": "avg"},
    )
    assert entity["history"] == {"avg": 21, "attribute": "current_temperature"}
    assert entity["unit"] == "°C"
    for hours, brightness in ((2, 51), (1, 255)):
        await rooms.record("light.lamp", {hours: "on"}, {"brightness": brightness})
    lamp = await rooms.ask_one(
        entity_id="light.lamp", attributes=["brightness"], history={"duration": "2h", "aggregate": "avg"}
    )
    assert (lamp["history"]["avg"], lamp["unit"]) == (60, "%")


async def test_a_meter_counts_over_its_resets(rooms: PastHouse) -> None:
    meter = {"unit_of_measurement": "kWh", "device_class": "energy", "state_class": "total_increasing"}
    steps = {4: "100", 3: "104", 2: "1", 1: "3"}
    await rooms.record("sensor.energy", steps, meter)
    entity = await rooms.past("sensor.energy", "5h", "sum")
    assert entity["history"]["sum"] == 7
    assert entity["unit"] == "kWh"
    overview = await rooms.past("sensor.energy", "5h")
    assert overview["history"]["counted"] == 7


async def test_long_periods_come_from_statistics(rooms: PastHouse) -> None:
    await rooms.record("sensor.air", {30 / 60: "30"}, TEMPERATURE)
    first = before(days=30)
    rows = [
        {
            "start": first + timedelta(hours=hour),
            "mean": 10.0,
            "min": 5.0 if hour == 100 else 9.0,
            "max": 11.0,
        }
        for hour in range(30 * 24)
    ]
    await rooms.statistics("sensor.air", rows, "°C")
    for duration, aggregate, expected in (
        ("30d", "avg", {"avg": 10}),
        ("30d", "min", {"min": 5, "min_at": "2025-12-19 17:00"}),
        ("3d", "max", {"max": 11}),
    ):
        entity = await rooms.past("sensor.air", duration, aggregate)
        assert expected.items() <= entity["history"].items()
        assert "known_since" not in entity["history"]
    short = await rooms.past("sensor.air", "24h", "max")
    assert short["history"]["max"] == 30
    year = await rooms.past("sensor.air", "1y")
    assert year["history"]["known_since"] == "2025-12-15 13:00"


async def test_statistics_go_on_with_the_states_after_them(rooms: PastHouse) -> None:
    first = before(hours=73)
    rows = [
        {"start": first + timedelta(hours=hour), "mean": 10.0, "min": 10.0, "max": 10.0} for hour in range(72)
    ]
    await rooms.record("sensor.air", {80: "10", 30 / 60: "99"}, TEMPERATURE)
    await rooms.statistics("sensor.air", rows, "°C")
    entity = await rooms.past("sensor.air", "3d", "max")
    assert entity["history"] == {"max": 99, "max_at": "2026-01-14 12:30"}


async def test_the_value_at_a_moment(rooms: PastHouse, subtests: pytest.Subtests) -> None:
    """It is 13:00; a time without a day is the newest one."""
    for history, at, value in [
        ({"at": "03:00"}, "2026-01-14 03:00", 20),
        ({"at": "3"}, "2026-01-14 03:00", 20),
        ({"at": "3 am"}, "2026-01-14 03:00", 20),
        ({"at": "last night at 3:00"}, "2026-01-14 03:00", 20),
        ({"at": "yesterday 15:00"}, "2026-01-13 15:00", 10),
        ({"at": "3 pm yesterday"}, "2026-01-13 15:00", 10),
        ({"at": "15:00"}, "2026-01-13 15:00", 10),
        ({"at": "15:00", "duration": "yesterday"}, "2026-01-13 15:00", 10),
        ({"at": "2026-01-13 15:00"}, "2026-01-13 15:00", 10),
        ({"at": "2026-01-13T14:00:00+00:00"}, "2026-01-13 15:00", 10),
        ({"at": "2 hours ago"}, "2026-01-14 11:00", 30),
    ]:
        with subtests.test(history=history, at=at):
            steps = {40: "10", 12: "20", 4: "30"}
            await rooms.record("sensor.air", steps, TEMPERATURE)
            answer = await rooms.ask(entity_id="sensor.air", history=history)
            assert answer == {
                "at": at,
                "history": {"sensor.air": {"now": "30 °C", "unit": "°C", "value": value}},
            }


@pytest.mark.parametrize("recorder_config", [{"exclude": {"entities": ["light.open"]}}])
async def test_an_unrecorded_entity_has_no_history(
    recorder_config: dict[str, Any],
    recorder_mock: Recorder,
    house: HomeAssistant,
    freezer: FrozenDateTimeFactory,
) -> None:
    known = House(house)
    rooms = PastHouse(house, known, freezer=freezer)
    rooms.add("light.open", "on")
    await async_wait_recording_done(house)
    entity = await rooms.past("light.open", "1h")
    assert entity["history"] == {"error": "no history recorded for this period"}
    assert entity["shown"] == "on"


async def test_without_a_recorder_the_error_says_so(house: HomeAssistant) -> None:
    rooms = QueryHouse(house, House(house))
    rooms.add("light.open", "on")
    with pytest.raises(ToolExecutionError, match="recorder is off"):
        await rooms.ask(entity_id="light.open", history={"duration": "1h"})
