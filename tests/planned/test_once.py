"""When ... then, once: what is waited for, what must hold then, and what becomes of it."""

from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import EVENT_PLANNED_RUN
from custom_components.home_agent.planned.records import load_item
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_HOMEASSISTANT_STOP
from homeassistant.core import Context, CoreState, HomeAssistant
from homeassistant.helpers import entity_registry as er
from tests.helpers.agent import Agent, speech
from tests.helpers.checks import for_each
from tests.helpers.everyday_house import NOW, shown
from tests.helpers.once import ANNA, BEN, PORCH, WASHER, WINDOW, async_add_things, show, waited_for
from tests.helpers.planned import ASKS, DOOR, HALL, Wait, made, planned
from tests.helpers.secure_house import SecureHouse, ask
from tests.servers.model_server import ModelServer
from tests.servers.replies import tool_calls

pytestmark = pytest.mark.freeze_time(NOW)

SAID = "When the washer is done turn on the hall light"
ON = {"action": "turn_on", "entity_id": [HALL], "when": f"{WASHER} off"}
LIT = [("light.turn_on", (HALL,))]


@pytest.fixture(autouse=True)
async def things(secure: SecureHouse) -> None:
    """Add what can be waited for."""
    await async_add_things(secure)


async def test_once(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """It runs when it becomes so, as the person, and not a second time."""
    own = Context(user_id=secure.anna.id)
    told = await agent.call("ha_control", SAID, **ON, context=own)
    assert told["result"]["planned"] == {
        HALL: f"turn on when {WASHER} is off, if that comes before it is dropped tomorrow at 10:00"
    }
    await wait(3600)
    assert made(secure) == []
    for state in ("off", "on", "off"):
        show(agent.hass, WASHER, state)
        await wait(1)
    assert made(secure) == LIT
    assert secure.calls[0].context.user_id == secure.anna.id
    assert planned(agent).all() == []
    assert shown(agent.hass) == []


async def test_for_a_while(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """The time for which it must be so starts again with each change."""
    await agent.call("ha_control", SAID, **{**ON, "when": f"{WASHER} off for 5 minutes"})
    show(agent.hass, WASHER, "off")
    await wait(200)
    show(agent.hass, WASHER, "on")
    show(agent.hass, WASHER, "off")
    await wait(200)
    assert made(secure) == []
    await wait(101)
    assert made(secure) == LIT


async def test_a_number(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """A number counts when it crosses the limit."""
    await agent.call("ha_control", "When it is cold turn on the light", **{**ON, "when": f"{PORCH} < 3"})
    for value in ("5", "unknown", "2.5"):
        show(agent.hass, PORCH, value)
        await wait(1)
        assert made(secure) == (LIT if value == "2.5" else [])


async def test_already_so(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """What is so already is waited for the next time, and the model is told so."""
    show(agent.hass, WASHER, "off")
    told = await agent.call("ha_control", SAID, **ON)
    (note,) = told["result"]["notes"]
    assert note.startswith("that is so already, so it is waited for the next time")
    show(agent.hass, WASHER, "on")
    await wait(60)
    assert made(secure) == []
    show(agent.hass, WASHER, "off")
    await wait(1)
    assert made(secure) == LIT


async def test_condition_now(secure: SecureHouse, agent: Agent) -> None:
    """Without when it is done now if it holds; else nothing is done, and the model is told how to wait."""
    args = {"action": "turn_on", "entity_id": [HALL], "if": f"{WASHER} off"}
    told = await agent.call("ha_control", "If the washer is off turn on the light", **args)
    assert "it is not so that binary_sensor.washer is off, so nothing was done" in told["error"]
    assert "give it as when" in told["error"]
    show(agent.hass, WASHER, "off")
    told = await agent.call("ha_control", "If the washer is off turn on the light", **args)
    assert told["result"]["done"] == {HALL: "on"}
    assert planned(agent).all() == []


async def test_told_without_the_model(model_server: ModelServer, secure: SecureHouse) -> None:
    """A plain command for an event is confirmed by Home Agent itself."""
    agent = await secure.async_agent(model_server, {**ASKS, "quick_confirmations": True})
    model_server.script([tool_calls([("ha_control", ON)])])
    said = speech(await agent.say("Turn on the hall light when the washer is done"))
    assert "the Washer is not running" in said
    assert len(model_server.chats) == 1


@pytest.mark.parametrize(("garage", "reminded"), [("open", True), ("closed", False)])
async def test_a_condition_at_a_time(
    secure: SecureHouse, agent: Agent, wait: Wait, garage: str, reminded: bool
) -> None:
    """What does not hold at its time ends without a word."""
    args = {"action": "set", "name": "garage", "when": "1 hour", "if": "cover.garage open"}
    told = await agent.call("timer", "Remind me in an hour if the garage is still open", **args)
    assert told["result"]["set"]["due"] == "at 11:00, only if cover.garage is open"
    show(agent.hass, "cover.garage", garage)
    events = async_capture_events(agent.hass, EVENT_PLANNED_RUN)
    await wait(3601)
    assert shown(agent.hass) == (["It is time: garage."] if reminded else [])
    assert [event.data["outcome"] for event in events] == ([] if reminded else ["skipped"])


async def test_a_condition_nobody_can_see(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    await agent.call(
        "ha_control",
        "Turn on the light in an hour if the washer is done",
        **{**ON, "when": "1 hour", "if": f"{WASHER} off"},
    )
    show(agent.hass, WASHER, "unavailable")
    await wait(3601)
    assert made(secure) == []
    assert shown(agent.hass) == [
        (
            "I could not see how things stood, so what was to be done at 11:00, but only when the Washer is "
            "not running was not done: Hall."
        )
    ]


async def test_nobody_at_home(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """Everybody may have something done for when nobody is there; whoever is not seen is not away."""
    show(agent.hass, HALL, "on")
    args = {"action": "turn_off", "entity_id": [HALL], "when": "nobody home"}
    for person in (ANNA, BEN):
        agent.hass.states.async_set(person, "home", {"device_trackers": ["x"], "in_zones": ["zone.home"]})
    await wait(0)
    told = await agent.call("ha_control", "When nobody is home turn off the light", **args)
    assert "notes" not in told["result"]
    for person, state in ((BEN, "not_home"), (ANNA, "unknown")):
        agent.hass.states.async_set(person, state, {"device_trackers": ["x"], "in_zones": []})
        await wait(1)
        assert made(secure) == []
    agent.hass.states.async_set(ANNA, "not_home", {"device_trackers": ["x"], "in_zones": []})
    await wait(1)
    assert made(secure) == [("light.turn_off", (HALL,))]


async def test_a_condition_beside_an_event(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """An event without its condition is no event; the next one is waited for."""
    await agent.call("ha_control", SAID, **ON, **{"if": f"{WINDOW} on"})
    assert waited_for(agent) == [f"{WASHER} is off if {WINDOW} is on"]
    show(agent.hass, WASHER, "off")
    await wait(1)
    show(agent.hass, WINDOW, "on")
    await wait(1)
    assert made(secure) == []
    show(agent.hass, WASHER, "on")
    show(agent.hass, WASHER, "off")
    await wait(1)
    assert made(secure) == LIT


@pytest.mark.parametrize(
    ("until", "seconds"), [("", 24 * 3600), (" until 12:00", 7200), (" within 30 minutes", 1800)]
)
async def test_it_expires(secure: SecureHouse, agent: Agent, wait: Wait, until: str, seconds: int) -> None:
    """After a day, or as the person says, it is dropped, and shown."""
    await agent.call("ha_control", SAID, **{**ON, "when": f"{WASHER} off{until}"})
    await wait(seconds - 1)
    assert len(planned(agent).all()) == 1
    await wait(2)
    assert planned(agent).all() == []
    assert shown(agent.hass) == [
        (
            "It did not happen in time, so I'm no longer waiting. "
            "This was to be done when the Washer is not running: Hall."
        )
    ]
    show(agent.hass, WASHER, "off")
    await wait(1)
    assert made(secure) == []


REFUSED = {
    "read": "It is no longer exposed to me.",
    "exposure": "It is no longer exposed to me.",
    "user": "The person who planned it is not allowed to do that any more.",
    "target": "The person who planned it is not allowed to do that any more.",
}


@pytest.mark.parametrize("lost", REFUSED)
async def test_rights_lost_meanwhile(secure: SecureHouse, agent: Agent, wait: Wait, lost: str) -> None:
    """Who may not read what is waited for any more, or not control the target, has nothing run."""
    await agent.call("ha_control", SAID, **ON, context=Context(user_id=secure.anna.id))
    if lost == "read":
        secure.anna.mock_policy({"entities": {"entity_ids": {HALL: True}}})
    elif lost == "target":
        secure.anna.mock_policy({"entities": {"entity_ids": {WASHER: True, HALL: {"read": True}}}})
    elif lost == "exposure":
        async_expose_entity(agent.hass, "conversation", WASHER, False)
    else:
        await agent.hass.auth.async_deactivate_user(secure.anna)
    show(agent.hass, WASHER, "off")
    await wait(1)
    assert made(secure) == []
    (message,) = shown(agent.hass)
    assert message.startswith(
        "What was to be done when the Washer is not running is not allowed any more: Hall."
    )
    assert message.endswith(REFUSED[lost])


@for_each(
    ("when", "why"),
    [
        ("binary_sensor.hidden off", "not exposed"),
        ("person.ben home", "may not know where others are"),
        (
            "binary_sensor.washer purple",
            "when: 'purple' is no state of binary_sensor.washer. Allowed: off, on",
        ),
        ("sensor.porch warm", "it is a number, now 9 °C"),
        ("the moon is full", "when: 'the moon is full' is not understood"),
        (f"{WASHER} off until 2026-08-01", "until: an event is waited for at most 31 days"),
    ],
)
async def test_what_is_not_waited_for(secure: SecureHouse, agent: Agent, when: str, why: str) -> None:
    """An unknown voice does not learn who comes home, and nobody what is not exposed."""
    told = await agent.call("ha_control", SAID, **{**ON, "when": when})
    assert why in told["error"]
    assert planned(agent).all() == []


async def test_no_permanent_automation(secure: SecureHouse, agent: Agent) -> None:
    """What is to happen each time stays an automation."""
    for args in ({}, {"when": "23:00", "if": "nobody home"}):
        told = await agent.call("ha_control", SAID, **{**ON, **args}, repeat="daily")
        assert "counts once" in told["error"]
    assert planned(agent).all() == []


async def test_lists_cancels_and_undoes(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    own = Context(user_id=secure.anna.id)
    await agent.call("ha_control", SAID, **ON, context=own)
    listed = await agent.call("timer", "What is planned?", action="list", context=own)
    assert f"when {WASHER} is off" in str(listed["result"])
    await agent.call("timer", "Cancel that with the washer", action="cancel", name="washer", context=own)
    assert planned(agent).all() == []
    show(agent.hass, WASHER, "off")
    again = await agent.call("activity", "Undo that", action="undo", context=own)
    assert "set_again" in str(again["result"])
    await wait(1)
    assert made(secure) == []  # it was done while nothing waited
    await agent.call("ha_control", "Turn on the hall light when the washer is done", **ON, context=own)
    assert len(planned(agent).all()) == 1  # the same
    undone = await agent.call("activity", "Undo that", action="undo", context=own)
    assert "cancelled" in str(undone["result"])
    assert planned(agent).all() == []


async def test_restricted(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, wait: Wait
) -> None:
    """It asks when it is given, with what it waits for, keeps exactly that, and tells when it ran."""
    pin = await hass.async_add_executor_job(hash_pin, "4711")
    agent = await secure.async_agent(model_server, {**ASKS, "policy_pin": pin})
    own = Context(user_id=secure.anna.id)
    call = {"action": "unlock", "entity_id": [DOOR], "when": "person.ben home"}
    model_server.script([tool_calls([("ha_control", call)])])
    asked = await agent.say("Unlock the front door when Ben comes home", context=own)
    assert speech(asked).startswith("Should I unlock the Front Door when Ben comes home?")
    assert planned(agent).all() == []
    said = speech(await agent.say("4711", context=own, conversation_id=asked.conversation_id))
    assert said == "I'll do that once, when Ben comes home. I'll wait until 10:00, 4 June."
    (item,) = planned(agent).all()
    assert item.approved is not None
    show(hass, BEN, "home")
    await wait(1)
    assert made(secure) == [("lock.unlock", (DOOR,))]
    assert shown(hass) == ["I did what was to be done when Ben comes home: Front Door."]


@pytest.mark.parametrize(("away", "ran"), [(600, True), (3 * 3600, False)])
async def test_a_restart(
    secure: SecureHouse, agent: Agent, freezer: FrozenDateTimeFactory, wait: Wait, away: int, ran: bool
) -> None:
    """What happened meanwhile counts from when it was seen last: it runs, or it is too late and told."""
    await agent.call("ha_control", SAID, **ON)
    kept = planned(agent)
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)
    (stored,) = kept.stored()
    assert list(stored["schedule"]["event"]["lost"]) == [WASHER]
    assert load_item(stored) == kept.all()[0]
    freezer.tick(away)
    show(agent.hass, WASHER, "off")
    await wait(0)
    assert await agent.hass.config_entries.async_setup(agent.entry.entry_id)
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    assert made(secure) == (LIT if ran else [])
    assert len(shown(agent.hass)) == (not ran)
    assert planned(agent).all() == []


async def test_states_at_a_start_are_not_complete(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """Before all has started nothing counts; what is still so then was so before."""
    await agent.call("ha_control", SAID, **ON)
    agent.hass.bus.async_fire(EVENT_HOMEASSISTANT_STOP)
    agent.hass.set_state(CoreState.starting)
    show(agent.hass, WASHER, "off")
    await wait(1)
    show(agent.hass, WASHER, "on")
    await wait(1)
    agent.hass.set_state(CoreState.running)
    await wait(1)
    assert made(secure) == []
    assert len(planned(agent).all()) == 1


@pytest.mark.parametrize(("gone", "ran"), [(600, True), (3600, False)])
async def test_unavailable(secure: SecureHouse, agent: Agent, wait: Wait, gone: int, ran: bool) -> None:
    """A device that is offline says nothing; what it shows then counts from when it was seen last."""
    await agent.call("ha_control", SAID, **ON)
    show(agent.hass, WASHER, "unavailable")
    await wait(gone)
    assert made(secure) == []
    show(agent.hass, WASHER, "off")
    await wait(1)
    assert made(secure) == (LIT if ran else [])
    assert shown(agent.hass) == (
        []
        if ran
        else [
            (
                "I only saw later that it had happened, so what was to be done when the Washer is not "
                "running was not done: Hall."
            )
        ]
    )


async def test_another_entity_of_that_id(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """An id that was given to another device is not the one that was meant."""
    registry = er.async_get(agent.hass)
    args: dict[str, Any] = {"action": "turn_on", "entity_id": [HALL], "when": "cover.blind open"}
    await agent.call("ha_control", "When the blind is open turn on the light", **args)
    registry.async_remove("cover.blind")
    agent.hass.states.async_set("cover.blind", "closed", {"friendly_name": "Blind"})
    async_expose_entity(agent.hass, "conversation", "cover.blind", True)
    show(agent.hass, "cover.blind", "open")
    await wait(1)
    assert made(secure) == []
    assert "is not allowed any more: Hall" in shown(agent.hass)[0]


async def test_leaving_counts_from_the_next_time(secure: SecureHouse, agent: Agent, wait: Wait) -> None:
    """Somebody who is away already comes home first, and somebody else does not stand in the way."""
    own = Context(user_id=secure.anna.id)
    call = {**ON, "when": f"{ANNA} leaves home"}
    await agent.call("ha_control", "When Anna leaves turn on the light", **call, context=own)
    for state in ("home", "not_home"):
        assert made(secure) == []
        show(agent.hass, ANNA, state)
        await wait(1)
    assert made(secure) == LIT


async def test_where_people_are_is_told_to_members(secure: SecureHouse, agent: Agent) -> None:
    """An unknown voice learns it neither from what is done if it is so, nor from a remark that it is so."""
    calls = (
        ("ha_control", {"action": "turn_on", "entity_id": HALL, "if": "nobody home"}),
        ("ha_control", {"action": "turn_on", "entity_id": HALL, "when": "nobody home"}),
        ("notify_person", {"person": "Anna", "message": "Hello", "if": f"{ANNA} home"}),
        ("notify_person", {"person": "Anna", "message": "Hello", "when": f"{ANNA} home"}),
    )
    for call in calls:
        told = []
        for state in ("home", "not_home"):
            show(agent.hass, ANNA, state)
            await ask(agent, call, said="If it is so do it", device_id="satellite-1")
            result = agent.results[-1]
            told.append((result.get("error"), "note" in str(result)))
            await planned(agent).async_cancel([item.id for item in planned(agent).all()])
        assert told[0] == told[1], call
    assert made(secure) == []


@pytest.mark.parametrize(("answer", "ran"), [("Yes", False), ("4711", True)])
async def test_a_yes_is_no_pin(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, wait: Wait, answer: str, ran: bool
) -> None:
    """What was confirmed with a yes does not run at an hour for which a rule asks for the PIN."""
    rule = {"decision": "pin", "entities": [DOOR], "hours": ["11:00-13:00"]}
    hashed = await hass.async_add_executor_job(hash_pin, "4711")
    options = {"policy_pin": hashed, "policy_pin_always": False, "policy_choices": [rule]}
    agent = await secure.async_agent(model_server, {**ASKS, **options})
    if ran:
        await wait(3700)  # the rule holds when it is given
    own = Context(user_id=secure.anna.id)
    call = {"action": "unlock", "entity_id": [DOOR], "when": f"{WASHER} off"}
    model_server.script([tool_calls([("ha_control", call)])])
    asked = await agent.say("When the washer is done unlock the front door", context=own)
    await agent.say(answer, context=own, conversation_id=asked.conversation_id)
    assert len(planned(agent).all()) == 1
    await wait(4000)
    show(hass, WASHER, "off")
    await wait(1)
    assert bool(made(secure)) is ran


async def test_a_condition_is_told_as_it_is(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse
) -> None:
    """What must not be so is not told as somebody who is away."""
    agent = await secure.async_agent(model_server, ASKS)
    call = {"action": "unlock", "entity_id": [DOOR], "when": "11:00", "if": f"{WINDOW} not off"}
    model_server.script([tool_calls([("ha_control", call)])])
    own = Context(user_id=secure.anna.id)
    asked = speech(await agent.say("Unlock the front door at eleven if the window is not shut", context=own))
    assert "at home" not in asked
    assert "Window is no longer closed" in asked
