"""Telegram: chats are conversations, through Home Assistant's own bot against a stand-in for Telegram."""

import json
import time
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.components import conversation
from homeassistant.core import Context, EventOrigin, HomeAssistant
from tests.helpers.agent import Agent, async_add_agent, call_action
from tests.helpers.options_pages import page, save as save_page, selector_of
from tests.helpers.secure_house import RAN, UNLOCK, SecureHouse
from tests.helpers.telegram_chats import ANNA, BEN, GROUP, OPTIONS, STRANGER, Telegram
from tests.servers.replies import text, tool_calls


def spoken(agent: Agent) -> str:
    """Return the newest message that the model was sent."""
    return str([item for item in agent.server.requests if item.is_chat][-1].messages[-1]["content"])


async def test_a_message_is_a_turn_of_its_person(agent: Agent, telegram: Telegram) -> None:
    agent.server.script([text("Hello **Anna**, 3 < 4 & so on.")])

    assert await telegram.write(ANNA, "Good morning") == ["Hello <b>Anna</b>, 3 &lt; 4 &amp; so on."]

    assert "Good morning" in spoken(agent)
    assert "Speaker: Anna, language en, in Telegram" in spoken(agent)
    assert telegram.server.calls("sendChatAction", ANNA)[0]["action"] == "typing"


async def test_the_next_message_goes_on_with_the_conversation(agent: Agent, telegram: Telegram) -> None:
    agent.server.script([text("Hello."), text("You said good morning.")])
    await telegram.write(ANNA, "Good morning")

    await telegram.write(ANNA, "What did I say?")

    said = [message["content"] for message in agent.server.requests[-1].messages]
    assert "Good morning" in said
    assert "Hello." in said


async def test_a_light_is_switched_in_the_name_of_who_writes(
    agent: Agent, telegram: Telegram, secure: SecureHouse
) -> None:
    call = ("ha_control", {"action": "turn_on", "entity_id": "light.hall"})
    agent.server.script([tool_calls([call]), text("The hall light is on.")])

    assert await telegram.write(ANNA, "Light in the hall on") == ["The hall light is on."]

    assert secure.moved() == [("light.turn_on", ("light.hall",))]
    assert secure.calls[0].context.user_id == secure.anna.id


@pytest.mark.parametrize(
    ("chat", "user"),
    [(STRANGER, STRANGER), (GROUP, ANNA), (ANNA, STRANGER)],
    ids=["stranger", "group", "not her"],
)
async def test_nobody_else_is_answered(agent: Agent, telegram: Telegram, chat: int, user: int) -> None:
    agent.server.script([text("Hello.")])
    telegram.server.write(chat, "Open the door", user=user)

    assert await telegram.write(BEN, "Good morning") == ["Hello."]

    assert telegram.server.texts(chat) == []
    assert len(agent.server.requests) == 1


@pytest.mark.parametrize(
    ("origin", "context"),
    [
        (EventOrigin.remote, Context()),
        (EventOrigin.local, Context(parent_id="01K0AUT0MAT10N000000000000")),
        (EventOrigin.local, Context(user_id="somebody")),
        (EventOrigin.local, Context()),
    ],
    ids=["network", "automation", "script", "automation at a time"],
)
async def test_what_others_fire_is_not_from_the_bot(
    hass: HomeAssistant, agent: Agent, telegram: Telegram, origin: EventOrigin, context: Context
) -> None:
    agent.server.script([text("Hello.")])
    faked = {"chat_id": ANNA, "user_id": ANNA, "text": "Open the door", "id": 7}
    hass.bus.async_fire("telegram_text", faked, origin, context)
    await hass.async_block_till_done()

    await telegram.write(ANNA, "Good morning")

    assert len(agent.server.requests) == 1
    assert "Open the door" not in str(agent.server.requests[0].messages)


async def test_a_long_answer_comes_in_messages_that_fit(agent: Agent, telegram: Telegram) -> None:
    agent.server.script([text("One & two are three. " * 500)])

    answers = await telegram.write(ANNA, "Tell me more", answers=3)

    assert len(answers) == 3
    assert "".join(answers).count("One &amp; two are three.") == 500


async def test_telegram_fetches_no_addresses(agent: Agent, telegram: Telegram) -> None:
    """A preview would tell a server outside what the address says, without anybody's click."""
    agent.server.script([text("See https://evil.example/?q=blue-pot")])
    await telegram.write(ANNA, "Good morning")
    (sent,) = telegram.server.calls("sendMessage", ANNA)
    assert json.loads(sent["link_preview_options"])["is_disabled"] is True


async def test_what_telegram_does_not_take_is_sent_as_it_was_written(
    agent: Agent, telegram: Telegram
) -> None:
    telegram.server.refuse = lambda _method, params: (
        "can't parse entities" if params.get("parse_mode") == "html" else ""
    )
    agent.server.script([text("Hello **Anna** & Ben")])

    answers = await telegram.write(ANNA, "Good morning", answers=2)

    assert answers[-1] == "Hello **Anna** & Ben"


async def test_a_message_that_was_edited_is_not_done_again(agent: Agent, telegram: Telegram) -> None:
    agent.server.script([text("Yes."), text("Hello.")])
    await telegram.write(ANNA, "Good morning", message_id=77)

    telegram.server.write(ANNA, "Good morning!", kind="edited_message", message_id=77)
    await telegram.write(BEN, "Hello")

    assert len(agent.server.requests) == 2


async def test_what_was_written_long_ago_is_not_done(agent: Agent, telegram: Telegram) -> None:
    answers = await telegram.write(ANNA, "Light in the hall on", date=int(time.time()) - 3_600)

    assert answers == [
        "This message reached me late, so I did nothing. Please send it again if you still need it."
    ]
    assert agent.server.requests == []


async def test_messages_are_answered_one_after_the_other(agent: Agent, telegram: Telegram) -> None:
    agent.server.script([text(f"Answer {number}.") for number in range(3)])

    for number in range(2):
        telegram.server.write(ANNA, f"Question {number}")
    await telegram.write(ANNA, "Question 2", answers=3)

    assert telegram.server.texts(ANNA) == ["Answer 0.", "Answer 1.", "Answer 2."]


async def test_a_voice_message_is_answered_with_what_can_be_read(agent: Agent, telegram: Telegram) -> None:
    voice = {"file_id": "1", "file_unique_id": "1", "duration": 1, "mime_type": "audio/ogg"}
    telegram.server.write(ANNA, "", voice=voice)
    await telegram.until(lambda: telegram.server.texts(ANNA))

    assert telegram.server.texts(ANNA) == ["I can only read text and look at pictures here."]


async def test_what_nobody_thought_of(
    agent: Agent, telegram: Telegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote is told, and whoever writes next is answered."""

    async def fail(*_args: Any, **_options: Any) -> None:
        raise ValueError

    with monkeypatch.context() as patch:
        patch.setattr(conversation, "async_converse", fail)
        (told,) = await telegram.write(ANNA, "Good morning")
    assert told
    agent.server.script([text("Hello.")])
    assert await telegram.write(ANNA, "Good morning") == ["Hello."]


async def test_the_model_is_down(agent: Agent, telegram: Telegram) -> None:
    agent.server.stop()

    (answer,) = await telegram.write(ANNA, "Tell me a story")

    assert "model" in answer.lower() or "reach" in answer.lower()


def buttons(message: dict[str, Any]) -> dict[str, str]:
    """Return the buttons of a message: label and data."""
    rows = json.loads(message.get("reply_markup") or "{}").get("inline_keyboard", [])
    return {button["text"]: button["callback_data"] for row in rows for button in row}


async def ask(agent: Agent, telegram: Telegram, chat: int = ANNA) -> dict[str, Any]:
    """Ask for something that needs a word; return the message with the question."""
    agent.server.script([tool_calls([UNLOCK]), text("The model's own words.")])
    await telegram.write(chat, "Open the front door")
    return telegram.server.calls("sendMessage", chat)[-1]


async def test_a_confirmation_has_buttons(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    message = await ask(agent, telegram)
    assert message["text"] == "Should I unlock the Front Door?"
    assert secure.moved() == []

    await telegram.press(ANNA, buttons(message)["Yes"])
    await telegram.until(lambda: telegram.server.calls("editMessageText"))

    assert secure.moved() == RAN
    assert telegram.server.texts(ANNA)[-1] == "I unlocked the Front Door."
    assert telegram.server.calls("editMessageText")[0]["text"] == "Should I unlock the Front Door?\n\nDone."


async def test_no_is_no(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    """The name of the question is shown as it is."""
    name = {"friendly_name": "[Shed](https://evil.example) **x**"}
    agent.hass.states.async_set("lock.front_door", "locked", name)
    message = await ask(agent, telegram)
    assert message["text"] == "Should I unlock the [Shed](https://evil.example) **x**?"

    await telegram.press(ANNA, buttons(message)["No"])
    await telegram.press(ANNA, buttons(message)["Yes"])

    assert secure.moved() == []


async def test_somebody_elses_press_does_not_count(
    agent: Agent, telegram: Telegram, secure: SecureHouse
) -> None:
    message = await ask(agent, telegram)

    await telegram.press(BEN, buttons(message)["Yes"])

    assert secure.moved() == []
    assert telegram.server.texts(BEN) == ["Only the person who asked for this can confirm it."]


async def test_with_a_pin_the_pin_is_written(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    await agent.set_options(policy_pin=hash_pin("4711"))
    message = await ask(agent, telegram)
    assert list(buttons(message)) == ["No"]

    assert await telegram.write(ANNA, "4711") == ["I unlocked the Front Door."]

    assert secure.moved() == RAN
    assert len(telegram.server.calls("deleteMessage", ANNA)) == 1


@pytest.mark.parametrize("pin", ["", "4711"])
async def test_what_an_automation_wants_is_asked_in_the_chats(
    hass: HomeAssistant, agent: Agent, telegram: Telegram, secure: SecureHouse, pin: str
) -> None:
    if pin:
        await agent.set_options(policy_pin=hash_pin(pin))
        agent.server.clear()
    call = {"tool_name": "ha_control", "parameters": UNLOCK[1]}
    await call_action(hass, "execute_tool", call, Context())
    await telegram.until(lambda: telegram.server.calls("sendMessage", ANNA))
    message = telegram.server.calls("sendMessage", ANNA)[-1]

    if pin:
        number = telegram.server.write(ANNA, pin)
        await telegram.until(lambda: len(telegram.server.texts(ANNA)) == 2)
        assert int(telegram.server.calls("deleteMessage")[0]["message_id"]) == number
    else:
        await telegram.press(ANNA, buttons(message)["Yes"])

    assert secure.moved() == RAN
    assert not [request for request in agent.server.requests if request.is_chat]


async def remember(hass: HomeAssistant, content: str, person: str | None, secure: SecureHouse) -> None:
    """Have something remembered."""
    data = {"content": content} | ({"person": person} if person else {})
    await hass.services.async_call(DOMAIN, "add_memory", data, blocking=True)


async def test_memories_are_listed_and_forgotten(
    hass: HomeAssistant, agent: Agent, telegram: Telegram, secure: SecureHouse
) -> None:
    await remember(hass, "Anna's tea is <green> & *hot*", "person.anna", secure)
    await remember(hass, "Ben likes jazz", "person.ben", secure)

    (listed,) = await telegram.write(ANNA, "/memories")
    assert listed.startswith("1. Anna's tea is <green> & *hot*")
    assert "jazz" not in listed

    assert await telegram.write(ANNA, "/forget jazz") == [
        "I can't find it. Send /memories to see the numbered list."
    ]
    assert await telegram.write(ANNA, "/forget 1") == ["Forgotten: Anna's tea is <green> & *hot*"]
    assert await telegram.write(ANNA, "/memories") == ["I found no memories."]
    assert agent.server.requests == []


async def test_commands(agent: Agent, telegram: Telegram) -> None:
    assert (await telegram.write(ANNA, "/start"))[0].startswith("Write to me as you would speak.")
    assert await telegram.write(ANNA, "/help@home_bot") == await telegram.write(ANNA, "/dance")
    assert await telegram.write(ANNA, "/searchlog") == ["I have not searched for anything."]


async def test_new_begins_anew(agent: Agent, telegram: Telegram) -> None:
    agent.server.script([text("Hello."), text("Nothing.")])
    await telegram.write(ANNA, "Good morning")

    assert await telegram.write(ANNA, "/new") == ["Okay, let's start a new conversation."]
    await telegram.write(ANNA, "What did I say?")

    assert "Good morning" not in str(agent.server.requests[-1].messages)


async def test_it_is_off_by_default(secure: SecureHouse, telegram: Telegram, hass: HomeAssistant) -> None:
    agent = await secure.async_with({**OPTIONS, "telegram_enabled": False})
    telegram.server.write(ANNA, "Good morning")
    received: list[Any] = []
    hass.bus.async_listen("telegram_text", received.append)
    await telegram.until(lambda: received)

    assert telegram.server.texts(ANNA) == []
    assert agent.server.requests == []


async def save(hass: HomeAssistant, agent: Agent, **typed: Any) -> Any:
    """Save the page Messages."""
    return await save_page(hass, agent.entry, "messages", {"telegram_enabled": True, **typed})


@pytest.mark.parametrize(
    ("chats", "error"),
    [
        ([], "telegram_no_chats"),
        ([{"chat_id": "-500", "person": "person.anna"}], "invalid_telegram_chat"),
        ([{"chat_id": "anna", "person": "person.anna"}], "invalid_telegram_chat"),
        ([{"chat_id": "1234567", "person": "person.anna"}], "telegram_chat_unknown"),
        ([{"chat_id": str(ANNA), "person": "person.guest"}], "person_without_user"),
    ],
)
async def test_chats_that_cannot_be_answered(
    hass: HomeAssistant, agent: Agent, chats: list[dict[str, str]], error: str
) -> None:
    result = await save(hass, agent, telegram_chat_persons=chats)

    assert result["errors"] == {"telegram_chat_persons": error}


async def test_two_agents_do_not_answer_in_one_chat(hass: HomeAssistant, agent: Agent) -> None:
    other = await async_add_agent(hass, agent.server)

    result = await save(hass, other, telegram_chat_persons=OPTIONS["telegram_chat_persons"])

    assert result["errors"] == {"telegram_chat_persons": "telegram_chat_taken"}
    assert result["description_placeholders"]["title"] == "Home Agent"


async def test_chats_to_choose_from(hass: HomeAssistant, agent: Agent) -> None:
    selector = selector_of(await page(hass, agent.entry, "messages"), "telegram_chat_persons")
    offered = selector.config["fields"]["chat_id"]["selector"].config["options"]
    assert [option["value"] for option in offered] == [str(ANNA), str(BEN), str(STRANGER)]


async def test_without_a_bot(hass: HomeAssistant, secure: SecureHouse) -> None:
    agent = await secure.async_with()

    result = await save(hass, agent, telegram_chat_persons=OPTIONS["telegram_chat_persons"])

    assert result["errors"] == {"telegram_enabled": "telegram_missing"}


async def test_it_ends_with_the_entry(hass: HomeAssistant, agent: Agent, telegram: Telegram) -> None:
    assert await hass.config_entries.async_unload(agent.entry.entry_id)
    received: list[Any] = []
    hass.bus.async_listen("telegram_text", received.append)
    telegram.server.write(ANNA, "Good morning")
    await telegram.until(lambda: received)

    assert telegram.server.texts(ANNA) == []
