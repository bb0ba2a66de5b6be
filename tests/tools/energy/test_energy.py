"""energy: the figures of the Energy dashboard, from its preferences and from real statistics."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.context.window import estimate_tokens
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import Recorder, get_instance
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent
from tests.helpers.energy import BATTERY, GRID, SOLAR, configure, count as count_hours
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

pytestmark = pytest.mark.usefixtures("recorder_db_url")  # before Home Assistant is there

NOON = datetime(2026, 3, 31, 10, 30, tzinfo=UTC)
"""12:30 of a Tuesday in Berlin, two days after the clocks were put forward."""
BEGINNING = datetime(2026, 2, 28, 23, 0, tzinfo=UTC)
"""Midnight before the first of March in Berlin."""
MAX_TOKENS = 60


@pytest.fixture
async def home(
    recorder_mock: Recorder, hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> Agent:
    """Return an agent in a home whose Energy dashboard is not configured yet."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    hass.config.currency = "EUR"
    freezer.move_to(NOON)
    assert await async_setup_component(hass, "energy", {})
    agent = await async_agent(hass, model_server, {"memory_extraction_enabled": False})
    await hass.async_block_till_done()
    return agent


def count(
    hass: HomeAssistant, statistic: str, hourly: Mapping[int, float], unit: str = "kWh", today: float = 1.0
) -> None:
    """Have a meter count by the hour of the day since the first of March, `today` times as much today."""
    hours, at = [], BEGINNING
    while at < NOON.replace(minute=0):
        local = dt_util.as_local(at)
        hours.append((at, hourly.get(local.hour, 0.0) * (today if local.date() == NOON.date() else 1.0)))
        at += timedelta(hours=1)
    count_hours(hass, statistic, hours, unit)


async def counted(
    agent: Agent, sentence: str = "How much electricity did we use?", *, language: str = "en", **args: Any
) -> Any:
    """Return what the model reads of a call of the tool."""
    await get_instance(agent.hass).async_block_till_done()
    agent.server.clear()
    agent.server.script([tool_calls([("energy", args)]), text("I looked.")])
    await agent.at_satellite().say(sentence, language=language)
    return agent.results[-1]


def offered(agent: Agent) -> dict[str, Any]:
    """Return the tools of the last request by name."""
    return {tool["function"]["name"]: tool for tool in agent.server.chats[-1].json["tools"]}


async def test_the_tool_is_offered_where_the_dashboard_counts_something(home: Agent) -> None:
    """Nothing in a home without preferences, at most 60 tokens in one with them."""
    home.server.script([text("Hello."), text("Hello.")])
    await home.at_satellite().say("Hello")
    assert "energy" not in offered(home)
    await configure(home.hass, [GRID])
    await home.at_satellite().say("Hello")
    assert estimate_tokens(json_dumps(offered(home)["energy"]["function"])) <= MAX_TOKENS


async def test_used_bought_sold_and_cost(home: Agent) -> None:
    """Yesterday and today: amounts in kWh whatever the meter counts in, and money."""
    await configure(home.hass, [GRID, SOLAR])
    count(home.hass, "sensor.grid_in", {0: 1.0, 20: 3.0})
    count(home.hass, "sensor.grid_out", {11: 500.0}, "Wh")
    count(home.hass, "sensor.grid_cost", {0: 0.3, 20: 0.9}, "EUR")
    count(home.hass, "sensor.grid_earned", {11: 0.04}, "EUR")
    count(home.hass, "sensor.roof", {11: 2.0})
    yesterday = (await counted(home, period="yesterday"))["result"]
    assert yesterday["period"] == "2026-03-30 00:00 to 2026-03-31 00:00"
    assert yesterday["electricity"] == {
        "used": "5.5 kWh",
        "from_grid": "4 kWh",
        "sold_to_grid": "0.5 kWh",
        "solar_made": "2 kWh",
        "solar_used_at_home": "75%",
        "self_sufficient": "27%",
        "cost": "1.20 EUR",
        "earned": "0.04 EUR",
        "net_cost": "1.16 EUR",
    }
    today = (await counted(home))["result"]
    assert today["until"] == "counted until the last full hour"
    assert today["electricity"]["used"] == "2.5 kWh"
    assert today["electricity"]["cost"] == "0.30 EUR"


async def test_weeks_months_and_the_day_of_23_hours(home: Agent) -> None:
    """Days begin at midnight of the household, also on the day on which the clocks are put forward."""
    await configure(home.hass, [GRID])
    count(home.hass, "sensor.grid_in", dict.fromkeys(range(24), 1.0))
    assert (await counted(home, period="2026-03-29"))["result"]["electricity"]["used"] == "23 kWh"
    week = (await counted(home, period="last week"))["result"]
    assert week["electricity"]["used"] == "167 kWh"
    assert week["used_each_day"]["2026-03-29"] == "23 kWh"
    assert week["used_each_day"]["2026-03-28"] == "24 kWh"
    month = (await counted(home, period="March"))["result"]
    assert month["period"].startswith("2026-03-01 00:00")
    assert month["electricity"]["used"] == f"{31 * 24 - 1 - 12} kWh"
    assert month["used_each_day"]["lowest"] == "2026-03-31: 12 kWh"
    assert (await counted(home, period="2026-03"))["result"] == month
    days = (await counted(home, period="2026-03-28 to 2026-03-29"))["result"]
    assert days["electricity"]["used"] == "47 kWh"


async def test_a_price_without_a_statistic(home: Agent) -> None:
    """Home Assistant's own cost sensor counts where only a price is set."""
    home.hass.states.async_set(
        "sensor.grid_in",
        "10",
        {"unit_of_measurement": "kWh", "device_class": "energy", "state_class": "total_increasing"},
    )
    await configure(home.hass, [{**GRID, "stat_cost": None, "stat_compensation": None}])
    count(home.hass, "sensor.grid_in", {0: 1.0})
    told = (await counted(home))["result"]["electricity"]
    assert told["cost"] == "no price is set in the Energy dashboard"
    await configure(home.hass, [{**GRID, "stat_cost": None, "number_energy_price": 0.3}])
    assert home.hass.data["energy"]["cost_sensors"] == {"sensor.grid_in": "sensor.grid_in_cost"}
    count(home.hass, "sensor.grid_in_cost", {0: 0.3}, "EUR")
    assert (await counted(home))["result"]["electricity"]["cost"] == "0.30 EUR"


async def test_battery(home: Agent) -> None:
    await configure(home.hass, [GRID, SOLAR, BATTERY])
    count(home.hass, "sensor.grid_in", {1: 2.0})
    count(home.hass, "sensor.roof", {9: 3.0})
    count(home.hass, "sensor.battery_in", {9: 1.0})
    count(home.hass, "sensor.battery_out", {2: 0.5})
    told = (await counted(home))["result"]
    assert told["electricity"]["used"] == "4.5 kWh"
    assert told["electricity"]["battery_charged"] == "1 kWh"
    assert told["electricity"]["solar_used_at_home"] == "100%"


async def test_gas_and_water(home: Agent) -> None:
    """In the units in which the meters are shown; gas that is counted as energy in kWh."""
    gas, boiler = ({"type": "gas", "stat_energy_from": f"sensor.{name}"} for name in ("gas", "boiler"))
    await configure(home.hass, [gas, boiler, {"type": "water", "stat_energy_from": "sensor.water"}])
    count(home.hass, "sensor.gas", {1: 2.0}, "m³")
    count(home.hass, "sensor.boiler", {1: 500.0}, "Wh")
    count(home.hass, "sensor.water", {1: 0.25}, "m³")
    told = (await counted(home))["result"]
    assert told["gas"]["used"] == "2 m³ and 0.5 kWh"
    assert told["water"]["used"] == "0.25 m³"


PERIODS = (
    ("today", "yesterday", "2026-03-30 00:00 to 2026-03-30 12:00"),
    ("this week", "last week", "2026-03-23 00:00 to 2026-03-24 12:00"),
    ("yesterday", "previous", "2026-03-29 00:00 to 2026-03-30 00:00"),
    ("this month", "previous", "2026-02-01 00:00 to 2026-03-01 00:00"),
    ("last 6 hours", "previous", "2026-03-30 06:00 to 2026-03-30 12:00"),
    ("diese Woche", "previous", "2026-03-23 00:00 to 2026-03-24 12:00"),
    ("last month", "previous", "2026-01-01 00:00 to 2026-02-01 00:00"),
    ("2026-03-10 to 2026-03-11", "previous", "2026-03-08 00:00 to 2026-03-10 00:00"),
    ("last week", "die Woche davor", "2026-03-16 00:00 to 2026-03-23 00:00"),
)


async def test_the_period_before(home: Agent, subtests: pytest.Subtests) -> None:
    """A day is compared with a day, hours with the same hours, what is not over with as much of the other."""
    await configure(home.hass, [GRID])
    count(home.hass, "sensor.grid_in", dict.fromkeys(range(24), 1.0))
    home.hass.config.language = "de"
    for period, compare, before in PERIODS:
        with subtests.test(period, compare=compare):
            compared = (await counted(home, period=period, compare=compare, language="de"))["result"][
                "compared"
            ]
            assert compared["period"] == before
            assert period != "today" or compared["electricity"]["used"] == "12 kWh"


async def test_devices_are_named_if_one_of_their_entities_is_exposed(home: Agent) -> None:
    """The dashboard shows totals to everybody; names of devices follow exposure."""
    hass = home.hass
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=home.entry.entry_id, identifiers={("test", "washer")}, name="Washer"
    )
    for entity_id in ("sensor.washer_energy", "switch.washer", "sensor.secret_energy"):
        domain, _, name = entity_id.partition(".")
        er.async_get(hass).async_get_or_create(
            domain,
            "test",
            name,
            suggested_object_id=name,
            device_id=device.id if "washer" in name else None,
            config_entry=home.entry,
        )
        hass.states.async_set(entity_id, "1", {"friendly_name": name.title()})
        async_expose_entity(hass, "conversation", entity_id, False)
    async_expose_entity(hass, "conversation", "switch.washer", True)
    devices = [
        {"stat_consumption": "sensor.washer_energy", "name": "Washing machine"},
        {"stat_consumption": "sensor.secret_energy", "name": "Sauna in the cellar"},
    ]
    await configure(hass, [GRID], *devices)
    count(hass, "sensor.grid_in", {1: 5.0})
    count(hass, "sensor.washer_energy", {1: 2.0})
    count(hass, "sensor.secret_energy", {1: 1.0})
    told = (await counted(home))["result"]["devices"]
    assert told == {
        "Washing machine": "2 kWh",
        "other devices": "1 kWh",
    }


async def test_an_agent_with_a_list(home: Agent) -> None:
    """What the whole home uses is told only by an agent whose list has all the meters."""
    await configure(home.hass, [GRID])
    count(home.hass, "sensor.grid_in", {1: 5.0})
    await home.set_options(visible_entities={"entities": ["sensor.grid_in"]})
    told = await counted(home)
    assert "not read all meters" in told["error"]
    assert told["result"] is None
    await home.set_options(visible_entities={"entities": ["sensor.grid_in", "sensor.grid_out"]})
    assert (await counted(home))["success"]
