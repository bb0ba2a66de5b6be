"""Who may confirm: only the person who was asked, never an automation."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.const import DOMAIN, EVENT_CONFIRMATION_RESOLVED
from custom_components.home_agent.knowledge.speaker import Surface, surface
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, call_action, speech
from tests.helpers.secure_house import RAN, UNLOCK, SecureHouse, agent, pending_ids  # noqa: F401 - a fixture
from tests.servers.replies import text, tool_calls

PIN = "4711"
SATELLITE = "satellite"


def obey(agent: Agent) -> None:
    """Let the model make the requested call, and answer yes to everything else."""
    agent.server.clear()
    agent.server.script([tool_calls([UNLOCK]), text("Yes"), text("Yes"), text("Yes")])


async def by_process(agent: Agent, sentence: str, **data: Any) -> tuple[str, str]:
    """Say a sentence by `home_agent.process` and return the answer and the conversation."""
    response = await call_action(agent.hass, "process", {"text": sentence, **data}, Context())
    await agent.hass.async_block_till_done()
    assert response is not None
    return str(response["response"]), str(response["conversation_id"])


async def by_core(agent: Agent, sentence: str, **data: Any) -> tuple[str, str]:
    """Say a sentence by `conversation.process` and return the answer and the conversation."""
    data.pop("device_id", None)
    response = await agent.hass.services.async_call(
        "conversation",
        "process",
        {"text": sentence, "agent_id": agent.entity_id, "language": "en", **data},
        True,
        Context(),
        return_response=True,
    )
    await agent.hass.async_block_till_done()
    assert response is not None
    spoken: Any = response["response"]
    return str(spoken["speech"]["plain"]["speech"]), str(response["conversation_id"])


async def by_code(agent: Agent, sentence: str, **data: Any) -> tuple[str, str]:
    """Say a sentence as an integration does that hands on the context of what triggered it."""
    data.setdefault("device_id", SATELLITE)
    result = await agent.say(sentence, context=Context(parent_id=Context().id), **data)
    return speech(result), str(result.conversation_id)


WAYS = (by_process, by_core, by_code)


@pytest.mark.parametrize("way", WAYS)
async def test_an_automation_does_not_confirm_what_it_asked_for(
    hass: HomeAssistant, secure: SecureHouse, agent: Agent, way: Any
) -> None:
    """The question goes to the notifications, where a person answers it, and the response says so."""
    obey(agent)
    said, conversation_id = await way(agent, "unlock the front door")
    assert said.startswith("Should I unlock the Front Door? Somebody has to confirm this")
    (shown,) = hass.data["persistent_notification"].values()
    assert "Should I unlock the Front Door?" in shown["message"]
    for answer in ("yes", "Yes, please", "ja"):
        said, _ = await way(agent, answer, conversation_id=conversation_id)
        assert secure.calls == []
    said, _ = await way(agent, "yes", conversation_id=conversation_id)
    assert said.startswith("An automation cannot confirm this")
    (action_id,) = pending_ids(hass)
    anna = Context(user_id=secure.anna.id)
    await hass.services.async_call(DOMAIN, "confirm_action", {"action_id": action_id}, True, anna)
    assert secure.moved() == RAN
    assert not hass.data["persistent_notification"]


@pytest.mark.parametrize("way", WAYS)
async def test_an_automation_does_not_confirm_what_a_voice_asked_for(
    hass: HomeAssistant, secure: SecureHouse, agent: Agent, way: Any
) -> None:
    """Neither the device nor the conversation of the satellite makes an automation a person."""
    obey(agent)
    asked = await agent.say("unlock the front door")
    assert asked.continue_conversation is True
    for sentence in ("yes", "What time is it?", "yes"):
        await way(agent, sentence, conversation_id=asked.conversation_id, device_id=SATELLITE)
        assert secure.calls == []
    assert len(pending_ids(hass)) == 1, "who was asked may still answer"
    answer = await agent.say("yes", conversation_id=asked.conversation_id)
    assert speech(answer) == "I unlocked the Front Door."
    assert secure.moved() == RAN


@pytest.mark.parametrize("way", WAYS)
async def test_an_automation_may_reject(secure: SecureHouse, agent: Agent, way: Any) -> None:
    """The safe direction stays free."""
    resolved = async_capture_events(secure.hass, EVENT_CONFIRMATION_RESOLVED)
    obey(agent)
    _, conversation_id = await way(agent, "unlock the front door")
    said, _ = await way(agent, "no", conversation_id=conversation_id)
    assert said == "Okay, I won't."
    assert [event.data["outcome"] for event in resolved] == ["rejected"]
    assert secure.calls == []


@pytest.mark.parametrize("way", WAYS)
async def test_an_automation_with_the_pin(secure: SecureHouse, way: Any) -> None:
    """A yes is not enough, the right PIN is; the model reads neither."""
    agent = await secure.async_with({"policy_pin": hash_pin(PIN)})
    obey(agent)
    _, conversation_id = await way(agent, "unlock the front door")
    requests = len(secure.server.chats)
    for sentence, answer in (("yes", "I need the PIN for that."), ("0000", "That PIN is wrong.")):
        said, _ = await way(agent, sentence, conversation_id=conversation_id)
        assert said.startswith(answer)
        assert secure.calls == []
    said, _ = await way(agent, f"the pin is {PIN}", conversation_id=conversation_id)
    assert said == "I unlocked the Front Door."
    assert secure.moved() == RAN
    assert len(secure.server.chats) == requests


async def test_the_response_names_the_question(hass: HomeAssistant, agent: Agent) -> None:
    """The caller of `home_agent.process` learns what waits, and only in the turn that asked."""
    obey(agent)
    response: Any = await call_action(hass, "process", {"text": "unlock the front door"}, Context())
    (action,) = agent.entry.runtime_data.confirmations.pending
    assert response["confirmation"] == {
        "action_id": action.id,
        "question": "Should I unlock the Front Door?",
        "expires_at": action.expires_at.isoformat(),
    }
    assert response["continue_conversation"] is False
    same = {"text": "How are you?", "conversation_id": response["conversation_id"]}
    response = await call_action(hass, "process", same, Context())
    assert "confirmation" not in response


@pytest.mark.parametrize(
    "other", [{"device_id": "another"}, {"context": "ben"}, {"context": "ben", "device_id": SATELLITE}]
)
async def test_another_person_or_device(secure: SecureHouse, agent: Agent, other: dict[str, Any]) -> None:
    """Only a yes from the person who was asked counts, also in the same conversation."""
    obey(agent)
    asked = await agent.say("unlock the front door")
    if "context" in other:
        other = {**other, "context": Context(user_id=secure.ben.id)}
    with suppress(HomeAssistantError):  # Home Assistant 2026.11 keeps others out of a conversation
        await agent.say("yes", conversation_id=asked.conversation_id, **other)
    assert secure.calls == []


async def test_guesses_across_actions(hass: HomeAssistant, secure: SecureHouse) -> None:
    """Guesses for many actions at once are looked at one after the other, ten of them in an hour."""
    agent = await secure.async_with({"policy_pin": hash_pin("0039")})
    anna = Context(user_id=secure.anna.id)
    for _ in range(20):
        await call_action(hass, "execute_tool", {"tool_name": UNLOCK[0], "parameters": UNLOCK[1]}, anna)
    waiting = pending_ids(hass)
    assert len(waiting) == 20
    confirmations = agent.entry.runtime_data.confirmations
    guesses = [
        confirmations.async_approve(action_id, user=secure.anna, pin=f"{2 * n + again:04}")
        for again in range(2)
        for n, action_id in enumerate(waiting)
    ]
    results = await asyncio.gather(*guesses, return_exceptions=True)
    reasons = [str(getattr(result, "reason", result)) for result in results]
    assert reasons.count("confirmation_pin_wrong") == 10
    assert secure.calls == []


async def test_nobody_crowds_out_another(hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
    """What waits for one person stays while another one has more than enough waiting."""
    obey(agent)
    anna = Context(user_id=secure.anna.id)
    asked = await agent.say("unlock the front door", context=anna)
    for _ in range(25):
        await call_action(
            hass,
            "execute_tool",
            {"tool_name": UNLOCK[0], "parameters": UNLOCK[1]},
            Context(user_id=secure.ben.id),
        )
    assert len(pending_ids(hass)) == 21
    again = Context(user_id=secure.anna.id)
    await agent.say("yes", conversation_id=asked.conversation_id, context=again)
    assert secure.moved() == RAN
    assert secure.calls[0].context.user_id == secure.anna.id


async def test_a_script_says_yes_for_nobody(hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
    """A script has the user who started it, but its text may come from anybody."""
    obey(agent)
    steps = [
        {
            "action": f"{DOMAIN}.process",
            "data": {"text": "unlock the front door"},
            "response_variable": "asked",
        },
        {
            "action": f"{DOMAIN}.process",
            "data": {"text": "yes", "conversation_id": "{{ asked.conversation_id }}"},
        },
        {
            "action": "conversation.process",
            "data": {
                "text": "yes",
                "agent_id": agent.entity_id,
                "conversation_id": "{{ asked.conversation_id }}",
            },
        },
    ]
    assert await async_setup_component(hass, "script", {"script": {"messages": {"sequence": steps}}})
    anna = Context(user_id=secure.anna.id)
    await hass.services.async_call("script", "messages", {}, True, anna)
    await hass.async_block_till_done()
    assert secure.calls == []
    (action_id,) = pending_ids(hass)
    await hass.services.async_call(DOMAIN, "confirm_action", {"action_id": action_id}, True, anna)
    assert secure.moved() == RAN


async def test_what_a_message_sets_off_is_an_automation(secure: SecureHouse, agent: Agent) -> None:
    """Home Assistant hands the context variables of a chat on to the automations that its calls trigger."""
    obey(agent)
    chat = surface.set(Surface.TELEGRAM)
    try:
        said, conversation_id = await by_core(agent, "unlock the front door")
        await by_core(agent, "yes", conversation_id=conversation_id)
    finally:
        surface.reset(chat)
    assert said.startswith("Should I unlock the Front Door? Somebody has to confirm this")
    assert secure.calls == []
    assert len(pending_ids(secure.hass)) == 1


@pytest.mark.parametrize("way", [Surface.TELEGRAM, None])
async def test_a_person_who_writes_says_yes(secure: SecureHouse, agent: Agent, way: Surface | None) -> None:
    obey(agent)
    chat = surface.set(way)
    try:
        anna = Context(user_id=secure.anna.id)
        asked = await agent.say("unlock the front door", context=anna)
        await agent.say("yes", conversation_id=asked.conversation_id, context=anna)
    finally:
        surface.reset(chat)
    assert secure.moved() == RAN
