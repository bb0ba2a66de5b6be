"""The furnished house with Anna and Ben, and a bot in whose chats an agent answers them."""

from collections.abc import AsyncIterator

import pytest

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse
from tests.helpers.telegram_chats import OPTIONS, Telegram, telegram_bot
from tests.servers.telegram_server import TelegramServer


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    for user in (secure.anna, secure.ben):
        attributes = {"user_id": user.id, "id": user.name.lower(), "friendly_name": user.name}
        hass.states.async_set(f"person.{user.name.lower()}", "home", attributes)
    return secure


@pytest.fixture
async def telegram(
    hass: HomeAssistant, secure: SecureHouse, telegram_server: TelegramServer
) -> AsyncIterator[Telegram]:
    """Return the bot and its chats."""
    assert await async_setup_component(hass, "http", {})
    async with telegram_bot(hass, telegram_server) as found:
        yield found


@pytest.fixture
async def agent(secure: SecureHouse, telegram: Telegram) -> Agent:
    return await secure.async_with(OPTIONS)
