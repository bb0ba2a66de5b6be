"""Chats with a real Telegram bot integration, before a stand-in for Telegram."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pytest_homeassistant_custom_component.common import MockConfigEntry

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from tests.servers.telegram_server import TelegramServer

LONG = 30
ANNA, BEN, STRANGER, GROUP = 1001, 1002, 1999, -500


class Telegram:
    """The bot, and what people do in their chats."""

    def __init__(self, hass: HomeAssistant, server: TelegramServer) -> None:
        self._hass = hass
        self.server = server

    async def until(self, seen: Callable[[], Any]) -> None:
        async with asyncio.timeout(LONG):
            while not seen():
                await self.server.arrived(len(self.server.requests) + 1)
                await self._hass.async_block_till_done()

    async def write(self, chat: int, text: str, *, answers: int = 1, **fields: Any) -> list[str]:
        """Write a message; return what came back."""
        before = len(self.server.texts(chat))
        self.server.write(chat, text, **fields)
        await self.until(lambda: len(self.server.texts(chat)) >= before + answers)
        await self._hass.async_block_till_done(wait_background_tasks=False)
        return self.server.texts(chat)[before:]

    async def press(self, chat: int, data: str, *, user: int | None = None) -> None:
        """Press a button, and wait until that was answered."""
        before = len(self.server.calls("answerCallbackQuery"))
        self.server.press(chat, data, user=user)
        await self.until(lambda: len(self.server.calls("answerCallbackQuery")) > before)
        await self._hass.async_block_till_done(wait_background_tasks=False)


@asynccontextmanager
async def telegram_bot(
    hass: HomeAssistant, server: TelegramServer, chats: tuple[int, ...] = (ANNA, BEN, STRANGER, GROUP)
) -> AsyncIterator[Telegram]:
    """Run Home Assistant's own Telegram bot against the stand-in; these chats may write to it."""
    entry = MockConfigEntry(
        domain="telegram_bot",
        title="Home",
        version=1,
        minor_version=3,
        data={"platform": "polling", "api_endpoint": server.address, "api_key": "4242:token"},
        options={"parse_mode": "markdown"},
        subentries_data=[
            ConfigSubentryData(
                data={"chat_id": chat},
                subentry_type="allowed_chat_ids",
                title=f"Chat {chat}",
                unique_id=str(chat),
            )
            for chat in chats
        ],
    )
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    yield Telegram(hass, server)
    assert await hass.config_entries.async_unload(entry.entry_id)


OPTIONS = {
    "telegram_enabled": True,
    "telegram_chat_persons": [
        {"chat_id": str(ANNA), "person": "person.anna"},
        {"chat_id": str(BEN), "person": "person.ben"},
    ],
    "memory_extraction_enabled": False,
}
