"""Learning from InfluxDB: a real server of version 1, a stand-in for version 2."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

import custom_components
from custom_components.home_agent.const import DEFAULTS, DOMAIN
from custom_components.home_agent.memory.learner.sources import InfluxError, InfluxTrouble, influx_source
from custom_components.home_agent.memory.records import Origin
from homeassistant.config_entries import ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent
from tests.helpers.demo_house import DEMO, async_demo_house
from tests.helpers.month import NOW, PUT_IN, WASHER, Month, add_people, make_month
from tests.helpers.options_pages import is_saved, save as save_page
from tests.servers.influxdb import (
    ADMIN,
    PASSWORD,
    READER,
    READER_PASSWORD,
    TOKEN,
    InfluxServer,
    InfluxStandIn,
    Written,
)
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply

START = datetime.fromisoformat("2026-03-10T00:00:00+00:00")
UNSEEN = {"cover.bedroom_curtains", "light.bedside_anna", WASHER}
"""What automations are about: who did it is not in this database. Power is read from the recorder."""
FOUND = {(entity, value, days) for entity, value, days, _ in PUT_IN if entity not in UNSEEN}


@pytest.fixture(autouse=True)
def _demo_house(hass: HomeAssistant) -> None:
    folder = str(DEMO / "custom_components")
    if folder not in custom_components.__path__:
        custom_components.__path__.append(folder)


def written(month: Month) -> Iterator[Written]:
    """Yield a month as Home Assistant's integration writes it."""
    for row in month.rows:
        if row.state in ("unavailable", "unknown"):
            continue
        yield Written(row.at, row.entity_id, row.entity_id, "state", row.state)
        if row.state in ("on", "off", "open", "closed", "home", "not_home"):
            number = float(row.state in ("on", "open", "home"))
            yield Written(row.at, row.entity_id, row.entity_id, "value", number)
        for name, value in row.attributes.items():
            yield Written(row.at, row.entity_id, row.entity_id, name, value)


def options_v1(server: InfluxServer, database: str, **others: Any) -> dict[str, Any]:
    """Return the options for a database of version 1."""
    return {
        "learning_enabled": True,
        "learning_source": "influxdb",
        "influxdb_version": "v1",
        "influxdb_url": server.url,
        "influxdb_database": database,
        "influxdb_username": READER,
        "influxdb_password": READER_PASSWORD,
        **others,
    }


def options_v2(server: InfluxStandIn, **others: Any) -> dict[str, Any]:
    """Return the options for a bucket of version 2."""
    return {
        "learning_enabled": True,
        "learning_source": "influxdb",
        "influxdb_version": "v2",
        "influxdb_url": server.address,
        "influxdb_database": server.bucket,
        "influxdb_org": server.org,
        "influxdb_token": TOKEN,
        **others,
    }


async def async_learn(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, options: dict[str, Any]
) -> set[tuple[str, str, frozenset[int]]]:
    """Return the habits that an agent finds in the demo house."""
    await hass.config.async_set_time_zone("Europe/Amsterdam")
    freezer.move_to(NOW)
    await async_demo_house(hass)
    add_people(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent = await async_add_agent(hass, model_server, options)
    learner = agent.entry.runtime_data.learner
    await learner.async_learn(NOW)
    memories = agent.entry.runtime_data.memories.all()
    assert {memory.content for memory in memories if memory.origin is Origin.OBSERVED} == {
        known.text for known in learner.habits
    }
    assert all(known.person == "anna" for known in learner.habits if "person" in known.subject)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)
    return {(known.subject, known.value, known.days) for known in learner.habits}


async def test_a_month_in_version_1(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, influxdb: InfluxServer
) -> None:
    """The habits that were put in, and no others; whose they are is not known."""
    database = influxdb.new_database()
    influxdb.write(database, written(make_month(1)))
    assert await async_learn(hass, model_server, freezer, options_v1(influxdb, database)) == FOUND


async def test_a_month_in_version_2(
    hass: HomeAssistant,
    model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    influx_stand_in: InfluxStandIn,
) -> None:
    """The same through Flux; the token is in the header and nowhere else."""
    influx_stand_in.write(written(make_month(4)))
    assert await async_learn(hass, model_server, freezer, options_v2(influx_stand_in)) == FOUND
    assert influx_stand_in.requests
    for request in influx_stand_in.requests:
        assert request.headers["authorization"] == f"Token {TOKEN}"
        assert TOKEN not in request.query
        assert TOKEN.encode() not in request.raw


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (
            {"influxdb_database": "nowhere", "influxdb_username": ADMIN, "influxdb_password": PASSWORD},
            "influxdb_missing",
        ),
        ({"influxdb_database": "another"}, "influxdb_refused"),
        ({"influxdb_password": "wrong-password"}, "influxdb_refused"),
        ({"influxdb_version": "v2", "influxdb_org": "x", "influxdb_token": "secret-token"}, None),
        ({"influxdb_url": "http://127.0.0.1:9"}, "cannot_connect"),
        ({"influxdb_url": ""}, "influxdb_incomplete"),
    ],
)
async def test_the_page_asks_version_1(
    house: HomeAssistant, influxdb: InfluxServer, changed: dict[str, str], error: str | None
) -> None:
    """What is wrong is said at the field that is wrong, without the key."""
    options = options_v1(influxdb, influxdb.new_database())
    result = await save(house, {**options, **changed})
    assert result["type"] is FlowResultType.FORM
    assert result["errors"]
    if error is not None:
        assert result["errors"] == {"learning": error}
    for secret in (READER_PASSWORD, "wrong-password", "secret-token"):
        assert secret not in str(result["description_placeholders"])
    assert is_saved(await save(house, options))


async def save(hass: HomeAssistant, typed: dict[str, Any]) -> ConfigFlowResult:
    """Submit the page of an entry that is not set up."""
    entry = MockConfigEntry(domain=DOMAIN, data={"llm_base_url": "http://127.0.0.1:1/v1", "llm_model": "m"})
    entry.add_to_hass(hass)
    switched = {"learning_enabled": typed.get("learning_enabled", True)}
    hass.config_entries.async_update_entry(entry, options=switched)
    source = {key: value for key, value in typed.items() if key not in switched}
    return await save_page(hass, entry, "memory_details", source)


async def test_strange_answers(hass: HomeAssistant, influx_stand_in: InfluxStandIn) -> None:
    """Each is one short error, or nothing was found."""
    source = influx_source(hass, {**DEFAULTS, **options_v2(influx_stand_in)})
    hour = (START, START + timedelta(hours=1))
    influx_stand_in.answer = Reply(body=b"\x00\xff not csv")
    assert await source.async_changes({"light.desk"}, *hour) == []
    for reply in (
        Reply(status=500, body=b"<html>"),
        Reply(body=b"error,reference\r\ntoo old,897\r\n"),
        Reply(status=302, headers={"Location": "http://127.0.0.1:9/"}),
    ):
        influx_stand_in.answer = reply
        with pytest.raises(InfluxError) as caught:
            await source.async_changes({"light.desk"}, *hour)
        assert caught.value.trouble is InfluxTrouble.OTHER
        assert len(str(caught.value)) < 250
