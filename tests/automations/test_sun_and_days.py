"""Automations by darkness and on days of the week, in the words of the languages, until they run."""

from datetime import datetime
from typing import Any

from freezegun import freeze_time
import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.own_automations import OwnHome
from tests.servers.replies import text, tool_calls

HALLWAY = {"action": "turn_on", "entity_id": ["light.hallway"]}
WINDOW = "binary_sensor.kitchen_window"
OPENS = {"entity": WINDOW, "to": "on"}
NIGHT, DAY = "after sunset and before sunrise", "after sunrise and before sunset"
SORRY = text("Sorry.")


def local(moment: str) -> datetime:
    """Return a local time."""
    return datetime.fromisoformat(moment).replace(tzinfo=dt_util.get_default_time_zone())


async def created(home: OwnHome, language: str = "en", **args: Any) -> str:
    """Return what the model was told of a draft, or the question about it."""
    home.conversation_id = None
    call = tool_calls([("automation", {"action": "create", "actions": [HALLWAY], **args})])
    said = await home.say("Make an automation of it", call, SORRY, language=language)
    if said != "Sorry.":
        return said
    messages = home.agent.server.chats[-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"][-1]


async def opened(home: OwnHome, moment: str) -> str | None:
    """Return whether the light is on after the window was opened at a time."""
    await home.hass.services.async_call("light", "turn_off", {"entity_id": "light.hallway"}, blocking=True)
    with freeze_time(local(moment), real_asyncio=True):
        for state in ("off", "on"):
            home.hass.states.async_set(WINDOW, state, {"device_class": "window"})
            await home.hass.async_block_till_done()
    return home.shows("light.hallway")


async def test_the_night_does_not_end_at_midnight(home: OwnHome) -> None:
    """After sunset is also what is after midnight; by day nothing happens."""
    await created(home, triggers=[OPENS], conditions=[{"condition": "sun", "after": "sunset"}])
    await home.say("Yes")
    times = ("2026-06-01 13:00", "2026-06-01 22:00", "2026-06-02 02:00", "2026-06-02 09:00")
    assert [await opened(home, time) for time in times] == ["off", "on", "on", "off"]


WINDOWS = [
    ({"after": "sunset", "before": "01:00"}, ["off", "on", "on", "off", "off"]),
    ({"after": "23:00", "before": "sunrise"}, ["off", "off", "on", "on", "off"]),
    ({"after": "sunset", "before": "23:00"}, ["off", "on", "off", "off", "off"]),
]


@pytest.mark.parametrize(("window", "expected"), WINDOWS)
async def test_a_window_between_the_sun_and_a_time(
    home: OwnHome, window: dict[str, str], expected: list[str]
) -> None:
    """A window across midnight holds on both sides of it, also if only one end is by the sun."""
    await created(home, triggers=[OPENS], conditions=[{"condition": "time", **window}])
    await home.say("Yes")
    days = (
        "2026-06-01 13:00",
        "2026-06-01 22:00",
        "2026-06-02 00:30",
        "2026-06-02 03:00",
        "2026-06-02 09:00",
    )
    assert [await opened(home, time) for time in days] == expected


STATES: list[tuple[dict[str, Any], str]] = [
    ({"entity": "sensor.fridge_temperature", "to": "warm"}, "it is a number, now 4.2 °C"),
    ({"entity": "sensor.office_co2", "to": "high"}, "it is a number"),
    ({"entity": "sensor.next_alarm", "to": "ringing"}, "its state is a time"),
    ({"entity": "event.doorbell", "to": "pressed"}, "leave out to"),
    ({"entity": "climate.bathroom", "to": "cool"}, "is no state of climate.bathroom. Allowed: "),
]


async def test_states_that_an_entity_never_has(home: OwnHome) -> None:
    """The error says what the entity can have; free texts and the loss of a device are accepted."""
    for entity_id, attributes in (("sensor.next_alarm", "timestamp"), ("event.doorbell", "doorbell")):
        home.hass.states.async_set(entity_id, "2026-06-01T05:00:00+00:00", {"device_class": attributes})
    expose(home.hass, "sensor.next_alarm", "event.doorbell")
    found = [(await created(home, triggers=[trigger]), reason) for trigger, reason in STATES]
    assert [reason for told, reason in found if reason not in told] == []
    for trigger in (
        {"entity": "sensor.washing_machine", "to": "spinning"},
        {"entity": "sensor.fridge_temperature", "to": "unavailable", "for": "1 hour"},
        {"entity": "event.doorbell"},
    ):
        assert "Should I create this automation?" in await created(home, triggers=[trigger])


def expose(hass: HomeAssistant, *entity_ids: str) -> None:
    """Expose entities to the assistant."""
    for entity_id in entity_ids:
        async_expose_entity(hass, "conversation", entity_id, should_expose=True)
