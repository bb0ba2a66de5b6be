"""Timers and reminders: set by a model, told where they were set, kept over a restart."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.const import EVENT_TIMER_FINISHED
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.everyday_house import NOW, Satellite, async_add_satellite, async_pass, shown
from tests.helpers.phones import push_service
from tests.helpers.planned import Wait
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

pytestmark = pytest.mark.freeze_time(NOW)


@pytest.fixture
async def satellite(hass: HomeAssistant) -> Satellite:
    return await async_add_satellite(hass)


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    return await async_agent(hass, model_server)


async def test_told_where_it_was_set(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    """It is announced on the satellite, once, in the language in which it was set."""
    agent.server.script(
        [
            tool_calls([("timer", {"action": "set", "when": "10 minutes", "name": "Pasta"})]),
            text("I've set a timer for 10 minutes."),
        ]
    )
    result = await agent.say("Set a pasta timer for ten minutes", device_id=satellite.device, language="de")
    assert speech(result) == "I've set a timer for 10 minutes."
    told = agent.results[-1]["result"]["set"]
    assert (told["name"], told["in"]) == ("Pasta", "10 min")
    await wait(599)
    assert satellite.said == []
    await wait(2)
    assert satellite.said == ["Es ist so weit: Pasta."]
    await wait(3600)
    assert len(satellite.said) == 1
    assert shown(agent.hass) == []


async def test_from_the_chat_without_a_phone(agent: Agent, hass_admin_user: MockUser, wait: Wait) -> None:
    """A timer of the chat dialog is shown in Home Assistant; automations hear of it by an event."""
    told = async_capture_events(agent.hass, EVENT_TIMER_FINISHED)
    own = Context(user_id=hass_admin_user.id)
    await agent.say("Hello", context=own)
    assert "timer" in {tool["function"]["name"] for tool in agent.server.chats[-1].json["tools"]}
    timer = (await agent.call("timer", action="set", when="5 min", name="tea", context=own))["result"]["set"]
    await wait(301)
    assert shown(agent.hass) == ["It is time: tea."]
    (event,) = told
    assert event.data == {
        "timer_id": timer["id"],
        "name": "tea",
        "due": "2026-06-03T10:05:00+00:00",
        "user_id": hass_admin_user.id,
        "device_id": None,
        "told_by": "notification",
        "config_entry_id": agent.entry.entry_id,
        "timestamp": event.data["timestamp"],
    }


async def test_two_at_once(
    hass: HomeAssistant, satellite: Satellite, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """Two of one sentence are two, with names of their own; due together they are told one by one."""
    agent = await async_agent(hass, model_server, {"memory_enabled": False})
    here = {"device_id": satellite.device}
    model_server.script(
        [
            tool_calls(
                [
                    ("timer", {"action": "set", "when": "10 minutes", "name": "pasta"}),
                    ("timer", {"action": "set", "when": "10 minutes", "name": "sauce"}),
                ]
            ),
            text("I've set both timers."),
        ]
    )
    await agent.say("Set a timer for the pasta and one for the sauce, ten minutes each", **here)
    await async_pass(hass, freezer, 240)
    listed = (await agent.call("timer", "How long still?", action="list", **here))["result"]["timers"]
    assert [(timer["name"], timer["in"]) for timer in listed] == [("pasta", "6 min"), ("sauce", "6 min")]
    await async_pass(hass, freezer, 361)
    assert satellite.said == ["It is time: pasta.", "It is time: sauce."]
    assert satellite.together == 1
    assert shown(hass) == []


async def test_a_satellite_that_does_not_answer(
    hass: HomeAssistant,
    satellite: Satellite,
    model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    hass_client_no_auth: ClientSessionGenerator,
) -> None:
    """What a satellite cannot say goes to the phone of who set it."""
    satellite.broken = True
    async with push_service(hass, hass_client_no_auth) as phones:
        anna = MockUser(name="Anna").add_to_hass(hass)
        await phones.async_register("anna_phone", anna)
        targets = [{"person": "person.anna", "targets": ["notify.mobile_app_anna_phone"]}]
        agent = await async_agent(hass, model_server, {"notify_targets": targets})
        await agent.call(
            "timer",
            action="set",
            when="5 min",
            name="call Ben",
            device_id=satellite.device,
            context=Context(user_id=anna.id),
        )
        await async_pass(hass, freezer, 301)
        assert [push["message"] for push in phones.of("anna_phone")] == ["It is time: call Ben."]
        assert shown(hass) == []


async def test_list_extend_cancel(satellite: Satellite, agent: Agent, wait: Wait) -> None:
    here = {"device_id": satellite.device}
    listed = await agent.call("timer", action="list")
    assert listed["result"].startswith("None of yours")
    await agent.call("timer", action="set", when="10 minutes", name="pasta", **here)
    await agent.call("timer", action="set", when="18:30", name="take out the bins", **here)
    listed = (await agent.call("timer", action="list", **here))["result"]["timers"]
    assert [item["name"] for item in listed] == ["pasta", "take out the bins"]
    unclear = await agent.call("timer", action="cancel", **here)
    assert "which one is meant" in unclear["error"]
    longer = await agent.call("timer", action="extend", name="pasta", when="5 minutes", **here)
    assert longer["result"]["now"]["in"] == "15 min"
    gone = await agent.call("timer", action="cancel", name="bins", **here)
    assert gone["result"]["cancelled"][0]["name"] == "take out the bins"
    await wait(601)
    assert satellite.said == []
    await wait(300)
    assert satellite.said == ["It is time: pasta."]
    assert not (await agent.call("timer", action="cancel", name="all", **here))["result"]["cancelled"]


async def test_all_timers_end(satellite: Satellite, agent: Agent) -> None:
    """Whoever says all means all, in the own language or as the model translates it."""
    for name, language in (
        ("all", "it"),
        ("tutti", "it"),
        ("Alle", "de-CH"),
        ("wszystkie", "pl"),
        ("全部", "zh-Hans"),
    ):
        here: dict[str, Any] = {"device_id": satellite.device, "language": language}
        for minutes in (5, 7):
            await agent.call("timer", action="set", when=f"{minutes} minutes", **here)
        cancelled = await agent.call("timer", action="cancel", name=name, **here)
        assert len(cancelled["result"]["cancelled"]) == 2


async def test_whose_timers_they_are(satellite: Satellite, agent: Agent, hass_admin_user: MockUser) -> None:
    """A user's timers are theirs; those of a voice that nobody knows are everybody's."""
    await agent.call(
        "timer", action="set", when="10 min", name="mine", context=Context(user_id=hass_admin_user.id)
    )
    await agent.call("timer", action="set", when="20 min", name="ours")
    assert [item["name"] for item in (await agent.call("timer", action="list"))["result"]["timers"]] == [
        "ours"
    ]
    own = await agent.call("timer", action="list", context=Context(user_id=hass_admin_user.id))
    assert [item["name"] for item in own["result"]["timers"]] == ["mine", "ours"]


async def _async_restart(agent: Agent) -> None:
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)


@pytest.mark.parametrize(
    ("away", "said", "in_app"),
    [
        (timedelta(minutes=5), [], []),
        (
            timedelta(hours=2),
            ["It is time: pasta. It was due at 10:10, but Home Assistant was not running then."],
            [],
        ),
        (
            timedelta(days=2),
            [],
            ["It is time: pasta. It was due at 10:10, 3 June, but Home Assistant was not running then."],
        ),
    ],
)
async def test_catching_up(
    hass: HomeAssistant,
    model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    away: timedelta,
    said: list[str],
    in_app: list[str],
) -> None:
    """What became due meanwhile is told late and says so; after a day it is only shown."""
    await hass.config.async_set_time_zone("UTC")
    satellite = await async_add_satellite(hass)
    agent = await async_agent(hass, model_server)
    await agent.call("timer", action="set", when="10 min", name="pasta", device_id=satellite.device)
    await _async_restart(agent)
    freezer.tick(away)
    await async_pass(hass, freezer, 0)
    assert satellite.said == []
    assert await hass.config_entries.async_setup(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert satellite.said == said
    assert shown(hass) == in_app


async def test_repeating(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """A daily reminder comes each day at its time, after an outage once."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    satellite = await async_add_satellite(hass)
    agent = await async_agent(hass, model_server)
    await agent.call(
        "timer", action="set", when="13:00", name="tablets", repeat="daily", device_id=satellite.device
    )
    await async_pass(hass, freezer, 3600)
    await async_pass(hass, freezer, 24 * 3600)
    assert satellite.said == ["It is time: tablets."] * 2
    await _async_restart(agent)
    freezer.tick(timedelta(days=3, hours=1))
    assert await hass.config_entries.async_setup(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    (timer,) = agent.entry.runtime_data.planned.timers()
    assert dt_util.as_local(timer.due).strftime("%m-%d %H:%M") == "06-08 13:00"


async def test_refusals(agent: Agent) -> None:
    refused: list[tuple[dict[str, str], str]] = [
        ({"action": "set"}, "when: say when"),
        ({"action": "set", "when": "soon"}, "is not understood"),
        ({"action": "set", "when": "2036-06-01 10:00"}, "2 years ahead"),
        ({"action": "cancel"}, "of yours is set"),
        ({"action": "extend", "name": "x"}, "by how much"),
    ]
    for args, said in refused:
        assert said in (await agent.call("timer", **args))["error"]
