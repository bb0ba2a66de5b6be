"""Confirmations on phones: who is asked, whose answer counts, and what is left on the screen."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events, async_fire_time_changed
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.const import EVENT_ERROR
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.core import Context, EventOrigin, HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import call_action, speech
from tests.helpers.phones import Phones, push_service
from tests.helpers.secure_house import RAN, UNLOCK, SecureHouse, ask, pending_ids
from tests.servers.replies import text

QUESTION = "Should I unlock the Front Door?"
PIN = "4711"
TARGETS = [
    {"person": "person.anna", "targets": ["notify.mobile_app_anna"]},
    {"person": "person.ben", "targets": ["notify.mobile_app_ben"]},
]


@pytest.fixture
async def phones(secure: SecureHouse, hass_client_no_auth: ClientSessionGenerator) -> AsyncIterator[Phones]:
    """Return the phones of Anna and Ben."""
    assert await async_setup_component(secure.hass, "http", {})
    async with push_service(secure.hass, hass_client_no_auth) as found:
        await found.async_register("anna", secure.anna)
        await found.async_register("ben", secure.ben)
        yield found


def anna(secure: SecureHouse) -> Context:
    """Return Anna's context."""
    return Context(user_id=secure.anna.id)


def buttons(push: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the buttons of a notification by their titles."""
    return {button["title"]: button for button in push["data"]["actions"]}


async def test_yes_on_the_phone(hass: HomeAssistant, secure: SecureHouse, phones: Phones) -> None:
    """Who asked is asked on the own phone; no other phone shows it, and no other phone's answer counts."""
    agent = await secure.async_with({"notify_targets": TARGETS})
    await ask(agent, context=anna(secure))
    (action_id,) = pending_ids(hass)
    (push,) = phones.of("anna")
    assert (push["title"], push["message"]) == ("Home Agent asks", QUESTION)
    assert push["data"]["tag"] == f"home_agent_{action_id}"
    assert 50 <= push["data"]["timeout"] <= 60
    yes, no = buttons(push)["Yes"], buttons(push)["No"]
    assert yes["authenticationRequired"] is True
    assert phones.of("ben") == []
    await phones.async_press("ben", yes["action"])
    await phones.async_press("ben", no["action"])
    assert pending_ids(hass) == [action_id]
    await phones.async_press("anna", yes["action"])
    await phones.async_press("anna", yes["action"])
    assert secure.moved() == RAN
    assert secure.calls[0].context.user_id == secure.anna.id
    assert [push["message"] for push in phones.of("anna")] == [QUESTION, "clear_notification"]
    assert phones.of("anna")[1]["data"]["tag"] == push["data"]["tag"]


async def test_no_on_the_phone(hass: HomeAssistant, secure: SecureHouse, phones: Phones) -> None:
    """The action is gone; a later yes in the dialog changes nothing."""
    agent = await secure.async_with({"notify_targets": TARGETS})
    asked = await ask(agent, context=anna(secure))
    await phones.async_press("anna", buttons(phones.of("anna")[0])["No"]["action"])
    assert pending_ids(hass) == []
    secure.server.script([text("Yes to what?")])
    await agent.say("Yes", conversation_id=asked.conversation_id, context=anna(secure))
    assert secure.calls == []


@pytest.mark.parametrize("way", ["spoken", "expired", "unloaded"])
async def test_settled_elsewhere(hass: HomeAssistant, secure: SecureHouse, phones: Phones, way: str) -> None:
    """The phone's notification goes, and its buttons are dead."""
    agent = await secure.async_with({"notify_targets": TARGETS})
    asked = await ask(agent, context=anna(secure))
    yes = buttons(phones.of("anna")[0])["Yes"]["action"]
    if way == "spoken":
        await agent.say("No", conversation_id=asked.conversation_id, context=anna(secure))
    elif way == "expired":
        async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=61))
    else:
        await hass.config_entries.async_unload(agent.entry.entry_id)
    await hass.async_block_till_done()
    assert phones.of("anna")[-1]["message"] == "clear_notification"
    await phones.async_press("anna", yes)
    assert secure.calls == []


async def test_pin_on_the_phone(hass: HomeAssistant, secure: SecureHouse, phones: Phones) -> None:
    """With a PIN the phone asks for it; a wrong one is told and can be tried again, three times in all."""
    pin = hash_pin(PIN)
    agent = await secure.async_with({"notify_targets": TARGETS, "policy_pin": pin})
    await ask(agent, context=anna(secure))
    (push,) = phones.of("anna")
    assert push["message"] == f"{QUESTION} Answer with the PIN."
    yes = buttons(push)["Yes"]
    assert (yes["behavior"], yes["textInputPlaceholder"]) == ("textInput", "PIN")
    await phones.async_press("anna", yes["action"])
    assert phones.of("anna")[-1]["message"] == f"{QUESTION} I need the PIN for that."
    await phones.async_press("anna", yes["action"], reply_text="0000")
    assert phones.of("anna")[-1]["message"] == f"{QUESTION} That PIN is wrong. Please try again."
    assert phones.of("anna")[-1]["data"]["tag"] == push["data"]["tag"]
    assert secure.calls == []
    await phones.async_press("anna", yes["action"], reply_text=f" {PIN} ")
    assert secure.moved() == RAN
    hass.states.async_set("lock.front_door", "locked", {"friendly_name": "Front Door"})
    await ask(agent, context=anna(secure))
    yes = buttons(phones.of("anna")[-1])["Yes"]
    for wrong in ("0000", "1111", "2222", PIN):
        await phones.async_press("anna", yes["action"], reply_text=wrong)
    assert secure.moved() == RAN
    assert [push["message"] for push in phones.of("anna")[-2:]] == [
        "clear_notification",
        "Too many wrong PINs. I dropped the request.",
    ]


async def test_who_is_asked(hass: HomeAssistant, secure: SecureHouse, phones: Phones) -> None:
    """An unknown voice is asked where it speaks; an automation's request goes to all who may allow it."""
    agent = await secure.async_with({"notify_targets": TARGETS})
    await ask(agent, device_id="satellite")
    assert phones.pushed == []

    async def tool(context: Context) -> None:
        data = {"tool_name": UNLOCK[0], "parameters": UNLOCK[1]}
        await call_action(hass, "execute_tool", data, context)
        await hass.async_block_till_done()

    secure.ben.mock_policy({"entities": {"domains": {"light": True}}})
    await tool(Context())
    assert phones.of("ben") == []
    await phones.async_press("ben", buttons(phones.of("anna")[0])["Yes"]["action"])
    assert secure.calls == []
    await phones.async_press("anna", buttons(phones.of("anna")[0])["Yes"]["action"])
    assert secure.moved() == RAN
    await tool(Context(user_id=secure.reader.id))
    assert len(phones.of("anna")) == 2


async def test_a_script_is_no_phone(hass: HomeAssistant, secure: SecureHouse, phones: Phones) -> None:
    """An event that was fired inside Home Assistant is no answer, whoever's context it carries."""
    agent = await secure.async_with({"notify_targets": TARGETS})
    await ask(agent, context=anna(secure))
    action = buttons(phones.of("anna")[0])["Yes"]["action"]
    for origin, user_id in ((EventOrigin.local, secure.anna.id), (EventOrigin.remote, None)):
        event = {"action": action}
        hass.bus.async_fire("mobile_app_notification_action", event, origin, Context(user_id=user_id))
        await hass.async_block_till_done()
    assert secure.calls == []


async def test_entities_and_other_services(hass: HomeAssistant, secure: SecureHouse, phones: Phones) -> None:
    """A phone's entity is reached with buttons too, another one in plain text, a group by its service."""
    sent: list[ServiceCall] = []

    async def keep(call: ServiceCall) -> None:
        sent.append(call)

    hass.services.async_register("notify", "family", keep)
    hass.states.async_set("notify.mail", "unknown", {"friendly_name": "Mail"})
    targets = ["notify.anna", "notify.family", "notify.mail", "notify.gone", "notify.family"]
    options = {"notify_targets": [{"person": "person.anna", "targets": targets}]}
    assert hass.states.get("notify.anna") is not None
    agent = await secure.async_with(options)
    hass.services.async_register("notify", "send_message", keep)
    asked = await ask(agent, context=anna(secure))
    (push,) = phones.of("anna")
    assert set(buttons(push)) == {"Yes", "No"}
    family, mail = sent
    assert family.data["data"]["actions"] == push["data"]["actions"]
    assert mail.data["entity_id"] == "notify.mail"
    assert mail.data["message"].startswith(f"{QUESTION} Answer where you asked, before ")
    assert "data" not in mail.data
    assert mail.context.user_id is None
    await agent.say("No", conversation_id=asked.conversation_id, context=anna(secure))
    assert len(sent) == 2, "only the app can take a notification back"


async def test_a_phone_out_of_reach(
    hass: HomeAssistant, secure: SecureHouse, phones: Phones, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn goes on as if there were no phone."""

    async def fail(call: ServiceCall) -> None:
        raise ValueError("broken")

    hass.services.async_register("notify", "broken", fail)
    errors = async_capture_events(hass, EVENT_ERROR)
    options = {"notify_targets": [{"person": "person.anna", "targets": ["notify.broken", "notify.nobody"]}]}
    agent = await secure.async_with(options)
    asked = await ask(agent, context=anna(secure))
    assert speech(asked) == QUESTION
    done = await agent.say("Yes", conversation_id=asked.conversation_id, context=anna(secure))
    assert speech(done) == "I unlocked the Front Door."
    assert "notify.nobody is not there" in caplog.text
    assert {(event.data["component"], event.data["context"]["channel"]) for event in errors} == {
        ("channels", "notify")
    }
    assert "Traceback" not in caplog.text


async def test_what_failed_is_told(hass: HomeAssistant, secure: SecureHouse, phones: Phones) -> None:
    """A yes that could not be carried out is answered on the phone."""
    agent = await secure.async_with({"notify_targets": TARGETS})
    await ask(agent, context=anna(secure))
    yes = buttons(phones.of("anna")[0])["Yes"]["action"]
    hass.states.async_remove("lock.front_door")
    await phones.async_press("anna", yes)
    messages = [push["message"] for push in phones.of("anna")]
    assert messages[1] == "clear_notification"
    assert len(messages) == 3
    assert "Traceback" not in messages[2]
