"""Rules that are watched: told after their time, once, not at night, and also after a restart."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    async_capture_events,
)

from custom_components.home_agent.proactive.state import STORE_KEY
from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers import device_registry as dr, entity_registry as er
from tests.helpers.messages_house import GARAGE, NOON, TARGETS, House, add, home  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer

GARAGE_RULE = {"rule": "garage_open"}


async def test_told_after_its_time(model_server: ModelServer, home: House) -> None:
    """The garage is open for half an hour: everybody is told once, and anew when it happens again."""
    await add(home, model_server, GARAGE_RULE)
    home.put(GARAGE, "open")
    await home.wait(minutes=29)
    assert home.messages() == []
    await home.wait(minutes=1)
    assert home.messages() == ["Garage has been open since 12:00."]
    assert home.messages("ben") == home.messages()
    await home.wait(hours=3)
    assert len(home.messages()) == 1
    home.put(GARAGE, "closed")
    await home.wait(minutes=1)
    assert home.messages()[1:] == ["clear_notification"]
    home.put(GARAGE, "open")
    await home.wait(minutes=31)
    assert home.messages()[2:] == ["Garage has been open since 15:31."]


async def test_connection_lost_in_between(model_server: ModelServer, home: House) -> None:
    """What is unavailable is not told about; if it is still open after that, it was open all the time."""
    await add(home, model_server, GARAGE_RULE)
    home.put(GARAGE, "open")
    await home.wait(minutes=20)
    home.put(GARAGE, "unavailable")
    await home.wait(minutes=20)
    assert home.messages() == []
    home.put(GARAGE, "open")
    await home.wait(seconds=1)
    assert home.messages() == ["Garage has been open since 12:00."]
    home.put(GARAGE, "unavailable")
    home.put(GARAGE, "open")
    await home.wait(hours=1)
    assert len(home.messages()) == 1


async def test_quiet_hours(model_server: ModelServer, home: House) -> None:
    """What happens at night is told in the morning, if it is still so."""
    await add(home, model_server, GARAGE_RULE, {"rule": "state", "entities": ["light.hall"], "state": "On"})
    home.put("light.hall", "off")
    home.clock.move_to(NOON.replace(hour=22, minute=30))
    await home.wait(minutes=1)
    home.put(GARAGE, "open")
    home.put("light.hall", "on")
    await home.wait(hours=5)
    home.put("light.hall", "off")
    assert home.messages() == []
    home.clock.move_to((NOON + timedelta(days=1)).replace(hour=7))
    await home.wait(seconds=0)
    assert home.messages() == ["Garage has been open since 22:31."]


async def test_urgent_at_night(model_server: ModelServer, home: House) -> None:
    """A door that is not locked when the night begins cannot wait; by day it is nobody's business."""
    home.put("lock.door", "unlocked")
    await add(home, model_server, {"rule": "unlocked_night"})
    await home.wait(hours=2)
    assert home.messages() == []
    home.clock.move_to(NOON.replace(hour=22))
    await home.wait(seconds=1)
    await home.wait(minutes=5)
    assert home.messages() == ["Door is unlocked."]
    assert home.told["anna"][0].data["data"]["priority"] == "high"


async def test_restart(
    hass: HomeAssistant, hass_storage: dict[str, Any], model_server: ModelServer, home: House
) -> None:
    """The time goes on over a restart, and what was told is not told again."""
    agent = await add(home, model_server, GARAGE_RULE)
    home.put(GARAGE, "open")
    await home.wait(minutes=20)
    for expected in ([], ["Garage has been open since 12:00."]):
        assert home.messages() == expected
        await hass.config_entries.async_unload(agent.entry.entry_id)
        await hass.data[DATA_SHARED].proactive.async_flush()
        hass.data[DATA_SHARED].proactive._entries.clear()
        hass.states.async_remove(GARAGE)
        await hass.data[DATA_SHARED].proactive.async_load()
        assert await hass.config_entries.async_setup(agent.entry.entry_id)
        await home.wait(minutes=5)
        home.put(GARAGE, "open", device_class="garage")
        await home.wait(minutes=6)
    assert home.messages() == ["Garage has been open since 12:00."]
    assert hass_storage[STORE_KEY]["data"]["entries"][agent.entry.entry_id]["watches"]


async def test_circumstances(model_server: ModelServer, home: House) -> None:
    """Windows while it rains, lights while everybody is away: one message for what belongs together."""
    for window in ("bath", "kitchen"):
        home.put(f"binary_sensor.{window}", "on", device_class="window")
    home.put("weather.home", "sunny")
    home.put("light.hall", "on")
    await add(home, model_server, {"rule": "window_rain"}, {"rule": "light_nobody_home", "duration": "1m"})
    await home.wait(hours=1)
    assert home.messages() == []
    home.put("weather.home", "pouring")
    await home.wait(seconds=10)
    await home.wait(minutes=3)
    assert home.messages() == ["Bath is open, and it is raining.\nKitchen is open, and it is raining."]
    for who in ("anna", "ben"):
        assert len(home.messages()) == 1
        state = home.hass.states.get(f"person.{who}")
        assert state
        home.hass.states.async_set(f"person.{who}", "not_home", state.attributes)
        await home.wait(seconds=10)
        await home.wait(minutes=2)
    assert home.messages()[1:] == ["Hall is on, and nobody is at home."]


async def test_appliance(model_server: ModelServer, home: House) -> None:
    """The end of what has run is told; a pause in between and a short peak are no end."""
    washer = "sensor.washer"
    home.put(washer, "0", device_class="power", unit_of_measurement="W")
    await add(home, model_server, {"rule": "appliance_finished", "entities": [washer]})
    for watts, minutes in (("0", 10), ("2000", 1), ("1", 10), ("2000", 40), ("2", 3), ("800", 20), ("7", 10)):
        home.put(washer, watts)
        await home.wait(minutes=minutes)
    assert home.messages() == []
    home.put(washer, "1")
    await home.wait(minutes=6)
    home.put(washer, "0.5")
    await home.wait(hours=2)
    assert home.messages() == ["Washer has finished."]


async def test_battery(model_server: ModelServer, home: House) -> None:
    """A level that goes up and down a little is told once."""
    home.put("sensor.remote", "16", device_class="battery", unit_of_measurement="%")
    await add(home, model_server, {"rule": "battery_low"})
    for level in ("15", "16", "15", "14", "17", "15"):
        home.put("sensor.remote", level)
        await home.wait(hours=1, minutes=1)
    assert home.messages() == ["The battery of Remote is low."]


async def test_only_what_is_exposed(model_server: ModelServer, home: House) -> None:
    """A hidden entity is not watched, also where it is named; one that is hidden later is not told about."""
    home.put("lock.cellar", "unlocked", exposed=False)
    await add(
        home,
        model_server,
        GARAGE_RULE,
        {"rule": "state", "entities": ["lock.cellar"], "state": "unlocked", "duration": "1m"},
    )
    home.put(GARAGE, "open")
    await home.wait(minutes=10)
    async_expose_entity(home.hass, "conversation", GARAGE, False)
    await home.wait(hours=1)
    assert home.messages() == []


async def test_who_is_told(model_server: ModelServer, home: House) -> None:
    """Only whom the rule names; who cannot be reached finds it in Home Assistant."""
    shown = async_capture_events(home.hass, "call_service")
    await add(
        home,
        model_server,
        {"rule": "garage_open", "persons": ["person.ben"], "duration": "5m"},
        {"rule": "leak", "persons": ["person.carl"]},
    )
    home.put("binary_sensor.cellar", "off", device_class="moisture")
    await home.wait(seconds=10)
    home.put(GARAGE, "open")
    home.put("binary_sensor.cellar", "on")
    await home.wait(minutes=6)
    assert home.messages() == []
    assert home.messages("ben") == ["Garage has been open since 12:00."]
    assert [note["message"] for note in notifications(home.hass)] == ["Cellar reports water."]
    assert {event.data["domain"] for event in shown} == {"notify"}
    home.put("binary_sensor.cellar", "off")
    await home.wait(seconds=1)
    assert notifications(home.hass) == []


def notifications(hass: HomeAssistant) -> Sequence[Any]:
    """Return the notifications that Home Assistant shows."""
    return list(hass.data["persistent_notification"].values())


async def test_a_phone_that_does_not_answer(model_server: ModelServer, home: House) -> None:
    """The message is shown in Home Assistant in its place."""

    async def broken(_call: ServiceCall) -> None:
        raise RuntimeError("no connection")

    for who in ("anna", "ben"):
        home.hass.services.async_register("notify", f"mobile_app_{who}", broken)
    await add(home, model_server, GARAGE_RULE)
    home.put(GARAGE, "open")
    await home.wait(minutes=31)
    assert [note["message"] for note in notifications(home.hass)] == ["Garage has been open since 12:00."]


async def test_not_too_many_a_day(model_server: ModelServer, home: House) -> None:
    """What is beyond the limit waits for the next day; what is urgent does not."""
    await add(
        home,
        model_server,
        {"rule": "garage_open", "duration": "1m"},
        {"rule": "leak"},
        proactive_max_per_day=2,
    )
    home.put("binary_sensor.cellar", "off", device_class="moisture")
    await home.wait(seconds=10)
    for _ in range(4):
        home.put(GARAGE, "open")
        await home.wait(minutes=2)
        home.put(GARAGE, "closed")
        await home.wait(minutes=2)
    home.put(GARAGE, "open")
    home.put("binary_sensor.cellar", "on")
    await home.wait(minutes=2)
    told = [message for message in home.messages() if message != "clear_notification"]
    assert [message.split()[0] for message in told] == ["Garage", "Garage", "Cellar"]
    home.clock.move_to((NOON + timedelta(days=1)).replace(hour=7))
    await home.wait(seconds=0)
    assert home.messages()[-1].startswith("Garage has been open since")


async def test_off_by_default(model_server: ModelServer, home: House) -> None:
    """Without the option nothing is watched."""
    await add(home, model_server, GARAGE_RULE, proactive_enabled=False)
    home.put(GARAGE, "open")
    await home.wait(hours=1)
    assert home.messages() == []


async def test_hostile_name(model_server: ModelServer, home: House) -> None:
    """A name is only a name: one line, no link, no markup, no placeholder."""
    name = "Garage\n\n# Alarm [click](https://evil.example) **now** `{time}` {{ states('lock.x') }} <b>x</b>"
    await add(home, model_server, {"rule": "garage_open", "persons": ["person.nobody"]})
    home.put(GARAGE, "open", device_class="garage", friendly_name=name)
    await home.wait(minutes=31)
    (note,) = notifications(home.hass)
    assert note["message"].endswith(" has been open since 12:00.")
    assert not set("\n[]()*`{}<>#") & set(note["message"])
    assert "://" not in note["message"]


async def test_new_entities_are_found(model_server: ModelServer, home: House) -> None:
    """What is added later is watched as well."""
    await add(home, model_server, GARAGE_RULE)
    home.put("cover.gate", "open", device_class="gate")
    await home.wait(seconds=15)
    await home.wait(minutes=31)
    assert home.messages() == ["Gate has been open since 12:00."]


async def test_unload_ends_it(model_server: ModelServer, home: House) -> None:
    """Nothing is told, and no timer is left, after the agent is gone."""
    agent = await add(home, model_server, GARAGE_RULE)
    home.put(GARAGE, "open")
    await home.hass.async_block_till_done()
    await home.hass.config_entries.async_remove(agent.entry.entry_id)
    await home.wait(hours=1)
    assert home.messages() == []
    assert home.hass.data[DATA_SHARED].proactive._content() == {"entries": {}}


async def test_one_thing_is_told_once(model_server: ModelServer, home: House) -> None:
    """A device that shows the same in two ways is one line; two lamps of one device stay two."""
    entities, devices = er.async_get(home.hass), dr.async_get(home.hass)
    entry = MockConfigEntry()
    entry.add_to_hass(home.hass)
    shown = {
        "sensor.remote_battery": {"device_class": "battery", "unit_of_measurement": "%"},
        "binary_sensor.remote_battery_low": {"device_class": "battery"},
        "light.fan_top": {},
        "light.fan_bottom": {},
    }
    for entity_id, attributes in shown.items():
        domain, name = entity_id.split(".")
        device = devices.async_get_or_create(
            config_entry_id=entry.entry_id, identifiers={("x", name.partition("_")[0])}
        )
        entities.async_get_or_create(domain, "x", name, suggested_object_id=name, device_id=device.id)
        home.put(entity_id, "50" if domain == "sensor" else "off", **attributes)
    await add(home, model_server, {"rule": "battery_low"}, {"rule": "light_nobody_home"})
    home.put("sensor.remote_battery", "7")
    home.put("binary_sensor.remote_battery_low", "on")
    await home.wait(hours=1)
    (message,) = home.messages()
    assert message.count("\n") == 0
    assert "Remote Battery" in message
    for who in ("anna", "ben"):
        home.hass.states.async_set(f"person.{who}", "not_home")
    for name in ("top", "bottom"):
        home.put(f"light.fan_{name}", "on")
    await home.wait(seconds=10)
    await home.wait(minutes=10)
    assert home.messages()[-1].count("\n") == 1
