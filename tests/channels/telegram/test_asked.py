"""Questions that Home Agent asks on its own, in chats."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse, pending_ids
from tests.helpers.telegram_chats import ANNA, BEN, Telegram, telegram_bot
from tests.helpers.telegram_settings import OPTIONS
from tests.servers.model_server import ModelServer
from tests.servers.replies import text
from tests.servers.telegram_server import TelegramServer

CLOSE = {"action": "close", "entity_id": "cover.garage", "person": "person.anna", "urgent": True}
CLOSED = [("cover.close_cover", ("cover.garage",))]
QUESTION = "Should I close the Garage?"


@pytest.fixture
async def secure(hass: HomeAssistant) -> SecureHouse:
    house = SecureHouse(hass)
    await house.async_build()
    for user in (house.anna, house.ben):
        attributes = {"user_id": user.id, "id": user.name.lower(), "friendly_name": user.name}
        hass.states.async_set(f"person.{user.name.lower()}", "home", attributes)
    state = hass.states.get("cover.garage")
    assert state
    hass.states.async_set("cover.garage", "open", state.attributes)
    return house


@pytest.fixture
async def telegram(
    hass: HomeAssistant, secure: SecureHouse, telegram_server: TelegramServer
) -> AsyncIterator[Telegram]:
    """Return the bot and its chats."""
    assert await async_setup_component(hass, "http", {})
    async with telegram_bot(hass, telegram_server) as found:
        yield found


@pytest.fixture
async def agent(secure: SecureHouse, telegram: Telegram, model_server: ModelServer) -> Agent:
    """Return an agent that answers Anna and Ben."""
    return await secure.async_agent(model_server, OPTIONS)


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
