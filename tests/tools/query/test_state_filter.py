"""ha_query with a state: only what is on, open, low or offline, in the words of the speaker."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.knowledge.house import House
from custom_components.home_agent.tools.calls.repair import fit
from custom_components.home_agent.tools.ha_query import QueryTool
from homeassistant.core import HomeAssistant
from tests.helpers.query_house import QueryHouse

BATTERY = {"device_class": "battery", "unit_of_measurement": "%"}
TEMPERATURE = {"device_class": "temperature", "unit_of_measurement": "°C"}


@pytest.fixture
async def rooms(house: HomeAssistant) -> AsyncGenerator[QueryHouse]:
    """Return a house with a device in many states."""
    known = House(house)
    await known.async_start()
    rooms = QueryHouse(house, known)
    rooms.add("light.ceiling", "on", {"brightness": 128}, area="Kitchen")
    rooms.add("light.shelf", "off", area="Kitchen")
    rooms.add("light.garland", "unavailable", area="Garden")
    rooms.add("switch.dryer", "on", area="Laundry")
    rooms.add("media_player.tv", "standby", area="Lounge")
    rooms.add("media_player.radio", "paused", area="Kitchen")
    rooms.add(
        "climate.lounge", "heat", {"hvac_action": "heating", "current_temperature": 19.5}, area="Lounge"
    )
    rooms.add("climate.bath", "heat", {"hvac_action": "idle", "current_temperature": 23}, area="Bath")
    rooms.add("cover.blind", "open", {"current_position": 40}, area="Lounge")
    rooms.add("lock.door", "locked", area="Hall")
    rooms.add("binary_sensor.window", "on", {"device_class": "window"}, area="Kitchen")
    rooms.add("binary_sensor.door", "off", {"device_class": "door"}, area="Hall")
    rooms.add("binary_sensor.leak", "off", {"device_class": "moisture"}, area="Bath")
    rooms.add("sensor.remote_battery", "12", BATTERY)
    rooms.add("sensor.lock_battery", "80", BATTERY)
    rooms.add("binary_sensor.gate_battery", "on", {"device_class": "battery"})
    rooms.add("sensor.air", "26.5", TEMPERATURE, area="Kitchen")
    rooms.add("automation.night", "on")
    rooms.add("person.anna", "home")
    rooms.add("person.tom", "Work")
    yield rooms
    await known.async_stop()


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ({"state": "on"}, {"light.ceiling", "switch.dryer", "media_player.radio", "climate.lounge"}),
        ({"kind": "light", "state": "on"}, {"light.ceiling"}),
        ({"kind": "climate", "state": "on"}, {"climate.lounge", "climate.bath"}),
        ({"kind": "climate", "state": "heating"}, {"climate.lounge"}),
        ({"area": "Kitchen", "state": "on"}, {"light.ceiling", "media_player.radio"}),
        ({"kind": "media_player", "state": "off"}, {"media_player.tv"}),
        ({"state": "open"}, {"cover.blind", "binary_sensor.window"}),
        ({"kind": ["window", "door"], "state": "open"}, {"binary_sensor.window"}),
        ({"kind": "window, door", "state": "closed"}, {"binary_sensor.door"}),
        ({"state": "unavailable"}, {"light.garland"}),
        ({"kind": "devices", "state": "offline"}, {"light.garland"}),
        ({"state": "low"}, {"sensor.remote_battery", "binary_sensor.gate_battery"}),
        ({"kind": "battery", "state": "<20"}, {"sensor.remote_battery"}),
        ({"kind": "temperature", "state": "> 20°C"}, {"sensor.air", "climate.bath"}),
        ({"kind": "temperature", "state": ">=26,5"}, {"sensor.air"}),
        ({"kind": "person", "state": "home"}, {"person.anna"}),
        ({"kind": "person", "state": "away"}, {"person.tom"}),
        ({"kind": "media_player", "state": "playing or paused"}, {"media_player.radio"}),
        ({"domain": ["light"], "device_class": None, "state": ["on"]}, {"light.ceiling"}),
        ({"kind": "lock", "state": "unlocked"}, set()),
        ({"kind": "moisture", "state": "dry"}, {"binary_sensor.leak"}),
        ({"entity_id": "automation.night", "state": "on"}, {"automation.night"}),
    ],
)
async def test_only_what_is_in_the_state(rooms: QueryHouse, args: dict[str, Any], found: set[str]) -> None:
    answer = await rooms.ask(**args)
    assert set(answer["states"]) == found
    assert answer["matching"].startswith(str(len(found) or "none"))


@pytest.mark.parametrize(
    ("language", "kind", "state", "found"),
    [
        ("de", "Fenster", "offen", {"binary_sensor.window"}),
        ("de", "light", "an", {"light.ceiling"}),
        ("de", None, "nicht erreichbar", {"light.garland"}),
        ("fr", "fenêtre", "ouvertes", {"binary_sensor.window"}),
        ("fr", "climate", "chauffe", {"climate.lounge"}),
        ("es", "light", "encendidas", {"light.ceiling"}),
        ("nl", "door", "dicht", {"binary_sensor.door"}),
        ("it", "light", "spente", {"light.shelf"}),
        ("pt", None, "indisponível", {"light.garland"}),
        ("pl", "battery", "słaba", {"sensor.remote_battery", "binary_sensor.gate_battery"}),
        ("sv", "lock", "låst", {"lock.door"}),
        ("da", "light", "tændt", {"light.ceiling"}),
        ("nb", "window", "åpent", {"binary_sensor.window"}),
        ("ru", "light", "включена", {"light.ceiling"}),
    ],
)
async def test_words_of_the_speaker(
    rooms: QueryHouse, language: str, kind: str | None, state: str, found: set[str]
) -> None:
    rooms.language = language
    answer = await rooms.ask(state=state, **({"kind": kind} if kind else {}))
    assert set(answer["states"]) == found


async def test_nothing_in_the_state_is_an_answer_and_an_unknown_state_is_none(rooms: QueryHouse) -> None:
    """Unavailable ones are named: they may be in the state."""
    answer = await rooms.ask(kind="light", state="on", area="Garden")
    assert answer == {"matching": "none of 1", "states": {}, "rest": {"unavailable": ["light.garland"]}}
    with pytest.raises(ValidationError, match="'purple' is no state of these"):
        await rooms.ask(kind="light", state="purple")


async def test_arguments_are_read_where_models_put_them(rooms: QueryHouse) -> None:
    """The older slots and lists are read, and what belongs to the history stands within it."""

    def read(args: dict[str, Any]) -> dict[str, Any]:
        return fit(QueryTool(), args)[0]

    assert read({"kind": "light, switch", "state": True}) == {"domain": ["light", "switch"], "state": "on"}
    assert read({"domain": "light", "attributes": "brightness"}) == {
        "domain": ["light"],
        "attributes": ["brightness"],
    }
    assert read({"name": "Air", "duration": "24h", "aggregate": "avg"})["history"] == {
        "duration": "24h",
        "aggregate": "avg",
    }
    assert read({"name": "Air", "history": "yesterday"})["history"] == {"duration": "yesterday"}
    assert read({"name": "Air", "history": {}, "state": "any"}) == {"name": "Air"}
