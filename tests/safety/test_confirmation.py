"""Confirmations: whose word counts, when, how often, and what is left behind."""

import asyncio
from datetime import timedelta
import json
import re
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
    async_fire_time_changed,
)

from custom_components.home_agent.const import (
    DOMAIN,
    EVENT_CONFIRMATION_REQUESTED,
    EVENT_CONFIRMATION_RESOLVED,
    EVENT_HISTORY_SAVED,
)
from custom_components.home_agent.runtime import DATA_SHARED
from custom_components.home_agent.safety.spoken_numbers import hash_pin, matches
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import ConfigEntryState
from homeassistant.const import MATCH_ALL
from homeassistant.core import Context, Event, EventOrigin, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_add_agent, async_agent, call_action, speech
from tests.helpers.checks import every
from tests.helpers.further import async_add_further
from tests.helpers.secure_house import RAN, UNLOCK, SecureHouse, agent, ask, pending_ids  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

PIN = "4711"


def outcomes(events: list[Event]) -> list[str]:
    """Return how actions ended."""
    return [event.data["outcome"] for event in events]


async def test_events(hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
    """They carry what is listed and nothing of the call's data."""
    requested = async_capture_events(hass, EVENT_CONFIRMATION_REQUESTED)
    resolved = async_capture_events(hass, EVENT_CONFIRMATION_RESOLVED)
    coded = ("ha_control", {**UNLOCK[1], "parameters": {"code": "9876"}})
    asked = await ask(agent, coded)
    shared = {"action_id", "config_entry_id", "timestamp"}
    whose = {"conversation_id", "user_id", "person"}
    assert set(requested[0].data) == {"summary", "expires_at", *whose, *shared}
    assert requested[0].data["summary"] == speech(asked) == "Should I unlock the Front Door?"
    await agent.say("Yes", conversation_id=asked.conversation_id)
    assert set(resolved[0].data) == {"outcome", *shared}
    assert outcomes(resolved) == ["approved"]
    assert "9876" not in json.dumps([dict(event.data) for event in (*requested, *resolved)])
    assert secure.calls[0].data == {"code": "9876"}


async def test_a_model_cannot_confirm(secure: SecureHouse) -> None:
    """Neither its words nor further calls count, in the same turn or in the next."""
    agent = await secure.async_with({"tools_max_calls_per_turn": 10})
    confirm = ("confirm_action", {"action_id": "x"})
    again = (
        "ha_control",
        {"action": "unlock", "entity_id": "lock.front_door", "parameters": {"confirmed": True}},
    )
    secure.server.script(
        [tool_calls([UNLOCK, UNLOCK, confirm, again], text="Yes. Yes, confirmed."), text("Yes")]
    )
    asked = await agent.say("Hm")
    assert speech(asked) == "Should I unlock the Front Door?"
    secure.server.script([text("Yes"), text("Yes")])
    await agent.say("How are you?", conversation_id=asked.conversation_id)
    assert secure.calls == []


async def test_one_question_for_several(secure: SecureHouse, agent: Agent) -> None:
    """All that waits is named, and one yes lets all of it run, once each."""
    garage = (
        "ha_control",
        {"action": "set_position", "entity_id": "cover.garage", "parameters": {"position": 40}},
    )
    light = ("ha_control", {"action": "turn_on", "entity_id": "light.hall"})
    asked = await ask(agent, UNLOCK, garage, light)
    assert (
        speech(asked)
        == "I turned on the Hall. Should I unlock the Front Door and set the Garage to 40 percent?"
    )
    assert secure.moved() == [("light.turn_on", ("light.hall",))]
    await agent.say("Yes", conversation_id=asked.conversation_id)
    assert secure.moved()[1:] == [*RAN, ("cover.set_cover_position", ("cover.garage",))]
    assert secure.calls[-1].data == {"position": 40}


async def test_what_is_asked_is_what_runs(secure: SecureHouse, agent: Agent) -> None:
    """Changing the arguments afterwards changes nothing."""
    args = {"action": "set_position", "entity_id": "cover.garage", "parameters": {"position": 10}}
    asked = await ask(agent, ("ha_control", args))
    (action,) = agent.entry.runtime_data.confirmations.pending
    with pytest.raises((AttributeError, TypeError)):
        action.frozen[0].entity_ids = ("lock.front_door",)
    await agent.say("Yes", conversation_id=asked.conversation_id)
    assert (secure.calls[0].service, secure.calls[0].data) == ("cover.set_cover_position", {"position": 10})


async def test_everything_else_is_checked_again(secure: SecureHouse, agent: Agent) -> None:
    """What was hidden, or taken from the user meanwhile, does not run in spite of a yes."""
    resolved = async_capture_events(secure.hass, EVENT_CONFIRMATION_RESOLVED)
    asked = await ask(agent)
    async_expose_entity(secure.hass, "conversation", "lock.front_door", False)
    answer = await agent.say("Yes", conversation_id=asked.conversation_id)
    assert secure.calls == []
    assert outcomes(resolved) == ["failed"]
    assert speech(answer) == "Sorry, I'm not allowed to do that."
    async_expose_entity(secure.hass, "conversation", "lock.front_door", True)
    anna = {"context": Context(user_id=secure.anna.id)}
    asked = await ask(agent, **anna)
    secure.anna.mock_policy({"entities": {}})
    await agent.say("Yes", conversation_id=asked.conversation_id, **anna)
    assert secure.calls == []


async def test_expiry(hass: HomeAssistant, secure: SecureHouse) -> None:
    """It ends by itself, a late yes is told so without the model, and a later one means something else."""
    agent = await secure.async_with({"policy_confirmation_timeout": 20})
    resolved = async_capture_events(hass, EVENT_CONFIRMATION_RESOLVED)
    asked = await ask(agent)
    same = {"conversation_id": asked.conversation_id}
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=21))
    await hass.async_block_till_done()
    assert outcomes(resolved) == ["expired"]
    secure.server.clear()
    assert speech(await agent.say("Yes", **same)).startswith("That took too long")
    assert secure.server.chats == []
    await agent.say("Yes", **same)
    assert secure.server.chats
    assert secure.calls == []


async def test_only_one_of_many_answers_runs(secure: SecureHouse, agent: Agent) -> None:
    """Approvals at the same moment, by different ways, run it once."""
    await ask(agent)
    confirmations = agent.entry.runtime_data.confirmations
    (action,) = confirmations.pending
    tries = [confirmations.async_approve_owned(action) for _ in range(20)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(result is None for result in every(results)) == 1
    assert secure.moved() == RAN


async def test_reload_and_restart(
    hass: HomeAssistant, secure: SecureHouse, hass_storage: dict[str, Any]
) -> None:
    """A reload withdraws; after a restart it counts as denied, and it is said."""
    agent = await secure.async_with()
    resolved = async_capture_events(hass, EVENT_CONFIRMATION_RESOLVED)
    anna = {"context": Context(user_id=secure.anna.id)}
    asked = await ask(agent, **anna)
    await hass.async_block_till_done(wait_background_tasks=True)
    stored = json.dumps(hass_storage["home_agent.confirmations"]["data"])
    assert secure.anna.id in stored
    assert "lock" not in stored, "what it would do is not kept"
    await hass.config_entries.async_reload(agent.entry.entry_id)
    await hass.async_block_till_done(
        wait_background_tasks=True
    )  # the prompt is read ahead: not with a reply of ours
    assert outcomes(resolved) == ["withdrawn"]
    await agent.say("Yes", conversation_id=asked.conversation_id, **anna)
    assert secure.calls == []

    await ask(agent, **anna)
    await hass.async_block_till_done(wait_background_tasks=True)
    written = hass_storage["home_agent.confirmations"]
    hass_storage["home_agent.confirmations"] = json.loads(json.dumps(written))
    # What a crash leaves behind: the file as it was, and nothing in memory.
    left = written["data"][agent.entry.entry_id]
    await hass.config_entries.async_unload(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    hass_storage["home_agent.confirmations"]["data"] = {agent.entry.entry_id: left}
    await hass.data[DATA_SHARED].confirmations.async_load()
    resolved.clear()
    await hass.config_entries.async_setup(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert outcomes(resolved) == ["restarted"]
    log = agent.entry.runtime_data.handler.guard.journal.entries(1, "confirmation")
    assert (log[0]["outcome"], log[0]["user_id"]) == ("restarted", secure.anna.id)
    secure.server.clear()
    assert "was restarted" in speech(await agent.say("Yes", **anna))
    assert secure.server.chats == []
    assert secure.calls == []


async def test_pin(hass: HomeAssistant, secure: SecureHouse) -> None:
    """With a PIN a yes is not enough; the PIN is in no log, event, store or chat log."""
    agent = await secure.async_with({"policy_pin": hash_pin(PIN)})
    events = async_capture_events(hass, MATCH_ALL)
    asked = await ask(agent)
    same = {"conversation_id": asked.conversation_id}
    assert speech(asked) == "Should I unlock the Front Door? I need the PIN for that."
    answer = await agent.say("Yes", **same)
    assert (speech(answer), answer.continue_conversation) == ("I need the PIN for that.", True)
    assert secure.calls == []
    answer = await agent.say("the PIN is four seven one one", **same)
    assert speech(answer) == "I unlocked the Front Door."
    assert secure.moved() == RAN
    hass.states.async_set("lock.front_door", "locked", {"friendly_name": "Front Door"})
    asked = await ask(agent, **same)
    await agent.say("4 7 1 1", **same)
    assert len(secure.calls) == 2
    secure.server.clear()
    await agent.say("Thanks", **same)
    shared = hass.data[DATA_SHARED]
    await shared.history.async_flush()
    log = hass.data[DATA_CHAT_LOGS][asked.conversation_id]
    seen = [json.dumps(event.as_dict(), default=str) for event in events]
    places = [*seen, json.dumps(secure.server.chats[0].json), str(log.content), str(shared.history.__dict__)]
    for place in places:
        # Between other digits it is the fraction of a second.
        assert not re.search(rf"(?<!\d){PIN}(?!\d)", place)
        assert "four seven one one" not in place
        assert "4 7 1 1" not in place


async def test_a_pin_that_nobody_asked_for(hass: HomeAssistant, secure: SecureHouse) -> None:
    """No model reads it, nor whether it was right: a number alone is masked while there is a PIN."""
    hashed = hash_pin(PIN)
    for options, masked in (({"policy_pin": hashed}, True), ({}, False)):
        agent = await secure.async_with(options)
        for sentence in ("forty-seven eleven", "4711", "the PIN is 1234", "vier sieben eins eins"):
            secure.server.script([text("Okay.")])
            await agent.say(sentence)
            sent = str(secure.server.chats[-1].messages)
            assert (sentence not in sent) is masked, sentence
        await agent.say("Set the kitchen to 2700 kelvin")
        assert "2700 kelvin" in str(secure.server.chats[-1].messages)
        assert await hass.config_entries.async_remove(agent.entry.entry_id)


async def test_wrong_pins_are_counted_for_the_home(
    hass: HomeAssistant, secure: SecureHouse, hass_storage: dict[str, Any]
) -> None:
    """Another agent, a reload and a restart give no further tries."""
    agent = await secure.async_with({"policy_pin": hash_pin(PIN)})
    further = (await async_add_further(hass, agent, policy_pin=hash_pin(PIN))).at_satellite()
    for guesser, count in ((agent, 5), (further, 4), (agent, 1)):
        for guess in range(count):
            if not guess % 2:
                asked = await ask(guesser)
            await guesser.say(f"{guess}{count}00", conversation_id=asked.conversation_id)
    await hass.config_entries.async_reload(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    stored = hass_storage["home_agent.confirmations"]["data"]
    assert len(stored["wrong_pins"]) == 10
    hass_storage["home_agent.confirmations"]["data"] = {"wrong_pins": [*stored["wrong_pins"], "x", None]}
    await hass.data[DATA_SHARED].confirmations.async_load()
    for right in (agent, further):
        asked = await ask(right)
        await right.say(PIN, conversation_id=asked.conversation_id)
    assert secure.calls == []


async def test_pins_at_the_same_time(hass: HomeAssistant, secure: SecureHouse) -> None:
    """A hundred guesses at once are three guesses."""
    agent = await secure.async_with({"policy_pin": hash_pin("0050")})
    await ask(agent)
    (action_id,) = pending_ids(hass)
    confirmations = agent.entry.runtime_data.confirmations
    guesses = [confirmations.async_approve(action_id, user=secure.anna, pin=f"{n:04}") for n in range(100)]
    results = await asyncio.gather(*guesses, return_exceptions=True)
    assert all(isinstance(result, HomeAssistantError) for result in every(results))
    assert secure.calls == []


def test_the_hash() -> None:
    stored = hash_pin(PIN)
    assert PIN not in stored
    assert matches(PIN, stored)
    assert not matches("4712", stored)
    assert not matches(PIN, PIN)
    assert not matches(PIN, "scrypt$x$y")
    assert hash_pin(PIN) != stored


async def test_the_services(hass: HomeAssistant, secure: SecureHouse, hass_admin_user: MockUser) -> None:
    """Only who asked may confirm; an automation may not; anybody's id is not enough."""
    agent = await secure.async_with()
    await ask(agent, context=Context(user_id=secure.anna.id))
    (action_id,) = pending_ids(hass)
    for user_id in (secure.ben.id, secure.reader.id, hass_admin_user.id, None):
        with pytest.raises(ServiceValidationError) as err:
            await hass.services.async_call(
                DOMAIN, "confirm_action", {"action_id": action_id}, True, Context(user_id=user_id)
            )
        assert err.value.translation_key == "confirmation_not_yours"
    assert secure.calls == []
    result = await call_action(
        hass, "confirm_action", {"action_id": action_id}, Context(user_id=secure.anna.id)
    )
    assert result == {"action_id": action_id, "outcome": "approved"}
    assert secure.moved() == RAN
    with pytest.raises(ServiceValidationError) as err:
        await hass.services.async_call(
            DOMAIN, "confirm_action", {"action_id": action_id}, True, Context(user_id=secure.anna.id)
        )
    assert err.value.translation_key == "confirmation_unknown"


async def test_two_agents(hass: HomeAssistant, secure: SecureHouse) -> None:
    """The action's id says whose it is, so that no agent has to be named."""
    await secure.async_with()
    second = await async_add_agent(hass, secure.server, {}, llm_model="another")
    await ask(second, context=Context(user_id=secure.anna.id))
    (action_id,) = pending_ids(hass)
    await hass.services.async_call(
        DOMAIN, "reject_action", {"action_id": action_id}, True, Context(user_id=secure.anna.id)
    )
    assert pending_ids(hass) == []


async def test_notifications(hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
    """Where nobody hears the question it is shown; the phone's own user answers it."""
    anna = Context(user_id=secure.anna.id)

    async def call() -> str:
        result = await call_action(
            hass, "execute_tool", {"tool_name": UNLOCK[0], "parameters": UNLOCK[1]}, anna
        )
        assert result["success"] is False
        assert "waits for the person's confirmation" in result["error"]
        assert result["confirmation"]["question"] == "Should I unlock the Front Door?"
        return result["confirmation"]["action_id"]

    action_id = await call()
    shown = hass.data["persistent_notification"]
    assert "Should I unlock the Front Door?" in next(iter(shown.values()))["message"]

    async def press(verb: str, user_id: str | None) -> None:
        event = {"action": f"HOME_AGENT_{verb}_{action_id}"}
        context = Context(user_id=user_id)
        hass.bus.async_fire("mobile_app_notification_action", event, EventOrigin.remote, context)
        await hass.async_block_till_done()

    for stranger in (None, secure.ben.id):
        await press("APPROVE", stranger)
        await press("REJECT", stranger)
    assert secure.calls == []
    await press("APPROVE", secure.anna.id)
    await press("APPROVE", secure.anna.id)
    assert secure.moved() == RAN
    assert not shown
    hass.states.async_set("lock.front_door", "locked", {"friendly_name": "Front Door"})
    action_id = await call()
    await press("REJECT", secure.anna.id)
    assert pending_ids(hass) == []
    assert agent.entry.state is ConfigEntryState.LOADED


async def test_own_sentences_ask_too(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Home Assistant's own sentences are judged by what they would call, and confirmed the same way."""
    agent = (await async_agent(hass, model_server, {"local_first_enabled": True})).at_satellite()
    await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    await hass.async_block_till_done()
    asked = await agent.say("unlock front door")
    assert speech(asked) == "Should I unlock the Front Door?"
    assert asked.continue_conversation is True
    assert hass.states.get("lock.front_door").state == "locked"
    await agent.say("Yes", conversation_id=asked.conversation_id)
    assert hass.states.get("lock.front_door").state == "unlocked"
    assert model_server.chats == []


async def test_throttle(secure: SecureHouse) -> None:
    """Automations are held back, people and satellites are not."""
    agent = await secure.async_with({"automation_turns_per_minute": 3})
    said = [speech(await agent.say("Hello", context=Context(), device_id=None)) for _ in range(5)]
    assert said[:3] == ["Done."] * 3
    assert all("too many requests" in sentence for sentence in every(said[3:]))
    assert len(secure.server.chats) == 3
    assert speech(await agent.say("Hello", device_id="satellite")) == "Done."
    assert speech(await agent.say("Hello", context=Context(user_id=secure.anna.id))) == "Done."


async def test_masked_before_the_store(hass: HomeAssistant, secure: SecureHouse) -> None:
    """A PIN that comes a moment too late is not stored either."""
    agent = await secure.async_with({"policy_pin": hash_pin(PIN)})
    async_capture_events(hass, EVENT_HISTORY_SAVED)
    asked = await ask(agent)
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=61))
    await hass.async_block_till_done()
    secure.server.clear()
    answer = await agent.say(PIN, conversation_id=asked.conversation_id)
    assert speech(answer).startswith("That took too long")
    assert secure.server.chats == []
    assert PIN not in str(hass.data[DATA_CHAT_LOGS][asked.conversation_id].content)
    assert PIN not in str(hass.data[DATA_SHARED].history.__dict__)
