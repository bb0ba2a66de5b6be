"""Turns, while the entry, the house and Home Assistant itself change under them."""

import asyncio
from collections.abc import Awaitable, Callable
import logging
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
)

from custom_components.home_agent.agent.describe import async_phrase
from custom_components.home_agent.const import EVENT_CONVERSATION_FINISHED, EVENT_ERROR
from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.components import conversation
from homeassistant.components.conversation import chat_log
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import (
    EVENT_CALL_SERVICE,
    EVENT_HOMEASSISTANT_FINAL_WRITE as EVENT_FINAL_WRITE,
    EVENT_HOMEASSISTANT_STOP,
)
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from tests.helpers.agent import Agent, async_add_agent, async_agent, speech
from tests.helpers.listening import LONG, Listener, slow_light, start_turn
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, hang, text, tool_calls

LIGHT = "light.kitchen_ceiling"
ON = ("ha_control", {"action": "turn_on", "entity_id": LIGHT})

type Change = Callable[[Agent], Awaitable[Any]]


async def reload(agent: Agent) -> None:
    assert await agent.hass.config_entries.async_reload(agent.entry.entry_id)


async def unload(agent: Agent) -> None:
    assert await agent.hass.config_entries.async_unload(agent.entry.entry_id)


async def remove(agent: Agent) -> None:
    await agent.hass.config_entries.async_remove(agent.entry.entry_id)


async def interrupt(agent: Agent) -> None:
    """End the turns, and leave all else as it is."""
    agent.entry.runtime_data.turns.stop()


async def stop(agent: Agent) -> None:
    agent.hass.bus.async_fire(EVENT_HOMEASSISTANT_STOP)


def left_running() -> list[str]:
    """Return the names of our tasks that still run."""
    return [task.get_name() for task in asyncio.all_tasks() if "home_agent" in task.get_name()]


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.exc_info and record.levelno >= logging.WARNING and "camera" not in record.name
    ]


WORDS = ("Listen to this ", "story.")
"""Words that cannot begin a claim that something was done: they are let out at once."""


@pytest.mark.parametrize("after", [-1, 2], ids=["before headers", "in the stream"])
@pytest.mark.parametrize(
    ("change", "expected_lingering_timers"),
    # Of a chat session that ends after Home Assistant has stopped.
    [(reload, False), (unload, False), (remove, False), (stop, True)],
)
async def test_a_turn_ends_with_its_agent_and_with_home_assistant(
    hass: HomeAssistant,
    model_server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    change: Change,
    expected_lingering_timers: bool,
    after: int,
) -> None:
    """A server that hangs keeps nothing alive: one sentence, the connection closed, nothing left running."""
    agent = await async_agent(hass, model_server)
    reply = hang(after, chunks=WORDS)
    model_server.script([reply])
    listener = Listener()
    turn = start_turn(agent, "Erzähl mir eine Geschichte", listener, language="de")
    request = await model_server.arrived(1)
    await request.reached_fault.wait()
    if after > 0:
        await listener.until(lambda: listener.text == "Listen to this")
    await change(agent)
    async with asyncio.timeout(LONG):
        result = await turn
    assert speech(result) == await async_phrase(hass, "de", "interrupted")
    assert speech(result) not in listener.text  # it is the result, which is shown and spoken once
    await request.gone.wait()
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not left_running()
    assert not tracebacks(caplog)
    if change is reload:
        assert speech(await agent.say("Hello")) == "Done."


@pytest.mark.parametrize(
    ("change", "history"), [(reload, True), (remove, True), (interrupt, True), (interrupt, False)]
)
async def test_a_tool_goes_on_where_its_turn_ends(
    hass: HomeAssistant,
    model_server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    change: Change,
    history: bool,
) -> None:
    """What a device was told is not taken back, and not told again; later its call has a result."""
    agent = await async_agent(hass, model_server, {"history_enabled": history})
    begun, release = slow_light(hass)
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    model_server.script([tool_calls([ON])])
    turn = start_turn(agent, "Kitchen ceiling on", Listener(), conversation_id="kitchen")
    async with asyncio.timeout(LONG):
        await begun.wait()
    await change(agent)
    async with asyncio.timeout(LONG):
        assert speech(await turn) == await async_phrase(hass, "en", "interrupted")
    release.set()
    await hass.async_block_till_done()
    assert hass.states.get(LIGHT).state == "on"
    assert len([event for event in services if event.data["domain"] == "light"]) == 1
    assert not tracebacks(caplog)
    if change is remove:
        return
    agent.entry.runtime_data.turns.stopped = False
    await agent.say("Hello", conversation_id="kitchen")
    messages = model_server.chats[-1].messages
    called = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert called == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


async def test_a_removed_agent_leaves_nothing_behind(
    hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any]
) -> None:
    """Neither text on disk, nor listeners, nor an entry in what all agents share."""
    user = await hass.auth.async_create_user("Anna")
    agent = await async_agent(hass, model_server)
    await agent.say("Hello", context=Context(user_id=user.id))
    before = listeners(hass)
    other = await async_add_agent(hass, model_server)
    await other.say("The word is abracadabra", context=Context(user_id=user.id))
    listener = Listener()
    model_server.script([hang(2, chunks=WORDS)])
    turn = start_turn(other, "What is abracadabra?", listener, context=Context(user_id=user.id))
    await listener.until(lambda: listener.text == "Listen to this")
    await remove(other)
    await turn
    await hass.async_block_till_done(wait_background_tasks=True)
    shared = hass.data[DATA_SHARED]
    await shared.history.async_flush()
    await shared.sessions.async_flush()
    assert "bracadabra" not in str(hass_storage.get("home_agent.history"))
    assert other.entry.entry_id not in str(hass_storage.get("home_agent.conversation_sessions"))
    assert other.entry.entry_id not in shared.history._entries
    assert listeners(hass) == before


def listeners(hass: HomeAssistant) -> dict[str, int]:
    """Return how many listen to which event, without the stores that wait for their last write."""
    return {event: count for event, count in hass.bus.async_listeners().items() if event != EVENT_FINAL_WRITE}


async def test_the_house_changes_during_a_turn(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A call goes to what is there when it is made, not to what was there when the model was asked."""
    agent = await async_agent(hass, model_server)
    first = hang(0, chunks=())
    first.calls = [
        ("ha_control", {"action": "turn_on", "area": "Winter Garden", "domain": "light"}),
        ("ha_control", {"action": "turn_on", "entity_id": "light.kitchen_counter"}),
        ("ha_control", {"action": "turn_on", "entity_id": "light.reading_lamp"}),
    ]
    model_server.script([first, text("Done.")])
    turn = start_turn(agent, "Lights on in the winter garden", Listener())
    await (await model_server.arrived(1)).reached_fault.wait()
    entities = er.async_get(hass)
    garden = ar.async_get(hass).async_create("Winter Garden")
    entities.async_update_entity("light.bed_light", area_id=garden.id)
    async_expose_entity(hass, "conversation", "light.kitchen_counter", False)
    entities.async_remove("light.reading_lamp")
    await hass.async_block_till_done()
    first.release.set()
    await turn
    assert hass.states.get("light.bed_light").state == "on"
    assert hass.states.get("light.kitchen_counter").state == "off"
    results = [m["content"] for m in model_server.chats[1].messages if m["role"] == "tool"]
    assert ['"success":true' in result for result in results] == [True, False, False]


async def test_people_and_automations_at_once(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Two people and ten automations: every one gets its own answer, every light is switched once."""
    agent = await async_agent(hass, model_server)
    lights = ["light.kitchen_ceiling", "light.kitchen_counter", "light.bed_light", "light.reading_lamp"]

    def answer(request: Any) -> Reply:
        newest = request.messages[-1]
        if newest["role"] == "tool":
            sentence = next(m for m in reversed(request.messages) if m["role"] == "user")["content"]
            return text(f"Heard {sentence.split()[0]}.")
        number = int(newest["content"].split()[0].removeprefix("number"))
        light = lights[number % len(lights)]
        return tool_calls([("ha_control", {"action": "toggle", "entity_id": light})])

    model_server.default = answer
    services = async_capture_events(hass, EVENT_CALL_SERVICE)
    people = [
        (await hass.auth.async_create_user(name, group_ids=["system-users"])).id for name in ("Anna", "Ben")
    ]
    speakers = [*people, *[None] * 10]
    results = await asyncio.gather(
        *(
            conversation.async_converse(
                hass, f"number{index} toggle", None, Context(user_id=user), "en", agent.entity_id
            )
            for index, user in enumerate(speakers)
        )
    )
    assert [speech(result) for result in results] == [f"Heard number{index}." for index in range(12)]
    calls = [event for event in services if event.data["domain"] == "light"]
    assert len(calls) == 12
    assert [hass.states.get(light).state for light in lights] == ["on"] * 4, "three times each"
    assert sorted(filter(None, (event.context.user_id for event in calls))) == sorted(people)


async def test_the_same_conversation_twice_at_once(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Both are answered, and the conversation goes on with what both said.

    Since 2026.11 Home Assistant refuses the second message before an agent hears of it.
    """
    agent = await async_agent(hass, model_server)
    model_server.default = lambda request: text(f"Heard {request.messages[-1]['content'].split()[0]}.")
    results = await asyncio.gather(
        *(
            conversation.async_converse(hass, f"{word} please", "shared-id", Context(), "en", agent.entity_id)
            for word in ("tea", "coffee")
        )
    )
    words = ["tea"] if (refuses := hasattr(chat_log, "ConversationBusyError")) else ["tea", "coffee"]
    assert [speech(result) for result in results if not result.response.error_code] == [
        f"Heard {word}." for word in words
    ]
    assert bool(results[1].response.error_code) is refuses
    await agent.say("And?", conversation_id="shared-id")
    said = [m["content"] for m in model_server.chats[-1].messages if m["role"] == "user"][:-1]
    assert sorted(said) == sorted(f"{word} please" for word in words)


async def test_a_user_who_is_gone(
    hass: HomeAssistant,
    model_server: ModelServer,
    hass_admin_user: MockUser,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A speaker whom Home Assistant does not know any more gets an answer, and switches nothing."""
    agent = await async_agent(hass, model_server)
    model_server.script([tool_calls([ON]), text("Not allowed.")])
    result = await agent.say("Kitchen ceiling on", context=Context(user_id="gone"))
    assert speech(result) == "Not allowed."
    assert hass.states.get(LIGHT).state == "off"
    model_server.default = Reply(status=503, body=b"{}")
    result = await agent.say("turn on kitchen ceiling", context=Context(user_id="gone"))
    assert speech(result) == await async_phrase(hass, "en", "permission_denied")
    assert hass.states.get(LIGHT).state == "off"
    assert not tracebacks(caplog)


async def test_a_defect_of_our_own_is_answered(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, agent: Agent
) -> None:
    """Whatever breaks in a turn, the person hears a sentence and the next turn works."""
    errors = async_capture_events(hass, EVENT_ERROR)
    finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
    with monkeypatch.context() as broken:
        broken.setattr(
            "custom_components.home_agent.context.manager.ContextManager.async_assemble",
            lambda *_, **__: 1 / 0,
        )
        result = await agent.say("Hallo", language="de")
    assert speech(result) == await async_phrase(hass, "de", "unknown")
    assert errors[0].data["error_message"] == "ZeroDivisionError"
    assert [event.data["error_type"] for event in finished] == ["HomeAgentError"]
    assert speech(await agent.say("Hello")) == "Done."
