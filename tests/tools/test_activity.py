"""Putting back what a turn did, by voice and by service, on real entities."""

from typing import Any

from hypothesis import given, strategies as st
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.domains import DOMAINS
from custom_components.home_agent.safety.journal import EarlierState
from custom_components.home_agent.tools.control.restoring import CannotRestoreError, restoring
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant, State
from homeassistant.exceptions import ServiceValidationError
from tests.helpers.agent import Agent, async_agent
from tests.helpers.tables import tables
from tests.helpers.undo import BED, LIGHT, control, undo, undo_service
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

TABLES = tables(__file__)


async def test_put_it_back(hass: HomeAssistant, agent: Agent) -> None:
    """On becomes off again, a dimmed light as bright as before; the undo is in the ledger like any call."""
    first = await agent.act(control("turn_on"))
    assert hass.states.get(LIGHT).state == "on"
    context = Context()
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await undo(agent, first.conversation_id, context=context)
    assert result["success"] is True
    assert LIGHT in result["result"]["restored"]
    assert hass.states.get(LIGHT).state == "off"
    calls = [event for event in services if event.data["domain"] == "light"]
    assert [event.data["service"] for event in calls] == ["turn_off"]
    assert calls[0].context.id == context.id, "it runs as the one who asked"
    newest = agent.entry.runtime_data.handler.guard.journal.recent(1)[0]
    assert (newest.service, newest.undoes) == ("turn_off", True)
    await hass.services.async_call("light", "turn_on", {"entity_id": LIGHT, "brightness": 200}, blocking=True)
    await hass.async_block_till_done()
    await agent.act(control("turn_on", brightness_pct=20), conversation_id=first.conversation_id)
    assert hass.states.get(LIGHT).attributes["brightness"] == 51
    await undo(agent, first.conversation_id)
    assert hass.states.get(LIGHT).attributes["brightness"] == 200


async def test_what_was_so_already_is_no_request(hass: HomeAssistant, agent: Agent) -> None:
    """A call that changed nothing is neither put back nor told of: the request before it is the last one."""
    await hass.services.async_call("light", "turn_on", {"entity_id": LIGHT, "brightness": 102}, blocking=True)
    await hass.async_block_till_done()
    await agent.act(control("turn_on"))
    with pytest.raises(ServiceValidationError):
        await hass.services.async_call("home_agent", "undo", {}, blocking=True)
    await agent.act(control("turn_off"))
    await agent.act(control("turn_off"))
    await hass.services.async_call("home_agent", "undo", {}, blocking=True)
    assert hass.states.get(LIGHT).state == "on"
    with pytest.raises(ServiceValidationError):
        await hass.services.async_call("home_agent", "undo", {}, blocking=True)


async def test_the_world_has_moved_on(hass: HomeAssistant, agent: Agent) -> None:
    """What somebody changed since stays, and is named; the rest is put back."""
    first = await agent.act(control("turn_on", [LIGHT, BED], brightness_pct=50))
    await hass.services.async_call("light", "turn_on", {"entity_id": LIGHT, "brightness": 250}, blocking=True)
    await hass.async_block_till_done()
    result = await undo(agent, first.conversation_id)
    assert result["success"] is True
    assert "Kitchen Ceiling has changed since" in result["error"]
    assert set(result["result"]["restored"]) == {BED}
    assert set(result["result"]["failed"]) == {LIGHT}
    assert hass.states.get(LIGHT).attributes["brightness"] == 250
    assert hass.states.get(BED).state == "off"


async def test_an_undo_never_unlocks(hass: HomeAssistant, agent: Agent) -> None:
    """A lock that was locked stays locked."""
    await hass.services.async_call("lock", "unlock", {"entity_id": "lock.front_door"}, blocking=True)
    first = await agent.act(control("lock", "lock.front_door"), sentence="Lock the front door")
    assert hass.states.get("lock.front_door").state == "locked"
    result = await undo(agent, first.conversation_id)
    assert result["success"] is False
    assert "asked for by name" in result["error"]
    assert hass.states.get("lock.front_door").state == "locked"


async def test_exposure_and_permission_count(hass: HomeAssistant, agent: Agent) -> None:
    """An undo is judged like any call: what is hidden now is not touched."""
    first = await agent.act(control("turn_on"))
    async_expose_entity(hass, "conversation", LIGHT, False)
    await hass.async_block_till_done()
    result = await undo(agent, first.conversation_id)
    assert result["success"] is False
    assert hass.states.get(LIGHT).state == "on"


async def test_other_people_are_left_alone(
    hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser
) -> None:
    """Each person undoes what was done for that person, also in another conversation."""
    other = MockUser(is_owner=False, name="Other").add_to_hass(hass)
    other.mock_policy({})
    await agent.act(control("turn_on"), context=Context(user_id=hass_admin_user.id))
    stranger = await undo(agent, context=Context(user_id=other.id))
    assert stranger["success"] is False
    own = await undo(agent, context=Context(user_id=hass_admin_user.id))
    assert set(own["result"]["restored"]) == {LIGHT}


async def test_another_place_is_left_alone(
    hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser
) -> None:
    """What a person did at a satellite is undone only where it was done."""
    own = Context(user_id=hass_admin_user.id)
    await agent.act(control("turn_on", BED), context=own, device_id="bedroom")
    typed = await undo(agent, context=own)
    assert typed["success"] is False
    assert "nothing was changed here" in typed["error"]
    assert hass.states.get(BED).state == "on"
    await agent.act(control("turn_on"), context=own, device_id="kitchen")
    there = await undo(agent, context=own, device_id="bedroom")
    assert set(there["result"]["restored"]) == {BED}
    assert hass.states.get(LIGHT).state == "on", "what was done later elsewhere is not meant here"


async def test_the_service(hass: HomeAssistant, agent: Agent) -> None:
    """It puts back the last turn of a conversation, or of all."""
    first = await agent.act(control("turn_on"))
    await agent.act(control("turn_on", BED))
    response = await undo_service(hass, conversation_id=first.conversation_id)
    assert set(response["restored"]) == {LIGHT}
    assert response["error"] is None
    assert set((await undo_service(hass))["restored"]) == {BED}
    with pytest.raises(ServiceValidationError) as refused:
        await hass.services.async_call("home_agent", "undo", {}, blocking=True)
    assert refused.value.translation_key == "nothing_to_undo"


async def test_own_sentences_come_back(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What Home Assistant's own sentences did is in the ledger too."""
    agent = await async_agent(hass, model_server, {"local_first_enabled": True})
    await agent.say("turn on kitchen ceiling")
    assert hass.states.get(LIGHT).state == "on"
    assert not model_server.chats
    assert set((await undo_service(hass))["restored"]) == {LIGHT}
    assert hass.states.get(LIGHT).state == "off"


async def undo_named(agent: Agent, sentence: str, *named: str, **options: Any) -> dict[str, Any]:
    """Have a part put back by name or id, and return what the model was told."""
    agent.server.script(
        [tool_calls([("activity", {"action": "undo", "entity_id": list(named)})]), text("Ok")]
    )
    await agent.say(sentence, **options)
    return agent.results[-1]


async def test_a_part_is_put_back(hass: HomeAssistant, agent: Agent) -> None:
    """What is named is restored, the rest of the request stays, and can be restored afterwards."""
    first = await agent.act(control("turn_on", [LIGHT, BED]))
    result = await undo_named(agent, "Not the bed light", BED, conversation_id=first.conversation_id)
    assert set(result["result"]["restored"]) == {BED}
    assert (hass.states.get(BED).state, hass.states.get(LIGHT).state) == ("off", "on")
    again = await undo_named(agent, "Not the bed light", "Bed Light", conversation_id=first.conversation_id)
    assert "Bed Light: not changed here by you" in again["error"]
    assert "Changed here: Kitchen Ceiling" in again["error"]
    rest = await undo(agent, first.conversation_id)
    assert set(rest["result"]["restored"]) == {LIGHT}
    assert hass.states.get(LIGHT).state == "off"
    assert "nothing to put back" in (await undo(agent, first.conversation_id))["error"]


async def test_an_earlier_request_by_name(hass: HomeAssistant, agent: Agent) -> None:
    """A name reaches the newest request that changed it, not only the last one."""
    first = await agent.act(control("turn_on"))
    await agent.act(control("turn_on", BED), conversation_id=first.conversation_id)
    named = {"action": "undo", "name": "kitchen ceiling"}
    agent.server.script([tool_calls([("activity", named)]), text("Ok")])
    await agent.say("Undo the kitchen ceiling", conversation_id=first.conversation_id)
    assert (hass.states.get(LIGHT).state, hass.states.get(BED).state) == ("off", "on")


async def test_elsewhere_by_name(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """What the person changed elsewhere is restored if the sentence names it, not if only the model does."""
    own = Context(user_id=hass_admin_user.id)
    await agent.act(control("turn_on", BED), context=own, device_id="bedroom")
    unnamed = await undo_named(agent, "Put it back", BED, context=own, device_id="kitchen")
    assert "not changed here by you" in unnamed["error"]
    assert hass.states.get(BED).state == "on"
    named = await undo_named(agent, "Undo the bed light", BED, context=own, device_id="kitchen")
    assert set(named["result"]["restored"]) == {BED}


HERE: dict[str, Any] = {"device_id": "kitchen"}


async def listed(agent: Agent) -> str:
    return str((await agent.call("timer", action="list", **HERE))["result"])


async def test_a_cancelled_plan_is_set_again(agent: Agent) -> None:
    """A planned command comes back, and a further undo cancels it, as the last thing that is left."""
    await agent.act(("ha_control", {"action": "turn_on", "entity_id": BED, "when": "2 hours"}), **HERE)
    await agent.call("timer", action="cancel", **HERE)
    assert "None of yours" in await listed(agent)
    result = (await undo(agent, **HERE))["result"]
    assert list(result["set_again"][0]["planned"]) == [BED]
    assert BED in await listed(agent)
    assert list((await undo(agent, **HERE))["result"]["cancelled"][0]["planned"]) == [BED]


def test_the_table(subtests: pytest.Subtests) -> None:
    """Each domain comes back by calls of its own."""
    for entity_id, before, after, calls in TABLES["the_table"]:
        with subtests.test(entity_id=entity_id, before=before):
            made = restoring(
                EarlierState(*before), EarlierState(*after), State(entity_id, *after), late=False
            )
            assert made is not None
            assert [[call.service, dict(call.data)] for call in made.calls] == calls


def test_what_never_comes_back(subtests: pytest.Subtests) -> None:
    """What would open, disarm, sound or start something is refused."""
    for entity_id, before, after, attributes in TABLES["what_never_comes_back"]:
        with subtests.test(entity_id=entity_id, before=before), pytest.raises(CannotRestoreError):
            restoring(
                EarlierState(before), EarlierState(after), State(entity_id, after, attributes), late=False
            )


STATES = st.sampled_from(
    ("on", "off", "open", "closed", "locked", "unlocked", "heat", "5", "unknown", "disarmed")
)


@given(domain=st.sampled_from(sorted(DOMAINS)), before=STATES, after=STATES)
def test_nothing_dangerous_comes_of_it(domain: str, before: str, after: str) -> None:
    """Whatever the states, no lock, valve, alarm or garage door is opened."""
    now = State(f"{domain}.a", after, {"device_class": "garage"} if domain == "cover" else {})
    try:
        made = restoring(EarlierState(before), EarlierState(after), now, late=False)
    except CannotRestoreError, ValueError:
        return
    services = {call.service for call in made.calls} if made else set()
    assert not services & {"unlock", "open", "open_cover", "open_valve", "set_valve_position", "alarm_disarm"}


def test_a_lock_that_was_still_moving_is_locked_again() -> None:
    """A call has done what an entity reports after it has moved, however long that took."""
    made = restoring(
        EarlierState("locked"), EarlierState("unlocking"), State("lock.a", "unlocked"), late=False
    )
    assert made is not None
    assert [(call.service, call.data) for call in made.calls] == [("lock", {})]
