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
NIGHT, DAY = "between sunset and sunrise", "between sunrise and sunset"
WORKDAYS = "on workdays"
SORRY = text("Sorry.")


def local(moment: str) -> datetime:
    """Return a local time."""
    return datetime.fromisoformat(moment).replace(tzinfo=dt_util.get_default_time_zone())


async def created(home: OwnHome, language: str = "en", **args: Any) -> str:
    """Return what the model was told of a draft, or the question about it."""
    home.conversation_id = None
    call = tool_calls([("automation", {"action": "create", "do": [HALLWAY], **args})])
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


DARK: list[tuple[str, Any, str]] = [
    ("en", {"sun": "below_horizon"}, NIGHT),
    ("en", {"entity": "sun.sun", "to": "below_horizon"}, NIGHT),
    ("en", {"condition": "state", "entity_id": "sun.sun", "state": "above_horizon"}, DAY),
    ("en", {"after": "dark"}, NIGHT),
    ("en", {"time": "night"}, NIGHT),
    ("en", "after dark", NIGHT),
    ("en", "when it is dark outside", NIGHT),
    ("en", "during the day", DAY),
    ("de", "wenn es draußen dunkel ist", NIGHT),
    ("fr", "s'il fait nuit", NIGHT),
    ("es", {"time": "por la noche"}, NIGHT),
    ("it", "quando è buio", NIGHT),
    ("nl", "'s nachts", NIGHT),
    ("pt", "quando for de noite", NIGHT),
    ("pl", "po zmroku", NIGHT),
    ("sv", "när det är mörkt ute", NIGHT),
    ("da", "når det er mørkt", NIGHT),
    ("nb", "om natta", NIGHT),
    ("ru", "когда темно", NIGHT),
    ("en", "weekdays", WORKDAYS),
    ("en", {"days": "school days"}, WORKDAYS),
    ("en", {"days": "mon-fri"}, WORKDAYS),
    ("de", {"days": "Mo-Fr"}, WORKDAYS),
    ("fr", {"days": "du lundi au vendredi"}, WORKDAYS),
    ("es", {"days": "lunes a viernes"}, WORKDAYS),
    ("it", {"days": "lun-ven"}, WORKDAYS),
    ("nl", {"days": "maandag tot en met vrijdag"}, WORKDAYS),
    ("pt", {"days": "segunda a sexta"}, WORKDAYS),
    ("pl", {"days": "od poniedziałku do piątku"}, WORKDAYS),
    ("sv", {"days": "måndag till fredag"}, WORKDAYS),
    ("da", {"days": "man-fre"}, WORKDAYS),
    ("nb", {"days": "hverdager"}, WORKDAYS),
    ("ru", {"days": "пн-пт"}, WORKDAYS),
    ("en", {"days": "every day except saturday and sunday"}, WORKDAYS),
    ("de", {"days": "nicht am Wochenende"}, WORKDAYS),
    ("fr", {"days": "tous les jours sauf le week-end"}, WORKDAYS),
]


async def test_words_for_darkness_and_days(home: OwnHome) -> None:
    """However darkness and days are written, in any language, they are the same conditions."""
    found = []
    for _, condition, _ in DARK:
        found.append(await created(home, when=[OPENS], **{"if": [condition]}))
    end = ": turn on the Hallway Light. Should I create this automation?"
    assert found == [f"When the Kitchen Window is open, but only {each}{end}" for *_, each in DARK]


async def test_the_night_does_not_end_at_midnight(home: OwnHome) -> None:
    """After sunset is also what is after midnight; by day nothing happens."""
    await created(home, when=[OPENS], **{"if": ["after sunset"]})
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
    await created(home, when=[OPENS], **{"if": [window]})
    await home.say("Yes")
    days = (
        "2026-06-01 13:00",
        "2026-06-01 22:00",
        "2026-06-02 00:30",
        "2026-06-02 03:00",
        "2026-06-02 09:00",
    )
    assert [await opened(home, time) for time in days] == expected


async def test_only_on_weekdays(home: OwnHome) -> None:
    """It runs on Tuesday and not on Saturday; the days of a time are a condition, too."""
    await created(home, when=[{**OPENS, "days": "weekdays"}])
    await home.say("Yes")
    assert [await opened(home, f"2026-06-{day} 07:00") for day in ("06", "09")] == ["off", "on"]
    await created(home, when=["every weekday at 7:00"])
    await home.say("Yes")
    *_, written = await home.automations()
    assert written["triggers"] == [{"trigger": "time", "at": "07:00:00"}]
    assert written["conditions"] == [{"condition": "time", "weekday": ["mon", "tue", "wed", "thu", "fri"]}]


async def test_what_the_trigger_says_is_no_condition(home: OwnHome) -> None:
    """Models repeat the trigger as a condition; it is said once."""
    nobody = {"person": "nobody", "to": "home"}
    said = await created(home, when=[nobody], **{"if": [nobody, {"after": "22:00", "before": "6:00"}]})
    assert said.startswith("When nobody is at home, but only between 22:00 and 06:00:")
    sunset = await created(home, when=[{"sun": "sunset"}], **{"if": ["after sunset"]})
    assert sunset.startswith("At sunset: turn on")


async def test_darkness_starts(home: OwnHome) -> None:
    """As a trigger, darkness begins with sunset."""
    assert (await created(home, when=["when it gets dark"])).startswith("At sunset:")
    assert (await created(home, when=[{"entity": "sun.sun", "to": "below_horizon"}])).startswith("At sunset:")
    assert (await created(home, when=[{"sun": "above_horizon"}])).startswith("At sunrise:")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"days": "sometimes"}, "days: 'sometimes' is not one of daily, weekdays"),
    ({"time": "22:00"}, "Give {after: 22:00, before: 6:00}"),
    ({"sun": "noon"}, "is not understood. Give after sunset"),
]


@pytest.mark.parametrize(("condition", "reason"), REFUSED)
async def test_an_error_says_what_to_give(home: OwnHome, condition: dict[str, Any], reason: str) -> None:
    assert reason in await created(home, when=[OPENS], **{"if": [condition]})


STATES: list[tuple[dict[str, Any], str]] = [
    (
        {"entity": "sensor.fridge_temperature", "to": "warm"},
        "it is a number, now 4.2 °C",
    ),
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
    found = [(await created(home, when=[trigger]), reason) for trigger, reason in STATES]
    assert [reason for told, reason in found if reason not in told] == []
    for trigger in (
        {"entity": "sensor.washing_machine", "to": "spinning"},
        {"entity": "sensor.fridge_temperature", "to": "unavailable", "for": "1 hour"},
        {"entity": "event.doorbell"},
    ):
        assert "Should I create this automation?" in await created(home, when=[trigger])


def expose(hass: HomeAssistant, *entity_ids: str) -> None:
    """Expose entities to the assistant."""
    for entity_id in entity_ids:
        async_expose_entity(hass, "conversation", entity_id, should_expose=True)
