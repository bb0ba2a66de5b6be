"""Questions that Home Agent asks on its own, in chats."""

import asyncio
import json
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.further import async_add_further
from tests.helpers.secure_house import UNLOCK, SecureHouse, pending_ids
from tests.helpers.telegram_chats import ANNA, BEN, Telegram
from tests.servers.replies import text, tool_calls

CLOSE = {"action": "close", "entity_id": "cover.garage", "person": "person.anna", "urgent": True}
CLOSED = [("cover.close_cover", ("cover.garage",))]
QUESTION = "Should I close the Garage?"


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    """Let the garage be open."""
    hass.states.async_set("cover.garage", "open", hass.states.get("cover.garage").attributes)  # type: ignore[union-attr]
    return secure


def asking(hass: HomeAssistant) -> asyncio.Task[Any]:
    """Ask in the background, as an automation."""
    return asyncio.create_task(
        hass.services.async_call(DOMAIN, "ask", CLOSE, blocking=True, return_response=True)
    )


async def test_a_button(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    """Only the one who is asked has the question, and only their press counts."""
    task = asking(agent.hass)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    assert telegram.server.texts(ANNA) == [QUESTION]
    assert telegram.server.texts(BEN) == []
    (action_id,) = pending_ids(agent.hass)
    await telegram.press(BEN, f"home_agent yes {action_id}")
    assert secure.calls == []
    await telegram.press(ANNA, f"home_agent yes {action_id}")
    assert (await task)["carried_out"]
    assert secure.moved() == CLOSED
    assert secure.calls[0].context.user_id == secure.anna.id
    await telegram.press(ANNA, f"home_agent yes {action_id}")
    assert secure.moved() == CLOSED


@pytest.mark.parametrize(("written", "answer", "moved"), [("yes", "yes", CLOSED), ("No, thanks", "no", [])])
async def test_an_answer_can_be_written(
    agent: Agent,
    telegram: Telegram,
    secure: SecureHouse,
    written: str,
    answer: str,
    moved: list[tuple[str, tuple[str, ...]]],
) -> None:
    """The model is not asked about it."""
    task = asking(agent.hass)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    await telegram.write(ANNA, written)
    assert (await task)["answer"] == answer
    assert secure.moved() == moved
    assert agent.server.chats == []


async def test_a_yes_to_something_else(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    """After another question of the agent a yes is the answer to that; the button still counts."""
    task = asking(agent.hass)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    (action_id,) = pending_ids(agent.hass)
    agent.server.script([text("Do you want to hear the weather too?"), text("It is sunny.")])
    await telegram.write(ANNA, "Good morning")
    assert await telegram.write(ANNA, "yes") == ["It is sunny."]
    assert secure.calls == []
    await telegram.press(ANNA, f"home_agent yes {action_id}")
    assert (await task)["carried_out"]
    assert secure.moved() == CLOSED


FOOD = {"question": "What shall we *eat*?", "answers": ["Pizza", "Pasta", "Soup"], "person": "person.anna"}


def choosing(hass: HomeAssistant, **data: Any) -> asyncio.Task[Any]:
    """Ask a question with answers to choose from, as an automation."""
    data = {**FOOD, "urgent": True, **data}
    return asyncio.create_task(
        hass.services.async_call(DOMAIN, "ask", data, blocking=True, return_response=True)
    )


def choices(telegram: Telegram) -> dict[str, str]:
    """Return the data of each button of the last question."""
    markup = telegram.server.calls("sendMessage", ANNA)[-1]["reply_markup"]
    rows = json.loads(markup)["inline_keyboard"] if isinstance(markup, str) else markup["inline_keyboard"]
    return {button["text"]: button["callback_data"] for row in rows for button in row}


async def test_answers_to_choose_from(agent: Agent, telegram: Telegram) -> None:
    """Each is a button; only the one who is asked has them, and the first press counts."""
    task = choosing(agent.hass)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    assert telegram.server.texts(ANNA) == [FOOD["question"]]
    assert telegram.server.texts(BEN) == []
    found = choices(telegram)
    assert list(found) == FOOD["answers"]
    await telegram.press(BEN, found["Pizza"])
    assert not task.done()
    await telegram.press(ANNA, f"{found['Pizza'].rpartition(' ')[0]} 99")
    assert not task.done()
    await telegram.press(ANNA, found["Pasta"])
    answered = await task
    assert (answered["answer"], answered["answered_by"]) == ("Pasta", "person.anna")
    await telegram.until(lambda: telegram.server.calls("editMessageText", ANNA))
    assert telegram.server.calls("editMessageText", ANNA)[-1]["text"].endswith("Pasta")
    await telegram.press(ANNA, found["Soup"])
    assert agent.server.chats == []


@pytest.mark.parametrize(
    ("written", "answer"), [("pasta please", "Pasta"), ("I think soup, thanks", "Soup"), ("Pizza!", "Pizza")]
)
async def test_a_choice_can_be_written(agent: Agent, telegram: Telegram, written: str, answer: str) -> None:
    task = choosing(agent.hass)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    assert await telegram.write(ANNA, written) == [answer]
    assert (await task)["answer"] == answer
    assert agent.server.chats == []


@pytest.mark.parametrize("written", ["pizza or pasta", "Put pizza on the list and turn off the light"])
async def test_what_is_no_choice_goes_to_the_agent(agent: Agent, telegram: Telegram, written: str) -> None:
    """After that only the buttons answer."""
    task = choosing(agent.hass)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    found = choices(telegram)
    agent.server.script([text("Which one?"), text("Soup it is.")])
    assert await telegram.write(ANNA, written) == ["Which one?"]
    assert await telegram.write(ANNA, "soup") == ["Soup it is."]
    assert not task.done()
    await telegram.press(ANNA, found["Soup"])
    assert (await task)["answer"] == "Soup"


async def test_a_choice_is_withdrawn(agent: Agent, telegram: Telegram) -> None:
    """The buttons go, and a late press is no answer."""
    task = choosing(agent.hass)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    found = choices(telegram)
    task.cancel()
    await asyncio.wait([task])
    await telegram.until(lambda: telegram.server.calls("editMessageText", ANNA))
    assert "Not done" in telegram.server.calls("editMessageText", ANNA)[-1]["text"]
    await telegram.press(ANNA, found["Soup"])


DINNER = ("notify_person", {"person": "Anna", "message": "Do you want dinner?", "wants_reply": True})
ASKED = "Question from Ben: Do you want dinner?"


async def ask_anna(agent: Agent, telegram: Telegram) -> None:
    """Let Ben have Anna asked, and wait until she is."""
    agent.server.clear()
    agent.server.script([tool_calls([DINNER]), text("I am asking Anna.")])
    before = telegram.server.texts(ANNA).count(ASKED)
    assert await telegram.write(BEN, "Ask Anna whether she wants dinner") == ["I am asking Anna."]
    await telegram.until(lambda: telegram.server.texts(ANNA).count(ASKED) > before)
    agent.server.clear()


async def answered(telegram: Telegram, answer: str) -> None:
    """Wait until Ben has the answer, and no other one."""
    await telegram.until(lambda: any("Answer from" in said for said in telegram.server.texts(BEN)))
    assert [said for said in telegram.server.texts(BEN) if "nswer from" in said] == [
        f"Answer from Anna: {answer}"
    ]


@pytest.mark.parametrize("answer", ["A big one, at eight", "ok", "yes"])
async def test_a_question_of_another_person(agent: Agent, telegram: Telegram, answer: str) -> None:
    """The next message is the answer; the one who asked gets it, and no model reads it."""
    await ask_anna(agent, telegram)
    assert await telegram.write(ANNA, answer) == ["Done."]
    await answered(telegram, answer)
    assert agent.server.chats == []


async def test_an_order_is_no_answer(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    """It is carried out, and so is what the agent asks then; the question stays open."""
    await ask_anna(agent, telegram)
    hall = ("ha_control", {"action": "turn_on", "entity_id": "light.hall"})
    agent.server.script([tool_calls([hall]), text("It is on."), text("21 degrees. And which room else?")])
    assert await telegram.write(ANNA, "Turn on the light in the hall") == ["It is on."]
    assert secure.moved() == [("light.turn_on", ("light.hall",))]
    await telegram.write(ANNA, "How warm is it?")
    agent.server.script([text("22 degrees.")])
    assert await telegram.write(ANNA, "the kitchen") == ["22 degrees."]
    assert await telegram.write(ANNA, "pizza") == ["Done."]
    await answered(telegram, "pizza")


async def test_a_reply_to_the_question_is_the_answer(agent: Agent, telegram: Telegram) -> None:
    """Also one that reads like an order, and where somebody else has asked since."""
    await ask_anna(agent, telegram)
    (sent,) = [message for message in telegram.server.messages if message["text"] == ASKED]
    await ask_anna(agent, telegram)
    order = "Start without me"
    assert await telegram.write(ANNA, order, reply_to_message=sent) == ["Done."]
    await answered(telegram, order)
    (edited,) = telegram.server.calls("editMessageText", ANNA)
    assert int(edited["message_id"]) == sent["message_id"]
    await telegram.write(ANNA, "yes")
    await telegram.until(lambda: "Answer from Anna: yes" in telegram.server.texts(BEN))
    assert agent.server.chats == []


@pytest.mark.parametrize("pin", ["4711", ""])
async def test_what_the_agent_waits_for_is_told_to_nobody(
    agent: Agent, telegram: Telegram, secure: SecureHouse, pin: str
) -> None:
    """The PIN, or the yes, goes to the agent that asked for it, whoever asks something meanwhile."""
    if pin:
        await agent.set_options(policy_pin=hash_pin(pin))
    agent.server.clear()
    agent.server.script([tool_calls([UNLOCK])])
    await telegram.write(ANNA, "Unlock the front door")
    await ask_anna(agent, telegram)
    await telegram.write(ANNA, pin or "yes")
    assert secure.moved() == [("lock.unlock", ("lock.front_door",))]
    assert await telegram.write(ANNA, "no, thanks") == ["Done."]
    await answered(telegram, "no, thanks")
    assert bool(telegram.server.calls("deleteMessage")) is bool(pin)


async def test_a_further_agent_asks_in_chats(agent: Agent, telegram: Telegram, secure: SecureHouse) -> None:
    """The chats are the connection's."""
    other = await async_add_further(secure.hass, agent)
    other.server.script([tool_calls([DINNER]), text("I am asking Anna.")])
    await other.say("Ask Anna whether she wants dinner", context=Context(user_id=secure.ben.id))
    await telegram.until(lambda: telegram.server.texts(ANNA))
    assert telegram.server.texts(ANNA) == [ASKED]
    assert await telegram.write(ANNA, "At eight") == ["Done."]
    await answered(telegram, "At eight")
