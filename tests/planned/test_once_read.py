"""What models write for "when ... then, once": as the tools say, and with the mistakes of small ones."""

# ruff: noqa: E501 - a table

from typing import Any

import pytest

from custom_components.home_agent.planned.scheduler import Scheduler
from homeassistant.core import Context
from tests.helpers.agent import Agent
from tests.helpers.everyday_house import NOW
from tests.helpers.once import WASHER, async_add_things, waited_for
from tests.helpers.planned import HALL, planned
from tests.helpers.secure_house import SecureHouse

pytestmark = pytest.mark.freeze_time(NOW)

ON, OFF = {"action": "turn_on", "entity_id": [HALL]}, {"action": "turn_off", "entity_id": [HALL]}
REMIND = {"action": "set", "name": "laundry"}
DONE = "binary_sensor.washer is off"
COLD = "sensor.porch below 3"
SUNSET = "sunset"
HOME, AWAY = "person.anna is home", "person.anna is no longer home"

type Row = tuple[str, str, dict[str, Any], str]
"""Language, sentence, call, and what is waited for."""

RIGHT: list[Row] = [
    ("en", "When the washer is done turn on the hall light", {**ON, "when": "binary_sensor.washer off"}, DONE),
    ("en", "Remind me of the laundry when the washer is done", {**REMIND, "when": "binary_sensor.washer off"}, DONE),
    ("en", "Remind me in an hour if the garage is still open", {**REMIND, "when": "1 hour", "if": "cover.garage open"}, "11:00 if cover.garage is open"),
    ("en", "If nobody is home at eleven turn the hall light off", {**OFF, "when": "23:00", "if": "nobody home"}, "23:00 if zone.home below 1"),
    ("en", "When Anna comes home turn on the hall light", {**ON, "when": "person.anna home"}, HOME),
    ("en", "As soon as it's below three degrees outside turn on the oven", {**ON, "when": "sensor.porch below 3"}, COLD),
    ("en", "Turn off the light when the washer has been done for ten minutes", {**OFF, "when": "binary_sensor.washer off for 10 minutes"}, f"{DONE} for 00:10:00"),
    ("en", "When the last one leaves turn off the light", {**OFF, "when": "nobody home"}, "zone.home below 1"),
    ("en", "Turn on the light when somebody rings before ten tonight", {**ON, "when": "event.doorbell until 22:00"}, "event.doorbell changes"),
    ("en", "When the car is full turn off the oven", {**OFF, "when": "sensor.battery >= 100"}, "sensor.battery above 99.9999999"),
    ("en", "When Anna leaves work turn on the light", {**ON, "when": "person.anna leaves work"}, "person.anna at zone.work by leave"),
    ("de", "Wenn die Waschmaschine fertig ist, mach das Licht im Flur an", {**ON, "when": "binary_sensor.washer off"}, DONE),
    ("de", "Erinner mich in einer Stunde, falls die Garage noch offen ist", {**REMIND, "when": "1 Stunde", "if": "cover.garage open"}, "11:00 if cover.garage is open"),
    ("de", "Wenn um elf keiner da ist, mach das Licht aus", {**OFF, "when": "23:00", "if": "nobody home"}, "23:00 if zone.home below 1"),
    ("de", "Mach den Ofen an, wenn es draußen unter 3 Grad hat", {**ON, "when": "sensor.porch below 3"}, COLD),
    ("fr", "Quand la machine est finie, allume la lumière du couloir", {**ON, "when": "binary_sensor.washer off"}, DONE),
    ("fr", "Rappelle-moi dans une heure si le garage est encore ouvert", {**REMIND, "when": "1 heure", "if": "cover.garage open"}, "11:00 if cover.garage is open"),
    ("nl", "Als de wasmachine klaar is, doe het licht in de gang aan", {**ON, "when": "binary_sensor.washer off"}, DONE),
    ("nl", "Doe het licht uit als Anna weggaat", {**OFF, "when": "person.anna not_home"}, AWAY),
]  # fmt: skip

SMALL: list[Row] = [
    ("en", "When the washer is done turn on the light", {**ON, "when": {"entity_id": "binary_sensor.washer", "state": "off"}}, DONE),
    ("en", "When the washer is done turn on the light", {**ON, "when": '{"entity_id": "binary_sensor.washer", "to": "off"}'}, DONE),
    ("en", "When the washer is done turn on the light", {**ON, "when": {"name": "Washer", "state": "not running"}}, DONE),
    ("en", "When the washer is done turn on the light", {**ON, "trigger": {"platform": "state", "entity_id": WASHER, "to": "off"}}, DONE),
    ("en", "When the washer is done turn on the light", {**ON, "when": [{"entity_id": WASHER, "state": "Off", "for": "5 minutes"}]}, f"{DONE} for 00:05:00"),
    ("en", "When the washer is done turn on the light", {**ON, "when": "when binary_sensor.washer == 'off'"}, DONE),
    ("en", "When the washer is done turn on the light", {**ON, "when": "binary_sensor.washer turns off for 300 seconds"}, f"{DONE} for 00:05:00"),
    ("en", "Turn on the light when it's cold", {**ON, "when": "Porch drops below 3 °C"}, COLD),
    ("en", "Turn on the light when it's cold", {**ON, "when": {"entity_id": "sensor.porch", "below": "3"}}, COLD),
    ("en", "Turn on the light when it's cold", {**ON, "when": "sensor.porch < 3"}, COLD),
    ("en", "When Anna comes home turn on the light", {**ON, "when": "Anna comes home"}, HOME),
    ("en", "When Anna comes home turn on the light", {**ON, "when": {"entity_id": "person.anna", "state": "Home"}}, HOME),
    ("en", "When Anna leaves turn off the light", {**OFF, "when": "Anna leaves"}, AWAY),
    ("en", "If nobody is home at eleven turn off the light", {**OFF, "when": "23:00 if nobody is home"}, "23:00 if zone.home below 1"),
    ("en", "If nobody is home at eleven turn off the light", {**OFF, "when": "23:00", "condition": {"entity_id": "zone.home", "below": 1}}, "23:00 if zone.home below 1"),
    ("en", "Remind me in an hour if the garage is open", {**REMIND, "when": "in 1 hour", "if": {"entity_id": "cover.garage", "state": "open"}}, "11:00 if cover.garage is open"),
    ("en", "Remind me in an hour if the garage is not closed", {**REMIND, "when": "1 hour", "if": "cover.garage is not closed"}, "11:00 if not cover.garage is closed"),
    ("de", "Wenn die Waschmaschine aus ist, mach das Licht an", {**ON, "when": {"entity_id": WASHER, "state": "aus"}}, DONE),
    ("en", "When the dryer is no longer drying turn on the light", {**ON, "when": "sensor.dryer != drying"}, "sensor.dryer is no longer drying"),
    ("en", "If the garage is open and the porch is cold, remind me at nine", {**REMIND, "when": "21:00", "if": "cover.garage open and sensor.porch below 3"}, f"21:00 if cover.garage is open if {COLD}"),
    ("en", "Tonight if Anna is home turn on the light", {**ON, "when": "20:00", "if": [{"entity_id": "person.anna", "state": "home"}]}, f"20:00 if {HOME}"),
    ("en", "At nine if it's dark turn on the light", {**ON, "when": "21:00", "if": {"condition": "sun", "after": "sunset"}}, "21:00 if after sunset before sunrise"),
    ("en", "When someone comes home turn on the light", {**ON, "when": "someone comes home"}, "person.anna, person.ben is home"),
    ("en", "When I am back turn on the light", {**ON, "when": "I come back"}, HOME),
    ("en", "When it gets dark turn on the light", {**ON, "when": "sun.sun below_horizon"}, SUNSET),
    ("en", "When the window was closed for a while turn it off", {**OFF, "when": "Window is not open for 2 minutes"}, "binary_sensor.window is no longer on for 00:02:00"),
]  # fmt: skip


@pytest.fixture
async def things(secure: SecureHouse, agent: Agent) -> Scheduler:
    """Add what can be waited for."""
    await async_add_things(secure)
    return planned(agent)


@pytest.mark.parametrize("rows", [RIGHT, SMALL], ids=["right", "small"])
async def test_read(secure: SecureHouse, agent: Agent, things: Scheduler, rows: list[Row]) -> None:
    """All of it is understood in one call, and waited for."""
    wrong: list[tuple[str, Any, Any]] = []
    for language, sentence, args, expected in rows:
        tool = "timer" if "name" in args else "ha_control"
        context = Context(user_id=secure.anna.id)
        told = await agent.call(tool, sentence, **args, language=language, context=context)
        if waited_for(agent) != [expected]:
            wrong.append((sentence, told["error"] or waited_for(agent), expected))
        await things.async_cancel([item.id for item in things.all()])
    assert not wrong, "\n".join(map(str, wrong))
    assert secure.calls == []
