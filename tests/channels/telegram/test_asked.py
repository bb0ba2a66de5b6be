"""Questions that Home Agent asks on its own, in chats."""

import asyncio
import json
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse, pending_ids
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


async def test_a_question_of_another_person(agent: Agent, telegram: Telegram) -> None:
    """The next message is the answer; the one who asked gets it, and no model reads it."""
    call = ("notify_person", {"person": "Ben", "message": "When will you be home?", "wants_reply": True})
    agent.server.script([tool_calls([call]), text("I am asking Ben.")])
    anna = agent.hass.states.get("person.anna")
    assert anna is not None
    await agent.say("Ask Ben when he comes", context=Context(user_id=anna.attributes["user_id"]))
    await telegram.until(lambda: telegram.server.texts(BEN))
    assert telegram.server.texts(BEN) == ["Question from Anna: When will you be home?"]
    assert await telegram.write(BEN, "Unlock the front door at eight") == ["Done."]
    await telegram.until(lambda: telegram.server.texts(ANNA))
    assert telegram.server.texts(ANNA) == ["Answer from Ben: Unlock the front door at eight"]
    assert len(agent.server.chats) == 2
