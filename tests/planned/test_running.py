"""Commands for later when they run: by the guard again, restored, cancelled, undone, kept."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
import json
from pathlib import Path
import shutil

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_TOOL_EXECUTED
from custom_components.home_agent.planned.scheduler import PlannedStore
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent
from tests.helpers.everyday_house import NOW, async_pass, shown
from tests.helpers.planned import ASKS, HALL, IN_TEN, LATER, Wait, made, planned
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer

pytestmark = pytest.mark.freeze_time(NOW)


async def test_runs_later_as_the_person(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """Nothing happens now; at its time the call is made once, as the person, and stands in the ledger."""
    told = await agent.call("ha_control", IN_TEN, **LATER, context=Context(user_id=secure.anna.id))
    assert (told["success"], told["error"]) == (True, None)
    assert told["result"]["planned"] == {HALL: "turn on at 10:10"}
    (command,) = planned(agent).all()
    assert told["result"]["id"] == command.id
    await wait(599)
    assert made(secure) == []
    events = async_capture_events(agent.hass, EVENT_TOOL_EXECUTED)
    await wait(1)
    await wait(3600)
    assert made(secure) == [("light.turn_on", (HALL,))]
    assert secure.calls[0].context.user_id == secure.anna.id
    assert [(event.data["tool_name"], event.data["success"]) for event in events] == [("ha_control", True)]
    (action,) = agent.entry.runtime_data.handler.guard.journal.recent(5)
    assert (action.user_id, action.planned) == (secure.anna.id, command.due)
    listed = await agent.call(
        "activity", "What did you do?", action="list", context=Context(user_id=secure.anna.id)
    )
    assert listed["result"]["newest_first"][0]["planned_for"] == "2026-06-03 10:10"
    assert planned(agent).all() == []


async def test_with_the_sun(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, freezer: FrozenDateTimeFactory
) -> None:
    """A daily command follows the sunset from day to day."""
    hass.config.latitude, hass.config.longitude = 52.5, 13.4
    agent = await secure.async_agent(model_server, ASKS)
    told = await agent.call(
        "ha_control",
        "Every day half an hour before sunset turn on the hall light",
        **{**LATER, "when": "sunset - 30 minutes", "repeat": "daily"},
    )
    (command,) = planned(agent).all()
    assert command.schedule.offset == -1800
    assert told["result"]["planned"][HALL].startswith("turn on daily at sunset - 30 min, next Wed ")
    first = command.due
    await async_pass(hass, freezer, (first - dt_util.utcnow()).total_seconds() + 1)
    assert made(secure) == [("light.turn_on", (HALL,))]
    (command,) = planned(agent).all()
    assert timedelta(hours=23, minutes=50) < command.due - first < timedelta(hours=24, minutes=10)


@pytest.mark.parametrize(
    ("zone", "eve", "first"),
    [("Europe/Berlin", "2027-03-27 20:00", "2027-03-28"), ("US/Pacific", "2026-10-31 20:00", "2026-11-01")],
)
async def test_a_repeated_time_stays_over_a_change_of_clocks(
    hass: HomeAssistant,
    secure: SecureHouse,
    model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    zone: str,
    eve: str,
    first: str,
) -> None:
    """Reminders and commands; where clocks jump over the time, they come as late as the clocks jump."""
    await hass.config.async_set_time_zone(zone)
    freezer.move_to(datetime.fromisoformat(eve).replace(tzinfo=dt_util.get_default_time_zone()))
    agent = await secure.async_agent(model_server, ASKS)
    await agent.call("timer", action="set", when="2:30", name="tablets", repeat="daily")
    await agent.call("ha_control", "Turn on the light", **{**LATER, "when": "2:30", "repeat": "daily"})
    days = [date.fromisoformat(first) + timedelta(days=number) for number in range(4)]
    expected = [f"{day} 02:30" for day in days]
    if eve.startswith("2027"):
        expected[0] = expected[0].replace("02:", "03:")
    seen: list[dict[str, None]] = [{}, {}]
    for step in range(13):
        kept = agent.entry.runtime_data
        for items, due in zip((kept.planned.timers(), kept.planned.commands()), seen, strict=True):
            (item,) = items
            due[f"{dt_util.as_local(item.due):%Y-%m-%d %H:%M}"] = None
        if step == 1:
            assert await hass.config_entries.async_unload(agent.entry.entry_id)
            assert await hass.config_entries.async_setup(agent.entry.entry_id)
            await hass.async_block_till_done(wait_background_tasks=True)
        await async_pass(hass, freezer, 6 * 3600)
    assert [list(due) for due in seen] == [expected, expected]


@pytest.mark.parametrize(
    ("away", "calls", "told"),
    [
        (timedelta(minutes=12), 1, []),
        (
            timedelta(hours=3),
            0,
            ["What was planned for 10:10 was not done, because Home Assistant was not running then: Hall."],
        ),
    ],
)
async def test_a_restart(
    secure: SecureHouse,
    agent: Agent,
    freezer: FrozenDateTimeFactory,
    away: timedelta,
    calls: int,
    told: list[str],
    wait: Wait,
) -> None:
    """What became due meanwhile runs if it is not too late; else the person is told."""
    await agent.call("ha_control", IN_TEN, **LATER)
    store = PlannedStore(agent.hass)
    await store.async_load()
    assert [command.told for command in store.of(agent.entry.entry_id).all()] == ["turn on"]
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    freezer.tick(away)
    await wait(0)
    assert made(secure) == []
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    assert len(secure.calls) == calls
    assert shown(agent.hass) == told


async def test_for_a_while(secure: SecureHouse, agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    """It acts at once and restores the state from before, also after a restart that took longer.

    A second command for a while takes the place of the first one's end, and restores the same state.
    """
    told = await agent.call(
        "ha_control", "Turn on the hall light for 5 minutes", **{**LATER, "when": "", "for": "5 minutes"}
    )
    assert told["result"]["done"] == {HALL: "on"}
    assert told["result"]["planned"] == {HALL: "back to off at 10:05"}
    assert made(secure) == [("light.turn_on", (HALL,))]
    await agent.call(
        "ha_control", "Turn on the hall light for 10 minutes", **{**LATER, "when": "", "for": "10 minutes"}
    )
    await async_pass(agent.hass, freezer, 400)
    assert secure.state(HALL) == "on"
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    freezer.tick(timedelta(hours=20))
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    assert secure.state(HALL) == "off"


async def test_at_a_time_and_for_a_while(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    told = await agent.call("ha_control", IN_TEN, **{**LATER, "for": "until 10:30"})
    assert told["result"]["planned"] == {HALL: "turn on at 10:10, then back after 20 min"}
    await wait(601)
    assert made(secure) == [("light.turn_on", (HALL,))]
    await wait(1201)
    assert made(secure)[1:] == [("light.turn_off", (HALL,))]


async def test_offline_at_the_end(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """A device that is offline at the end is switched as soon as it is back."""
    await agent.call(
        "ha_control", "Turn on the hall light for 5 minutes", **{**LATER, "when": "", "for": "5 minutes"}
    )
    on = agent.hass.states.get(HALL)
    assert on is not None
    agent.hass.states.async_set(HALL, "unavailable", on.attributes)
    await wait(301)
    agent.hass.states.async_set(HALL, "on", on.attributes)
    await wait(61)
    assert made(secure)[1:] == [("light.turn_off", (HALL,))]


REFUSED = "What was planned for 10:10 is not allowed any more: {}."


@pytest.mark.parametrize(
    ("gone", "why"),
    [
        ("freedom", f"{REFUSED.format('Hall')} It would need a confirmation now."),
        ("exposure", "It is no longer exposed to me."),
        ("user", "The person who planned it is not allowed to do that any more."),
        ("id", REFUSED.format("Hall")),
    ],
)
async def test_rights_of_the_time(secure: SecureHouse, agent: Agent, gone: str, why: str, wait: Wait) -> None:
    """Exposure, the person's rights and what an id means are those of the time when it runs."""
    await agent.call("ha_control", IN_TEN, **LATER, context=Context(user_id=secure.anna.id))
    if gone == "freedom":
        await agent.set_options(policy_restricted=["light"])
    elif gone == "exposure":
        async_expose_entity(agent.hass, "conversation", HALL, False)
    elif gone == "user":
        secure.anna.mock_policy({"entities": {}})
    else:
        (command,) = planned(agent).all()
        await planned(agent).async_cancel([command.id])
        await planned(agent).async_add(replace(command, registered={HALL: "another"}))
    await wait(601)
    assert made(secure) == []
    (said,) = shown(agent.hass)
    assert said.endswith(why)


async def test_a_person_is_forgotten(secure: SecureHouse, agent: Agent) -> None:
    """The commands of a user go with them, on disk as well."""
    await agent.call("ha_control", IN_TEN, **LATER, context=Context(user_id=secure.anna.id))
    assert len(planned(agent).of_user(secure.anna.id)) == 1
    planned(agent).forget_user(secure.anna.id)
    assert planned(agent).stored() == []


OLD = Path("tests/fixtures/stores_0_1_0")


async def test_files_of_version_0_1_0(hass: HomeAssistant) -> None:
    """Timers are read from their own file, which is gone then, and commands are as they were."""
    await hass.config.async_set_time_zone("UTC")
    folder = Path(hass.config.path(".storage"))
    await hass.async_add_executor_job(partial(shutil.copytree, OLD, folder, dirs_exist_ok=True))
    store = PlannedStore(hass)
    await store.async_load()
    stored = {item["id"]: item for item in store.of("AGENT").stored()}
    old = json.loads((OLD / "home_agent.planned").read_text(encoding="utf-8"))["data"]["entries"]["AGENT"]
    assert [stored[item["id"]] for item in old] == old
    timers = store.of("AGENT").timers()
    assert [(one.told, one.schedule.days, str(one.schedule.clock)[:5]) for one in timers] == [
        ("pasta", (), "None"),
        ("tablets", tuple(range(7)), "07:00"),
        ("", (0,), "06:00"),
        ("bins", (1, 4), "07:15"),
    ]
    assert (timers[0].owner.device_id, timers[0].owner.language) == ("d" * 32, "de")
    assert (timers[1].owner.reports_to, timers[1].owner.chat, timers[1].owner.outside) == ("u" * 32, 77, True)
    assert not (folder / "home_agent.timers").exists()
    again = PlannedStore(hass)
    await again.async_load()
    assert again.of("AGENT").all() == store.of("AGENT").all()
