"""Unasked messages in Telegram: reminders in their chat, and messages for people without a phone."""

from datetime import timedelta

import pytest
from pytest_homeassistant_custom_component.common import (
    async_capture_events,
    async_fire_time_changed,
    async_mock_service,
)

from custom_components.home_agent.const import EVENT_TIMER_FINISHED
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent
from tests.helpers.everyday_house import shown
from tests.helpers.secure_house import SecureHouse
from tests.helpers.telegram_chats import ANNA, BEN, Telegram
from tests.servers.replies import text, tool_calls

SET = ("timer", {"action": "set", "when": "10 minutes", "name": "Pasta"})
DUE = "It is time: Pasta."


async def set_here(agent: Agent, telegram: Telegram, chat: int = ANNA) -> None:
    """Set a timer in a chat."""
    agent.server.script([tool_calls([SET]), text("Set.")])
    assert await telegram.write(chat, "Remind me of the pasta in ten minutes") == ["Set."]


async def come_due(hass: HomeAssistant) -> None:
    """Let the time of a timer come."""
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(minutes=11))
    await hass.async_block_till_done(wait_background_tasks=False)


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_reminder_comes_where_it_was_set(
    hass: HomeAssistant, agent: Agent, telegram: Telegram, *, restarts: bool
) -> None:
    """In the chat, also after a restart, and nowhere else."""
    told = async_capture_events(hass, EVENT_TIMER_FINISHED)
    await set_here(agent, telegram)
    if restarts:
        timers = agent.entry.runtime_data.shared.planned
        await timers.async_flush()
        timers.of(agent.entry.entry_id).restore(timers.of(agent.entry.entry_id).stored())
        assert await hass.config_entries.async_reload(agent.entry.entry_id)
        await hass.async_block_till_done()
    await come_due(hass)
    await telegram.until(lambda: DUE in telegram.server.texts(ANNA))
    assert telegram.server.texts(ANNA).count(DUE) == 1
    assert DUE not in telegram.server.texts(BEN)
    assert [event.data["told_by"] for event in told] == ["telegram"]
    assert shown(hass) == []


async def test_a_phone_is_for_what_was_set_elsewhere(
    hass: HomeAssistant, agent: Agent, telegram: Telegram, secure: SecureHouse
) -> None:
    """People with a phone get messages there; a chat still gets reminders that were set in it."""
    phone = async_mock_service(hass, "notify", "mobile_app_anna")
    targets = [{"person": "person.anna", "targets": ["notify.mobile_app_anna"]}]
    await agent.set_options(notify_targets=targets)
    agent.server.script([tool_calls([SET]), text("Set.")])
    await agent.say("Remind me of the pasta in ten minutes", context=Context(user_id=secure.anna.id))
    await come_due(hass)
    assert [call.data["message"] for call in phone] == [DUE]
    assert DUE not in telegram.server.texts(ANNA)
    await set_here(agent, telegram)
    await come_due(hass)
    await telegram.until(lambda: DUE in telegram.server.texts(ANNA))
    assert len(phone) == 1


async def test_a_chat_is_for_who_has_no_phone(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    """A reminder that was set in the dialog reaches the chat of that person."""
    agent.server.script([tool_calls([SET]), text("Set.")])
    await agent.say("Remind me of the pasta in ten minutes", context=Context(user_id=secure.ben.id))
    await come_due(secure.hass)
    await telegram.until(lambda: DUE in telegram.server.texts(BEN))
    assert DUE not in telegram.server.texts(ANNA)


async def test_a_chat_that_is_somebody_elses_now(
    hass: HomeAssistant, agent: Agent, telegram: Telegram
) -> None:
    """Reminders follow the person, not the chat."""
    await set_here(agent, telegram)
    await agent.set_options(
        telegram_chat_persons=[
            {"chat_id": str(ANNA), "person": "person.ben"},
            {"chat_id": str(BEN), "person": "person.anna"},
        ]
    )
    await come_due(hass)
    await telegram.until(lambda: DUE in telegram.server.texts(BEN))
    assert DUE not in telegram.server.texts(ANNA)


async def test_messages_unasked(hass: HomeAssistant, agent: Agent, telegram: Telegram) -> None:
    """Anna gets the message on her phone, Ben gets it in his chat."""
    phone = async_mock_service(hass, "notify", "mobile_app_anna")
    async_expose_entity(hass, "conversation", "binary_sensor.sink", True)
    hass.states.async_set("binary_sensor.sink", "off", {"device_class": "moisture", "friendly_name": "Sink"})
    await agent.set_options(
        proactive_enabled=True,
        proactive_rules=[{"rule": "leak"}],
        notify_targets=[{"person": "person.anna", "targets": ["notify.mobile_app_anna"]}],
    )
    hass.states.async_set("binary_sensor.sink", "on", {"device_class": "moisture", "friendly_name": "Sink"})
    await telegram.until(lambda: [said for said in telegram.server.texts(BEN) if "Sink" in said])
    assert [call.data["message"] for call in phone] == telegram.server.texts(BEN)
    assert telegram.server.texts(ANNA) == []
    assert shown(hass) == []
